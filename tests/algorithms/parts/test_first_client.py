"""The first client of each group: one of its members, drawn anew in every round, whoever else is there."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.parts.first_client import first_of_each
from shoal.seeds import Key
from shoal.types import Answers

IDS = tuple(f"c{i}" for i in range(6))
ANSWERS = Answers(
    IDS,
    np.array([0, 1, 0, 1, 0, 3]),
    {"update": np.arange(6.0)[:, None], "count": np.array([5, 1, 2, 7, 3, 4])},
    models_KP=np.zeros((4, 1)),
)


def test_one_answer_of_every_group_with_its_own_fields() -> None:
    one = first_of_each(ANSWERS, Key(0).at(1)("first"))
    assert sorted(one.which_N.tolist()) == [0, 1, 3]
    assert list(one.cohort) == sorted(one.cohort)
    for i, client in enumerate(one.cohort):
        row = IDS.index(client)
        assert one.which_N[i] == ANSWERS.which_N[row]
        assert one["update"][i].tolist() == [float(row)]
        assert one["count"][i] == ANSWERS["count"][row]
    assert one.models_KP is ANSWERS.models_KP


def test_every_member_is_the_first_in_some_round() -> None:
    drawn = {client for t in range(40) for client in first_of_each(ANSWERS, Key(0).at(t)("first")).cohort}
    assert drawn == set(IDS)


def test_who_is_first_does_not_depend_on_other_groups() -> None:
    key = Key(3).at(2)("first")
    rows = [0, 2, 4]
    alone = Answers(tuple(IDS[i] for i in rows), ANSWERS.which_N[rows], {"update": ANSWERS["update"][rows]})
    [mine] = first_of_each(alone, key).cohort
    assert mine in first_of_each(ANSWERS, key).cohort
