"""What is measured without recipes, and what the pages made of it say."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import RunFolderError
from shoal.recipes.pages import earlier
from shoal.recipes.pages.extra_pages import edc_madc, icg, read_extras
from shoal.recipes.pages.papers_code import lost_ids

ROOT = Path(__file__).parents[3]
EXTRAS = read_extras(ROOT / "results")


def test_icg_does_at_least_what_the_paper_says() -> None:
    """82 % less than single clients, 41 % less than random groups, on three draws of the writers."""
    for seed in range(3):
        found = EXTRAS[f"icg-femnist-seed{seed}"]
        assert (found["clients"], found["classes"]) == (368, 62)
        alone, chance, groups = found["grouping"]
        assert (groups["groups"], groups["clients"]) == (chance["groups"], chance["clients"]) == (52, 7)
        assert groups["median_cpd"] < 0.18 * alone["median_cpd"] and groups["median_cpd"] < 0.59 * chance["median_cpd"]
    assert "| 0 | 10.53 | 1.50 | 0.65 | 93.8 % | 56.7 % | 109.2 | 65.9 |" in icg(EXTRAS)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_what_the_page_says_of_edc_and_madc_holds(name: str) -> None:
    page, found = edc_madc(EXTRAS), EXTRAS[f"edc-madc-{name}"]
    assert len(found["looked_at"]) == 200
    for one in found["models"]:
        assert one["correlation"]["5"] > 0.94
        assert one["contrast"]["l2"] == min(one["contrast"].values())
        assert 7 <= one["groups"] <= 9
    for picture in ("edc-madc", "similarity", "contrast"):
        assert (ROOT / f"docs/results/edc-madc-{name}/{picture}.svg").read_text().startswith("<svg ")
        assert f"edc-madc-{name}/{picture}.svg" in page
    best = found["models"][0]["correlation"]["5"]
    assert f"correlation {best:.3f}" in (ROOT / f"docs/results/edc-madc-{name}/edc-madc.svg").read_text()


def test_earlier_trials_are_told_as_they_were() -> None:
    page = earlier.page(EXTRAS)
    assert "| `cfl` | 51.8 | 50.9 | 4 | 1.00 |" in page and "| `cfl` | 84.1 ± 0.0 | 84.0 ± 0.0 | 4 | 1.00 |" in page
    assert "| `wecfl` | 93.0 | 79.7 | 10 | 1.00 |" in page and "| `fedavg` | 78.6 | 78.4 | 98 | never |" in page
    assert "In 30 of 30 rounds the groups are the planted ones" in page and "moves in 29 of 29" in page
    assert "| `fedadam` | 7.5 | 5.3 | 23.7 | 57.9 | 33.2 |" in page
    for name in ("cfl-cifar10", "cfl-fmnist"):
        for split in EXTRAS[f"earlier-{name}"]["splits"]:
            left, right = ({int(client) // 5 for client in side} for side in split["clients"])
            assert not left & right  # no planted group is cut


def test_positions_cost_where_a_half_is_split_again() -> None:
    table, sentence = lost_ids(EXTRAS)
    assert sentence == (
        "In 5 of 8 runs a cluster is split that is not the whole; positions cost 2.8 to 20.6 points there."
    )
    runs = [run for found in EXTRAS["lost-ids"]["experiments"].values() for run in found["runs"]]
    assert table.count("\n") == 1 + len(runs)
    for run in runs:
        again = len(run["ids"]["splits"]) > 1
        assert (run["positions"]["in_none"] > 0) == again
        assert (run["positions"]["last_three_accuracy"] < run["ids"]["last_three_accuracy"]) == again
    assert lost_ids({}) == []


def test_a_document_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "icg.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"icg\.json cannot be read"):
        read_extras(tmp_path)
