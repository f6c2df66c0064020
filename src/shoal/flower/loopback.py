"""A federation within this process: Flower's messages go to the ClientApp objects of sites, without any network."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context, RecordDict
from flwr.supercore.task_identity import TaskIdentity

import shoal
from shoal.data.build import build
from shoal.data.federation import Source
from shoal.flower.backend import Flower
from shoal.flower.client import client_app
from shoal.flower.federation import LivingSites
from shoal.flower.nodes import Nodes
from shoal.flower.policy import Allowed, Policy, default_policy, policy_text
from shoal.flower.records import pack, unpack
from shoal.flower.site import SiteAtWork
from shoal.flower.site_data import SiteConfig
from shoal.layout import ModelFactory
from shoal.seeds import Key
from shoal.store.codec import Copied

__all__ = ["LoopbackGrid", "LoopbackNode", "run_over_messages"]

OF_SITES = ("partition", "seed", "drift")  # keys of a run that its sites need to make the data


class LoopbackNode:
    """A SuperNode: its config, its site, and what its ClientApp does with a message.

    Args:
        node_id: Its number.
        config: The node-config.
        model: Makes the model, if it is none that has a name.
        load: Gives the data of a round, instead of what the config names.

    >>> from shoal.flower.records import Hello
    >>> node = LoopbackNode(7, {"data": "digits", "state": tempfile.mkdtemp(), "clients": "00,01"})
    >>> unpack(node.answer(pack(Hello()), {})).sizes
    {'00': 81, '01': 81}
    """

    def __init__(
        self,
        node_id: int,
        config: Mapping[str, Any],
        model: ModelFactory | None = None,
        load: Callable[[int], Source] | None = None,
    ) -> None:
        self.id, self.config, self.model, self.load = node_id, dict(config), model, load
        self.start()
        self.app = client_app(answer=self.answer)

    def start(self) -> None:
        """The site's process begins, with nothing in memory but what lies in its folder."""
        self.site = SiteAtWork(SiteConfig.of(self.config), self.model, self.load)

    def answer(self, copy: Copied, node_config: Any) -> Copied:
        """What the site's process does with a message."""
        return pack(self.site.answer(unpack(copy)))

    def __call__(self, message: Any) -> Any:
        return self.app(message, Context(1, self.id, self.config, RecordDict(), {}))


class LoopbackGrid:
    """As much of Flower's grid as `Nodes` asks for.

    >>> list(LoopbackGrid().get_node_ids())
    []
    """

    def __init__(self) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
        self.nodes: dict[int, LoopbackNode] = {}
        self._replies: dict[str, Any] = {}
        self._numbers = itertools.count()

    def get_node_ids(self) -> Iterable[int]:
        """Who is there."""
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        """Every message is answered at once; its number."""
        ids = []
        for message in messages:
            ids.append(name := f"m{next(self._numbers)}")
            vars(message.metadata)["_message_id"] = name
            reply = self.deliver(message)
            if reply is not None:
                self._replies[name] = reply
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        """The replies to some messages, in any order."""
        return [self._replies.pop(i) for i in reversed(list(message_ids)) if i in self._replies]

    def deliver(self, message: Any) -> Any:
        """What the node answers that a message is for; None: nobody is there."""
        node = self.nodes.get(message.metadata.dst_node_id)
        return None if node is None else node(message)


def run_over_messages(settings: Mapping[str, Any], sites: int = 3) -> shoal.Run:
    """A run whose clients are at sites of this process, with data that sites make as a simulation would.

    Args:
        settings: What `shoal.run` takes, the data by name.
        sites: How many.

    Returns:
        The run.

    >>> run_over_messages({"algorithm": "fedavg", "federation": "digits", "rounds": 1}).summary["left_out"]
    0
    """
    counts = Allowed(("right", "total", "loss", "true", "predicted", "both"))  # F1 needs counts by class
    theirs = {"data": settings["federation"], **{key: settings[key] for key in OF_SITES if key in settings}}
    ids = build(theirs["data"], theirs.get("partition"), Key(int(theirs.get("seed", 0)))).ids
    ours = {k: v for k, v in settings.items() if k not in ("federation", "partition", "drift")}
    grid = LoopbackGrid()
    with tempfile.TemporaryDirectory() as place:
        policy = Path(place) / "policy.toml"
        policy.write_text(policy_text(Policy({**default_policy().tasks, "Evaluate": counts})))
        for s in range(sites):
            own = {"clients": ",".join(ids[s::sites]), "state": f"{place}/site{s}", "policy": str(policy)}
            grid.nodes[s + 1] = LoopbackNode(s + 1, {**theirs, **own})
        nodes = Nodes(grid, poll=0)
        nodes.wait(sites, 0)
        return shoal.run(federation=LivingSites(nodes), engine=Flower(nodes, "loopback"), progress=False, **ours)
