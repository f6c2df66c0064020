"""CFL's two thresholds from the norms of a run, split or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from shoal.analysis.advice.advice_input import Advice, AdviceInput, rounded, tail_mean
from shoal.analysis.measured import measured, norms_by_group

FIRST = 3  # rounds that count as the first ones
LAST_PART = 0.25  # the last part of a cluster's life, in which its norms have settled
MIXED = 3.0  # from this ratio of max_norm to mean_norm on, clients pull in different directions
BELOW = 0.65  # of the plateau of a mixed cluster, where pure ones were not seen


@dataclass(frozen=True)
class ClusterNorms:
    """A cluster's norms, from its first round to its split or the end."""

    group: int
    mean: list[float]
    largest: list[float]
    clients: int
    split: bool = False
    taken: int = 0  # clients on the smaller side of its split

    @property
    def mixed(self) -> bool:
        """Whether it was split, and not only by a client or two taken off many."""
        return self.split and (self.taken > 1 or self.clients <= 3)

    @property
    def plateau(self) -> float:
        """Where max_norm stays at the end."""
        return median(self.largest[-max(1, round(LAST_PART * len(self.largest))) :])

    @property
    def longest(self) -> float:
        """max_norm when it was split, else where it stays."""
        return self.largest[-1] if self.split else self.plateau


def cluster_norms(seen: AdviceInput) -> list[ClusterNorms]:
    """The clusters of a run; one that is split ends, and both its sides begin."""
    open_: dict[int, tuple[list[float], list[float], int]] = {}
    done: list[ClusterNorms] = []
    for clusters in seen.measured("clusters", norms_by_group):
        for k, norms in sorted(clusters.items()):
            if k in open_ and norms["clients"] < open_[k][2]:  # it was split after its last record
                taken = min(int(norms["clients"]), open_[k][2] - int(norms["clients"]))
                done.append(ClusterNorms(k, *open_.pop(k), split=True, taken=taken))
            mean, largest, _ = open_.get(k, ([], [], 0))
            open_[k] = [*mean, norms["mean_norm"]], [*largest, norms["max_norm"]], int(norms["clients"])
    return [*done, *(ClusterNorms(k, *open_[k]) for k in sorted(open_))]


def thresholds(seen: AdviceInput) -> Iterator[Advice]:
    """eps1 from the first rounds, eps2 between the plateaus of max_norm in mixed and in pure clusters."""
    found = cluster_norms(seen) if seen.is_known_for("splits") else []
    whole = next((life for life in found if life.group == 0), None)
    if whole is None:
        return
    yield from waits(seen)
    yield first_threshold(whole, seen.own.get("eps1"))
    yield second_threshold(found, seen.own.get("eps2"))


def first_threshold(whole: ClusterNorms, in_force: float | None) -> Advice:
    """A quarter to a third of the first mean norm; just above where it is if it stays longer than that."""
    start, now = fmean(whole.mean[:FIRST]), tail_mean(whole.mean, LAST_PART)
    low, high, ratio = start / 4, start / 3, whole.plateau / max(now, 1e-30)
    numbers = {"first_rounds": start, "now": now, "low": low, "high": high, "in_force": in_force}
    told = (
        f"the mean update of all clients is {start:.3g} long in the first rounds and {now:.3g} before the first split"
    )
    told = told if whole.split else told.replace("before the first split", "in the last ones")
    if now <= high:
        eps1 = rounded(min(max(0.29 * start, 1.05 * now), high))
        text = f"{told}: take eps1 from a quarter to a third of the first length, {low:.3g} to {high:.3g}"
        return Advice("eps1", text, {**numbers, "eps1": eps1}, {"eps1": eps1})
    told += f", more than a third of that ({high:.3g})"
    if whole.split:
        return Advice("eps1", f"{told}: eps1={in_force} splits early; a smaller one waits for cleaner cuts", numbers)
    if ratio >= MIXED:
        eps1 = rounded(1.15 * now)
        text = f"{told}, while the longest update stays {ratio:.1f} times that: take eps1 just above where the mean is"
        return Advice("eps1", text, {**numbers, "eps1": eps1}, {"eps1": eps1})
    return Advice("eps1", f"{told}: play more rounds with eps1=0 before you choose it", numbers)


def second_threshold(found: list[ClusterNorms], in_force: float | None = None) -> Advice:
    """eps2 where it tells mixed clusters from pure ones with the fewest errors, or what one cluster alone says.

    Mixed are those that were split; pure are those that were not, and those of which a split only took one client off.
    """
    if len(found) == 1:
        return unsplit(found[0])
    judged = [life for life in found if life.clients > 1]
    values = sorted({life.longest for life in judged}, reverse=True)
    if len(values) < 2:
        return Advice(
            "eps2", "only single clients are left after the first split: eps2 was too small", {"longest": values}
        )

    def errors(cut: float) -> int:
        return sum((life.longest > cut) != life.mixed for life in judged)

    # Between two neighbours in size; of several as good, where they are farthest apart.
    high, low = min(pairwise(values), key=lambda p: (errors((p[0] * p[1]) ** 0.5), p[1] / max(p[0], 1e-30)))
    eps2 = rounded((high * low) ** 0.5)
    mixed, pure = ([life for life in judged if (life.longest > eps2) == side] for side in (True, False))
    text = (
        f"the longest update is at least {high:.3g} in {len(mixed)} clusters that look mixed and at most {low:.3g} in"
    )
    text += f" {len(pure)} that look pure: "
    right = in_force is not None and low < in_force <= high
    text += f"eps2={in_force:g} tells them apart" if right else "take eps2 between them"
    torn, still = [life for life in pure if life.split], [life.group for life in mixed if not life.split]
    if torn:
        text += f"; {len(torn)} of the pure ones were split, because eps2 was smaller"
    if still:
        text += f"; cluster {', '.join(map(str, still))} may still be mixed"
    numbers = {"mixed": high, "pure": low, "eps2": eps2, "torn": len(torn), "still_mixed": still, "in_force": in_force}
    return Advice("eps2", text, numbers, {} if right else {"eps2": eps2})


def unsplit(whole: ClusterNorms) -> Advice:
    """Only one plateau was seen: that of everybody together."""
    mean = tail_mean(whole.mean, LAST_PART)
    ratio = whole.plateau / max(mean, 1e-30)
    numbers = {"plateau": whole.plateau, "mean": mean, "ratio": ratio}
    told = f"nothing was split; the longest update stays {whole.plateau:.3g}, {ratio:.1f} times the mean"
    if ratio < MIXED:
        return Advice("eps2", f"{told}: clients agree, and one group may be all there is", numbers)
    eps2 = rounded(BELOW * whole.plateau)
    text = (
        f"{told}: clients disagree; this is the plateau of a mixed cluster, that of pure ones was not seen yet, so try"
    )
    text += f" {eps2:g} and ask again after that run"
    return Advice("eps2", text, {**numbers, "eps2": eps2}, {"eps2": eps2})


def waits(seen: AdviceInput) -> Iterator[Advice]:
    """Rounds without norms: some member's update was too old."""
    silent = len(seen.history) - 1 - len(measured(seen.history[1:], "clusters", norms_by_group))
    if silent > 0.2 * len(seen.history):
        text = (
            f"in {silent} of {len(seen.history) - 1} rounds no cluster could be judged: members' updates were too old"
        )
        yield Advice(
            "waiting", f"{text}; use selection=all, or a larger max_age", {"rounds": silent}, {"selection": "all"}
        )
