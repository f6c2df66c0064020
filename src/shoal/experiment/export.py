"""Models that leave a run: one file each, that says what it takes, ONNX beside it if wanted, and a card about all."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from shoal.data.signature import Signature
from shoal.errors import BadInput, ShoalError
from shoal.experiment.card import card
from shoal.loop.row import client_values
from shoal.objectives import Objective
from shoal.store.exported import ExportedModel, meant
from shoal.store.models import about_of, save_module
from shoal.types import Array

if TYPE_CHECKING:
    from shoal.experiment.result import Run

OPSET = 18  # of ONNX, which runtimes know since 2023


@dataclass(frozen=True)
class Leaving:
    """One model that leaves: the name of its file, its numbers, and what is told of it."""

    name: str
    model_P: Array
    about: Mapping[str, Any]


def export(run: Run, folder: str | Path, onnx: bool = False) -> Path:
    """Write all models of a run.

    Args:
        run: The run.
        folder: Where to; it is made. Files of the same names are replaced.
        onnx: Whether each model is also written for ONNX runtimes.

    Returns:
        The folder.
    """
    out = Path(folder).expanduser()
    leaving = list(models_of(run))
    if not leaving:
        raise ShoalError("the run has no model yet: no client was ever selected; play more rounds")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for model in leaving:
            module = run.plan.layout.module(model.model_P)
            save_module(out / f"{model.name}.safetensors", module, model.about)
            if onnx:
                signature = Signature.from_json(model.about["data"])
                write_onnx(out / f"{model.name}.onnx", ExportedModel(module, signature, model.about))
        text = card(run, {model.name: model.about for model in leaving}, onnx)
        (out / "README.md").write_text(text, encoding="utf-8")
    except OSError as e:
        raise BadInput(f"cannot write to {out}: {e.strerror or e}; choose another folder") from e
    return out


def models_of(run: Run) -> Iterator[Leaving]:
    """The models by the names of their files: of groups, or of clients that have one, or a part, of their own."""
    layout, serving, signature = run.plan.layout, run.serving, run.signature
    about = about_of(layout, signature.to_json(), str(run.config.get("algorithm", "")))
    score = run.history.score
    tested = run.history.tested() or run.history.partial()
    row: Mapping[str, Any] = tested[-1] if tested else {}
    served = serving.served(run.clients)
    if serving.is_own or serving.personal is not None:
        part = row.get("clients", {"ids": (), "total": ()})
        values = dict(zip(part["ids"], client_values(part, score), strict=True))
        for i, (client, model_P) in enumerate(zip(served, serving.each(served, layout), strict=True)):
            told = {"client": client, "clients": 1, "score": {"name": score.name, "value": values.get(client)}}
            yield Leaving(f"client_{i}", model_P, {**about, **told, **_data(signature, [client])})
        return
    which = serving.which(run.clients)
    values = {}  # of models that vote, none is known by itself
    if not serving.votes:
        values = dict(enumerate(row.get(f"group_{score.name}", [row.get(score.name)] * len(serving.models_KP))))
    for k, model_P in enumerate(serving.models_KP):
        members = [c for c, group in zip(run.clients, which, strict=True) if group == k or serving.votes]
        told = {"group": k, "clients": len(members), "score": {"name": score.name, "value": values.get(k)}}
        yield Leaving(f"group_{k}", model_P, {**about, **told, **_data(signature, members)})


def _data(signature: Signature, clients: list[str]) -> dict[str, Any]:
    """The signature with the values of these clients alone, if clients prepare their tables by themselves."""
    if signature.preprocess is None or not signature.preprocess.clients:
        return {}
    return {"data": {**signature.to_json(), "preprocess": signature.preprocess.keep(clients).to_json()}}


class Saying(nn.Module):
    """A model that says probabilities, or values, as an ONNX file holds it."""

    def __init__(self, model: ExportedModel, task: Objective) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return meant(self.model(x), self.task)


def write_onnx(path: Path, model: ExportedModel) -> None:
    """Write a model for ONNX runtimes, its preprocessing inside: raw numbers `x` in, `probabilities` or `values` out.

    The file is tried once: what it says must be what the model says.

    Args:
        path: Of the file.
        model: What is to be written.
    """
    signature = model.signature
    if signature.preprocess is not None and signature.preprocess.clients:
        raise BadInput(
            'ONNX holds one preprocessing, and here every client has its own; make the table with fit="federation", '
            "or export without onnx"
        )
    if isinstance(signature.shape, dict) or isinstance(signature.dtype, dict) or signature.collate is not None:
        raise BadInput("ONNX files are written of models that take one array, and this takes more; export without onnx")
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ModuleNotFoundError as e:
        raise BadInput("to write and try ONNX files three packages are needed: pip install 'shoal[onnx]'") from e
    shape = signature.shape if signature.preprocess is None else (len(signature.preprocess.columns),)
    dtype = signature.dtype if signature.preprocess is None else "float64"
    example = torch.zeros(2, *shape, dtype=getattr(torch, dtype))
    saying = Saying(model, model.task).eval()
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch about itself
            torch.onnx.export(
                saying,
                (example,),
                path,
                input_names=["x"],
                output_names=["values" if model.task.targets == "floats" else "probabilities"],
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
                external_data=False,
            )
    except Exception as e:
        raise ShoalError(
            f"torch cannot write this model as ONNX: {str(e).splitlines()[0] if str(e) else type(e).__name__}; export "
            "it without onnx"
        ) from e
    finally:
        log.setLevel(before)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with torch.no_grad():
        wanted = saying(example).numpy()
    if not np.allclose(session.run(None, {"x": example.numpy()})[0], wanted, atol=1e-4, equal_nan=True):
        path.unlink()
        raise ShoalError("the ONNX file does not say what the model says; export it without onnx")
