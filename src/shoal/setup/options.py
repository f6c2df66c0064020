"""The options of an algorithm, which are keys of a run beside the settings: found, told apart, checked, put in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from shoal.aggregators import parse_aggregator
from shoal.algorithms import ALGORITHMS
from shoal.errors import BadInput, listing, unknown
from shoal.setup.settings import AUTO, Settings
from shoal.types import Algorithm

__all__ = ["build_algorithm", "own_keys", "split_keys"]

PARTS = ("select", "solver", "aggregate")  # fields of an algorithm that are not keys by themselves


def own_keys(name: str) -> dict[str, dataclasses.Field[Any]]:
    """The keys that only this algorithm has.

    Args:
        name: Of an algorithm.

    Returns:
        Its options by key, each with its default and help.

    >>> list(own_keys("fedprox"))
    ['mu']
    """
    if name == AUTO:
        return {}
    if name not in ALGORITHMS:
        raise ALGORITHMS.unknown(name, more=[AUTO])
    own = [f for f in dataclasses.fields(ALGORITHMS[name]) if f.name not in PARTS]
    return {f.metadata.get("key") or f.name: f for f in own}


def meant(key: str, known: Mapping[str, dataclasses.Field[Any]]) -> str:
    """The key that a word means: itself, or the one it is another name of.

    >>> meant("weighting", own_keys("fesem")), meant("weighting", own_keys("ifca")), meant("mu", own_keys("ifca"))
    ('weights', 'weighting', 'mu')
    """
    return next((k for k, field in known.items() if field.metadata.get("alias") == key), key)


def with_meant_keys(pairs: Mapping[str, Any], known: Mapping[str, dataclasses.Field[Any]]) -> dict[str, Any]:
    """The pairs under the keys that they mean; two names of one key together are an error."""
    out: dict[str, Any] = {}
    for key, value in pairs.items():
        if meant(key, known) in out:
            raise BadInput(f"{meant(key, known)} is given twice, once by its other name; give one of them")
        out[meant(key, known)] = value
    return out


def split_keys(
    algorithms: tuple[str, ...], pairs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Pairs for every run, and per algorithm the pairs that are its own; a key that nobody has is an error.

    A mapping under the name of an algorithm holds own keys of that one alone, and goes before the others.

    Args:
        algorithms: Names.
        pairs: Keys and values of all of them.

    Returns:
        The pairs that every run has, and by algorithm its own.

    >>> split_keys(("fedprox",), {"rounds": 3, "mu": 1, "fedprox": {"mu": 2}})
    ({'rounds': 3}, {'fedprox': {'mu': 2}})
    """
    common: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {name: {} for name in algorithms}
    theirs = {name: own_keys(name) for name in algorithms}
    for key, value in pairs.items():
        if key in Settings.model_fields:
            common[key] = value
            continue
        if key in algorithms and isinstance(value, Mapping):
            continue
        owners = [name for name in algorithms if meant(key, theirs[name]) in theirs[name]]
        if not owners:
            raise no_such_key(key, theirs)
        for name in owners:
            own[name][key] = value
    for name in algorithms:
        own[name] = with_meant_keys(own[name], theirs[name])
        table = pairs.get(name)
        if isinstance(table, Mapping):
            table = with_meant_keys(table, theirs[name])
            for key in table:
                if key not in theirs[name]:
                    raise unknown(f"own key of {name}", key, theirs[name])
            own[name] |= table
    return common, own


def no_such_key(key: str, theirs: Mapping[str, Iterable[str]]) -> BadInput:
    """The error for a key that none of some algorithms has: whose it is, or what it may be meant to be.

    Args:
        key: the key that was given.
        theirs: the own keys of the algorithms it was given to, by their names.

    Returns:
        An error that names the algorithms that have the key, or else the nearest key.

    >>> str(no_such_key("split_rounds", {"local": ()}))
    'local has no key split_rounds; cfl has it'
    """
    owners = [name for name in ALGORITHMS if meant(key, keys := own_keys(name)) in keys]
    if owners and AUTO in theirs:
        return BadInput(
            f"{AUTO} chooses the method and its keys by itself, so {key} goes with a method: {listing(owners)}"
        )
    if owners:
        have, belongs = ("have" if len(names) > 1 else "has" for names in (theirs, owners))
        return BadInput(f"{listing(theirs)} {have} no key {key}; {listing(owners)} {belongs} it")
    known = {*Settings.model_fields, *(k for keys in theirs.values() for k in keys)}
    return unknown("key", key, known, "`shoal list keys` explains them.")


