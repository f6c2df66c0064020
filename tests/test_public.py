"""Public is what `__all__` lists: importable, documented, and quick to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shoal


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(shoal, name)
    assert name == "__version__" or ">>>" in thing.__doc__


def test_nothing_else_is_public() -> None:
    assert set(shoal.__all__) == {*shoal._HOME, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'fedavg'"):
        _ = shoal.fedavg


def test_importing_shoal_pulls_in_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "pydantic", "sklearn", "pandas", "ortools")
    code = f"import shoal, shoal.cli.app, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_flow_solver_is_imported_when_it_is_needed() -> None:
    code = "import shoal.algorithms, shoal.experiment.api, sys; print('ortools' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
