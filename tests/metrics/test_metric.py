"""What metrics of a user's own can be called: nothing that records have already."""

from __future__ import annotations

import pytest

from shoal.analysis.further import further_of
from shoal.errors import BadInput
from shoal.metrics import Metric
from shoal.objectives import CLASSIFICATION, Objective


@pytest.mark.parametrize("name", ["round", "clients", "f1", "loss", "right"])
def test_names_of_other_things_in_records_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"a metric cannot be called '{name}'"):
        Metric(name, lambda said, y: {}, lambda s: 0.0)


def test_an_own_accuracy_of_classes_is_refused_and_not_left_out_in_silence() -> None:
    own = Metric("accuracy", lambda said, y: {"mine": len(y)}, lambda s: s["mine"])
    with pytest.raises(BadInput, match="a metric of your own cannot be called 'accuracy'"):
        CLASSIFICATION.with_metrics([own], None)
    assert [m.name for m in Objective(targets="floats").with_metrics([own], None).measured] == ["accuracy"]


def test_macro_f1_that_was_asked_for_is_compared() -> None:
    row = {"auc": 0.9, "clients": {"ids": ["ann"], "total": [4], "auc": [0.9], "macro_f1": [0.5]}}
    assert [m.score.name for m in further_of({"score": "auc"}, [row])] == ["macro_f1"]
