"""What `auto` decides, from evidence made by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from shoal.errors import BadInput
from shoal.experiment.automatic import decide
from shoal.experiment.evidence import Evidence, Trial, label_distance, lead
from shoal.metrics import auc

CLIENTS, EACH = 10, 100
GROUPED = {"groups": 4, "cold_start": "eager"}


def trial(name: str, percent: int, own: Mapping[str, Any] | None = None, shifts: Sequence[int] = ()) -> Trial:
    """Ten clients with a hundred validation samples each, all equally right but for shifts of the first ones."""
    right = [percent + (shifts[i] if i < len(shifts) else 0) for i in range(CLIENTS)]
    return Trial(name, own or {}, right, [EACH] * CLIENTS)


def evidence(*trials: Trial, groups: int = 4, labels: tuple[float, float] = (0.1, 0.1), **more: Any) -> Evidence:
    base = {"clients": CLIENTS, "samples": 5000, "asked": CLIENTS, "rounds": 25}
    return Evidence(groups=groups, labels=labels, trials=trials, **{**base, **more})


def test_groups_are_taken_when_one_model_cannot_serve_all() -> None:
    found = decide(
        evidence(
            trial("fedavg", 35),
            trial("flexcfl", 91, GROUPED),
            trial("wecfl", 90, {"groups": 4}),
            trial("local", 80),
            silhouette={3: 0.5, 4: 0.74, 5: 0.59},
        )
    )
    assert (found.algorithm, found.own) == ("flexcfl", GROUPED)
    assert found.sentences == (
        "The federation has 10 clients with 5,000 training samples; all take part in every round, and nothing drifts.",
        "The directions in which clients learn show 4 groups with a silhouette of 0.74 of 1 (the next best, 5, has "
        "0.59).",
        "Clients hold the same classes (label shares 0.10 from the whole's, 0.10 by chance alone), yet in the trials "
        "one model for all served them less well: their inputs look different or mean different things, or one model "
        "needs more rounds.",
        "After 25 rounds each, of 1,000 training samples set aside, fedavg got 35.0 % right, flexcfl groups=4 91.0 %, "
        "wecfl groups=4 90.0 % and local 80.0 %.",
        "So flexcfl groups=4 is run (1.0 points ahead of wecfl groups=4): a model per group, and newcomers join the "
        "group they learn like; to see more, write fedavg flexcfl wecfl local groups=4 seed=0,1,2 in place of auto.",
    )


def test_one_model_is_taken_when_it_does_as_well() -> None:
    found = decide(evidence(trial("fedavg", 90), trial("flexcfl", 91, GROUPED), trial("local", 80)))
    assert found.algorithm == "fedavg"
    assert "one model served them as well as any other" in found.sentences[2]
    assert "flexcfl groups=4 was 1.0 points ahead, which is within one point, and of equals" in found.sentences[4]


def test_more_than_a_point_is_a_lead_if_clients_agree_on_it() -> None:
    assert decide(evidence(trial("fedavg", 88), trial("flexcfl", 90, GROUPED))).algorithm == "flexcfl"


def test_more_than_a_point_is_no_lead_if_it_hangs_on_one_client() -> None:
    # D = 20 / 1000 = 0.02; residuals 20 - 2 = 18 and nine times -2: their squares sum to 324 + 36 = 360;
    # sqrt(10 / 9 * 360) / 1000 = 0.02, so the lead is just within the error.
    one, groups = trial("fedavg", 80), trial("flexcfl", 80, GROUPED, shifts=[20])
    assert lead(groups, one) == pytest.approx((0.02, 0.02))
    found = decide(evidence(one, groups))
    assert found.algorithm == "fedavg"
    assert "2.0 points ahead, which is within a standard error, 2.0," in found.sentences[4]


def test_own_models_win_only_over_groups_that_are_clearly_worse() -> None:
    assert decide(evidence(trial("fedavg", 50), trial("flexcfl", 90, GROUPED), trial("local", 91))).algorithm != "local"
    found = decide(evidence(trial("fedavg", 50), trial("flexcfl", 80, GROUPED), trial("local", 91)))
    assert found.algorithm == "local"
    assert "needs no federation" in found.sentences[4]


def test_without_groups_the_next_step_is_to_try_some() -> None:
    found = decide(evidence(trial("fedavg", 50), trial("local", 91), groups=1, silhouette={2: 0.12, 3: 0.05}))
    assert found.sentences[1] == (
        "The directions in which clients learn show no groups: the clearest would be 2, with a silhouette of 0.12."
    )
    assert "write fedavg local wecfl groups=5 seed=0,1,2 in place of auto" in found.sentences[4]
    assert "groups=" not in decide(evidence(trial("fedavg", 91), trial("local", 50), groups=1)).sentences[4]


@pytest.mark.parametrize(
    ("fedavg", "end"), [(90, "as well as any other."), (50, "less well on the classes they hold.")]
)
def test_different_classes_are_told_from_chance(fedavg: int, end: str) -> None:
    found = decide(evidence(trial("fedavg", fedavg), trial("local", 90), labels=(0.7, 0.14)))
    assert found.sentences[2].startswith("Clients hold different classes (label shares 0.70 from")
    assert found.sentences[2].endswith(end)
    assert "the same classes" in decide(evidence(trial("fedavg", 90), labels=(0.27, 0.14))).sentences[2]


def test_drift_and_few_in_a_round_are_said() -> None:
    found = decide(evidence(trial("fedavg", 90), asked=3, drift="swap-all:0.05"))
    assert found.sentences[0].endswith("; 3 of them take part in a round, and data drift (swap-all:0.05).")


def test_what_could_not_be_tried_is_said_and_not_taken() -> None:
    lacking = Trial("local", {}, problem="it had a model for 3 of 10 clients only")
    found = decide(evidence(trial("fedavg", 20), lacking, groups=0))
    assert found.algorithm == "fedavg"
    assert "; local was left out because it had a model for 3 of 10 clients only." in found.sentences[3]
    assert "nothing else could be tried" in found.sentences[4]
    assert "the trial that does so was not possible" in found.sentences[1]
    assert "nothing but one model for all could be tried" in found.sentences[2]
    with pytest.raises(BadInput, match="nothing to choose from: it had a model for 3"):
        decide(evidence(lacking))


def test_a_single_client_and_two() -> None:
    alone = Trial("fedavg", {}, [9], [10])
    found = decide(evidence(alone, clients=1, asked=1, groups=0))
    assert found.sentences[0] == ("The federation is a single client with 5,000 training samples, and nothing drifts.")
    assert found.sentences[2] == "There is nobody to differ from."
    assert "that takes three clients" in decide(evidence(alone, clients=2, groups=0)).sentences[1]


def test_every_sentence_is_an_event_with_its_figures() -> None:
    notes = decide(evidence(trial("fedavg", 80), trial("local", 90), silhouette={4: 0.5})).notes
    assert [note["about"] for note in notes] == ["federation", "groups", "difference", "contest", "choice"]
    assert {note["kind"] for note in notes} == {"decision"}
    assert notes[1]["silhouette"] == {"4": 0.5}
    assert notes[3]["accuracy"] == {"fedavg": 0.8, "local": 0.9}
    assert (notes[4]["algorithm"], notes[4]["own"], notes[4]["behind"]) == ("local", {}, 0.0)


def test_the_distance_of_labels_by_hand() -> None:
    # the whole has shares 0.5, 0.5; the first client's 0.8, 0.2 lie 0.3 away, the second's 0.2, 0.8 as well;
    # by chance two classes at n = 100: 2 sqrt(2 * 0.25 / (100 pi)) / 2 = sqrt(0.005 / pi)
    distance, chance = label_distance(np.array([[80, 20], [20, 80], [0, 0]]))
    assert distance == pytest.approx(0.3)
    assert chance == pytest.approx(math.sqrt(0.005 / math.pi))
    assert label_distance(np.zeros((2, 3), int)) == (0.0, 0.0)


def test_chance_is_what_random_labels_give() -> None:
    rng = np.random.default_rng(0)
    distance, chance = label_distance(rng.multinomial(80, [0.1] * 10, size=2000))
    assert distance == pytest.approx(chance, rel=0.03)


def test_the_error_of_a_lead_is_over_the_clients_without_whom_the_score_is_known() -> None:
    # AUC of one ranking, bins low and high. Only client 0 has hits: without it there is no AUC, and it is left out.
    def ranked(name: str, misses: list[list[int]]) -> Trial:
        hits = np.array([[[0, 2]], [[0, 0]], [[0, 0]]], float)
        sums = {"hits": hits, "misses": np.array([[[0, 0]], [misses[0]], [misses[1]]], float), "total": np.full(3, 2)}
        return Trial(name, total_N=(2, 2, 2), metric=auc, sums_N=sums)

    # one: AUC 1. other: two misses tie, two lie below: (1 + 1/2) / 2 = 0.75. Without client 1 the difference is 0,
    # without client 2 it is 1/2: sqrt(1/2 (1/16 + 1/16)) = 0.25.
    ahead, error = lead(ranked("one", [[2, 0], [2, 0]]), ranked("other", [[0, 2], [2, 0]]))
    assert (ahead, error) == pytest.approx((0.25, 0.25))
