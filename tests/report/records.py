"""Run folders for tests of the report: real small ones, and a synthetic one of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from shoal.loop.history import History, summarise
from shoal.loop.similarity import pack
from shoal.scores import score_of

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x>',
    "<b>bold</b> & @ink %{x}",
    "</script><script>alert(2)</script>",
)


def synthetic(path: Path, clients: int, rounds: int, groups: int = 5, drift: int = 3, seed: int = 0) -> Path:
    """A folder as a run of so many clients and rounds would leave it; some clients change groups in every round."""
    rng = np.random.default_rng(seed)
    ids = [f"client-{i:05d}" for i in range(clients)]
    truth = np.arange(clients) % groups
    group, total = truth.copy(), rng.integers(20, 60, clients)
    path.mkdir(parents=True)
    config = f'format = 1\nalgorithm = "flexcfl"\ndata = "synthetic"\nmodel = "mclr"\nrounds = {rounds}\nseed = 0\n'
    (path / "config.toml").write_text(config + "\n[flexcfl]\ngroups = 5\n")
    (path / "environment.json").write_text(json.dumps({"shoal": "0", "command": ["shoal", "run", "flexcfl"]}))
    events: list[dict[str, Any]] = []
    with open(path / "records.jsonl", "w") as file:
        for t in range(rounds + 1):
            row: dict[str, Any] = {"round": t, "traffic": traffic(t), "left_out": 0, "time": {"round": 0.1}}
            moved = rng.choice(clients, drift if t else 0, replace=False)
            group[moved] = (group[moved] + 1) % groups
            events += [{"round": t, "kind": "migrated", "client": ids[i], "from": 0, "to": 1} for i in moved]
            sizes = np.bincount(group, minlength=groups)
            row |= {"groups": groups, "group_size": sizes.tolist(), "ari": 0.9, "nmi": 0.8}
            row["members"] = {"group": group.tolist()} | ({"ids": ids, "truth": truth.tolist()} if t == 0 else {})
            if t:
                right = np.minimum(total, (total * (0.5 + 0.4 * t / rounds) + rng.integers(-5, 6, clients)).astype(int))
                share = float(right.sum() / total.sum())
                by_group = [float(right[group == k].sum() / total[group == k].sum()) for k in range(groups)]
                row |= {"trained": clients, "loss": 2.0 / t, "discrepancy": 1.0 / t, "partial": False}
                row |= {"accuracy": share, "f1": share, "worst": share / 2, "test_loss": 2.0 / t}
                row |= {"group_accuracy": by_group, "group_f1": by_group, "group_loss": by_group}
                row["labels"] = {"samples": rng.integers(0, 99, (groups, 10)).tolist()}
                row["clients"] = {"right": right.tolist()} | ({"ids": ids, "total": total.tolist()} if t == 1 else {})
            if t % 2 == 0:
                row["likeness"] = likeness(ids[:200], group[:200], truth[:200], clients, rng)
            file.write(json.dumps(row) + "\n")
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    return path


def traffic(t: int) -> dict[str, Any]:
    each = {"down": 100, "up": 100, "bytes_down": 400_000, "bytes_up": 400_000, "forward": 10, "backward": 10}
    return {"train": each} if t else {}


def likeness(ids: list[str], group: Any, truth: Any, of: int, rng: np.random.Generator) -> dict[str, Any]:
    n = len(ids)
    raw = rng.uniform(-1, 1, (n, n))
    x, y = (rng.normal(size=n).round(4).tolist() for _ in range(2))
    found: dict[str, Any] = {"what": "updates", "measure": "cosine", "of": of, "ids": ids, "x": x, "y": y}
    found |= {"share": [0.5, 0.2], "scale": 1.0, "group": group.tolist(), "truth": truth.tolist()}
    return {**found, "pairs": pack((raw + raw.T) / 2)}


def regression(path: Path, values: Sequence[float], algorithm: str = "ifca", seed: int = 0, **settings: Any) -> Path:
    """A complete run folder whose score is RMSE, so that less is better; MAE is half, an own metric thrice of it.

    Four clients in two groups; those of group 0 have 0.9, those of group 1 1.1 times the value of a round.
    """
    ids, total, group = [f"c{i}" for i in range(4)], [10, 10, 10, 10], [0, 0, 1, 1]
    config: dict[str, Any] = {"format": 1, "algorithm": algorithm, "data": "own", "model": "mlp", "seed": seed}
    config |= {"rounds": len(values), "score": "rmse", "score_better": "lower", "score_percent": False}
    config |= {"metrics": "mae,own.py:odd", "task": "regression", **settings}
    rows: list[dict[str, Any]] = [{"round": 0, "traffic": {}, "left_out": 0, "groups": 2, "time": {"round": 0.1}}]
    for t, value in enumerate(values, 1):
        by_group = [0.9 * value, 1.1 * value]
        row: dict[str, Any] = {"round": t, "traffic": traffic(t), "left_out": 0, "time": {"round": 0.1}}
        row |= {"trained": 4, "loss": value**2, "test_loss": value**2, "partial": False, "worst": 1.1 * value}
        row |= {"rmse": value, "mae": value / 2, "odd": 3 * value, "val_rmse": value, "groups": 2, "group_size": [2, 2]}
        row |= {"group_rmse": by_group, "group_mae": [v / 2 for v in by_group], "group_loss": [v**2 for v in by_group]}
        row["members"] = {"ids": ids, "group": group}
        of_clients = [by_group[k] for k in group]
        row["clients"] = {"ids": ids, "total": total, "rmse": of_clients}
        row["clients"] |= {"mae": [v / 2 for v in of_clients], "odd": [3 * v for v in of_clients]}
        rows.append(row)
    path.mkdir(parents=True)
    (path / "config.toml").write_text(tomli_w.dumps(config))
    (path / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "events.jsonl").write_text("")
    (path / "summary.json").write_text(json.dumps(summarise(History(rows, score_of(config)))))
    return path
