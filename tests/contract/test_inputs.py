"""Whatever kind inputs are of, the same numbers through the same layers end on the same bits, on every back end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import make_toy, small_net
from torch import nn

import shoal
from shoal.backends import Serial, Workers
from shoal.data.federation import Federation
from shoal.data.samples import View
from shoal.errors import BadInput
from shoal.layout import ModelFactory
from shoal.tree import Ragged, Sequences, take
from shoal.types import Array

KEYS: dict[str, Any] = {"rounds": 2, "seed": 2, "kernel": "torch", "val": 0.1}
METHODS: dict[str, dict[str, Any]] = {
    "fedavg": {"momentum": 0.9, "momentum_memory": "kept"},
    "flexcfl": {"groups": 2, "pretrain_steps": 6, "migration": "aligned", "drift": "swap-all:0.3"},
    "cfl": {"split_rounds": "2"},
    "ifca": {"groups": 2, "drift": "incremental"},
    "wecfl": {"groups": 2},
    "fedgsp": {"beta": 3, "alpha": 1, "kappa": 1},
    "fedfusion": {},
    "fedmmd": {},
}


class Join(nn.Module):
    """The features of the small net, of two inputs side by side."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.inner(torch.cat([left, right], 1))
        return out


class Two(nn.Module):
    """The small net with two inputs, and an answer of any kind."""

    def __init__(self, answer: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        whole = small_net()
        self.features = Join(whole.get_submodule("features"))
        self.head = whole.get_submodule("head")
        self.answer = answer

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> Any:
        return self.answer(self.head(self.features(left, right)))


@dataclass(frozen=True)
class Makes:
    answer: str = "tensor"

    def __call__(self) -> nn.Module:
        return Two(ANSWERS[self.answer])


ANSWERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "tensor": lambda scores: scores,
    "record": lambda scores: SimpleNamespace(loss=None, logits=scores),
    "dict": lambda scores: {"loss": None, "logits": scores},
    "tuple": lambda scores: (scores, "hidden states"),
}


def six(samples: list[Array]) -> Array:
    """A batch of samples whose zeros at the end are left out."""
    return np.stack([np.pad(sample, (0, 6 - len(sample))) for sample in samples])


