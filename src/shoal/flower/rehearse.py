"""A rehearsal from the words of a run: data dealt to sites, real processes, and a simulation to compare with."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

import shoal
from shoal.data.build import build
from shoal.errors import BadInput, ShoalError
from shoal.flower.rehearsal import Rehearsal
from shoal.seeds import Key
from shoal.store.place import fresh_path

__all__ = ["rehearse"]

OF_SITES = ("data", "partition", "seed", "drift")  # keys that sites need to make the data of the simulation
Learned = dict[str, dict[str, tuple[str, tuple[int, ...], bytes]]]  # by file and tensor its type, shape and bytes
NOT_HERE = ("engine", "workers", "data_seed", "val")


def rehearse(
    algorithms: Sequence[str],
    pairs: Mapping[str, Any],
    sites: int,
    folder: Path | None,
    out: Path | None,
    policy: Path | None,
    compare: bool,
    seconds: float,
    tell: Callable[[str], None],
) -> Path:
    """Play a federation on this machine.

    Args:
        algorithms: One.
        pairs: Keys and values of the run.
        sites: How many.
        folder: Where everything goes; None: a new one.
        out: The run folder; None: `run` in that folder.
        policy: What sites let leave; None: the default.
        compare: Whether to simulate it as well.
        seconds: How long the run may take.
        tell: Is told what happens, line by line.

    Returns:
        The run folder.
    """
    if len(algorithms) != 1:
        raise BadInput("a rehearsal plays one algorithm; give one")
    stray = [key for key in pairs if key in NOT_HERE]
    if stray:
        raise BadInput(f"{stray[0]} has no place in a rehearsal; leave it out")
    place = (folder or fresh_path("rehearsals", algorithms[0])).expanduser().absolute()
    out = (out or place / "run").expanduser().absolute()
    place.mkdir(parents=True, exist_ok=True)
    theirs = {key: str(pairs[key]) for key in OF_SITES if key in pairs}
    run = " ".join([*algorithms, *(f"{k}={v}" for k, v in pairs.items() if k not in OF_SITES or k == "seed")])
    more = {} if policy is None else {"policy": str(policy.expanduser().absolute())}
    configs = {name: {**theirs, **own, **more} for name, own in dealt(theirs, sites).items()}
    begin = time.monotonic()
    with Rehearsal(place, configs, run, out, tell) as federation:
        tell(f"run         {run}")
        federation.submit()
        summary = federation.wait(seconds)
    tell(f"end         {summary['rounds']} rounds, {summary['left_out']} answers left out; all processes ended")
    logs = [(place / f"{site}.log").read_text(errors="replace") for site in configs]
    tell(f"messages    {counted(logs)}; {(time.monotonic() - begin) / 60:.1f} minutes in all")
    if compare:
        tell(f"simulation  {verdict(algorithms[0], pairs, place / 'simulation', out)}")
    return out


def counted(logs: Sequence[str]) -> str:
    """How many messages the sites of a run received, by what their SuperNodes wrote.

    >>> hello, call = "Receiving: query.hello message", "[RUN 7, ROUND {}-0]\\nINFO: Receiving: train.call message"
    >>> counted([chr(10).join([hello, call.format(1), call.format(1), call.format(2)])])
    '2, 1 to 1 site in rounds 1 to 2, and 1 to ask who is there'
    """
    text = "\n".join(logs)
    rounds = Counter(int(t) for t in re.findall(r"ROUND (\d+)-\d+\].*\n.*Receiving: train\.call ", text))
    hellos, sites = len(re.findall(r"Receiving: query\.hello ", text)), f"{len(logs)} site{'s'[: len(logs) != 1]}"
    if not rounds:
        return f"none to {sites} that their logs tell of"
    numbers = ", ".join(str(rounds[t]) for t in range(min(rounds), max(rounds) + 1))
    return f"{numbers} to {sites} in rounds {min(rounds)} to {max(rounds)}, and {hellos} to ask who is there"


def dealt(theirs: Mapping[str, str], sites: int) -> dict[str, dict[str, str]]:
    """Which clients each site hosts, in turn.

    >>> dealt({"data": "digits", "partition": "iid:clients=5"}, 2)
    {'site-1': {'data': 'digits', 'clients': '0,2,4'}, 'site-2': {'data': 'digits', 'clients': '1,3'}}
    """
    data = theirs.get("data", "digits")
    ids = build(data, theirs.get("partition"), Key(int(theirs.get("seed", 0)))).ids
    if sites > len(ids):
        raise BadInput(f"there are {len(ids)} clients for {sites} sites; use fewer sites")
    return {f"site-{s + 1}": {"data": data, "clients": ",".join(ids[s::sites])} for s in range(sites)}


def learned_models(run: Path) -> Learned:
    """What a run learnt, bit for bit: every tensor of every file of models.

    Not what files say of the data, such as how pixels are stored, which nobody but the sites knows.

    Args:
        run: The run folder.

    Returns:
        All that is compared.
    """
    return {
        path.name: {name: (str(t.dtype), t.shape, t.tobytes()) for name, t in load_file(path).items()}
        for path in (run / "models").iterdir()
    }


def verdict(algorithm: str, pairs: Mapping[str, Any], simulated: Path, out: Path) -> str:
    """Whether a simulation with the same words ends with the same models, bit for bit."""
    shoal.run(algorithm, out=simulated, engine="serial", progress=False, **pairs)
    one, two = learned_models(simulated), learned_models(out)
    if one != two:
        raise ShoalError(f"the models of {out} are not those of the simulation {simulated}")
    return f"{len(one)} files of models, the same bits as those of the federation"
