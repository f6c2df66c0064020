"""The models of a finished run as files that other programs read; `shoal.load_model` makes modules of them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from shoal.data.spec import Spec
from shoal.layout import Layout
from shoal.models import Named
from shoal.table import Personal, Serving
from shoal.types import Array
from shoal.version import __version__

ABOUT = "shoal"  # the entry of a file's metadata that says what the tensors are


def save_models(folder: Path, serving: Serving, layout: Layout, about: Mapping[str, Any]) -> None:
    """One file per group with the tensors by name; own models, or own parts, of clients together in one file.

    Args:
        folder: Where to; it is made.
        serving: Which models there are.
        layout: Of the models.
        about: What every file says of its model; see `about_of`.
    """
    from safetensors.numpy import save_file as save_arrays

    folder.mkdir(exist_ok=True)
    if serving.personal is not None:
        ids, tensors = serving.personal.table.ids, personal_tensors(serving.personal, layout)
        save_arrays(tensors, folder / "personal.safetensors", metadata={"ids": json.dumps(ids)})
    if serving.is_own:
        ids = serving.table.ids if serving.table is not None else ()
        save_arrays({"models": serving.models_KP}, folder / "clients.safetensors", metadata={"ids": json.dumps(ids)})
        return
    module = None
    for k, model_P in enumerate(serving.models_KP):
        module = layout.module(model_P, into=module)
        save_module(folder / f"group_{k}.safetensors", module, {**about, "group": k})


def save_module(path: Path, module: nn.Module, about: Mapping[str, Any]) -> None:
    """One model by the names of its tensors, also of those that do not travel: frozen and tied parts.

    Args:
        path: Of the file.
        module: The model.
        about: What the file says of it.
    """
    from safetensors.torch import save_file

    whole = {n: t.clone().contiguous() for n, t in module.state_dict().items()}
    save_file(whole, path, metadata={ABOUT: json.dumps(about)})


def about_of(layout: Layout, data: Mapping[str, Any], algorithm: str) -> dict[str, Any]:
    """What a file says of its model: how it is made, what it takes, what trained it.

    Args:
        layout: Of the model.
        data: The signature, as JSON.
        algorithm: What it is called.

    Returns:
        A tree for JSON; `model` is None where only the user's own code makes the model, `targets` where it says what
        outputs mean.
    """
    made = layout.factory
    task = layout.objective
    return {
        "version": __version__,
        "model": str(Spec(made.name, (), dict(made.args))) if isinstance(made, Named) else None,
        "outputs": made.classes if isinstance(made, Named) else layout.outputs,
        "precision": np.dtype(layout.dtype).name,
        "task": task.name,
        "targets": task.targets if task.said is None else None,
        "algorithm": algorithm,
        "data": dict(data),
    }


def personal_tensors(personal: Personal, layout: Layout) -> dict[str, Array]:
    """The clients' own parts by the names of their tensors, a row per client.

    Args:
        personal: What clients have for themselves.
        layout: Of the model.

    Returns:
        Arrays by name, N x the shape of the tensor.
    """
    found, at = {}, 0
    for place in personal.places(layout):
        for part in layout.parts:
            if place.start <= part.start and part.stop <= place.stop:
                start = at + part.start - place.start
                rows_ND = personal.table.rows[:, start : start + part.stop - part.start]
                found[part.name] = np.ascontiguousarray(rows_ND).reshape(len(rows_ND), *part.shape)
        at += place.stop - place.start
    return found
