"""The little grammar of names with arguments: `name`, `name:3:key=value`, `name(3, key=value)`.

Used on the command line and in TOML for data sets, partitions, models and whatever else has a name and arguments.
"""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union

from shoal.errors import BadInput, unknown

T = TypeVar("T")
Value = bool | int | float | str | None

_SIMPLE = (bool, int, float, str, type(None))
_NAME = re.compile(r"[A-Za-z0-9_.+*-]+")
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NUMBER = re.compile(r"[+-]?(\d|\.\d)[\d_]*\.?\d*([eE][+-]?\d+)?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Spec:
    """A name with arguments; `str` gives its canonical text, which `parse` reads back.

    Attributes:
        name: The word in front.
        args: Arguments by place.
        kwargs: Arguments by name.

    >>> spec = parse("dirichlet(0.1, clients=50)")
    >>> spec.name, spec.args, spec.kwargs
    ('dirichlet', (0.1,), {'clients': 50})
    >>> str(spec)
    'dirichlet:0.1:clients=50'
    """

    name: str
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [f"{k}={_show(v)}" for k, v in self.kwargs.items()]
        return ":".join([self.name, *map(_show, self.args), *named])

    def bind(self, target: Callable[..., Any], kind: str, others: Iterable[str] = ()) -> dict[str, Value]:
        """The arguments by name, checked against the signature of a function or dataclass.

        Only parameters that text can express (numbers, words, yes or no, choices) can be given; the others are the
        caller's. `kind` says in errors what the name stands for.

        Args:
            target: What the name stands for.
            kind: What such things are called in messages.
            others: Parameters that are the caller's, whatever their types.

        Returns:
            The arguments that were given, as the types that the signature asks for.

        >>> def gauss(width: float = 1.0, *, seed: int = 0) -> None: ...
        >>> parse("gauss:2").bind(gauss, "kernel")
        {'width': 2.0}
        """
        known = {name: p for name, p in parameters(target).items() if name not in others}
        what = f"{kind} {self.name!r}"
        if len(self.args) > len(known):
            raise BadInput(f"{what} takes at most {len(known)} arguments, not {len(self.args)}")
        given = dict(zip(known, self.args, strict=False))
        for key, value in self.kwargs.items():
            if key not in known:
                if not known:
                    raise BadInput(f"{what} takes no arguments, but {key!r} was given")
                raise unknown(f"argument of {what}", key, known)
            if key in given:
                raise BadInput(f"{what} is given {key!r} twice")
            given[key] = value
        missing = [k for k, p in known.items() if p.default is inspect.Parameter.empty and k not in given]
        if missing:
            raise BadInput(f"{what} needs {missing[0]!r}: write {self.name}:{missing[0]}=...")
        return {key: _convert(value, known[key].annotation, f"{key!r} of {what}") for key, value in given.items()}

    def make(self, target: Callable[..., T], kind: str, **others: Any) -> T:
        """Call the target with the bound arguments and with those that only the caller can know.

        Args:
            target: What the name stands for.
            kind: What such things are called in messages.
            others: Arguments that text cannot express.

        Returns:
            What the target returns.

        >>> from fractions import Fraction
        >>> def ratio(top: int, bottom: int = 2) -> Fraction: return Fraction(top, bottom)
        >>> parse("ratio:3").make(ratio, "number")
        Fraction(3, 2)
        """
        return target(**self.bind(target, kind, others), **others)

    def full(self, target: Callable[..., Any], kind: str) -> Spec:
        """The same with every argument written out by name, defaults included.

        Args:
            target: What the name stands for.
            kind: What such things are called in messages.

        Returns:
            A spec whose text does not depend on defaults.

        >>> def gauss(width: float = 1.0, *, steps: int = 5) -> None: ...
        >>> str(parse("gauss").full(gauss, "kernel"))
        'gauss:width=1.0:steps=5'
        """
        given = self.bind(target, kind)
        return Spec(self.name, (), {k: given.get(k, p.default) for k, p in parameters(target).items()})


def parse(text: str) -> Spec:
    """Read a name with arguments.

    Args:
        text: `name`, `name:3:key=value` or `name(3, key=value)`; quotation marks around what holds a separator.

    Returns:
        The name and its arguments, numbers and `true`, `false`, `none` as what they spell.

    >>> parse("permuted:4:clients=20") == parse("permuted(4, clients=20)")
    True
    >>> parse('folder:"a:b"').args
    ('a:b',)
    """
    text = text.strip()
    head = _NAME.match(text)
    if not head:
        raise BadInput(f"{text!r} does not start with a name; write name, name:3:key=value or name(3, key=value)")
    rest = text[head.end() :].strip()
    if rest.startswith("("):
        if not rest.endswith(")"):
            raise BadInput(f"{text!r} lacks the closing bracket")
        parts = _split(rest[1:-1], ",", text) if rest[1:-1].strip() else []
    elif rest.startswith(":"):
        parts = _split(rest[1:], ":", text)
    elif rest:
        raise BadInput(f"cannot read {text!r}; write name, name:3:key=value or name(3, key=value)")
    else:
        parts = []
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for key, value in parts:
        if key is None and kwargs:
            raise BadInput(f"in {text!r} an argument without a name follows one with a name")
        if key is None:
            args.append(value)
        elif key in kwargs:
            raise BadInput(f"{text!r} gives {key!r} twice")
        else:
            kwargs[key] = value
    return Spec(head.group(), tuple(args), kwargs)


def parameters(target: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function or dataclass that text can express, in order, with resolved types.

    Args:
        target: A function or dataclass.

    Returns:
        Its parameters by name.

    >>> def f(size: int, rng: object, name: str = "a") -> None: ...
    >>> list(parameters(f))
    ['size', 'name']
    """
    hints = typing.get_type_hints(getattr(target, "__init__") if isinstance(target, type) else target)  # noqa: B009
    found = inspect.signature(target).parameters
    spelled = {k: p.replace(annotation=hints.get(k, str)) for k, p in found.items()}
    return {k: p for k, p in spelled.items() if all(_is_simple(t) for t in _choices(p.annotation))}


def _split(text: str, separator: str, whole: str) -> list[tuple[str | None, Value]]:
    parts: list[tuple[str | None, Value]] = []
    argument = re.compile(rf'(?:[^"{separator}]|{_QUOTED})*', re.DOTALL)
    at = 0
    while at <= len(text):
        found = argument.match(text, at)
        end = found.end() if found else at
        if text[end : end + 1] not in ("", separator):
            raise BadInput(f"{whole!r} has a quotation mark that is not closed")
        piece, at = text[at:end], end + 1
        named = _NAMED.fullmatch(piece.strip())
        key, word = (named[1], named[2].strip()) if named else (None, piece.strip())
        if not word:
            raise BadInput(f"an argument in {whole!r} is empty")
        if word.startswith('"') and not re.fullmatch(_QUOTED, word, re.DOTALL):
            raise BadInput(f"in {whole!r} something follows a quotation")
        parts.append((key, _read(word)))
    return parts


def _read(word: str) -> Value:
    """A word as the value it spells."""
    if word.startswith('"'):
        return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if not _NUMBER.fullmatch(word):
        return word
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word


def _show(value: Value) -> str:
    """A value as the word that reads back as it."""
    if not isinstance(value, str):
        return str(value).lower() if value is None or isinstance(value, bool) else repr(value)
    plain = value and value == value.strip() and not re.search(r'[":,()=\\]', value)
    if plain and _read(value) == value:
        return value
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def _choices(hint: Any) -> tuple[Any, ...]:
    """The members of a union; a type by itself otherwise."""
    return typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_simple(hint: Any) -> bool:
    return hint in _SIMPLE or typing.get_origin(hint) is Literal


def _convert(value: Value, hint: Any, what: str) -> Value:
    """The value as the type a parameter asks for, or one sentence."""
    for choice in _choices(hint):
        if typing.get_origin(choice) is Literal:
            if value in typing.get_args(choice):
                return value
        elif choice is float and isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise BadInput(f"{what} must be a finite number, not {value}")
            return float(value)
        elif choice is int and isinstance(value, float) and value.is_integer():
            return int(value)
        elif type(value) is choice:
            return value
    if str in _choices(hint):  # a number where a word is wanted, such as a folder called 7
        return _show(value)
    wanted = " or ".join(_describe(choice) for choice in _choices(hint))
    raise BadInput(f"{what} must be {wanted}, not {_show(value)}")


def _describe(choice: Any) -> str:
    if typing.get_origin(choice) is Literal:
        return " or ".join(_show(word) for word in typing.get_args(choice))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}[choice]
