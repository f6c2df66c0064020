"""Where things are: tests mirror modules, files are short, packages say what they hold. Exceptions have a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC, TESTS, TOOLS = ROOT / "src" / "shoal", ROOT / "tests", ROOT / "tools"

OWN_FOLDERS = {
    "contract": "laws that everything of a kind keeps, whatever file it is in",
    "reference": "short runs against known values: closed forms, toys of papers, counted traffic",
    "strangers": "files of a user's own, outside the package",
}
NO_MIRROR = {  # below tests/
    "algorithms/test_reference.py": "the simple methods against each other and against a plain loop",
    "backends/test_devices.py": "a back end whose clients hold their own memory, as a device would",
    "cli/test_errors.py": "sentences and exit codes of all commands",
    "cli/test_interrupt.py": "Ctrl-C in all commands",
    "data/partition/test_consecutive.py": "the partitions that take samples in order: power-law, letters, ditto",
    "data/partition/test_contract.py": "what all partitions promise",
    "experiment/test_kill.py": "a run that is killed resumes to the same bits, through all layers",
    "experiment/test_misbehaviour.py": "clients that fail, through all layers",
    "flower/test_outages.py": "sites that cannot be reached for a while, with real processes",
    "flower/test_sites.py": "the files of docs/sites, with real processes",
    "kernels/test_conv.py": "conv.h, which is C",
    "kernels/test_groups.py": "runs whose clients train in C, beside torch",
    "kernels/test_mmd.py": "mmd.h, which is C",
    "kernels/test_sanitized.py": "what is only worth running under a sanitizer",
    "kernels/test_variants.py": "every instruction set that this processor has",
    "loop/test_personal.py": "a method whose clients have a head of their own, through loop and engine",
    "measures/test_inputs.py": "rows that no measure can take",
    "report/test_browser.py": "pages in a browser",
    "solvers/test_transfers.py": "what local training moves between a device and the host, whatever the solver",
    "test_docs.py": "the pages of docs/",
    "test_examples.py": "examples/, which lie outside the package",
    "test_odd_modules.py": "modules of users that do unusual things",
    "test_public.py": "what `__all__` lists",
    "test_readme.py": "the README",
    "test_strangers.py": "files of a user's own",
    "test_structure.py": "this file",
    "ui/test_browser.py": "live pages in a browser",
}
LIMIT, NEVER = 300, 500
LONG = {  # below src/shoal
    "data/federation.py": "the class a user meets first: a third of it says what its methods take",
    "engine/engine.py": "the two verbs of an engine and what they say about themselves",
    "types.py": "the contracts that everything hangs on, read together",
}


def paths(folder: Path, pattern: str = "*.py") -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob(pattern))


def mirrored(test: str) -> bool:
    """Whether a test file stands where its module or package stands."""
    path = Path(test)
    home = TOOLS if path.parts[0] == "tools" else SRC
    name = Path(*path.parts[1:-1] if home is TOOLS else path.parts[:-1]) / path.stem.removeprefix("test_")
    return (home / f"{name}.py").is_file() or (home / name / "__init__.py").is_file() or (home / name).is_dir()


def test_tests_mirror_modules() -> None:
    found = [test for test in paths(TESTS, "test_*.py") if test.split("/")[0] not in OWN_FOLDERS]
    assert [test for test in found if not mirrored(test) and test not in NO_MIRROR] == []
    assert [test for test in NO_MIRROR if test not in found or mirrored(test)] == [], "no exception any more"


@pytest.mark.parametrize("folder", [SRC, TOOLS], ids=["shoal", "tools"])
def test_files_are_short(folder: Path) -> None:
    lines = {path: len((folder / path).read_text().splitlines()) for path in paths(folder)}
    assert lines
    assert {path: n for path, n in lines.items() if n > LIMIT and path not in LONG} == {}
    assert {path: n for path, n in lines.items() if n > NEVER} == {}


def test_long_files_are_long() -> None:
    assert [path for path in LONG if len((SRC / path).read_text().splitlines()) <= LIMIT] == [], "no exception any more"


def test_every_module_and_package_says_what_it_holds() -> None:
    modules = {path: ast.parse((SRC / path).read_text()) for path in paths(SRC)}
    assert [path for path, module in modules.items() if not ast.get_docstring(module)] == []
    folders = {path.parent for path in SRC.rglob("*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_a_method_is_one_file_and_parts_stand_apart() -> None:
    """In `algorithms` every file declares a method; what several share is in `algorithms/parts`."""
    methods = [path for path in (SRC / "algorithms").glob("*.py") if path.stem not in ("__init__", "registry")]
    assert [path.name for path in methods if "@algorithm(" not in path.read_text()] == []
