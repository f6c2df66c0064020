"""What is asked of a release: a tag, a changelog and a citation of one version; kernels in the wheels."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tools.release import ROOT, problems, version_of
from tools.wheels import kernels_in, lacking_in

from shoal.version import __version__


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "src/shoal").mkdir(parents=True)
    (tmp_path / "src/shoal/version.py").write_text('"""The version."""\n\n__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.0\n\n* All.\n")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    return tmp_path


def test_a_tag_that_fits(repository: Path) -> None:
    assert list(problems("v1.2.0", repository)) == []


def test_what_does_not_fit_is_named(repository: Path) -> None:
    assert list(problems("v1.3.0", repository)) == [
        "the tag is v1.3.0 but src/shoal/version.py says 1.2.0; tag v1.2.0, or change the version"
    ]
    (repository / "src/shoal/version.py").write_text('__version__ = "1.3.0"\n')
    assert list(problems("v1.3.0", repository)) == [
        "CHANGELOG.md has no section '## 1.3.0'; give that name to 'Unreleased' and begin a new one above it",
        "CITATION.cff does not say 'version: 1.3.0'",
    ]


def test_this_repository_names_one_version() -> None:
    assert version_of() == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    ("tag", "built", "lacking"),
    [
        ("manylinux_2_28_x86_64", ("avx2", "avx512", "base"), ()),
        ("manylinux_2_28_x86_64", ("avx2", "base"), ("avx512",)),
        ("manylinux_2_28_x86_64", (), ("avx2", "avx512", "base")),
        ("macosx_11_0_arm64", ("base",), ()),
        ("macosx_11_0_arm64", (), ("base",)),
    ],
)
def test_kernels_of_a_wheel(tmp_path: Path, tag: str, built: tuple[str, ...], lacking: tuple[str, ...]) -> None:
    wheel = tmp_path / f"shoal-0.1.0-cp311-cp311-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("shoal/kernels/sgd.c", "")
        file.writestr("shoal/kernels/_types.py", "")
        for name in built:
            file.writestr(f"shoal/kernels/_{name}.cpython-311-x86_64-linux-gnu.so", "")
    assert (kernels_in(wheel), lacking_in(wheel)) == (built, lacking)
