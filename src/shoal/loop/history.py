"""The records of a run, and the summary every output shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from statistics import fmean, median, pvariance
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from shoal.errors import ShoalError
from shoal.loop.row import Row
from shoal.scores import ACCURACY, Score
from shoal.show import counted, html_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["History", "Link", "coverage", "partial_summary", "summarise"]

# Nested parts of a record, left out of tables.
HIDDEN = ("clients", "members", "labels", "likeness", "traffic", "diagnostic", "time", "measures")
LAST = 5  # rounds that a notebook shows
DIAGNOSTIC = ("evaluate", "losses", "gradient")  # tasks that are none of the method's in records that do not say it


class Link(NamedTuple):
    """What travelled on one kind of link: models and bytes.

    Attributes:
        vectors: Models.
        bytes: What they weigh.

    >>> Link(2, 800).bytes
    800
    """

    vectors: int
    bytes: int


class History(Sequence[Row]):
    """The records in order of rounds.

    Args:
        rows: The records, in order.
        score: The headline figure of the run: which rounds count as tested, and which is the best.

    >>> history = History([{"round": 1, "accuracy": 0.5, "partial": True}, {"round": 2, "accuracy": 0.4}])
    >>> history.best()["round"], len(history)
    (2, 2)
    >>> rows = [{"round": 1, "rmse": 0.5}, {"round": 2, "rmse": 0.7}]
    >>> History(rows, Score("rmse", "lower", percent=False)).best()["round"]
    1
    """

    def __init__(self, rows: Sequence[Row], score: Score = ACCURACY) -> None:
        self._rows, self.score = list(rows), score

    @overload
    def __getitem__(self, i: int) -> Row: ...
    @overload
    def __getitem__(self, i: slice) -> list[Row]: ...
    def __getitem__(self, i: int | slice) -> Row | list[Row]:
        return self._rows[i]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        best, score = self.best(), self.score
        shown = None if best is None else f"best {score.title} {score.show(best[score.name])} in round {best['round']}"
        return f"<History: {counted(str(len(self)), 'records')}, {shown or 'no round counts yet'}>"

    def _repr_html_(self) -> str:
        best, score = self.best(), self.score
        rows = [r for i, r in enumerate(self._rows) if r is best or i >= len(self) - LAST]
        cells = [(r["round"], score.show(r.get(score.name)), r.get("groups", "-"), "best" * (r is best)) for r in rows]
        return html_table(repr(self)[1:-1], cells, ("round", score.title, "groups", ""))

    def tested(self) -> list[Row]:
        """The rounds that were tested and in which every client had a model (departure D76)."""
        return [r for r in self._rows if r.get(self.score.name) is not None and not r.get("partial")]

    def partial(self) -> list[Row]:
        """The rounds that were tested though some client had no model yet: they count for nothing but themselves."""
        return [r for r in self._rows if r.get(self.score.name) is not None and r.get("partial")]

    def column(self, name: str) -> list[Any]:
        """Args:
            name: A key of records.

        Returns:
            Its value in every round; None where a record does not have it.
        """
        return [r.get(name) for r in self._rows]

    def best(self, by: str | None = None) -> Row | None:
        """The first round with the best value among those that count.

        Args:
            by: A key of records; by default the score. Larger values are better unless it is the score, on the test or
                the validation split, and smaller ones of that are.

        Returns:
            The record; None if no round counts.
        """
        key = by or self.score.name
        sign = self.score.sign if key in (self.score.name, self.score.key("val")) else 1
        rows = [r for r in self.tested() if r.get(key) is not None]
        return max(rows, key=lambda r: sign * float(r[key])) if rows else None

    def first(self, target: float) -> Row | None:
        """The first round that counts and is as good as a target.

        Args:
            target: A value of the score, such as an accuracy from 0 to 1.

        Returns:
            The record; None if no round reaches it.
        """
        return next((r for r in self.tested() if self.score.reaches(r[self.score.name], target)), None)

    def vectors(self, until: int | None = None, everything: bool = False) -> int:
        """Models sent, down and up and among servers, up to a round.

        The papers' figure: without evaluation and diagnostics, and without what they do not count (departure D51);
        `everything` counts all that the engine moved.

        Args:
            until: The last round to count; None: all.
            everything: Whether to count all that travelled.

        Returns:
            A number of models.
        """
        rows = self._until(until)
        uncounted = 0 if everything else sum(self._traffic(r, ("uncounted",), False) for r in rows)
        sent = sum(self._traffic(r, ("down", "up"), everything) for r in rows)
        return sent - uncounted + self.relayed(until).vectors

    def bytes(self, until: int | None = None, everything: bool = False) -> int:
        """Bytes between clients and their group, down and up, up to a round; without evaluation and diagnostics.

        Args:
            until: The last round to count; None: all.
            everything: Whether to count evaluation and diagnostics, too.

        Returns:
            A number of bytes.
        """
        return sum(self._traffic(r, ("bytes_down", "bytes_up"), everything) for r in self._until(until))

    def relayed(self, until: int | None = None) -> Link:
        """What the servers of groups sent to each other, by way of a cloud, up to a round.

        Args:
            until: The last round to count; None: all.

        Returns:
            Models and bytes.
        """
        rows = self._until(until)
        return Link(sum(r.get("relayed", 0) for r in rows), sum(r.get("bytes_relayed", 0) for r in rows))

    def estimated(self, name: str, until: int) -> float | None:
        """What a cost model says of the rounds up to one.

        Args:
            name: `t_comp`, `t_comm` or `d_comm`.
            until: The last round to count.

        Returns:
            The sum; None where some round does not have it: other methods, and records of earlier versions.

        >>> History([{"round": 0}, {"round": 1, "t_comm": 0.5}, {"round": 2, "t_comm": 0.25}]).estimated("t_comm", 2)
        0.75
        """
        rows = [r for r in self._until(until) if r["round"] > 0]
        return fsum(r[name] for r in rows) if all(name in r for r in rows) else None

    def _until(self, until: int | None) -> list[Row]:
        return [r for r in self._rows if until is None or r["round"] <= until]

    @staticmethod
    def _traffic(row: Row, names: tuple[str, ...], everything: bool) -> int:
        counts = row.get("traffic", {})
        counted = [task for task in counts if everything or task not in row.get("diagnostic", DIAGNOSTIC)]
        return sum(int(counts[task].get(n, 0)) for task in counted for n in names)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row per round."""
        try:
            import pandas as pd
        except ImportError as e:
            raise ShoalError("history.to_pandas() needs pandas; install it with: pip install pandas") from e
        return pd.DataFrame([{k: v for k, v in r.items() if k not in HIDDEN} for r in self._rows])


