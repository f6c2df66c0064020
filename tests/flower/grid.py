"""A grid without processes: every message goes to the ClientApp object of its node, and is looked at on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flwr.app import Context, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from shoal.data.federation import Source
from shoal.flower.client import client_app
from shoal.flower.messages import from_content
from shoal.flower.nodes import Nodes
from shoal.flower.policy import Allowed, Policy, policy_text
from shoal.flower.records import pack, unpack
from shoal.flower.site import SiteAtWork
from shoal.flower.site_data import SiteConfig
from shoal.layout import ModelFactory
from shoal.store.codec import Copied

OPEN = Policy(
    {
        "Choose": Allowed(("choice", "update", "count", "loss")),
        "DetectShift": Allowed(("shifted", "choice")),
        "Evaluate": Allowed(("right", "total", "loss", "true", "predicted", "both")),
        "Gradient": Allowed(("gradient", "count", "norm", "square")),
        "LabelHistogram": Allowed(("histogram",)),
        "Losses": Allowed(("losses",)),
        "Nearest": Allowed(("choice", "update", "count", "loss")),
        "StoreDirections": Allowed(()),
        "Train": Allowed(("update", "count", "loss")),
        "TrainInStages": Allowed(("early", "update", "count", "loss")),
    }
)


class LocalNode:
    """A SuperNode: its config, its site, and what its ClientApp does with a message."""

    def __init__(
        self, node_id: int, config: Mapping[str, Any], model: ModelFactory | None, load: Callable[[int], Source] | None
    ) -> None:
        self.id, self.config, self.model, self.load = node_id, dict(config), model, load
        self.start()
        self.app = client_app(answer=self.answer)

    def start(self) -> None:
        """The site's process begins, with nothing in memory but what lies in its folder."""
        self.site = SiteAtWork(SiteConfig.of(self.config), self.model, self.load)

    def answer(self, copy: Copied, node_config: Any) -> Copied:
        return pack(self.site.answer(unpack(copy)))

    def __call__(self, message: Any) -> Any:
        context = Context(1, self.id, self.config, RecordDict(), {})
        return self.app(message, context)


class LocalGrid:
    """As much of a grid as `Nodes` asks for. `down` and `up` hold every message's content."""

    def __init__(self) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
        self.nodes: dict[int, LocalNode] = {}
        self.silent: set[int] = set()  # nodes that are there and do not answer
        self.spoil: Callable[[Any], Any] = lambda message: message
        self.down: list[Any] = []
        self.up: list[Any] = []
        self._replies: dict[str, Any] = {}
        self._numbers = itertools.count()

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        ids = []
        for message in messages:
            name = f"m{next(self._numbers)}"
            vars(message.metadata)["_message_id"] = name
            ids.append(name)
            node = message.metadata.dst_node_id
            self.down.append(message.content)
            if node in self.nodes and node not in self.silent:
                reply = self.spoil(self.nodes[node](message))
                if reply.has_content():
                    self.up.append(reply.content)
                self._replies[name] = reply
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        return [self._replies.pop(i) for i in reversed(list(message_ids)) if i in self._replies]  # in any order


def federation_of(
    folder: Path,
    data: Callable[[int], Source],
    sites: int = 3,
    model: ModelFactory | None = None,
    policy: Policy | None = OPEN,
    **config: Any,
) -> tuple[LocalGrid, Nodes]:
    """Sites that host the clients of a federation in turn, and the server's view of them."""
    grid, ids = LocalGrid(), data(0).ids
    for s in range(sites):
        own = {"data": "digits", "state": str(folder / f"site{s}"), "clients": ",".join(ids[s::sites]), **config}
        (folder / f"site{s}").mkdir(parents=True)
        if policy is not None:
            (folder / f"site{s}" / "policy.toml").write_text(policy_text(policy))
            own["policy"] = str(folder / f"site{s}" / "policy.toml")
        grid.nodes[s + 100] = LocalNode(s + 100, own, model, data)
    nodes = Nodes(grid, deadline=30, poll=0)
    nodes.wait(sites, 0)
    return grid, nodes


def records(contents: Iterable[Any]) -> list[Any]:
    """What messages hold."""
    return [unpack(from_content(content)) for content in contents]
