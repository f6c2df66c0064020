"""The table of settings: what counts as failed, what a machine cannot do, what is hidden where no compiler is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tools.portable import COMPILERS, Outcome, Setting, environment, main, obstacle, oldest, outcome, settings

from tools import portable

HERE = {"OpenBLAS": "SkylakeX", "ATen": "AVX2", "numpy": "X86_V3", "native kernel": "avx2", "cores": "2"}
HERE |= {"oneDNN": "Intel AVX2", "MKL": "OFF"}
CASES = """<testsuites><testsuite>
<testcase classname="a" name="good"/>
<testcase classname="a" name="bad"><failure/></testcase>
<testcase classname="b" name="broken"><error/></testcase>
<testcase classname="b" name="away"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose libraries obey for OpenBLAS and for the kernel alone."""

    def took(env: dict[str, str], one_core: bool = False) -> dict[str, str]:
        wish = {"OpenBLAS": env.get("OPENBLAS_CORETYPE"), "native kernel": env.get("SHOAL_KERNEL_VARIANT")}
        return HERE | {k: v for k, v in wish.items() if v} | {"cores": "1" if one_core else "2"}

    monkeypatch.setattr(portable, "took", took)


def test_what_counts(tmp_path: Path) -> None:
    (tmp_path / "cases.xml").write_text(CASES)
    assert outcome(tmp_path / "cases.xml", 1) == Outcome(1, ("a::bad", "b::broken"), 1)
    assert outcome(tmp_path / "none.xml", 3) == Outcome(0, ("pytest ended with 3",), 0)
    (tmp_path / "fine.xml").write_text('<testsuite><testcase classname="a" name="good"/></testsuite>')
    assert outcome(tmp_path / "fine.xml", 0) == Outcome(1, (), 0)
    assert outcome(tmp_path / "fine.xml", 2).failed == ("pytest ended with 2",)  # interrupted


@pytest.mark.usefixtures("machine")
def test_a_setting_that_is_not_obeyed_is_not_run() -> None:
    known = settings()
    assert obstacle(known["plain"]) is None
    assert obstacle(known["openblas-prescott"]) is None
    assert obstacle(known["aten-avx512"]) == "not on this machine: ATen took AVX2"
    assert obstacle(known["openblas-skylakex"]) == "what this machine takes by itself, as plain"
    assert obstacle(known["one-core-loaded"]) is None
    assert known["numpy-baseline"].env == {"NPY_DISABLE_CPU_FEATURES": "X86_V3"}
    assert dict(oldest(known).env) == {"OPENBLAS_CORETYPE": "Prescott", "SHOAL_KERNEL_VARIANT": "base"}
    assert set(portable.HELD_BACK) < set(known)


def test_libraries_that_cannot_be_loaded_are_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "took", lambda env, one_core=False: {"process": "ImportError: no torch"})
    with pytest.raises(SystemExit, match="ImportError: no torch"):
        settings()


@pytest.mark.parametrize("name", ["cc", "gcc", "gcc-12", "x86_64-linux-gnu-g++-12", "clang++", "clang-15"])
def test_compilers_are_hidden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (name, "python3", "c++filt", "git"):
        (tmp_path / program).touch()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), str(tmp_path / "no such folder")]))
    monkeypatch.setenv("CXX", "/usr/bin/c++")
    with environment(Setting("", {"A": "1"}, compilers=False)) as env:
        assert sorted(os.listdir(env["PATH"])) == ["c++filt", "git", "python3"]
        assert "CXX" not in env and env["A"] == "1"
    assert COMPILERS.match(name)


@pytest.mark.usefixtures("machine")
def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(portable, "ROOT", tmp_path)
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # this test may itself be run under such a setting
    (tmp_path / "test_it.py").write_text(
        "import os\ndef test_it():\n    assert os.environ.get('OPENBLAS_CORETYPE') != 'Haswell'\n"
        "def test_fine(): pass\ndef test_other(): assert False\n"
    )
    names = "plain,openblas-haswell,aten-avx512"
    assert main(["--settings", names, "--logs", str(tmp_path / "logs"), "--", "-k", "not other"]) == 1
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:4] for line in said[:3]] == [
        ["setting", "passed", "failed", "skipped"],
        ["plain", "2", "0", "0"],
        ["openblas-haswell", "1", "1", "0"],
    ]
    assert said[3] == ["aten-avx512", "not", "on", "this", "machine:", "ATen", "took", "AVX2"]
    assert ["openblas-haswell:", "test_it::test_it"] in said
    assert (tmp_path / "logs" / "openblas-haswell.log").exists()


@pytest.mark.usefixtures("machine")
def test_an_unknown_setting_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--settings", "plain,pentium"])
    assert "no such setting: pentium; there are plain, oldest" in capsys.readouterr().err
    assert main(["--list"]) == 0
    assert "one-core " in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere other libraries compute")
def test_the_libraries_say_what_they_took() -> None:
    said = portable.took({"SHOAL_KERNEL_VARIANT": "none"})
    assert said["native kernel"] == "none"
    assert {"OpenBLAS", "ATen", "numpy", "cores", "oneDNN", "MKL"} <= set(said)
