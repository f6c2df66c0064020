"""The README is shown on PyPI, too: its links are whole addresses, and those into this repository lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
RAW = REPOSITORY.replace("https://github.com/", "https://raw.githubusercontent.com/")  # images
TEXT = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
DEFINED = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", TEXT, re.MULTILINE))


def test_every_link_has_an_address_and_every_address_a_link() -> None:
    assert re.findall(r"\]\(([^)]*)\)", TEXT) == [], "give the address at the end of the page, by a name"
    assert set(re.findall(r"\]\[([^\]]+)\]", TEXT)) == set(DEFINED)


def test_addresses_in_this_repository_exist() -> None:
    for address in DEFINED.values():
        where = re.fullmatch(rf"(?:{re.escape(REPOSITORY)}/(blob|tree)|({re.escape(RAW)}))/main/(\S+)", address)
        assert where, f"{address} is not an address of {REPOSITORY}"
        path = ROOT / where[3]
        assert path.is_dir() if where[1] == "tree" else path.is_file(), f"{address} does not exist"
        assert (path.suffix in (".png", ".svg")) == (where[2] is not None), f"{address}: images come raw, pages do not"


def test_the_addresses_of_the_project_are_of_one_repository() -> None:
    assert {name for name, address in PROJECT["urls"].items() if not address.startswith(REPOSITORY)} == set()
    for page in ("CHANGELOG.md", "docs/README.md"):
        assert f"{REPOSITORY}/blob/main/{page}" in PROJECT["urls"].values() and (ROOT / page).is_file()


def test_extras_are_of_use() -> None:
    """What an extra brings is imported somewhere in the package, the tools of developers aside."""
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    modules = {"pillow": "PIL", "flwr-datasets": "shoal.data.own_flwr"}  # which takes what the user made with it
    modules |= dict.fromkeys(("transformers", "peft"), "shoal.layout.calling")  # likewise
    for extra, packages in PROJECT["optional-dependencies"].items():
        names = [re.match(r"[\w-]+", package)[0] for package in packages]  # type: ignore[index]
        unused = [n for n in names if not re.search(rf'(import|from) {modules.get(n, n)}\b|"{n}"', code)]
        assert extra in ("dev", "docs") or not unused, f"the extra {extra} brings {unused}, which nothing imports"


def test_the_line_that_installs_brings_the_extras_that_the_page_goes_on_with() -> None:
    whole = (ROOT / "README.md").read_text()
    lines = re.findall(r"`pip install [^`]*\.(?:\[([\w,]*)\])?\"?`", whole)
    needs = {extra for extra in ("report", "ui") if f"$ shoal {extra} " in whole}
    assert lines
    assert needs == {"report", "ui"}
    assert [set(line.split(",")) for line in lines] == [needs]
    assert needs <= set(PROJECT["optional-dependencies"])
