"""From the words of a command line to a request: algorithm names, one TOML file, and key=value over it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import BadInput, RunFolderError, command, unknown

PAIR = re.compile(r"([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
BOOKKEEPING = (
    "format",
    "fingerprint",
    "model_digest",
    "object",
    "chosen_by",
    "origins",
)  # keys of a resolved config.toml that are no settings


@dataclass(frozen=True)
class Request:
    """What a user asks to run. Pairs may hold a table per algorithm with keys that are its own."""

    algorithms: tuple[str, ...]
    pairs: Mapping[str, Any]
    out: Path | None


def read_request(words: Sequence[str]) -> Request:
    """Sort the words; those on the command line go before what the file says.

    >>> read_request(["fedprox", "mu=0.1", "seed=0,1", "out=x"])
    Request(algorithms=('fedprox',), pairs={'mu': '0.1', 'seed': '0,1'}, out=PosixPath('x'))
    """
    given, others = split(words)
    files = [word for word in others if is_file(word)]
    names = [word for word in others if word not in files]
    if len(files) > 1:
        raise BadInput(f"give one TOML file, not {len(files)}: {', '.join(files)}")
    pairs = read_toml(Path(files[0])) if files else {}
    for table in pairs.values():
        if isinstance(table, dict):
            for key in given:
                table.pop(key, None)
    asked = [*names, *take_names(given, "the command line")]
    pairs |= given
    written = take_names(pairs, files[0] if files else "")
    algorithms = tuple(dict.fromkeys(map(named, asked or written or ["fedavg"])))
    check_names(algorithms)
    out = pairs.pop("out", None)
    return Request(algorithms, without_others(pairs, algorithms), None if out is None else Path(str(out)).expanduser())


def named(word: str) -> str:
    """The name of an algorithm, which `FILE.py:CLASS` gets by being imported; keys behind it stay."""
    from shoal.algorithms import ALGORITHMS

    return ALGORITHMS.named(word)


def import_files(files: Iterable[str]) -> None:
    """Import Python files of the user's own, whose declarations then have names."""
    from shoal.registry import import_file

    for file in files:
        import_file(Path(file))


