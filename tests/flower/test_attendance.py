"""What the server writes down of its sites: who is there, who was late, who was left out, who came and went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import small_net

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.grid import LocalGrid, federation_of

import shoal
from shoal.data.federation import Federation
from shoal.flower.attendance import Attendance
from shoal.flower.records import Site
from shoal.flower.server import Bookkeeping, ServerConfig, play
from shoal.loop.plan import RoundResult
from shoal.store.sites_file import SiteSeen, read_sites

RUN = "fedavg rounds=3 seed=2 selection=all lr=0.1"


def config(out: Path, run: str = RUN, **more: Any) -> ServerConfig:
    given = {"run": run, "out": str(out), "sites": 3, "wait": 0.0, "deadline": 0.2, "poll": 0.0, **more}
    return ServerConfig.of(given)


def sites_of(folder: Path) -> dict[str, SiteSeen]:
    found = read_sites(folder)
    assert found is not None
    return {site.node: site for site in found.sites}


def after(monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    """Something happens to the sites after a round, before it is written down who is there."""
    told = Bookkeeping.after_round

    def also(self: Bookkeeping, result: RoundResult) -> None:
        told(self, result)
        happens(result.round)

    monkeypatch.setattr(Bookkeeping, "after_round", also)


def named(folder: Path, toy: Federation) -> LocalGrid:
    """Three sites with four clients each; nodes 100, 101 and 102."""
    return federation_of(folder, lambda round: toy, model=small_net, name="a site")[0]


def test_a_site_that_is_late_one_that_leaves_and_one_that_comes(
    toy: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, out = named(tmp_path, toy), tmp_path / "run"
    away = grid.nodes.pop(102)

    def happens(round: int) -> None:
        grid.silent = {101} if round == 0 else set()  # late in round 1
        if round == 1:
            grid.nodes[202] = away  # comes in round 2
        if round == 2:
            del grid.nodes[100]  # has left in round 3

    after(monkeypatch, happens)
    play(grid, config(out, sites=2), small_net)
    found = sites_of(out)
    assert set(found) == {"100", "101", "202"}
    assert {site.name for site in found.values()} == {"a site"}
    assert found["100"].ids == toy.ids[0::3] and found["100"].clients == 4
    there = [(s.state, s.came, s.went) for s in found.values()]
    assert there == [("offline", 0, 3), ("online", 0, -1), ("online", 2, -1)]
    assert [(s.answered, s.late, s.left_out) for s in found.values()] == [(2, 0, 0), (2, 1, 1), (2, 0, 0)]
    assert found["101"].reason == "round 1: late: no answer within 0.2 s" and found["100"].reason == ""
    assert found["100"].seen < found["101"].seen and found["101"].since <= found["101"].seen


def test_a_site_that_is_not_admitted_says_why(toy: Federation, tmp_path: Path) -> None:
    grid, out = named(tmp_path, toy), tmp_path / "run"
    grid.nodes[7] = grid.nodes[100]  # claims the same clients
    play(grid, config(out, "fedavg rounds=1"), small_net)
    refused = sites_of(out)["7"]
    assert (refused.state, refused.clients, refused.answered) == ("not admitted", 0, 0)
    assert "is at another site already" in refused.reason


def test_a_site_that_replaces_another_goes_on_with_its_line(
    toy: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second machine with the same clients is refused for as long as the first one is there."""
    grid, out = named(tmp_path, toy), tmp_path / "run"
    grid.nodes[7] = grid.nodes[100]
    after(monkeypatch, lambda round: grid.nodes.pop(100) if round == 1 else None)
    play(grid, config(out), small_net)
    found = sites_of(out)
    assert set(found) == {"7", "101", "102"}
    new = found["7"]
    assert (new.state, new.came, new.answered, new.reason) == ("online", 2, 3, "")


def test_a_resumed_run_goes_on_with_its_lines(toy: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after round 2 of 3, when the checkpoint of round 2 is there: rounds are counted once."""
    grid, out = named(tmp_path, toy), tmp_path / "run"

    class Killed(BaseException): ...

    def happens(round: int) -> None:
        if round == 2:
            raise Killed

    with monkeypatch.context() as patched:
        after(patched, happens)
        with pytest.raises(Killed):
            play(grid, config(out, RUN + " checkpoint_every=1"), small_net)
    before = sites_of(out)["100"]
    assert before.answered == 2
    grid.nodes = {node + 500: site for node, site in grid.nodes.items()}  # they come back under other numbers
    play(grid, config(out, resume=True), small_net)
    found = sites_of(out)
    assert set(found) == {"600", "601", "602"}
    assert [s.answered for s in found.values()] == [3, 3, 3]
    assert found["600"].since == before.since and found["600"].state == "online"


def test_a_look_tells_who_has_gone_and_is_back_within_a_round() -> None:
    now = [100.0]
    book = Attendance(clock=lambda: now[0])
    book.admit(7, Site({"ann": 12}, {}, (8, 8), "float32", 10, "1.0"))
    book.greet([8])
    assert book.due() and [s.state for s in book.seen.sites] == ["online", "greeted"]
    book.look({7, 8}, {7})
    assert not book.due()
    now[0], book.round = 110.0, 4
    assert book.due()
    book.look(set(), {7})
    (gone,) = book.seen.sites  # who never said who it is leaves no line
    assert (gone.state, gone.went, gone.seen) == ("offline", 4, 100.0)
    book.look({7}, {7})
    assert [(s.state, s.went, s.seen) for s in book.seen.sites] == [("online", -1, 110.0)]


def test_a_simulation_has_no_sites(toy: Federation, tmp_path: Path) -> None:
    shoal.run("fedavg", toy, small_net, rounds=1, engine="serial", out=tmp_path / "run")
    assert read_sites(tmp_path / "run") is None
