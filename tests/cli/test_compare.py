from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal


@pytest.fixture
def runs(shoal: Shoal, tmp_path: Path) -> Path:
    shoal("run", "fedavg", "local", "seed=0,1", "rounds=2", "engine=serial", "out=runs/s")
    shoal("run", "fedavg", "rounds=2", "seed=2", "engine=serial", "out=runs/one")
    return tmp_path / "runs"


def test_seeds_are_one_line_with_a_spread(shoal: Shoal, runs: Path) -> None:
    text = shoal("compare", "runs").stdout
    fedavg = next(line for line in text.splitlines() if line.startswith("fedavg")).split()
    assert fedavg[1] == "3"
    mean, std = map(float, fedavg[2].split("±"))
    found = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    figure = found[0]["figures"]["best_accuracy"]
    assert (mean, std) == (round(100 * figure["mean"], 1), round(100 * figure["std"], 1))
    assert figure["n"] == 3


def test_columns_without_a_value_are_left_out_and_the_others_explained(shoal: Shoal, runs: Path) -> None:
    text = shoal("compare", "runs").stdout
    assert "at val %" not in text
    assert "rounds to" not in text
    assert "median" not in text
    for head in ("runs", "best %", "F1 %", "worst %", "models", "MB", "time s"):
        assert any(line.startswith(f"{head} ") for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 80
    assert "median %" in shoal("compare", "runs", "--all").stdout


def test_json_has_the_values_of_every_seed(shoal: Shoal, runs: Path) -> None:
    fedavg, local = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    assert sorted(fedavg["seeds"]) == [0, 1, 2]
    assert local["seeds"] == [0, 1]
    for line in (fedavg, local):
        summaries = [json.loads((Path(run) / "summary.json").read_text()) for run in line["runs"]]
        for key in ("best_accuracy", "last_three_f1", "best_test_loss", "last_test_loss"):
            assert line["figures"][key]["values"] == [s[key] for s in summaries]
    assert fedavg["figures"]["rounds_to_target"] is None  # no target, no value


def test_a_seed_that_misses_the_target_has_null(shoal: Shoal, runs: Path) -> None:
    best = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"][0]["figures"]["best_accuracy"]
    words = ("compare", "runs", "--target", str(max(best["values"])), "--format", "json")
    found = json.loads(shoal(*words).stdout)["comparison"][0]["figures"]
    top = best["values"].index(max(best["values"]))
    for key in ("rounds_to_target", "test_loss_at_target", "t_comp_to_target", "t_comm_to_target", "d_comm_to_target"):
        assert [value is not None for value in found[key]["values"]] == [i == top for i in range(3)]


def test_rarer_figures_are_in_csv_and_with_all(shoal: Shoal, runs: Path) -> None:
    text = shoal("compare", "runs", "--all", "--target", "0.01").stdout
    for head in ("best loss", "last loss", "loss at", "T_comm to", "T_comp to", "D_comm to", "last F1 %"):
        assert any(line.startswith(f"{head} ") for line in text.splitlines())
        assert head not in shoal("compare", "runs", "--target", "0.01").stdout
    [fedavg, _] = csv.DictReader(io.StringIO(shoal("compare", "runs", "--target", "0.01", "--format", "csv").stdout))
    assert float(fedavg["t_comm_to_target"]) > 0
    assert float(fedavg["test_loss_at_target"]) > 0


def test_target(shoal: Shoal, runs: Path) -> None:
    assert (
        "rounds to  first round that reaches the target (1.0 %)" in shoal("compare", "runs", "--target", "0.01").stdout
    )
    found = json.loads(shoal("compare", "runs", "--target", "0.01", "--format", "json").stdout)
    assert found["target"] == 0.01
    assert found["comparison"][0]["reached"] == 3


def test_models_that_groups_exchange_have_a_column_of_their_own(shoal: Shoal, runs: Path) -> None:
    assert "MB cloud" not in shoal("compare", "runs").stdout
    end = shoal("run", "fedgroup", "eta_g=0.1", "rounds=2", "engine=serial", "groups=4", "out=runs/between").stdout
    # 4 groups, 2 rounds, 650 numbers of 4 bytes; clients: 20 pre-train, keep 5 vectors and take part twice.
    assert "between groups  0.0 MB" in end
    assert "8 models" in end
    assert f"{2 * 20 + 4 * 20 + 2 * 2 * 20} models down and up" in end
    assert "MB cloud" in shoal("compare", "runs").stdout
    found = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    relayed = {line["name"]: line["figures"]["megabytes_relayed"] for line in found}
    mine = next(name for name in relayed if name.startswith("fedgroup"))
    assert relayed.pop(mine)["mean"] == pytest.approx(4 * 2 * 650 * 4 / 1e6)
    assert set(relayed.values()) == {None}


def test_what_is_not_complete_is_marked(shoal: Shoal, runs: Path) -> None:
    assert "*" not in shoal("compare", "runs").stdout
    (runs / "one/summary.json").unlink()
    text = shoal("compare", "runs").stdout
    assert "fedavg *" in text
    assert "not complete: go on with shoal resume" in text


def test_a_narrow_terminal_gets_the_table_in_pieces(shoal: Shoal, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = shoal("compare", "runs").stdout.splitlines()
    assert sum(line.startswith("setting") for line in lines) > 1
    assert all(len(line) <= 40 for line in lines if line.startswith(("setting", "fedavg", "local")))


def test_differences_in_every_format(shoal: Shoal, runs: Path) -> None:
    text = shoal("compare", "runs", "--differences", "--against", "fedavg").stdout
    assert "against fedavg" in text
    assert "exact sign flips cannot give a p below 0.5" in text  # two seeds are in both
    assert max(map(len, text.splitlines())) <= 80
    words = ("compare", "runs", "--differences", "--against", "fedavg", "--format")
    [found] = json.loads(shoal(*words, "json").stdout)["differences"]
    assert (found["setting"], found["against"], found["n"]) == ("local", "fedavg", [2, 2])
    [row] = list(csv.DictReader(io.StringIO(shoal(*words, "csv").stdout)))
    assert (row["setting"], row["n"], float(row["mean"])) == ("local", "2", found["mean"])
    latex = shoal(*words, "latex").stdout
    assert f"local & {100 * found['mean']:+.2f} & " in latex


def test_csv_holds_the_figures_of_the_json(shoal: Shoal, runs: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(shoal("compare", "runs", "--format", "csv").stdout)))
    found = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    assert [r["setting"] for r in rows] == [line["name"] for line in found]
    best = found[0]["figures"]["best_accuracy"]
    assert [float(rows[0][f"best_accuracy{part}"]) for part in ("", "_std", "_n")] == [best["mean"], best["std"], 3]
    assert rows[0]["rounds_to_target"] == ""


def test_latex_holds_the_table_with_the_best_in_bold(shoal: Shoal, runs: Path) -> None:
    lines = shoal("compare", "runs", "--format", "latex").stdout.splitlines()
    assert lines[:2] == [r"\begin{tabular}{l" + "r" * (lines[2].count("&")) + "}", r"\toprule"]
    assert lines[2].startswith(r"setting & runs & best \% & ")
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    found = json.loads(shoal("compare", "runs", "--format", "json").stdout)["comparison"]
    cells = {row.split(" & ")[0]: row.split(" & ")[2] for row in lines[4:-2]}
    best = max(found, key=lambda line: line["figures"]["best_accuracy"]["mean"])
    figure = best["figures"]["best_accuracy"]
    assert cells[best["name"]] == rf"\textbf{{{100 * figure['mean']:.1f}$\pm${100 * figure['std']:.1f}}}"
    assert sum("textbf" in cell for cell in cells.values()) == 1


def test_columns_and_names_are_chosen_in_every_format(shoal: Shoal, runs: Path) -> None:
    words = ("compare", "runs", "--columns", "groups,best_accuracy", "--names", "One model, Alone")
    text = shoal(*words).stdout.splitlines()
    assert text[0].split() == ["setting", "runs", "models", "best", "%"]
    assert [line.split("  ")[0] for line in text[2:4]] == ["One model", "Alone"]
    found = json.loads(shoal(*words, "--format", "json").stdout)
    assert [line["name"] for line in found["comparison"]] == ["One model", "Alone"]
    assert list(found["comparison"][0]["figures"]) == list(found["figures"]) == ["groups", "best_accuracy"]
    assert found["score"] == {"name": "accuracy", "better": "higher", "percent": True}
    table = list(csv.DictReader(io.StringIO(shoal(*words, "--format", "csv").stdout)))
    assert [row["setting"] for row in table] == ["One model", "Alone"]
    assert "ari" not in table[0] and "best_accuracy_std" in table[0]
    assert r"setting & runs & models & best \%" in shoal(*words, "--format", "latex").stdout
    apart = shoal("compare", "runs", "--differences", "--names", "A,B", "--against", "B", "--format", "json").stdout
    assert [(d["setting"], d["against"]) for d in json.loads(apart)["differences"]] == [("A", "B")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--columns", "best"), "unknown column 'best'"),
        (("--names", "A"), "1 names are given for 2 settings, which are in this order: fedavg; local"),
        (("--names", "A,A"), "two settings cannot both be called 'A'"),
    ],
)
def test_columns_and_names_that_do_not_fit_are_a_sentence(
    shoal: Shoal, runs: Path, words: tuple[str, ...], told: str
) -> None:
    found = shoal("compare", "runs", *words)
    assert found.exit_code == 2
    assert told in found.stderr
