"""What a site lets leave: which tasks, which fields of their answers, how exactly and how often."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import BadInput
from shoal.metrics import METRICS
from shoal.objectives import Objective, Sum
from shoal.types import Task

__all__ = ["Allowed", "Policy", "default_policy", "policy_text", "read_policy"]

KINDS = ("classes", "labels", "tokens", "floats")  # of targets
EPSILON = 2.0  # the least noise of a label histogram that the default policy asks for
TIMES = 10  # that a client tells one by default: the mean of many would have little noise left


@dataclass(frozen=True)
class Allowed:
    """What a site allows of one task.

    Args:
        leaves: The fields of its answer that may leave; an answer with any other is not sent.
        most: The greatest values that the task's own arguments may have; one that is not given counts as greater.
        times: How often a client does it in all; None: as often as it is asked.

    >>> Allowed(("histogram",), {"epsilon": 2.0}).times is None
    True
    """

    leaves: tuple[str, ...]
    most: Mapping[str, float] = field(default_factory=dict)
    times: int | None = None


@dataclass(frozen=True)
class Policy:
    """What a site allows; a task that is not named is refused.

    Args:
        tasks: By the class name of the task.

    >>> from shoal.tasks import Evaluate, Gradient
    >>> policy = default_policy()
    >>> policy.refuses(Gradient())
    "the site's policy does not allow the task Gradient"
    >>> policy.refuses(Evaluate())
    "the site's policy does not let 'true' of Evaluate leave"
    >>> policy.refuses(Evaluate(per_class=False))
    """

    tasks: Mapping[str, Allowed]

    def refuses(self, task: Task, done: int = 0) -> str | None:
        """Why a task is not done, or None.

        Args:
            task: What the server asks for.
            done: How often the client did it before.

        Returns:
            One sentence.
        """
        name = type(task).__name__
        allowed = self.tasks.get(name)
        if allowed is None:
            return f"the site's policy does not allow the task {name}"
        secret = [field for field in task.fields if field not in allowed.leaves]
        if secret:
            return f"the site's policy does not let {secret[0]!r} of {name} leave"
        for argument, most in allowed.most.items():
            value = getattr(task, argument, None)
            if not isinstance(value, int | float) or not value <= most:
                return f"the site's policy allows {name} with {argument} up to {most:g} only, not {value}"
        if allowed.times is not None and done >= allowed.times:
            return f"the site's policy allows {name} {allowed.times} times only"
        return None


def default_policy() -> Policy:
    """Every task of Shoal with the fields that are not guarded; label histograms with noise only.

    Returns:
        The policy of a site that has none of its own.

    >>> default_policy().tasks["Evaluate"].leaves
    ('right', 'total', 'loss', 'right_labels', 'labels', 'confidence', ..., 'absolute_error', 'squared_error')
    """
    tasks = {type(task).__name__: Allowed(tuple(task.fields)) for task in modest()}
    tasks["LabelHistogram"] = Allowed(("histogram",), {"epsilon": EPSILON}, TIMES)
    return Policy(tasks)


def modest() -> tuple[Task, ...]:
    """Shoal's tasks, each with all fields that it can have except guarded ones; one that has no other is left out."""
    from shoal import tasks as t
    from shoal.solvers import SGD

    s = SGD()
    evaluate = t.Evaluate(per_class=False, sums=modest_sums())
    counted = (t.Choose(solver=s), t.DetectShift(), evaluate, t.LabelHistogram(epsilon=EPSILON))
    return (*counted, t.Losses(), t.Nearest(s, s), t.StoreDirections(), t.Train(s), t.TrainInStages(s, s))


def modest_sums() -> tuple[Sum, ...]:
    """What metrics add up that is not guarded.

    >>> [name for name, _, _ in modest_sums()][:3]
    ['right_labels', 'labels', 'confidence']
    """
    found: dict[str, Sum] = {}
    for metric in METRICS.values():
        for kind in KINDS if not metric.kinds else metric.kinds:
            task = Objective(targets=kind, metrics=(metric,))  # type: ignore[arg-type]
            found |= {s.name: s for s in task.sums((2, 2) if kind == "tokens" else (2,)) if not s.guarded}
    return tuple(found.values())


HEAD = """\
# What this site lets leave. A task that has no table here is refused; so is one whose answer has a field that
# `leaves` does not name. Further keys: `most = { ARGUMENT = VALUE }` bounds arguments of the task from above,
# `times = N` says how often each client does it in all.
"""


def policy_text(policy: Policy) -> str:
    """A policy as a file.

    Args:
        policy: Any.

    Returns:
        TOML that `read_policy` takes.

    >>> print(policy_text(Policy({"Train": Allowed(("update", "count"), times=100)})).split("\\n\\n")[1])
    [Train]
    leaves = ["update", "count"]
    times = 100
    """
    tables = []
    for name, allowed in sorted(policy.tasks.items()):
        lines = [f"[{name}]", f"leaves = {json.dumps(list(allowed.leaves))}"]
        if allowed.most:
            lines.append("most = { " + ", ".join(f"{k} = {v}" for k, v in allowed.most.items()) + " }")
        if allowed.times is not None:
            lines.append(f"times = {allowed.times}")
        tables.append("\n".join(lines))
    return "\n\n".join([HEAD.rstrip("\n"), *tables]) + "\n"


def read_policy(path: Path) -> Policy:
    """The policy of a file, or one sentence.

    Args:
        path: A TOML file.

    Returns:
        The policy.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "policy.toml"
    >>> _ = file.write_text(policy_text(default_policy()))
    >>> read_policy(file) == default_policy()
    True
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise BadInput(f"the policy {path} cannot be read: {e}") from e
    return Policy({name: allowed_of(path, name, table) for name, table in tables.items()})


def allowed_of(path: Path, name: str, table: Any) -> Allowed:
    """One table of a policy, checked."""
    if not isinstance(table, dict) or set(table) - {"leaves", "most", "times"} or "leaves" not in table:
        raise BadInput(
            f"{path}: [{name}] needs leaves = [...], and may have most = {{ ... }} and times = N, nothing else"
        )
    leaves, most, times = table["leaves"], table.get("most", {}), table.get("times")
    sound = (
        isinstance(leaves, list)
        and all(isinstance(word, str) for word in leaves)
        and isinstance(most, dict)
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in most.values())
        and (times is None or (type(times) is int and times >= 0))
    )
    if not sound:
        raise BadInput(
            f"{path}: [{name}] holds a value of the wrong kind; leaves are words, most numbers, times a count"
        )
    return Allowed(tuple(leaves), dict(most), times)