def short_toy() -> Federation:
    """Samples of six numbers, the last of which are zeros, one to four of them."""
    toy = make_toy()
    x = np.array(toy.x)
    for i in range(4):
        x[i::4, 5 - i :] = 0
    return replace(toy, x=x, views=(View(), View(labels=(1, 2, 0))), view=np.arange(len(toy.ids)) // 6)


def of_kind(toy: Federation, kind: str) -> tuple[Federation, ModelFactory]:
    if kind == "array":
        return toy, small_net
    if kind == "sequences":
        rows = [toy.x[i, : 5 - i % 4] for i in range(len(toy.x))]
        return replace(toy, x=Sequences(Ragged.of(rows, np.float32), six)), small_net
    left, right = toy.x[:, :2], toy.x[:, 2:]
    return (
        replace(toy, x=(left, right) if kind == "tuple" else {"right": right, "left": left}),
        Makes({"dict": "record", "tuple": "tuple"}[kind]),
    )


def same(one: shoal.Run, two: shoal.Run) -> None:
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    assert dict(one.groups) == dict(two.groups)
    for a, b in zip(one.history, two.history, strict=True):
        assert {k: v for k, v in a.items() if k != "time"} == {k: v for k, v in b.items() if k != "time"}


@pytest.mark.parametrize("name", METHODS)
def test_inputs_of_all_kinds_end_on_the_bits_of_one_array(name: str) -> None:
    runs = {}
    for kind in ("array", "dict", "tuple", "sequences"):
        federation, model = of_kind(short_toy(), kind)
        runs[kind] = shoal.run(name, federation, model, engine=Serial(), **KEYS, **METHODS[name])
    for kind in ("dict", "tuple", "sequences"):
        same(runs["array"], runs[kind])


def test_worker_processes_end_on_the_bits_of_one() -> None:
    workers = Workers(2)
    try:
        for kind in ("dict", "sequences"):
            federation, model = of_kind(short_toy(), kind)
            one = shoal.run("ifca", federation, model, engine=Serial(), **KEYS, groups=2)
            same(one, shoal.run("ifca", federation, model, engine=workers, **KEYS, groups=2))
    finally:
        workers.close()


def test_large_arrays_of_a_dict_are_shared_with_workers_and_not_copied() -> None:
    from shoal.backends.shared_memory import Publisher

    wide = {"left": np.zeros((70_000, 2)), "right": np.ones((70_000, 4))}
    rows = Ragged(np.zeros(1 << 18), np.array([0, 1 << 18]))
    publisher = Publisher()
    try:
        assert len(publisher.dump("federation", (wide, Sequences(rows)))) < 10_000
        assert len(publisher.blocks) == 3
    finally:
        publisher.close()


@pytest.mark.parametrize("kind", ["dict", "tuple", "sequences"])
def test_sites_end_on_the_bits_of_simulation(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    from tests.flower.grid import federation_of

    from shoal.flower.backend import Flower
    from shoal.flower.federation import LivingSites

    federation, model = of_kind(short_toy(), kind)
    keys = {key: value for key, value in KEYS.items() if key != "val"}
    one = shoal.run("ifca", federation, model, engine=Serial(), **keys, groups=2)
    _, nodes = federation_of(tmp_path, lambda round: federation, model=model)
    two = shoal.run("ifca", LivingSites(nodes), model, engine=Flower(nodes, "a run"), **keys, groups=2)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    assert dict(one.groups) == dict(two.groups)


@pytest.mark.parametrize("kind", ["array", "dict", "tuple", "sequences"])
def test_predictions_and_newcomers(kind: str) -> None:
    toy = short_toy()
    federation, model = of_kind(toy, kind)
    run = shoal.run("ifca", federation, model, engine=Serial(), **KEYS, groups=2)
    plain = shoal.run("ifca", toy, small_net, engine=Serial(), **KEYS, groups=2)
    rows = toy.indices("c03", "test")
    x, y = take(federation.x, rows), toy.y[rows]
    new = {"array": x, "dict": x, "tuple": x, "sequences": list(x) if kind == "sequences" else None}[kind]
    assert run.predict("c03", new).tolist() == plain.predict("c03", toy.x[rows]).tolist()
    assert run.assign(new, y).group == plain.assign(toy.x[rows], y).group


@pytest.mark.parametrize(
    ("kind", "x", "says"),
    [
        ("dict", {"left": np.zeros((1, 2))}, "left: 2, right: 4|right: 4, left: 2"),
        ("dict", np.zeros((1, 6)), "not those of the federation"),
        (
            "dict",
            {"left": np.zeros((1, 3)), "right": np.zeros((1, 4))},
            r"shape \(3,\) each, the federation's have \(2,\)",
        ),
        ("dict", {"left": np.zeros((1, 2)), "right": np.zeros((2, 4))}, "same length"),
        ("dict", {"left": np.zeros((1, 2), int), "right": np.zeros((1, 4))}, "inputs are int64; give them as floats"),
        ("tuple", (np.zeros((1, 2)),), "not those of the federation"),
        ("sequences", [[[1.0]]], "sequences of shape any length each"),
        ("sequences", [[1], [2, 3]], "inputs are int64, not float32"),
    ],
)
def test_other_inputs_are_refused_in_a_sentence(kind: str, x: Any, says: str) -> None:
    federation, model = of_kind(short_toy(), kind)
    run = shoal.run("fedavg", federation, model, engine=Serial(), **KEYS)
    with pytest.raises(BadInput, match=says):
        run.predict("c00", x)


def test_what_is_for_one_array_refuses_others_in_a_sentence() -> None:
    toy = short_toy()
    federation, model = of_kind(toy, "dict")
    with pytest.raises(BadInput, match="kernel=native is not possible: it takes one array"):
        shoal.run("fedavg", federation, model, rounds=1, kernel="native")
    with pytest.raises(BadInput, match=r"'mlp' takes one array of samples, not several \(right: 4, left: 2\)"):
        shoal.run("fedavg", federation, "mlp", rounds=1)
    with pytest.raises(BadInput, match="inputs of several arrays or of sequences cannot turn"):
        replace(federation, views=(View(turns=1),), view=None)
    with pytest.raises(BadInput, match="cannot take an input of shape right: 4, left: 2"):
        shoal.run("fedavg", federation, small_net, rounds=1)


def test_a_sequence_never_goes_through_the_native_kernel() -> None:
    federation, _ = of_kind(short_toy(), "sequences")
    linear: ModelFactory = lambda: nn.Sequential(OrderedDict(features=nn.Flatten(), head=nn.Linear(6, 3)))  # noqa: E731
    assert shoal.run("fedavg", federation, linear, rounds=1, engine="serial").plan.arithmetic.kernel == "torch"


@pytest.mark.parametrize("answer", ANSWERS)
def test_scores_are_found_in_what_a_module_returns(answer: str) -> None:
    federation, _ = of_kind(short_toy(), "dict")
    run = shoal.run("fedavg", federation, Makes(answer), engine=Serial(), **KEYS)
    plain = shoal.run("fedavg", federation, Makes(), engine=Serial(), **KEYS)
    same(run, plain)


def test_a_run_of_several_inputs_resumes_to_the_same_bits(tmp_path: Path) -> None:
    federation, model = of_kind(short_toy(), "sequences")
    whole = shoal.run("ifca", federation, model, engine=Serial(), **{**KEYS, "rounds": 4}, groups=2)
    shoal.run("ifca", federation, model, engine=Serial(), **KEYS, groups=2, out=tmp_path / "run")
    resumed = shoal.resume(tmp_path / "run", federation=federation, model=model, rounds=4, engine=Serial())
    assert whole.serving.models_KP.tobytes() == resumed.serving.models_KP.tobytes()


@pytest.mark.parametrize("kind", ["dict", "tuple"])
def test_a_run_of_several_inputs_is_loaded_and_exported(kind: str, tmp_path: Path) -> None:
    federation, model = of_kind(short_toy(), kind)
    run = shoal.run("ifca", federation, model, engine=Serial(), **KEYS, groups=2, out=tmp_path / "run")
    rows = federation.indices("c03", "test")
    x = take(federation.x, rows)
    expected = run.predict("c03", x).tolist()
    assert shoal.load(tmp_path / "run", model=model).predict("c03", x).tolist() == expected
    exported = run.export(tmp_path / "out") / f"group_{run.groups['c03']}.safetensors"
    assert shoal.load_model(exported, model=model).predict(x).tolist() == expected
    with pytest.raises(BadInput, match="ONNX files are written of models that take one array"):
        run.export(tmp_path / "onnx", onnx=True)