def summarise(history: History) -> Row:
    """The figures of a run: best over rounds that count, last three, last, and test at the best validation.

    Args:
        history: The records of a run.

    Returns:
        What `summary.json` holds.

    >>> history = History([{"round": 0, "time": {"round": 1.5}}])
    >>> found = summarise(history)
    >>> found["rounds"], found["best_accuracy"], found["seconds"]
    (0, None, 1.5)
    """
    score, tested, best = history.score, history.tested(), history.best()
    name = score.name
    last, losses = tested[-3:], [r["test_loss"] for r in tested if r.get("test_loss") is not None]
    apart = [r["discrepancy"] for r in history if r.get("discrepancy") is not None]
    out: Row = {
        "rounds": history[-1]["round"] if len(history) else 0,
        score.key("best"): best and best[name],
        "best_round": best and best["round"],
        score.key("median"): median(r[name] for r in tested) if tested else None,
        "discrepancy_mean": fmean(apart) if apart else None,
        "discrepancy_variance": pvariance(apart) if apart else None,
        score.key("last"): tested[-1][name] if tested else None,
        "last_f1": tested[-1].get("f1") if tested else None,
        "last_worst": tested[-1].get("worst") if tested else None,
        score.key("last_three"): sum(r[name] for r in last) / len(last) if last else None,
        "last_three_f1": sum(r["f1"] for r in last) / len(last) if last and all("f1" in r for r in last) else None,
        "best_test_loss": min(losses) if losses else None,
        "last_test_loss": tested[-1].get("test_loss") if tested else None,
        "groups": history[-1].get("groups") if len(history) else None,
        "left_out": sum(r.get("left_out", 0) for r in history),
        "skipped_rounds": sum(bool(r.get("skipped")) for r in history),
        "partial_rounds": sum(bool(r.get("partial")) for r in history),
        "vectors": history.vectors(),
        "bytes": history.bytes(),
        "vectors_relayed": history.relayed().vectors,
        "bytes_relayed": history.relayed().bytes,
        "vectors_with_evaluation": history.vectors(everything=True),
        "bytes_with_evaluation": history.bytes(everything=True),
        "seconds": sum(r["time"]["round"] for r in history),
    }
    chosen = history.best(score.key("val"))
    if chosen is not None:
        out |= {"best_val_round": chosen["round"], f"{name}_at_best_val": chosen[name]}
    for agreement in ("ari", "nmi"):
        if tested and tested[-1].get(agreement) is not None:
            out[agreement] = tested[-1][agreement]
    if not tested:
        out |= partial_summary(history.partial(), score)
    return out


def partial_summary(rows: Sequence[Row], score: Score = ACCURACY) -> Row:
    """Best and last of rounds that tested some clients only, with whom they tested: for runs that have no others.

    Args:
        rows: Records of partial rounds.
        score: The headline figure of the run.

    Returns:
        Figures by name; none without rows.

    >>> found = partial_summary([{"round": 1, "accuracy": 0.9, "tested": 78, "tested_of": 1000}])
    >>> found["best_partial_accuracy"], found["best_partial_clients"], found["best_partial_of"]
    (0.9, 78, 1000)
    """
    if not rows:
        return {}
    out: Row = {}
    best = max(rows, key=lambda r: score.sign * float(r[score.name]))
    for name, row in (("best", best), ("last", rows[-1])):
        clients, of = coverage(row)
        out |= {score.key(f"{name}_partial"): row[score.name], f"{name}_partial_round": row["round"]}
        out |= {f"{name}_partial_clients": clients, f"{name}_partial_of": of}
    return out


def coverage(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many clients a round tested, and how many were to be tested; None where a record does not tell.

    Args:
        row: The record of a tested round.

    Returns:
        Clients tested, clients to be tested.

    >>> coverage({"tested": 78, "tested_of": 1000}), coverage({"clients": {"ids": ["a", "b"]}})
    ((78, 1000), (2, None))
    """
    ids = row.get("clients", {}).get("ids")
    return row.get("tested", None if ids is None else len(ids)), row.get("tested_of")
