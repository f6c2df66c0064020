"""The hooks of an observer, and the name that the one for a round had before."""

from __future__ import annotations

from typing import Any

import pytest

import shoal


def test_the_former_name_of_the_hook_still_works_and_says_what_it_is_called_now() -> None:
    seen: list[int] = []
    with pytest.warns(DeprecationWarning, match="after_round"):

        class Watch(shoal.Observer):
            def moment(self, moment: Any) -> None:
                seen.append(moment.round)

    shoal.run("fedavg", rounds=1, engine="serial", observers=[Watch()])
    assert seen == [0, 1]
