"""The ClientApp of every site: hands messages to the site's own process, and what it answers back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp

from shoal.errors import ShoalError
from shoal.flower.messages import CALL, HELLO, from_content, to_content
from shoal.store.codec import Copied

__all__ = ["client_app"]

RAISED = 2  # Flower's code for a client that raised an error


def client_app(model: str | None = None, answer: Callable[[Copied, Any], Copied] | None = None) -> Any:
    """The ClientApp of a federation.

    Args:
        model: `MODULE:FUNCTION` of the app, which makes the model; None: the run has one of Shoal's.
        answer: What answers a message, given the node-config; None: the process of the site, started if need be.

    Returns:
        Flower's ClientApp.

    >>> sorted(client_app()._registered_funcs)
    ['query.hello', 'train.call']
    """
    app = ClientApp()

    def handle(message: Any, context: Context) -> Any:
        try:
            if answer is not None:
                copy = answer(from_content(message.content), context.node_config)
            else:
                from shoal.flower.resident import ask

                copy = ask(from_content(message.content), context.node_config, model)
            return Message(to_content(copy), reply_to=message)
        except ShoalError as e:
            return Message(Error(RAISED, str(e)), reply_to=message)

    app.query(HELLO.partition(".")[2])(handle)
    app.train(CALL.partition(".")[2])(handle)
    return app
