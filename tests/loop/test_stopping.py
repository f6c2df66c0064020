"""Rules by which runs end early, against rounds written down by hand."""

from __future__ import annotations

import pytest

from shoal.errors import BadInput
from shoal.loop.stopping import Patience, Rule, Seen, Target, TimeLimit, first_reason, parse_stop
from shoal.scores import Score

RMSE = Score("rmse", "lower", percent=False)


def ended(rule: Rule, rows: list[dict[str, object]], seen: Seen) -> tuple[int, str] | None:
    """The round after which a run of these records ends, and why."""
    for row in rows:
        seen.add({"time": {"round": 10.0}, **row})
        if (why := first_reason([rule], seen)) is not None:
            return int(str(row["round"])), why
    return None


def rows(name: str, values: list[float | None]) -> list[dict[str, object]]:
    return [{"round": t, name: v} if v is not None else {"round": t} for t, v in enumerate(values, 1)]


def test_patience_counts_rounds_since_the_best() -> None:
    # Best in round 2; rounds 3, 4 and 5 are not better: the third of them is round 5.
    values: list[float | None] = [0.5, 0.7, 0.6, 0.7, 0.65, 0.9]
    found = ended(Patience(3), rows("accuracy", values), Seen())
    assert found == (5, "accuracy has not improved for 3 rounds; best 70.0 % in round 2")
    assert ended(Patience(5), rows("accuracy", values), Seen()) is None


def test_patience_is_in_rounds_where_only_some_are_tested() -> None:
    # Tested in rounds 2, 4, 6: in round 4 two rounds are gone without a better one, in round 6 four.
    values: list[float | None] = [None, 0.7, None, 0.7, None, 0.6]
    assert ended(Patience(3), rows("accuracy", values), Seen()) == (
        6,
        "accuracy has not improved for 4 rounds; best 70.0 % in round 2",
    )


def test_a_small_step_is_no_better_one() -> None:
    # Each is 0.01 better than the last; with 0.025 the third counts again, 0.53 > 0.5 + 0.025.
    values: list[float | None] = [0.5, 0.51, 0.52, 0.53, 0.54, 0.55]
    assert ended(Patience(3), rows("accuracy", values), Seen()) is None
    assert ended(Patience(3, min_delta=0.025), rows("accuracy", values), Seen()) is None
    found = ended(Patience(3, min_delta=0.1), rows("accuracy", values), Seen())
    assert found == (4, "accuracy has not improved by more than 0.1 for 3 rounds; best 50.0 % in round 1")


def test_lower_is_better_where_the_score_says_so() -> None:
    values: list[float | None] = [0.5, 0.4, 0.45, 0.6]
    assert ended(Patience(2), rows("rmse", values), Seen(RMSE)) == (
        4,
        "RMSE has not improved for 2 rounds; best 0.4 in round 2",
    )
    assert ended(Target(0.42), rows("rmse", values), Seen(RMSE)) == (2, "RMSE is 0.4, the target was 0.42")
    assert ended(Target(0.3), rows("rmse", values), Seen(RMSE)) is None


def test_the_validation_score_counts_where_there_is_one() -> None:
    both: list[dict[str, object]] = [
        {"round": 1, "accuracy": 0.9, "val_accuracy": 0.5},
        {"round": 2, "accuracy": 0.8, "val_accuracy": 0.7},
    ]
    assert ended(Target(0.7), both, Seen(validation=True)) == (
        2,
        "validation accuracy is 70.0 %, the target was 70.0 %",
    )
    assert ended(Target(0.7), both, Seen()) == (1, "accuracy is 90.0 %, the target was 70.0 %")


def test_partial_rounds_do_not_count() -> None:
    some: list[dict[str, object]] = [
        {"round": 1, "accuracy": 0.9, "partial": True},
        {"round": 2, "accuracy": 0.6},
    ]
    assert ended(Target(0.8), some, Seen()) is None


def test_time_is_that_of_all_rounds_and_ends_a_run_at_a_test() -> None:
    # Ten seconds a round: 25 are over after round 3, and the next test is in round 4.
    values: list[float | None] = [None, 0.1, None, 0.2, None, 0.3]
    assert ended(TimeLimit(25.0), rows("accuracy", values), Seen()) == (
        4,
        "the rounds took 0:40, the limit was 0:25",
    )


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (None, ()),
        ("never", ()),
        ("score:patience=20", (Patience(20),)),
        ("score:20", (Patience(20),)),
        ("score:patience=20:min_delta=0.001", (Patience(20, 0.001),)),
        ("score:patience=20,min_delta=0.001", (Patience(20, 0.001),)),
        ("score:patience=5,target:0.9", (Patience(5), Target(0.9))),
        ("target:0.9+time:2h", (Target(0.9), TimeLimit(7200.0))),
        ("time:90", (TimeLimit(90.0),)),
        ("time:1h1m1.5s", (TimeLimit(3661.5),)),
    ],
)
def test_rules_are_read(text: str | None, rules: tuple[Rule, ...]) -> None:
    assert parse_stop(text) == rules


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("patience:20", "unknown rule of stop 'patience'"),
        ("score", "rule of stop 'score' needs 'patience': write score:patience=..."),
        ("score:patience=0", "patience=0 is not possible: it must be at least 1"),
        ("score:patience=3:min_delta=-1", "min_delta=-1.0 is not possible: it must be at least 0"),
        ("score:patients=3", "did you mean 'patience'"),
        ("target:90", "stop=target:90 is not possible: accuracy lies between 0 and 1, as in 0.9"),
        ("target", "needs 'value': write target:value=..."),
        ("time:soon", "stop=time:soon is not possible: write a time such as 30m, 1h30m or 90s"),
        ("time:0", "stop=time:0 is not possible"),
        ("", "does not start with a name"),
    ],
)
def test_what_is_no_rule_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_stop(text)
    assert sentence in str(error.value)


def test_a_target_of_a_score_that_is_no_share_may_be_anything() -> None:
    assert parse_stop("target:12.5", RMSE) == (Target(12.5),)


def test_time_runs_out_also_where_samples_cannot_tell_the_score() -> None:
    # An AUC needs both classes: records of tested rounds hold null. Rounds of 10 s each; round 1 is not tested.
    untold: list[dict[str, object]] = [{"round": 1}, {"round": 2, "auc": None}]
    seen = Seen(Score("auc"))
    assert ended(TimeLimit(15.0), untold, seen) == (2, "the rounds took 0:20, the limit was 0:15")
    assert not seen.values