def split(words: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The key=value pairs, and the words that are none.

    >>> split(["fedavg", "lr=0.1", "runs/fedavg-seed=1/config.toml"])
    ({'lr': '0.1'}, ['fedavg', 'runs/fedavg-seed=1/config.toml'])
    """
    pairs: dict[str, str] = {}
    others: list[str] = []
    words = list(words)
    for i, word in enumerate(words):
        if word.startswith("="):
            key, value = words[i - 1] if i else "KEY", word[1:] or (words[i + 1] if i + 1 < len(words) else "VALUE")
            raise BadInput(f"write {key}={value} without spaces around the =, which part it into several words")
        found = PAIR.fullmatch(word.strip())
        if not found:
            others.append(word)
            continue
        key, value = found[1], found[2].strip()
        if not value:
            raise BadInput(f"{key}= has no value; write {key}=VALUE without spaces around the =")
        if key in pairs:
            raise BadInput(f"{key} is given twice: {key}={pairs[key]} and {key}={value}; several values go with commas")
        pairs[key] = value
    return pairs, others


def refuse_command(word: str, commands: Sequence[str]) -> None:
    """Explain a first word that is no command."""
    raise unknown("command", word, commands, "`shoal --help` explains them.")


def refuse_option(words: Sequence[str]) -> None:
    """Explain the first key among words that is written as an option, such as `--lr 0.1`; silent if there is none."""
    from shoal.algorithms import ALGORITHMS
    from shoal.setup.options import own_keys
    from shoal.setup.settings import Settings

    own = [(key, field.metadata.get("alias")) for name in ALGORITHMS for key, field in own_keys(name).items()]
    known = {*Settings.model_fields, "out", *(word for both in own for word in both if word)}
    for i, word in enumerate(words):
        key, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and (key := key.replace("-", "_")) in known:
            value = value or (words[i + 1] if i + 1 < len(words) else "VALUE")
            raise BadInput(f"a key has no dashes: write {key}={value} instead of {word}")


def allowed(words: Iterable[str], keys: Sequence[str]) -> dict[str, str]:
    """Pairs of which only some keys make sense; anything else is refused."""
    pairs, others = split(words)
    if others:
        raise BadInput(f"cannot read {others[0]!r}; write {' '.join(f'{k}=VALUE' for k in keys)}")
    for key in pairs:
        if key not in keys:
            raise unknown("key", key, keys)
    return pairs


def named_as_file(word: str) -> bool:
    """Whether a word can mean nothing but a file of settings, whether it is there or not.

    >>> [named_as_file(word) for word in ("settings.toml", "conf/mine", "fedavg", "conf/mine.py:Mine")]
    [True, True, False, False]
    """
    from shoal.registry.files import WORD

    return word.endswith(".toml") or ("/" in word and not WORD.fullmatch(word))


def is_file(word: str) -> bool:
    """Whether a word means a TOML file; a folder, a missing file and a strange word are explained."""
    path = Path(word).expanduser()
    if path.is_dir() and (path / "config.toml").exists():
        raise BadInput(
            f"{word} is a run folder; go on with `{command('resume', word)}` or repeat it: "
            + command("run", path / "config.toml")
        )
    if named_as_file(word):
        if not path.is_file():
            raise BadInput(f"there is no file {word}")
        return True
    return False


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a file. The config.toml of a run is one: it repeats that run."""
    import tomllib

    from shoal.store.folder import FORMAT, OWN

    try:
        found = tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise BadInput(f"{path} cannot be read as TOML: {e}") from e
    if found.get("format", FORMAT) != FORMAT:
        raise RunFolderError(f"{path} has format {found['format']}, this version of Shoal reads {FORMAT}")
    for key in ("algorithm", "data", "model"):
        if found.get(key) == OWN:
            raise BadInput(
                f"{path} belongs to a run whose {key} was an object in Python; repeat it there with shoal.run"
            )
    for key, value in found.items():
        if value in ("", []):
            raise BadInput(f"{key} in {path} has no value")
    if found.get("origins"):
        from shoal.setup.own import recover_origins

        recover_origins(found["origins"], path.expanduser().parent, "run", path)
    return {key: value for key, value in found.items() if key not in BOOKKEEPING}


def take_names(pairs: dict[str, Any], where: str) -> list[str]:
    """Remove `algorithm` or `algorithms` from the pairs; the names they hold."""
    one, several = pairs.pop("algorithm", None), pairs.pop("algorithms", None)
    if one is not None and several is not None:
        raise BadInput(f"{where} gives both algorithm and algorithms; one of them is enough")
    named = one if one is not None else several
    if named is None:
        return []
    listed = named.split(",") if isinstance(named, str) else named
    if not isinstance(listed, list) or not all(isinstance(n, str) for n in listed):
        raise BadInput(f"algorithm in {where} must be a name or a list of names, not {named!r}")
    return [n.strip() for n in listed]


def check_names(algorithms: Iterable[str]) -> None:
    """Explain a word that is no algorithm."""
    from shoal.algorithms import ALGORITHMS
    from shoal.setup.settings import AUTO, Settings

    for name in names_of(algorithms):
        if name in Settings.model_fields or name == "out":
            raise BadInput(f"the key {name} needs a value: write {name}=VALUE")
        if name not in ALGORITHMS and name != AUTO:
            hint = "(A TOML file ends in .toml, a key is written key=value, an own method FILE.py:CLASS.)"
            raise ALGORITHMS.unknown(name, more=[AUTO], hint=hint)


def names_of(algorithms: Iterable[str]) -> list[str]:
    """The algorithms without the keys that may stand behind them.

    >>> names_of(["fedavg", "flexcfl:eta_g=0.1"])
    ['fedavg', 'flexcfl']
    """
    from shoal.data.spec import parse

    return [parse(word).name for word in algorithms]


def without_others(pairs: Mapping[str, Any], algorithms: Sequence[str]) -> dict[str, Any]:
    """The pairs without the tables of algorithms that are not asked for."""
    from shoal.algorithms import ALGORITHMS

    kept = {}
    for key, value in pairs.items():
        key = named(key) if isinstance(value, dict) else key
        if isinstance(value, dict) and key not in ALGORITHMS:
            raise unknown("table", key, ALGORITHMS, "A table holds the own keys of the algorithm it is named after.")
        if not isinstance(value, dict) or key in names_of(algorithms):
            kept[key] = value
    return kept
