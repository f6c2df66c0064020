"""The records of a run, and the summary every output shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median, pvariance
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from shoal.errors import ShoalError
from shoal.experiment.row import Row

if TYPE_CHECKING:
    import pandas as pd

HIDDEN = (
    "clients",
    "members",
    "labels",
    "likeness",
    "traffic",
    "time",
    "measures",
)  # nested parts of a record, left out of tables
NOT_CLIENTS_WORK = ("evaluate", "losses", "gradient")  # diagnostics: not in the papers' traffic


class Link(NamedTuple):
    """What travelled on one kind of link: models and bytes."""

    vectors: int
    bytes: int


class History(Sequence[Row]):
    """The records in order of rounds.

    >>> history = History([{"round": 1, "accuracy": 0.5, "partial": True}, {"round": 2, "accuracy": 0.4}])
    >>> history.best()["round"], len(history)
    (2, 2)
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)

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

    def tested(self) -> list[Row]:
        """The rounds that were tested and in which every client had a model (spec 9.2)."""
        return [r for r in self._rows if r.get("accuracy") is not None and not r.get("partial")]

    def column(self, name: str) -> list[Any]:
        return [r.get(name) for r in self._rows]

    def best(self, by: str = "accuracy") -> Row | None:
        """The first round with the highest value among those that count."""
        rows = [r for r in self.tested() if r.get(by) is not None]
        return max(rows, key=lambda r: float(r[by])) if rows else None

    def first(self, target: float) -> Row | None:
        """The first round that counts and reaches an accuracy."""
        return next((r for r in self.tested() if r["accuracy"] >= target), None)

    def vectors(self, until: int | None = None, everything: bool = False) -> int:
        """Models sent, down and up and among servers, up to a round.

        The papers' figure: without evaluation and diagnostics, and without what they do not count (spec 6.2);
        `everything` counts all that the engine moved.
        """
        rows = self._until(until)
        uncounted = 0 if everything else sum(self._traffic(r, ("uncounted",), False) for r in rows)
        sent = sum(self._traffic(r, ("down", "up"), everything) for r in rows)
        return sent - uncounted + self.relayed(until).vectors

    def bytes(self, until: int | None = None, everything: bool = False) -> int:
        """Bytes between clients and their group, down and up, up to a round; without evaluation and diagnostics."""
        return sum(self._traffic(r, ("bytes_down", "bytes_up"), everything) for r in self._until(until))

    def relayed(self, until: int | None = None) -> Link:
        """What the servers of groups sent to each other, by way of a cloud, up to a round."""
        rows = self._until(until)
        return Link(sum(r.get("relayed", 0) for r in rows), sum(r.get("bytes_relayed", 0) for r in rows))

    def _until(self, until: int | None) -> list[Row]:
        return [r for r in self._rows if until is None or r["round"] <= until]

    @staticmethod
    def _traffic(row: Row, names: tuple[str, ...], everything: bool) -> int:
        counts = row.get("traffic", {})
        counted = [task for task in counts if everything or task not in NOT_CLIENTS_WORK]
        return sum(int(counts[task].get(n, 0)) for task in counted for n in names)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row per round."""
        try:
            import pandas as pd
        except ImportError as e:
            raise ShoalError("history.to_pandas() needs pandas; install it with: pip install pandas") from e
        return pd.DataFrame([{k: v for k, v in r.items() if k not in HIDDEN} for r in self._rows])


def summarise(history: History) -> Row:
    """The figures of spec 9.3: maximum over rounds that count, last three, last, and test at the best validation."""
    tested, best = history.tested(), history.best()
    last = tested[-3:]
    apart = [r["discrepancy"] for r in history if r.get("discrepancy") is not None]
    out: Row = {
        "rounds": history[-1]["round"] if len(history) else 0,
        "best_accuracy": best and best["accuracy"],
        "best_round": best and best["round"],
        "median_accuracy": median(r["accuracy"] for r in tested) if tested else None,
        "discrepancy_mean": fmean(apart) if apart else None,
        "discrepancy_variance": pvariance(apart) if apart else None,
        "last_accuracy": tested[-1]["accuracy"] if tested else None,
        "last_f1": tested[-1]["f1"] if tested else None,
        "last_worst": tested[-1]["worst"] if tested else None,
        "last_three_accuracy": sum(r["accuracy"] for r in last) / len(last) if last else None,
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
    chosen = history.best("val_accuracy")
    if chosen is not None:
        out |= {"best_val_round": chosen["round"], "accuracy_at_best_val": chosen["accuracy"]}
    for name in ("ari", "nmi"):
        if tested and tested[-1].get(name) is not None:
            out[name] = tested[-1][name]
    return out
