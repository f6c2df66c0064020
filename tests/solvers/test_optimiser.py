"""Optimisers of torch in the one training loop, against torch's own optimiser in a loop written out here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal
from shoal.solvers.optimiser import optimiser_of
from shoal.types import Array

ROUND = Key(0).at(1)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def net() -> Net:
    return Net(Layout.of(model, np.zeros((1, 4)), "float64"))


def samples() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(23, 4)), rng.integers(0, 3, 23), rng.normal(size=6 * 5 + 3 * 7)


def loaded(start_P: Array) -> nn.Module:
    """The module of a flat vector: weights and biases layer by layer."""
    module = model().double()
    torch.nn.utils.vector_to_parameters(torch.tensor(start_P), module.parameters())
    return module


def by_hand(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    x: Array,
    y: Array,
    epochs: int,
    mu: float = 0.0,
    l2: float = 0.0,
    clip: float | None = None,
    schedule: Any = None,
) -> Array:
    """Batches of five in the order given, as anybody would write it; the update."""
    start = [p.detach().clone() for p in module.parameters()]
    for _ in range(epochs):
        for i in range(0, len(y), 5):
            optimiser.zero_grad()
            loss = F.cross_entropy(module(torch.from_numpy(x[i : i + 5])), torch.from_numpy(y[i : i + 5]))
            near = zip(module.parameters(), start, strict=True)
            loss = loss + mu / 2 * sum(((p - a) ** 2).sum() for p, a in near)
            loss = loss + l2 * sum((p**2).sum() for p in module.parameters() if p.dim() > 1)
            loss.backward()  # type: ignore[no-untyped-call]
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
            optimiser.step()
            if schedule is not None:
                schedule.step()
    moved = [(p.detach() - a).reshape(-1) for p, a in zip(module.parameters(), start, strict=True)]
    return torch.cat(moved).numpy()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("adam", torch.optim.Adam),
        ("adam:betas=0.8/0.95:amsgrad=true", lambda p, lr: torch.optim.Adam(p, lr, betas=(0.8, 0.95), amsgrad=True)),
        ("AdamW", torch.optim.AdamW),
        ("adamw:weight_decay=0.3", lambda p, lr: torch.optim.AdamW(p, lr, weight_decay=0.3)),
        ("rmsprop:alpha=0.9", lambda p, lr: torch.optim.RMSprop(p, lr, alpha=0.9)),
        ("sgd:momentum=0.9:nesterov=true", lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, nesterov=True)),
        ("nadam", torch.optim.NAdam),
        ("adagrad", torch.optim.Adagrad),
        ("rprop", torch.optim.Rprop),
        ("adafactor", torch.optim.Adafactor),  # looks at rows and columns of matrices
    ],
)
def test_it_is_what_torch_does(text: str, made: Any) -> None:
    x, y, w = samples()
    solver = SGD(lr=0.05, epochs=3, batch=5, shuffle=False, optimiser=text)
    module = loaded(w)
    expected = by_hand(module, made(module.parameters(), 0.05), x, y, 3)
    np.testing.assert_allclose(solver(net(), w, x, y, ROUND).update_P, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"weight_decay": 0.1},
        {"l2": 0.05},
        {"clip": 0.2},
        {"mu": 0.7},
        {"weight_decay": 0.1, "l2": 0.1, "clip": 0.3, "mu": 0.5},
    ],
)
@pytest.mark.parametrize("text", ["adam", "sgd"])
def test_terms_penalties_and_clipping_come_before_the_step_and_decay_in_it(change: dict[str, float], text: str) -> None:
    x, y, w = samples()
    mu, decay = change.get("mu", 0.0), change.get("weight_decay", 0.0)
    keys: dict[str, Any] = {k: v for k, v in change.items() if k != "mu"}
    solver = SGD(lr=0.05, epochs=2, batch=5, shuffle=False, optimiser=text, **keys).plus(Proximal(mu))
    module = loaded(w)
    kind: Any = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[text]
    optimiser = kind(module.parameters(), 0.05, weight_decay=decay)
    expected = by_hand(module, optimiser, x, y, 2, mu, change.get("l2", 0.0), change.get("clip"))
    np.testing.assert_allclose(solver(net(), w, x, y, ROUND).update_P, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("text", ["adam", "sgd", "sgd:momentum=0.9"])
def test_schedules_are_those_of_torch_over_the_steps_of_the_local_work(text: str) -> None:
    x, y, w = samples()
    module = loaded(w)
    kind: Any = torch.optim.Adam if text == "adam" else torch.optim.SGD
    optimiser = kind(module.parameters(), 0.1, **({"momentum": 0.9} if "mom" in text else {}))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=10)  # 5 batches of 23 samples, twice
    expected = by_hand(module, optimiser, x, y, 2, schedule=schedule)
    work = SGD(lr=0.1, batch=5, shuffle=False, optimiser=text, schedule="cosine")
    for solver in (replace(work, epochs=2), replace(work, steps=10)):
        np.testing.assert_allclose(solver(net(), w, x, y, ROUND).update_P, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("text", ["adam", "nadam", "adagrad", "adafactor", "sgd:momentum=0.9"])
def test_a_state_that_is_kept_goes_on_as_one_optimiser(text: str) -> None:
    x, y, w = samples()
    spec = optimiser_of(text)
    assert spec is not None
    made: Any = spec.kind
    module = loaded(w)
    one = made(module.parameters(), lr=0.05, **spec.arguments)
    kept, place = None, w
    solver = SGD(lr=0.05, batch=5, shuffle=False, optimiser=text, optimiser_memory="kept")
    for _ in range(3):
        expected = by_hand(module, one, x, y, 1)
        got = solver(net(), place, x, y, ROUND, kept)
        np.testing.assert_allclose(got.update_P, expected, rtol=1e-8, atol=1e-12)
        kept, place = got.velocity, place + got.update_P
    assert kept is not None
    assert SGD(optimiser=text)(net(), w, x, y, ROUND).velocity is None


def test_what_is_kept_is_not_changed_afterwards() -> None:
    x, y, w = samples()
    solver = SGD(batch=5, optimiser="adam", optimiser_memory="kept")
    kept: Any = solver(net(), w, x, y, ROUND).velocity
    before = {name: np.array(value) for name, value in kept.items()}
    again = [solver(net(), w, x, y, ROUND, kept).update_P.tobytes() for _ in range(2)]
    assert again[0] == again[1]
    assert all(np.array_equal(before[name], kept[name]) for name in before)


def test_a_state_that_does_not_fit_is_refused() -> None:
    x, y, w = samples()
    solver = SGD(batch=5, optimiser="adam", optimiser_memory="kept")
    kept: Any = solver(net(), w, x, y, ROUND).velocity
    with pytest.raises(ValueError, match=r"kept of its optimiser \(exp_avg\) does not fit the model"):
        solver(net(), w, x, y, ROUND, {**kept, "0 exp_avg": np.zeros(3)})
    with pytest.raises(ValueError, match="what the client kept is no state of optimiser=adam"):
        solver(net(), w, x, y, ROUND, np.zeros(len(w)))


def test_momentum_of_sgd_is_kept_by_either_key() -> None:
    x, y, w = samples()
    solvers = (
        SGD(momentum=0.9, momentum_memory="kept"),
        SGD(momentum=0.9, optimiser_memory="kept"),
    )
    a, b = (s(net(), w, x, y, ROUND).velocity for s in solvers)
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    assert a.tobytes() == b.tobytes()


def test_no_samples_and_no_steps_change_nothing() -> None:
    x, y, w = samples()
    for solver in (SGD(optimiser="adam", steps=0), SGD(optimiser="adam", epochs=0, schedule="cosine")):
        assert not solver(net(), w, x, y, ROUND).update_P.any()


def test_pretraining_steps_as_the_run_does_and_keeps_nothing() -> None:
    solver = SGD(optimiser="adam", optimiser_memory="kept", clip=1.0, schedule="warmup:3", lr_decay=0.5)
    assert solver.pretraining(7) == SGD(optimiser="adam", clip=1.0, schedule="warmup:3", steps=7)


def test_a_solver_shows_what_was_there_always_and_what_is_not_the_default() -> None:
    """The text of an algorithm that was given as an object stands in its run folder, and must stay what it was."""
    assert repr(SGD()) == (
        "SGD(lr=0.03, epochs=1, steps=None, batch=10, momentum=0.0, momentum_memory='reset', weight_decay=0.0, l2=0.0, "
        "lr_decay=1.0, shuffle=True, terms=())"
    )
    assert repr(SGD(optimiser="adam", clip=2.0)).endswith("terms=(), optimiser='adam', clip=2.0)")


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"optimiser": "addam"}, "unknown optimiser 'addam'; did you mean 'adam'"),
        ({"optimiser": "adam:beta=0.9"}, "unknown argument of optimiser 'adam' 'beta'; did you mean 'betas'"),
        ({"optimiser": "adam:betas=2/3"}, "optimiser=adam:betas=2/3 is not possible: Invalid beta"),
        ({"optimiser": "adam:betas=a/b"}, "a/b is not possible: write numbers with slashes between them"),
        ({"optimiser": "adam:0.9"}, "arguments go with their names, adam:KEY=VALUE"),
        ({"optimiser": "adam:lr=0.1"}, "the learning rate has a key of its own, lr=0.1"),
        ({"optimiser": "lbfgs"}, "optimiser=lbfgs is not possible: it evaluates a batch several times in a step"),
        ({"optimiser": "adam", "momentum": 0.9}, "momentum=0.9 belongs to optimiser=sgd; with optimiser=adam leave"),
        ({"optimiser": "rmsprop", "momentum": 0.9}, "use optimiser=rmsprop:momentum=0.9"),
        ({"optimiser": "adam", "momentum_memory": "kept"}, "give optimiser_memory=kept instead of momentum_memory"),
        ({"optimiser": "rprop", "weight_decay": 0.1}, "weight_decay=0.1 is not possible: rprop has none"),
        ({"optimiser": "adam:weight_decay=1", "weight_decay": 0.1}, "weight_decay is given twice"),
        ({"clip": 0.0}, "clip must be above 0, not 0"),
        ({"schedule": "cos"}, "unknown schedule 'cos'; did you mean 'cosine'"),
        ({"schedule": "warmup"}, "give the steps of the warm-up, such as warmup:10"),
        ({"schedule": "cosine:3"}, "cosine takes no arguments"),
    ],
)
def test_what_is_not_possible_is_one_sentence(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        SGD(**keys)
    assert sentence in str(error.value)


def test_an_argument_of_several_numbers_says_how_many() -> None:
    with pytest.raises(BadInput, match=r"betas takes 2 numbers, betas=0.9/0.999"):
        SGD(optimiser="adam:betas=3")
