"""How alike clients are, as a picture of a round: where they lie in a plane, and the similarity of every pair."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np

from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.loop.record import sample_places
from shoal.loop.row import Row
from shoal.measures import cosine_from_gram, gram, principal
from shoal.table import Serving
from shoal.types import Array, Record, Representation

MAX_CLIENTS = 200  # clients in a picture, which then takes about 35 kB
FIRST = 5  # rounds that all have a picture: WeCFL's paper shows these
BLOCK = 1 << 22  # numbers that are held in float64 at a time: 32 MB


def needs_picture(t: int, before: Serving | None, after: Serving, ids: tuple[str, ...]) -> bool:
    """Whether a round gets a picture: rounds 0 to 5, 8, 16 and so on, and rounds in which a client changes groups.

    >>> from shoal.table import Table
    >>> a, b = (Serving(np.zeros((2, 1)), Table(("x",), np.array([k]))) for k in (0, 1))
    >>> [needs_picture(t, a, a, ("x",)) for t in (5, 6, 8)], needs_picture(6, a, b, ("x",))
    ([True, False, True], True)
    """
    if is_pictured(t):
        return True
    if before is None or not after.is_grouped:
        return False
    old_N, new_N = before.which(ids), after.which(ids)
    return bool(((old_N != new_N) & (old_N >= 0) & (new_N >= 0)).any())


def is_pictured(t: int) -> bool:
    """Whether a round has a picture whatever happens in it.

    >>> [t for t in range(40) if is_pictured(t)]
    [0, 1, 2, 3, 4, 5, 8, 16, 32]
    """
    return t <= FIRST or t & (t - 1) == 0


def similarity_part(record: Record, serving: Serving, federation: Source, layout: Layout, seed: int) -> Row:
    """The picture of a round: of what the method compared, or else of what clients learnt."""
    seen = record.representation or learnt_representation(record, serving, layout)
    if seen is None or len(seen.cohort) < 3:
        return {}
    pick = sample_places(seen.cohort, MAX_CLIENTS, seed)
    ids = tuple(seen.cohort[i] for i in pick)
    inner_NN, onto_N = np.zeros((len(pick), len(pick))), np.zeros(len(pick))
    for block in blocks(seen, pick):
        if seen.measure == "euclidean":  # around their mean, which leaves more digits
            mean_D = block.mean(0)
            onto_N += block @ mean_D
            block -= mean_D
        inner_NN += gram(block)
    if seen.measure == "cosine":
        inner_NN = cosine_from_gram(inner_NN)
    plane = principal(inner_NN)
    pairs_NN, scale = (inner_NN, 1.0) if seen.measure == "cosine" else distances(inner_NN)
    row: Row = {"what": seen.what, "measure": seen.measure, "of": len(seen.cohort), "ids": list(ids)}
    if serving.is_grouped:
        row["group"] = serving.which(ids).tolist()
        if seen.measure == "euclidean":  # x_i x_j = (x_i - m)(x_j - m) + m x_i + m x_j - m m
            row |= group_cosines(inner_NN + onto_N + onto_N[:, None] - onto_N.mean(), serving.which(ids))
    if federation.truth is not None:
        truth = dict(zip(federation.ids, federation.truth.tolist(), strict=True))
        row["truth"] = [truth[c] for c in ids]
    row |= {
        "x": four_digits(plane.points_NM[:, 0]),
        "y": four_digits(plane.points_NM[:, 1]),
        "share": four_digits(plane.share_M),
    }
    return {"likeness": {**row, "scale": scale, "pairs": pack(pairs_NN / scale)}}


def learnt_representation(record: Record, serving: Serving, layout: Layout) -> Representation | None:
    """What clients learnt in a round: updates where all got one model, local models where there are several."""
    got = record.trained
    if got is None or got.models_KP is None or "update" not in got.fields or serving.votes:
        return None
    update_NP = got["update"][:, layout.trainable]
    if len(got.models_KP) == 1:
        return Representation("updates", "cosine", got.cohort, update_NP)
    return Representation(
        "local models", "euclidean", got.cohort, update_NP, got.models_KP[:, layout.trainable], got.which_N
    )


def blocks(seen: Representation, pick: Array) -> Iterator[Array]:
    """The rows of some clients, a few columns at a time."""
    step = max(BLOCK // max(len(pick), 1), 64)
    for start in range(0, seen.rows_ND.shape[1], step):
        block = seen.rows_ND[pick, start : start + step].astype(np.float64)
        if seen.from_KD is not None and seen.which_N is not None:
            block += seen.from_KD[seen.which_N[pick], start : start + step]
        yield block


def group_cosines(gram_NN: Array, group_N: Array) -> dict[str, list[float]]:
    """How alike clients are inside groups, and groups among themselves: least, mean and largest cosine of each.

    Args:
        gram_NN: All inner products of the clients' vectors.
        group_N: The group of each client; -1: none.

    Returns:
        `cosines_within`, of clients with the plain mean of their group, and `cosines_between`, of the means of all
        pairs of groups, if there are any.

    >>> rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    >>> group_cosines(rows @ rows.T, np.array([0, 0, 1]))
    {'cosines_within': [1.0, 1.0, 1.0], 'cosines_between': [0.6, 0.6, 0.6]}
    """
    mine_KN = np.array([group_N == k for k in np.unique(group_N[group_N >= 0])], float)
    if not len(mine_KN):
        return {}
    means_KN = mine_KN / mine_KN.sum(1, keepdims=True)
    onto_KN = means_KN @ gram_NN
    between_KK = onto_KN @ means_KN.T
    lengths_N, lengths_K = (np.sqrt(np.maximum(square.diagonal(), 0.0)) for square in (gram_NN, between_KK))
    with np.errstate(divide="ignore", invalid="ignore"):  # a vector of zeros has no direction
        within = (onto_KN / lengths_K[:, None] / lengths_N)[mine_KN == 1]
        between = (between_KK / np.outer(lengths_K, lengths_K))[np.triu_indices(len(mine_KN), 1)]
    found = {"cosines_within": within[np.isfinite(within)], "cosines_between": between[np.isfinite(between)]}
    return {
        name: [round(float(v), 6) for v in (values.min(), values.mean(), values.max())]
        for name, values in found.items()
        if len(values)
    }


def distances(gram_NN: Array) -> tuple[Array, float]:
    """Euclidean distances from inner products, and the largest of them (1 if there is none), to four digits.

    >>> distances(np.array([[0.0, 0.0], [0.0, 4.0]]))
    (array([[0., 2.],
           [2., 0.]]), 2.0)
    """
    square_N = gram_NN.diagonal()
    found_NN = np.sqrt(np.maximum(np.add.outer(square_N, square_N) - gram_NN - gram_NN.T, 0.0))
    return found_NN, float(f"{found_NN.max():.4g}") or 1.0


def four_digits(values: Array) -> list[float]:
    """Four digits are enough for a picture."""
    return [float(f"{v:.4g}") for v in values.tolist()]


def pack(matrix_NN: Array) -> str:
    """The pairs i < j of a symmetric matrix with entries in [-1, 1], in hundredths, a byte each, as text.

    >>> pack(np.array([[1.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]]))
    'MpwA'
    """
    upper = matrix_NN[np.triu_indices(len(matrix_NN), 1)]
    return base64.b64encode(np.rint(100 * upper.clip(-1, 1)).astype(np.int8).tobytes()).decode()


def unpack(text: str, n: int, diagonal: float) -> Array:
    """The matrix that `pack` made a text of.

    >>> unpack("MpwA", 3, 1.0).tolist()
    [[1.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]]
    """
    matrix_NN = np.zeros((n, n))
    matrix_NN[np.triu_indices(n, 1)] = np.frombuffer(base64.b64decode(text), np.int8) / 100
    matrix_NN += matrix_NN.T
    np.fill_diagonal(matrix_NN, diagonal)
    return matrix_NN
