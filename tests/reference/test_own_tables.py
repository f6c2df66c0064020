"""A hospital table with gaps and words, and a folder of images, each in at most 15 lines of a user's code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import shoal
from shoal import Federation, Run

HOSPITALS, ROWS = 12, 300


def hospitals(path: Path) -> None:
    """9 % of the patients are ill. In one half of the hospitals a high marker and smoking raise the risk, in the other
    they lower it; a tenth of the cells is empty."""
    rng = np.random.default_rng(3)
    frames = []
    for h in range(HOSPITALS):
        sign = 1 if h < HOSPITALS // 2 else -1
        age, marker = rng.normal(60, 12, ROWS), rng.lognormal(3, 0.5, ROWS)
        smoker = rng.choice(["yes", "no", "former"], ROWS).astype(object)
        risk = sign * (5 * (np.log(marker) - 3) + 1.5 * (smoker == "yes")) + 0.03 * (age - 60)
        ill = risk + rng.logistic(size=ROWS) > np.quantile(risk + rng.logistic(size=ROWS), 0.91)
        for column in (age, marker, smoker):
            column[rng.random(ROWS) < 0.1] = np.nan
        ward = {"hospital": f"h{h:02d}", "age": age, "marker": marker, "smoker": smoker}
        frames.append(pd.DataFrame({**ward, "ill": np.where(ill, "yes", "no")}))
    pd.concat(frames).to_csv(path, index=False)


def user_of_a_table(path: Path) -> tuple[Federation, Run, Any]:
    fed = Federation.from_table(
        path, client="hospital", label="ill", impute="median", encode="one-hot", standardise=True, indicator=True
    )
    run = shoal.run("flexcfl", fed, groups=2, rounds=20, lr=0.1, score="auc", class_weights="balanced", engine="serial")
    new = pd.DataFrame({"age": [71, None], "marker": [55.0, 8.0], "smoker": ["yes", "cigars"]})
    return fed, run, [run.predict_proba(hospital, new)[:, 1] for hospital in ("h00", "h11")]


def pictures(folder: Path) -> None:
    """Bright and dark squares; one half of the clients calls the bright ones cats, the other half dogs."""
    rng = np.random.default_rng(0)
    for c in range(8):
        for i in range(40):
            bright = i % 2
            pixels = np.clip(rng.normal(70 + 110 * bright, 30, (6, 6)), 0, 255).astype(np.uint8)
            place = folder / f"camera{c}" / ("cat" if bright == (c < 4) else "dog")
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(place / f"{i}.png")


def user_of_images(folder: Path) -> tuple[Federation, Run]:
    fed = Federation.from_images(folder, size=8, grey=True, test=0.2)
    run = shoal.run("flexcfl", fed, groups=2, rounds=15, lr=0.1, engine="serial")
    return fed, run


def halves(run: Run) -> set[tuple[int, ...]]:
    """The groups of the first and of the second half of the clients."""
    groups = [run.groups[client] for client in run.clients]
    half = len(groups) // 2
    return {tuple(sorted({*groups[:half]})), tuple(sorted({*groups[half:]}))}


@pytest.mark.parametrize("user", [user_of_a_table, user_of_images])
def test_it_is_little_code(user: Callable[[Path], Any]) -> None:
    assert len(inspect.getsource(user).splitlines()) <= 15


def test_a_hospital_table_finds_its_populations(tmp_path: Path) -> None:
    hospitals(tmp_path / "visits.csv")
    fed, run, (one, other) = user_of_a_table(tmp_path / "visits.csv")
    assert 0.08 < fed.y.mean() < 0.1 and fed.class_names == ("no", "yes")
    assert fed.preprocess is not None and "smoker=former" in fed.preprocess.inputs
    assert halves(run) == {(0,), (1,)}
    assert one[0] > 0.5 > one[1], "here a high marker and smoking are bad"
    assert other[0] < 0.5 < other[1], "and there they are good"
    one_for_all = shoal.run("fedavg", fed, rounds=20, lr=0.1, score="auc", class_weights="balanced", engine="serial")
    assert run.summary["best_auc"] > 0.85 > one_for_all.summary["best_auc"] + 0.1


def test_a_folder_of_images_finds_its_populations(tmp_path: Path) -> None:
    pictures(tmp_path)
    fed, run = user_of_images(tmp_path)
    assert fed.class_names == ("cat", "dog") and fed.shape == (1, 8, 8)
    assert halves(run) == {(0,), (1,)}
    assert run.summary["best_accuracy"] > 0.9
    bright = np.full((1, 1, 8, 8), 190, np.uint8)
    assert run.predict("camera0", bright).tolist() == [0] and run.predict("camera7", bright).tolist() == [1]
