"""The models of a finished run as files that other programs read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from shoal.layout import Layout
from shoal.table import Personal, Serving
from shoal.types import Array


def save_models(folder: Path, serving: Serving, layout: Layout) -> None:
    """One file per group with the tensors by name; own models, or own parts, of clients together in one file."""
    from safetensors.numpy import save_file as save_arrays
    from safetensors.torch import save_file

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
        whole = module.state_dict()  # also what does not travel: frozen and tied parts
        save_file({n: t.clone().contiguous() for n, t in whole.items()}, folder / f"group_{k}.safetensors")


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