def build_algorithm(name: str, own: Mapping[str, Any], settings: Settings, clients: int) -> Algorithm:
    """The algorithm with its parts put in.

    Args:
        name: Of an algorithm.
        own: Its own options, which may be text.
        settings: Say who is selected and how clients train.
        clients: How many there are.

    Returns:
        The algorithm, ready to run.

    >>> build_algorithm("fedprox", {"mu": "0.5"}, Settings(), 20).mu
    0.5
    """
    if name == AUTO:
        raise BadInput("auto is no algorithm but a choice among them, which shoal.run makes by trials")
    cls, known = ALGORITHMS[name], own_keys(name)
    hints = get_type_hints(cls, include_extras=True)
    values: dict[str, Any] = {}
    for key, value in with_meant_keys(own, known).items():
        if key not in known:
            raise unknown(f"key of {name}", key, known)
        field = known[key]
        traits = ALGORITHMS.traits(name)
        if (key, value) == ("groups", "auto") and traits.get("takes_number") and not traits.get("finds_number"):
            able = sorted({*ALGORITHMS.having("takes_number")} & {*ALGORITHMS.having("finds_number")})
            raise BadInput(
                f"{name} does not find the number of groups by itself; give one, such as groups=4 (`shoal probe` shows "
                f"how many there are), or take a method that does: {listing(able)}"
            )
        values[field.name] = read_option(key, value, TypeAdapter(hints[field.name]))
        check_bounds(key, values[field.name], field.metadata.get("low"))
    fields = {f.name for f in dataclasses.fields(cls)}
    parts: dict[str, Any] = {"select": settings.select(clients), "solver": settings.solver()}
    if settings.aggregate is not None:
        parts["aggregate"] = parse_aggregator(settings.aggregate)
        if "aggregate" not in fields:
            takers = [n for n, c in ALGORITHMS.items() if "aggregate" in {f.name for f in dataclasses.fields(c)}]
            what = f"aggregate={settings.aggregate} is not possible: {name} aggregates in a way of its own"
            raise BadInput(f"{what}; those that take it: {', '.join(takers)}")
    algorithm: Algorithm = cls(**values, **{k: v for k, v in parts.items() if k in fields})
    return algorithm


def read_option(key: str, value: Any, kind: TypeAdapter[Any]) -> Any:
    """A value as the option has it; one that came as text may also stand for one of several numbers.

    >>> from typing import Literal
    >>> read_option("order", "1", TypeAdapter(Literal[1, 2]))
    1
    """
    try:
        return kind.validate_python(value)
    except ValidationError as e:
        try:
            return kind.validate_json(value)
        except (ValidationError, TypeError):
            raise BadInput(f"{key}={value} is not possible: {e.errors()[0]['msg'].lower()}") from e


def check_bounds(key: str, value: Any, low: float | None) -> None:
    """A sentence if a number is none, or too small.

    >>> check_bounds("eps1", float("nan"), 0)
    Traceback (most recent call last):
    shoal.errors.BadInput: eps1=nan is not possible: it must be at least 0
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if math.isnan(value) or (low is not None and value < low):
        bound = "a number" if low is None else f"at least {low:g}"
        raise BadInput(f"{key}={value:g} is not possible: it must be {bound}")


def check_options(algorithm: Algorithm) -> None:
    """The same for the options of an algorithm that was given as an object."""
    if dataclasses.is_dataclass(algorithm):
        for field in dataclasses.fields(algorithm):
            check_bounds(field.name, getattr(algorithm, field.name), field.metadata.get("low"))


def config_with_values(name: str, algorithm: Algorithm, settings: Settings, clients: int) -> dict[str, Any]:
    """Every setting with the value it had, ready for `config.toml`; what is None is left out."""
    out: dict[str, Any] = {"algorithm": name}
    out |= {k: v for k, v in settings.model_dump().items() if v is not None}
    if settings.selection != "all" and "select" in {f.name for f in dataclasses.fields(type(algorithm))}:  # type: ignore[arg-type]
        out["clients_per_round"] = settings.clients_per_round or min(20, clients)
    own = {k: getattr(algorithm, f.name) for k, f in own_keys(name).items() if getattr(algorithm, f.name) is not None}
    return {**out, name: own} if own else out
