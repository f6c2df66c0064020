"""A federation without processes whose messages are looked at on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from shoal.data.federation import Source
from shoal.flower.loopback import LoopbackGrid, LoopbackNode
from shoal.flower.messages import from_content
from shoal.flower.nodes import Nodes
from shoal.flower.policy import Allowed, Policy, policy_text
from shoal.flower.records import unpack
from shoal.layout import ModelFactory

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


class LocalGrid(LoopbackGrid):
    """One whose nodes may be silent or send something else. `down` and `up` hold every message's content."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: set[int] = set()  # nodes that are there and do not answer
        self.spoil: Callable[[Any], Any] = lambda message: message
        self.down: list[Any] = []
        self.up: list[Any] = []

    def deliver(self, message: Any) -> Any:
        self.down.append(message.content)
        reply = None if message.metadata.dst_node_id in self.silent else super().deliver(message)
        if reply is None:
            return None
        reply = self.spoil(reply)
        if reply.has_content():
            self.up.append(reply.content)
        return reply


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
        grid.nodes[s + 100] = LoopbackNode(s + 100, own, model, data)
    nodes = Nodes(grid, deadline=30, poll=0)
    nodes.wait(sites, 0)
    return grid, nodes


def records(contents: Iterable[Any]) -> list[Any]:
    """What messages hold."""
    return [unpack(from_content(content)) for content in contents]
