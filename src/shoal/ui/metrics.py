"""What Prometheus asks for: the figures of runs, and of the sites of federations, in its text format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.analysis.measured import number, numbers
from shoal.loop.row import Row
from shoal.scores import ACCURACY, Score, score_of
from shoal.store.sites_file import SitesSeen

KIND = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("running", "complete", "silent")
SCORED = ("shoal_score", "shoal_worst_tenth_score")  # have the metric as a label
METRICS: Mapping[str, tuple[str, str]] = {  # name: kind and what it is
    "shoal_run_info": ("gauge", "A run; its settings are labels."),
    "shoal_run_state": ("gauge", "1 for the state that a run is in, 0 for the others."),
    "shoal_rounds_planned": ("gauge", "Rounds that a run is to have."),
    "shoal_rounds_total": ("counter", "Rounds played."),
    "shoal_round_seconds": ("gauge", "Seconds of the last round."),
    "shoal_rounds_seconds_total": ("counter", "Seconds of all rounds."),
    "shoal_answers_total": ("counter", "Trainings of clients that were used."),
    "shoal_left_out_total": ("counter", "Answers that were left out."),
    "shoal_bytes_total": ("counter", "Bytes between server and clients, by task and direction."),
    "shoal_groups": ("gauge", "Groups that have clients."),
    "shoal_group_clients": ("gauge", "Clients of a group."),
    "shoal_accuracy": ("gauge", "Accuracy over all clients in the last tested round, between 0 and 1."),
    "shoal_worst_tenth_accuracy": ("gauge", "Mean accuracy of the worst-served tenth of the clients."),
    "shoal_score": ("gauge", "The score of a run, whatever metric that is, in the last tested round."),
    "shoal_worst_tenth_score": ("gauge", "The score of the worst-served tenth of the clients."),
    "shoal_test_loss": ("gauge", "Test loss over all clients in the last tested round."),
    "shoal_training_loss": ("gauge", "Training loss of the last round."),
    "shoal_sites": ("gauge", "Sites of a federation, by state."),
    "shoal_sites_seen_timestamp_seconds": ("gauge", "When the server last looked at its sites, since 1970."),
    "shoal_site_online": ("gauge", "Whether a site is online."),
    "shoal_site_clients": ("gauge", "Clients that a site hosts."),
    "shoal_site_last_seen_timestamp_seconds": ("gauge", "When a site was last seen, since 1970."),
    "shoal_site_rounds_answered_total": ("counter", "Rounds in which a site answered."),
    "shoal_site_rounds_late_total": ("counter", "Rounds in which a site missed the deadline of a call."),
    "shoal_site_rounds_left_out_total": ("counter", "Rounds in which a site or some of its clients were left out."),
}


@dataclass(frozen=True)
class Sample:
    """A metric of some labels at this moment."""

    metric: str
    labels: Mapping[str, str]
    value: float


def samples_of(
    run: str, config: Mapping[str, Any], state: str, rows: Sequence[Row], sites: SitesSeen | None
) -> Iterator[Sample]:
    """All that is told of a run.

    Args:
        run: Its name.
        config: Its resolved settings.
        state: `running`, `complete` or `silent`.
        rows: Its records.
        sites: Of a federation.

    Yields:
        Samples; what a run has nothing for is left out.

    >>> rows = [{"round": 0}, {"round": 1, "trained": 3, "time": {"round": 2.5}}]
    >>> found = {s.metric: s.value for s in samples_of("first", {"rounds": 5}, "running", rows, None)}
    >>> found["shoal_rounds_total"], found["shoal_answers_total"], found["shoal_round_seconds"]
    (1, 3, 2.5)
    """
    named = {key: str(config.get(key, "")) for key in ("algorithm", "data", "model", "engine", "seed")}
    yield Sample("shoal_run_info", {"run": run, **named}, 1)
    for one in STATES:
        yield Sample("shoal_run_state", {"run": run, "state": one}, one == state)
    found: dict[str, Any] = {"shoal_rounds_planned": config.get("rounds")}
    score = score_of(config)
    if rows:
        found |= figures_of(rows, score)
    for metric, value in found.items():
        if number(value) is not None:
            named_by = {"metric": score.name} if metric in SCORED else {}
            yield Sample(metric, {"run": run, **named_by}, value)
    for (task, way), sent in traffic_of(rows).items():
        yield Sample("shoal_bytes_total", {"run": run, "task": task, "direction": way}, sent)
    for k, clients in enumerate(numbers(last(rows, "group_size")) or ()):
        yield Sample("shoal_group_clients", {"run": run, "group": str(k)}, clients)
    if sites is not None:
        yield from samples_of_sites(run, sites)


def figures_of(rows: Sequence[Row], score: Score) -> dict[str, Any]:
    """The figures that need no more labels than the run, and for a score its metric."""
    seconds = [number(row.get("time", {}).get("round")) or 0.0 for row in rows]
    return {
        "shoal_rounds_total": rows[-1]["round"],
        "shoal_round_seconds": seconds[-1],
        "shoal_rounds_seconds_total": sum(seconds),
        "shoal_answers_total": sum(number(row.get("trained")) or 0 for row in rows),
        "shoal_left_out_total": sum(number(row.get("left_out")) or 0 for row in rows),
        "shoal_groups": last(rows, "groups"),
        "shoal_accuracy": last(rows, "accuracy"),
        "shoal_worst_tenth_accuracy": last(rows, "worst") if score == ACCURACY else None,
        "shoal_score": last(rows, score.name),
        "shoal_worst_tenth_score": last(rows, "worst"),
        "shoal_test_loss": last(rows, "test_loss"),
        "shoal_training_loss": last(rows, "loss"),
    }


def last(rows: Sequence[Row], key: str) -> Any:
    """The newest value that a record has."""
    return next((row[key] for row in reversed(rows) if row.get(key) is not None), None)


def traffic_of(rows: Iterable[Row]) -> dict[tuple[str, str], float]:
    """Bytes by task and direction.

    >>> traffic_of([{"traffic": {"train": {"bytes_down": 5, "bytes_up": 3}}}, {"traffic": {"train": {"bytes_up": 1}}}])
    {('train', 'down'): 5, ('train', 'up'): 4}
    """
    found: dict[tuple[str, str], float] = defaultdict(int)
    for row in rows:
        for task, count in row.get("traffic", {}).items():
            for way in ("down", "up"):
                found[str(task), way] += number(count.get(f"bytes_{way}")) or 0
    return dict(found)


def samples_of_sites(run: str, seen: SitesSeen) -> Iterator[Sample]:
    """How the sites of a federation do."""
    for state, count in seen.counts().items():
        yield Sample("shoal_sites", {"run": run, "state": state}, count)
    yield Sample("shoal_sites_seen_timestamp_seconds", {"run": run}, seen.at)
    for site in seen.sites:
        if site.state not in ("online", "offline"):
            continue  # a stranger, who is counted above and nobody waits for
        labels = {"run": run, "site": site.name or site.node, "node": site.node}
        yield Sample("shoal_site_online", labels, site.state == "online")
        yield Sample("shoal_site_clients", labels, site.clients)
        yield Sample("shoal_site_last_seen_timestamp_seconds", labels, site.seen)
        yield Sample("shoal_site_rounds_answered_total", labels, site.answered)
        yield Sample("shoal_site_rounds_late_total", labels, site.late)
        yield Sample("shoal_site_rounds_left_out_total", labels, site.left_out)


def exposition(samples: Iterable[Sample]) -> str:
    r"""Samples as text: of every metric its help, its kind and its values, one after the other.

    Args:
        samples: In any order.

    Returns:
        What Prometheus reads.

    >>> print(exposition([Sample("shoal_groups", {"run": 'a "b"'}, 3)]), end="")
    # HELP shoal_groups Groups that have clients.
    # TYPE shoal_groups gauge
    shoal_groups{run="a \"b\""} 3
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        labels = ",".join(f'{name}="{escaped(value)}"' for name, value in sample.labels.items())
        value = int(sample.value) if float(sample.value).is_integer() else sample.value
        lines[sample.metric].append(f"{sample.metric}{{{labels}}} {value!r}")
    text = ""
    for metric, (kind, what) in METRICS.items():
        if metric in lines:
            text += "\n".join([f"# HELP {metric} {what}", f"# TYPE {metric} {kind}", *lines[metric], ""])
    return text


def escaped(value: str) -> str:
    r"""The value of a label as the format wants it.

    >>> print(escaped('a "b" c'))
    a \"b\" c
    """
    value = value.encode("utf-8", "replace").decode()  # names of files may hold what is no text
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
