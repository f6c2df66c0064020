"""Drift as text."""

from __future__ import annotations

import pytest

from shoal.data.drift import SCENARIOS, Drift, Incremental, Join, Leave, Scenario, SwapAll, SwapPart, parse_drift
from shoal.errors import BadInput


@pytest.mark.parametrize(
    ("text", "scenarios"),
    [
        ("none", ()),
        ("swap-all", (SwapAll(p=0.05),)),
        ("swap-all:0.1", (SwapAll(p=0.1),)),
        ("swap-part:0.05:who=warm", (SwapPart(p=0.05, who="warm"),)),
        ("incremental", (Incremental(start=0.25, every=50, step=0.25),)),
        ("incremental:start=0.5:every=10:step=0.1", (Incremental(start=0.5, every=10, step=0.1),)),
        ("join:0.2@50", (Join(share=0.2, round=50),)),
        ("join:0.2:50", (Join(share=0.2, round=50),)),
        ("join(0.2@50)", (Join(share=0.2, round=50),)),
        ("leave(0.2, round=50)", (Leave(share=0.2, round=50),)),
        ("leave:clients=a+b@50", (Leave(clients="a+b", round=50),)),
        ("leave:clients=a+b:round=50", (Leave(clients="a+b", round=50),)),
        ("leave(clients = a + b, round=50)", (Leave(clients="a + b", round=50),)),
        ("join:clients=007@3", (Join(clients="007", round=3),)),
        ('join:clients="x@5+join"@3', (Join(clients="x@5+join", round=3),)),
        ("swap-all:0.05+join:0.2@50", (SwapAll(p=0.05), Join(share=0.2, round=50))),
        (" swap-all + incremental ", (SwapAll(), Incremental())),
        ("join:clients=a+b@5+leave:0.1@9", (Join(clients="a+b", round=5), Leave(share=0.1, round=9))),
        ("join:round=5:clients=a+b+swap-all:1", (Join(clients="a+b", round=5), SwapAll(p=1.0))),
        ("join(0.2, 5)+swap-all(1)", (Join(share=0.2, round=5), SwapAll(p=1.0))),
    ],
)
def test_parse(text: str, scenarios: tuple[Scenario, ...]) -> None:
    assert parse_drift(text) == Drift(scenarios)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("swap", "unknown drift scenario 'swap'"),
        ("swap-al:0.05", "did you mean 'swap-all'"),
        ("join:0.2@50+swapall:0.05", "unknown drift scenario 'swapall'; did you mean 'swap-all'"),
        ("swap-all:1.5", "p of swap-all must be from 0 to 1, not 1.5"),
        ("swap-part:-0.1", "p of swap-part must be from 0 to 1, not -0.1"),
        ("swap-all:often", "'p' of drift scenario 'swap-all' must be a number, not often"),
        ("swap-all:who=cold", "must be all or warm, not cold"),
        ("swap-all:q=1", "unknown argument of drift scenario 'swap-all' 'q'"),
        ("join:0.2", "needs 'round'"),
        ("join:@50", "is empty"),
        ("join:0.2@soon", "needs 'round'"),
        ("join:1@50", "share of join must lie between 0 and 1, not 1.0"),
        ("leave:0@50", "share of leave must lie between 0 and 1, not 0.0"),
        ("leave:0.1@0", "round of leave must be at least 1, not 0"),
        ("join:round=50", "join needs a share or a list of clients"),
        ("join:0.2@50:clients=a", "join needs a share or a list of clients"),
        ("incremental:0", "start of incremental must be above 0"),
        ("incremental:step=2", "step of incremental must be above 0 and at most 1, not 2.0"),
        ("incremental:every=0", "every of incremental must be at least 1 round, not 0"),
        ("", "does not start with a name"),
        ("swap-all+", "does not start with a name"),
    ],
)
def test_one_sentence_for_what_cannot_be_read(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_drift(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_agree() -> None:
    for name, scenario in SCENARIOS.items():
        assert getattr(scenario, "name") == name  # noqa: B009
