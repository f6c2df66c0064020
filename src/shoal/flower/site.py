"""A site at work: does the units of a call on its own data, judges every answer before it leaves, keeps memories."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.backends.backend import Outcome, failed
from shoal.backends.site import Site as Place
from shoal.backends.site import one_thread
from shoal.backends.unit import OneClient, explain, safely
from shoal.data.federation import Source
from shoal.errors import BadInput, ShoalError
from shoal.flower.policy import default_policy, read_policy
from shoal.flower.records import LOST, Answered, Asked, Hello, OwnModel, Site, pack
from shoal.flower.site_data import SiteConfig, SiteData
from shoal.flower.versions import Counts, Versions, own, safe
from shoal.kernels import native, why_none
from shoal.layout import Layout, ModelFactory
from shoal.net import Net
from shoal.seeds import Key
from shoal.setup.arithmetic import check_bfloat16
from shoal.solvers.fusion import Fused
from shoal.tree import kind_of
from shoal.types import Array, Task
from shoal.validate import check, check_declaration, shape_letters
from shoal.version import __version__

__all__ = ["SiteAtWork"]


class SiteAtWork:
    """All that a site does for a federation, whatever brings the messages.

    Args:
        config: Of the site.
        model: Makes the model, if it is none that has a name.
        load: Gives the data of a round, instead of what the configuration names.

    >>> import tempfile
    >>> site = SiteAtWork(SiteConfig("digits", tempfile.mkdtemp(), clients="00,01"))
    >>> site.answer(Hello()).sizes
    {'00': 81, '01': 81}
    """

    def __init__(
        self, config: SiteConfig, model: ModelFactory | None = None, load: Callable[[int], Source] | None = None
    ) -> None:
        self._state = Path(config.state).expanduser()
        self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._data, self._model = SiteData(config, load), model
        self._policy = default_policy() if config.policy is None else read_policy(Path(config.policy).expanduser())
        self._counts = Counts(self._state / "counts.json")
        self._secret = device_secret(self._state / "secret")
        self._net: tuple[Any, Net] | None = None
        self._round, self._name = 0, config.name

    def answer(self, message: Any) -> Site | Answered:
        """Do what a message asks for.

        Args:
            message: `Hello` or `Asked`.

        Returns:
            What leaves the site.
        """
        if isinstance(message, Hello):
            return self.hello()
        if isinstance(message, Asked):
            return self.do(message)
        raise BadInput(f"a site is asked by Hello or Asked, not by {type(message).__name__}")

    def hello(self) -> Site:
        """Who is here."""
        source = self._source()
        tags = {c: dict(t) for c, t in source.roster.tags.items() if "truth" not in t}
        kind = kind_of(source.sample())
        return Site(self._sizes(), tags, source.shape, kind, source.classes, __version__, self._name)

    def do(self, asked: Asked) -> Answered:
        """The units of a call, one after the other.

        Args:
            asked: The call.

        Returns:
            An outcome per unit.
        """
        if not all(
            isinstance(u, OneClient) and isinstance(u.task, Task) and isinstance(u.key, Key) for u in asked.units
        ):
            raise BadInput("a call holds units of single clients, each with a task and a key")
        try:
            self._round = asked.round
            place = Place(self._opened(asked), self._source())
        except Exception as e:
            reason = str(e) if isinstance(e, ShoalError) else without_text(explain(e))
            return Answered(tuple(failed(unit, reason) for unit in asked.units), {})
        versions = Versions(self._state / "runs" / safe(asked.run))
        models_KP = np.stack(asked.models) if asked.models else None
        outcomes = tuple(self._unit(unit, asked, place, models_KP, versions) for unit in asked.units)
        versions.forget(asked.needed, asked.stamp)
        return Answered(outcomes, self._sizes())

    def _source(self) -> Source:
        """The data of this round; what a reader says of them may quote them, and stays here."""
        try:
            return self._data.at(self._round)
        except Exception as e:
            print(explain(e), file=sys.stderr, flush=True)
            raise BadInput("the data of the site cannot be read; its log says why") from None

    def _sizes(self) -> dict[str, int]:
        roster = self._source().roster
        return dict(zip(roster.ids, roster.sizes_N.tolist(), strict=True))

    def _unit(
        self, unit: OneClient, asked: Asked, place: Place, models_KP: Array | None, versions: Versions
    ) -> Outcome:
        """One client's task: allowed, done, judged, kept."""
        client, task, kind = unit.client, unit.task, type(unit.task).__name__
        if client not in place.federation.roster.ids:
            return failed(unit, "is not at this site")
        reason = self._policy.refuses(task, self._counts.of(client, kind)) or misdeclared(task)
        if reason:
            return failed(unit, reason)
        if self._policy.tasks[kind].times is not None:
            self._counts.add(client, kind)
        at = asked.memories.get(client, {}).get("at")
        memory = {} if at is None else versions.read(client, at)
        events = () if memory is not None else ({"kind": LOST, "client": client},)
        with one_thread():
            out = safely(self._secretly(unit, asked), place, models_KP, {client: memory or {}})
        if out.answer is None:
            return replace(failed(unit, without_text(out.failed[0].reason)), events=events)
        layout = place.net.layout
        dims = shape_letters(task, layout, len(asked.models))
        reason = check(out.answer, task.fields, dims, layout.dtype, place.federation.roster.size(client))
        if reason:
            return replace(failed(unit, reason), events=events)
        for kept in out.memories.values():
            versions.write(client, asked.stamp, own(kept, models_KP))
        return Outcome(out.answer, {client: {"at": asked.stamp}} if out.memories else {}, (), events)

    def _secretly(self, unit: OneClient, asked: Asked) -> OneClient:
        """The unit with a secret of its own: the same when the call is repeated, another for any other request."""
        request = json.dumps([asked.run, asked.stamp, pack(unit).tree]).encode()
        secret = hashlib.blake2b(request, key=self._secret, digest_size=32).hexdigest()
        return replace(unit, key=replace(unit.key, secret=secret))

    def _opened(self, asked: Asked) -> Net:
        """The model of the run, checked against what the server has."""
        mark = pack((asked.model, asked.arithmetic, asked.task)).tree, asked.precision, asked.digest
        if self._net is None or self._net[0] != mark:
            if asked.arithmetic.kernel == "native" and native() is None:
                raise BadInput(f"this site has no native kernel ({why_none()}); run with kernel=torch")
            if asked.arithmetic.bfloat16:
                check_bfloat16(asked.arithmetic.device)
            sample = self._source().sample()
            layout = Layout.of(self._factory(asked.model), sample, asked.precision, asked.task.objective)
            if layout.digest() != asked.digest:
                raise BadInput("the model of this site is not the server's: the apps or the versions of torch differ")
            self._net = mark, Net(layout, asked.arithmetic)
        return self._net[1]

    def _factory(self, model: Any) -> ModelFactory:
        if isinstance(model, Fused):
            return replace(model, model=self._factory(model.model))
        if not isinstance(model, OwnModel):
            made: ModelFactory = model
            return made
        if self._model is None:
            raise BadInput("the run has a model of its own; make the app of the sites with client_app(model=...)")
        return self._model


def misdeclared(task: Task) -> str | None:
    """Why nobody could judge the answers of a task, or None."""
    try:
        check_declaration(task)
    except BadInput as e:
        return str(e)
    return None


def without_text(reason: str) -> str:
    """What went wrong, without the words of an error, which may quote data: those go to the log of the site.

    >>> without_text("failed: KeyError: 'Jane Doe' (my_site.py:12)")
    'failed: KeyError (my_site.py:12); the log of the site says more'
    >>> without_text("late: 3.0 s, the limit is 2 s")
    'late: 3.0 s, the limit is 2 s'
    """
    if not reason.startswith("failed: "):
        return reason
    print(reason, file=sys.stderr, flush=True)
    kind, _, rest = reason.removeprefix("failed: ").partition(":")
    place = re.search(r" \([\w.<>-]+:\d+\)$", rest)
    return f"failed: {kind}{place[0] if place else ''}; the log of the site says more"


def device_secret(path: Path) -> bytes:
    """32 bytes that never leave the site: read, or drawn once."""
    if not path.exists():
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(partial, path)  # whoever comes second takes what the first one drew
        except FileExistsError:
            pass
        partial.unlink()
    return path.read_bytes()
