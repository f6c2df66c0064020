"""Policies: what is refused, and files that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import BadInput
from shoal.flower.policy import Allowed, Policy, default_policy, policy_text, read_policy
from shoal.solvers import SGD
from shoal.tasks import LabelHistogram, Train, TrainInStages


def test_fields_arguments_and_times_are_bounded() -> None:
    policy = Policy(
        {"Train": Allowed(("update", "count"), times=2), "LabelHistogram": Allowed(("histogram",), {"epsilon": 1})}
    )
    assert policy.refuses(Train(SGD())) == "the site's policy does not let 'loss' of Train leave"
    assert policy.refuses(TrainInStages(SGD(), SGD())) == "the site's policy does not allow the task TrainInStages"
    assert policy.refuses(LabelHistogram(epsilon=1.0)) is None
    assert "up to 1 only, not 1.5" in str(policy.refuses(LabelHistogram(epsilon=1.5)))
    assert "up to 1 only, not None" in str(policy.refuses(LabelHistogram()))
    often = Policy({"LabelHistogram": Allowed(("histogram",), times=2)})
    assert often.refuses(LabelHistogram(), done=1) is None
    assert often.refuses(LabelHistogram(), done=2) == "the site's policy allows LabelHistogram 2 times only"


def test_a_policy_survives_its_file(tmp_path: Path) -> None:
    policy = Policy({**default_policy().tasks, "Train": Allowed(("update",), {"keeps": 3}, 7)})
    (tmp_path / "p.toml").write_text(policy_text(policy))
    assert read_policy(tmp_path / "p.toml") == policy


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[Train", "cannot be read"),
        ("Train = 3", "needs leaves"),
        ("[Train]\ntimes = 3", "needs leaves"),
        ("[Train]\nleaves = []\nallow = true", "needs leaves"),
        ("[Train]\nleaves = 'update'", "wrong kind"),
        ("[Train]\nleaves = []\ntimes = -1", "wrong kind"),
        ("[Train]\nleaves = []\nmost = { epsilon = 'x' }", "wrong kind"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(BadInput, match=reason):
        read_policy(tmp_path / "p.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        read_policy(tmp_path / "none.toml")
