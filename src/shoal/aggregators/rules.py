"""What an aggregator is: a mean of updates and a server step, or a rule of its own, and transforms in front of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.seeds import Key
from shoal.types import Array

ServerState = Mapping[str, Array]  # what an aggregator carries from round to round, one array per name


class Aggregator:
    """How the answers of a group become its next model: a `MeanRule`, a `WholeRule`, or one of them after transforms.

    It sees trainable numbers only; `per_group` lifts it to K models, to batch-norm statistics and to counters.

    >>> from shoal.aggregators import Clip, Median
    >>> Median().after(Clip(10.0)).transforms
    (Clip(norm=10.0),)
    """

    def init(self, params_P: Array) -> ServerState:
        """What the server remembers before the first round; nothing by default.

        Args:
            params_P: The model.

        Returns:
            Arrays by name.
        """
        return {}

    def after(self, *transforms: Transform) -> Transformed:
        """The same on updates that went through transforms, the first of them first.

        Args:
            transforms: Such as `Clip(10.0)`, `GaussianNoise(0.01)`.

        Returns:
            An aggregator.
        """
        return Transformed(self, transforms)


class MeanRule(Aggregator, ABC):
    """How much each client counts, and what the server does with the mean update. Shares sum to one.

    >>> class Halved(MeanRule):             # a server that believes half of what clients say
    ...     def shares(self, updates_NP, counts_N):
    ...         return counts_N / counts_N.sum()
    ...     def step(self, params_P, mean_P, s):
    ...         return params_P + mean_P / 2, s
    >>> Halved().step(np.zeros(1), np.array([4.0]), {})[0].tolist()
    [2.0]
    """

    @abstractmethod
    def shares(self, updates_NP: Array, counts_N: Array) -> Array:
        """How much each client counts.

        Args:
            updates_NP: One update per client.
            counts_N: Their sample counts.

        Returns:
            N numbers that sum to one.
        """

    def step(self, params_P: Array, mean_P: Array, s: ServerState) -> tuple[Array, ServerState]:
        """What the server does with the mean update; by default it adds it.

        Args:
            params_P: The model.
            mean_P: The mean update.
            s: What the server remembers.

        Returns:
            The next model, and what the server remembers from now on.
        """
        return params_P + mean_P, s


class WholeRule(Aggregator, ABC):
    """A rule that is no weighted mean of updates, such as a median.

    >>> class Largest(WholeRule):
    ...     def apply(self, params_P, updates_NP, counts_N, s, key):
    ...         return params_P + updates_NP.max(0), s
    >>> Largest().apply(np.zeros(1), np.array([[1.0], [3.0]]), np.array([5, 5]), {}, Key(0))[0].tolist()
    [3.0]
    """

    @abstractmethod
    def apply(
        self, params_P: Array, updates_NP: Array, counts_N: Array, s: ServerState, key: Key
    ) -> tuple[Array, ServerState]:
        """From a model and the updates of its clients to the next model.

        Args:
            params_P: The model.
            updates_NP: One update per client, at least one.
            counts_N: Their sample counts.
            s: What the server remembers.
            key: The randomness of this round and group.

        Returns:
            The next model, and what the server remembers from now on.
        """

    def statistics(self, changes_NS: Array, counts_N: Array) -> Array:
        """How batch-norm statistics change, which are no parameters; by default by their median, one by one.

        Args:
            changes_NS: What became of them on each client, less what they were.
            counts_N: Sample counts.

        Returns:
            S numbers.
        """
        return by_column(changes_NS, lambda rows_NS: np.median(rows_NS, 0))


class Transform(ABC):
    """What is done to every client's update before it is aggregated.

    >>> class Halve(Transform):
    ...     def __call__(self, update_P, key):
    ...         return update_P / 2
    >>> Halve()(np.array([4.0]), Key(0)).tolist()
    [2.0]
    """

    @abstractmethod
    def __call__(self, update_P: Array, key: Key) -> Array:
        """The update as the aggregator sees it.

        Args:
            update_P: One client's update, trainable numbers.
            key: The randomness of this round, client and transform.

        Returns:
            P numbers.
        """


@dataclass(frozen=True)
class Transformed(Aggregator):
    """An aggregator behind transforms of updates; see `Aggregator.after`.

    Args:
        rule: The aggregator.
        transforms: What updates go through before it, in this order.

    >>> from shoal.aggregators import Clip, weighted_mean
    >>> Transformed(weighted_mean(), (Clip(10.0),)) == weighted_mean().after(Clip(10.0))
    True
    """

    rule: Aggregator
    transforms: tuple[Transform, ...]

    def init(self, params_P: Array) -> ServerState:
        return self.rule.init(params_P)


BLOCK = 1 << 22  # numbers that are held in float64 at a time: 32 MB


def by_column(rows_NP: Array, centre: Callable[[Array], Array]) -> Array:
    """What a function makes of every coordinate of some rows, a few columns at a time, in float64.

    Args:
        rows_NP: The rows, of any precision.
        centre: From N x D numbers to D.

    Returns:
        P numbers in float64.

    >>> by_column(np.array([[1, 5], [3, 7]]), lambda rows_ND: rows_ND.mean(0)).tolist()
    [2.0, 6.0]
    """
    out_P, step = np.zeros(rows_NP.shape[1]), max(1, BLOCK // max(len(rows_NP), 1))
    for i in range(0, len(out_P), step):
        out_P[i : i + step] = centre(rows_NP[:, i : i + step].astype(np.float64))
    return out_P
