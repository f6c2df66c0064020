"""A model that left: a module with its preprocessing inside, made of one file, without data and without a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from shoal.data.columns import is_rows
from shoal.data.preprocess import encode
from shoal.data.signature import Signature
from shoal.data.spec import parse
from shoal.errors import BadInput, ShoalError, unknown
from shoal.layout import ModelFactory, call, factory_of, seeded
from shoal.models import MODELS, factory
from shoal.objectives import Objective
from shoal.store.models import ABOUT
from shoal.tree import Tree, batch, tree_map
from shoal.types import Array

__all__ = ["ExportedModel", "load_model"]


class ExportedModel(nn.Module):
    """A trained model that takes raw inputs: images as bytes, rows of a table as the numbers that `prepare` makes.

    Images may also be floats that are ready for the model, as `run.predict` takes them.

    Args:
        module: The model as it was trained.
        signature: What it takes and says.
        about: What its file says of it: `model`, `algorithm`, `group`, `clients`, `score`, `version`.
        client: Whose values prepare a table, if every client has its own; None: those of everybody.

    >>> signature = Signature((2,), "float32", 2, ("no", "yes"))
    >>> model = ExportedModel(nn.Linear(2, 2), signature, {})
    >>> model.predict_proba(np.zeros((3, 2))).shape, model.class_names
    ((3, 2), ('no', 'yes'))
    """

    fill: torch.Tensor
    shift: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self, module: nn.Module, signature: Signature, about: Mapping[str, Any], client: str | None = None
    ) -> None:
        super().__init__()
        self.module, self.signature, self.about = module, signature, dict(about)
        self.dtype = next(module.parameters()).dtype
        if signature.preprocess is not None:
            values: Any = dict(zip(("fill", "shift", "scale"), signature.preprocess.values(client), strict=True))
        else:
            inputs = signature.inputs
            values = {} if inputs.shift is None else {"shift": inputs.shift, "scale": inputs.scale}
        precision = torch.float64 if signature.preprocess is not None else self.dtype
        for name, value in values.items():
            self.register_buffer(name, torch.as_tensor(np.asarray(value), dtype=precision))
        self.eval()

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the classes are called, if the data said so."""
        return self.signature.class_names

    def prepare(self, rows: Any) -> torch.Tensor:
        """Rows of a table as the numbers that the model takes: nan for gaps, categories by number.

        Args:
            rows: A data frame, a mapping of columns or a list of mappings.

        Returns:
            B x D, a number per column.
        """
        if self.signature.preprocess is None:
            raise BadInput("the model was not trained on a table; give it its inputs as an array")
        return torch.from_numpy(self.signature.preprocess.raw(rows))

    def inputs(self, x: torch.Tensor) -> torch.Tensor:
        """Raw inputs as the trained module takes them."""
        table = self.signature.preprocess
        if table is not None:
            x = encode(torch, table.columns, x.to(torch.float64), self.fill, self.shift, self.scale)
        elif self.signature.inputs.shift is not None and self._is_stored(x):
            x = (x.to(self.dtype) - self.shift) / self.scale
        return x.to(self.dtype) if x.is_floating_point() else x.to(torch.int64)

    def _is_stored(self, x: torch.Tensor) -> bool:
        """Whether samples are bytes, as the data had them; floats are ready for the model, as for `run.predict`."""
        return x.dtype == torch.uint8 or not (self.several or x.is_floating_point())

    def forward(self, *x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        """Outputs of the model, such as log-odds, of which `predict_proba` makes probabilities."""
        return call(self.module, tree_map(self.inputs, named or (x[0] if len(x) == 1 and not self.several else x)))

    @property
    def several(self) -> bool:
        """Whether inputs are several arrays, or a batch of sequences."""
        return isinstance(self.signature.shape, dict) or self.signature.collate is not None

    @property
    def task(self) -> Objective:
        """What outputs mean; a sentence where only code of the user's own knows."""
        targets = self.about.get("targets", "classes")
        if targets is None:
            raise BadInput("what outputs of this model mean is said by its user's own task; take them as model(x)")
        return Objective(targets=targets)

    @torch.no_grad()
    def predict_proba(self, x: Any) -> Array:
        """The probability of every class, or of every label.

        Args:
            x: Raw inputs, an array or a tensor; of a table also rows as they are.

        Returns:
            B x C probabilities.
        """
        if self.task.targets == "floats":
            raise BadInput("the model predicts numbers, not probabilities; use model.predict")
        return np.asarray(meant(call(self, self._raw(x)), self.task).cpu().numpy().astype(np.float64))

    @torch.no_grad()
    def predict(self, x: Any) -> Array:
        """Classes by number, or whatever the model was trained to predict.

        Args:
            x: As for `predict_proba`.

        Returns:
            B predictions.
        """
        return self.task.predicted(np.asarray(meant(call(self, self._raw(x)), self.task).cpu().numpy()))

    def _raw(self, x: Any) -> Tree:
        if self.several:
            return tree_map(torch.as_tensor, batch(self.signature.stored(x)))
        return self.prepare(x) if self.signature.preprocess is not None and is_rows(x) else torch.as_tensor(x)


def meant(outputs: torch.Tensor, task: Objective) -> torch.Tensor:
    """What outputs mean: probabilities of classes or labels, or values.

    >>> one, two = torch.tensor([[0.0]]), torch.tensor([[0.0, 0.0]])
    >>> meant(one, Objective(targets="classes")).tolist(), meant(two, Objective(targets="classes")).tolist()
    ([[0.5, 0.5]], [[0.5, 0.5]])
    """
    return task.says(outputs).exp() if task.decides else task.says(outputs)


def load_model(file: str | Path, model: ModelFactory | None = None, client: str | None = None) -> ExportedModel:
    """A model of a file that `run.export` wrote, or of `models/` in a run folder; neither data nor run are needed.

    Args:
        file: `group_0.safetensors`, for instance.
        model: What makes the module, if it was made by code of your own; named models need none.
        client: Whose values prepare rows of a table, if every client has its own (`fit="client"`).

    Returns:
        A module in evaluation mode that takes raw inputs.

    >>> import shoal, tempfile
    >>> run = shoal.run("fedavg", "digits", "mlp:hidden=8", rounds=1, engine="serial")
    >>> out = run.export(tempfile.mkdtemp())
    >>> model = shoal.load_model(out / "group_0.safetensors")
    >>> model.predict(np.zeros((3, 1, 8, 8), np.uint8)).shape, model.about["model"]
    ((3,), 'mlp:hidden=8')
    """
    path = Path(file).expanduser()
    about, tensors = _read(path)
    signature = Signature.from_json(about["data"])
    known = signature.preprocess.clients if signature.preprocess is not None else ()
    if client is not None and client not in known:
        raise BadInput(f"{path} has no values of its own for client {client!r}; it has them for: {', '.join(known)}")
    if client is None and known:
        raise BadInput(
            f"in {path} every client prepares its table with values of its own; say whose: load_model(file, client=...)"
        )
    module = seeded(factory_of(model) if model is not None else _named(path, about, signature), 0)
    module = module.to(getattr(torch, about["precision"]))
    try:
        module.load_state_dict(tensors)
    except RuntimeError as e:
        raise BadInput(f"the model does not fit the tensors of {path}: {str(e).splitlines()[-1].strip()}") from e
    return ExportedModel(module, signature, about, client)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What a file says of its model, and the tensors."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise BadInput(f"there is no file {path}; run.export(DIR) writes models")
    try:
        with safe_open(path, framework="pt") as opened:
            told = (opened.metadata() or {}).get(ABOUT)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as e:
        raise BadInput(f"{path} cannot be read: {e}") from e
    if told is None:
        raise BadInput(
            f"{path} does not say what its model takes: it is no exported model, or one of an older version; "
            "export it again from its run: shoal.load(RUN).export(DIR)"
        )
    about: dict[str, Any] = json.loads(told)
    return about, tensors


def _named(path: Path, about: Mapping[str, Any], signature: Signature) -> ModelFactory:
    """What makes the module of a file by its name."""
    if about["model"] is None:
        raise ShoalError(
            f"the model of {path} has no name: code of its user's own made it, or its method changed it; give what "
            "makes it: load_model(file, model=...)"
        )
    spec = parse(about["model"])
    if spec.name not in MODELS:
        raise unknown(
            "model", spec.name, MODELS, "Import the file that declares it first, or give what makes it as model=..."
        )
    return factory(spec.name, signature.input_shape, about["outputs"], *spec.args, **spec.kwargs)
