"""The grammar of names with arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.spec import Spec, Value, parse
from shoal.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Part:
    alpha: float = 0.1
    clients: int | Literal["all"] = 10
    overlap: bool = False
    mode: Literal["a", "b"] = "a"
    path: str = ""
    extra: object = None


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("a", Spec("a")),
        ("a()", Spec("a")),
        (" a ", Spec("a")),
        ("power-law:3:x=0.5", Spec("power-law", (3,), {"x": 0.5})),
        ("a(3, x = 0.5)", Spec("a", (3,), {"x": 0.5})),
        ("a:true:FALSE:none", Spec("a", (True, False, None))),
        ("a:1e3:-2:.5:1_000", Spec("a", (1000.0, -2, 0.5, 1000))),
        ("a:word:2x:1.2.3", Spec("a", ("word", "2x", "1.2.3"))),
        ('a:"3":"x=1":k="p:q"', Spec("a", ("3", "x=1"), {"k": "p:q"})),
        ("folder:some/where.d", Spec("folder", ("some/where.d",))),
        ("a(some:where, b)", Spec("a", ("some:where", "b"))),
    ],
)
def test_parse(text: str, spec: Spec) -> None:
    assert parse(text) == spec
    assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "does not start with a name"),
        (":3", "does not start with a name"),
        ("a(3", "closing bracket"),
        ("a b", "cannot read"),
        ("a:", "is empty"),
        ("a::3", "is empty"),
        ("a(3,)", "is empty"),
        ("a:x=", "is empty"),
        ('a:"3', "not closed"),
        ("a:x=1:3", "follows one with a name"),
        ("a:x=1:x=2", "'x' twice"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        parse(text)


values = st.one_of(
    st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
)


@given(args=st.lists(values, max_size=3), kwargs=st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), values))
def test_canonical_text_reads_back(args: list[Value], kwargs: dict[str, Value]) -> None:
    spec = Spec("some-name", tuple(args), kwargs)
    again = parse(str(spec))
    assert again == spec
    assert [type(v) for v in again.args] == [type(v) for v in spec.args]


def test_bind_gives_arguments_their_types() -> None:
    assert parse("p:1:20:true:b").make(Part, "partition") == Part(alpha=1.0, clients=20, overlap=True, mode="b")
    assert parse("p:clients=all:path=7").make(Part, "partition") == Part(clients="all", path="7")
    assert parse("p:clients=1e2").make(Part, "partition").clients == 100
    assert str(parse("p:2").full(Part, "partition")) == 'p:alpha=2.0:clients=10:overlap=false:mode=a:path=""'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p:cleints=3", "unknown argument of partition 'p' 'cleints'; did you mean 'clients'"),
        ("p:extra=3", "unknown argument"),
        ("p:clients=2.5", "'clients' of partition 'p' must be a whole number or all, not 2.5"),
        ("p:alpha=true", "must be a number, not true"),
        ("p:alpha=1e999", "must be a finite number"),
        ("p:overlap=1", "must be true or false, not 1"),
        ("p:mode=c", "must be a or b, not c"),
        ("p:1:2:true:a:x:y", "at most 5 arguments, not 6"),
        ("p:1:alpha=2", "is given 'alpha' twice"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        parse(text).bind(Part, "partition")


def test_functions_without_default_or_arguments() -> None:
    def needs(path: str) -> None: ...

    def nothing() -> None: ...

    with pytest.raises(BadInput, match="needs 'path'"):
        parse("f").bind(needs, "data set")
    with pytest.raises(BadInput, match="takes no arguments"):
        parse("f:a=1").bind(nothing, "data set")
