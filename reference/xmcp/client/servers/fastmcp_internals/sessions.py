"""The client and the session of FastMCP and the SDK, with what this client changes in them."""

from __future__ import annotations

from functools import lru_cache
from types import FunctionType, SimpleNamespace
from typing import Any

import fastmcp
from fastmcp.client.progress import ProgressHandler
from mcp.client import ClientExtension
from mcp.client.session import ClientSession

from xmcp.client.servers.fastmcp_internals.transports import resilient
from xmcp.client.servers.result_checks import check_result
from xmcp.client.servers.server_protocols import NotificationHandler
from xmcp.client.tools.catalogue import OnProgress


def prepared(
    client: fastmcp.Client[Any], on_notification: NotificationHandler, extensions: list[ClientExtension]
) -> fastmcp.Client[Any]:
    """Return a new client like an application's that also calls `on_notification` and advertises `extensions`.

    The application's own message handler is still called, after `on_notification`. An extension that the application
    advertises itself keeps the application's settings.
    """
    made = client.new()
    own = list(made._extensions_arg or ())
    known = {extension.identifier for extension in own}
    made._extensions_arg = [*own, *(extension for extension in extensions if extension.identifier not in known)]
    made._session_kwargs.update(made._build_extension_kwargs())
    handler = made._session_kwargs.get("message_handler")

    async def both(message: Any) -> None:
        await on_notification(message)
        if handler is not None:
            await handler(message)

    made._session_kwargs["message_handler"] = both
    made.transport = resilient(made.transport, on_notification)
    return made


def progress_handler(client: fastmcp.Client[Any], on_progress: OnProgress) -> ProgressHandler:
    """Return a handler for the reports of one call, which calls that of the application's client, too.

    FastMCP calls only the one or the other.
    """
    own = client._progress_handler

    async def both(progress: float, total: float | None, message: str | None) -> None:
        on_progress(progress, total, message)
        await own(progress, total, message)

    return both


def skip_result_validation(session: ClientSession) -> None:
    """Have `session` return results that violate the tool's output schema, without fetching schemas for the check."""

    async def accept(_name: str, _result: Any) -> None:
        """Accept every result; replaces the session's own check."""

    vars(session)["validate_tool_result"] = accept


def check_results_in_slices(session: ClientSession) -> None:
    """Have `session` check the form of a result with `check_result`.

    The SDK's own check also writes the result as JSON, and takes as long as a server likes.
    """
    # Its class is changed: a method in the session itself would be a circle, which keeps it and all that it holds until
    # the oldest generation is collected.
    kind: Any = type(session)
    session.__class__ = _checking(kind)


def _check_result(*result: Any) -> None:
    check_result(*result)


@lru_cache
def _checking(kind: Any) -> Any:
    """Return a class like `kind`, a class of sessions."""
    send = kind.send_request
    names = {**send.__globals__, "_methods": SimpleNamespace(validate_server_result=_check_result)}
    own = FunctionType(send.__code__, names, send.__name__, send.__defaults__, send.__closure__)
    own.__kwdefaults__ = send.__kwdefaults__
    return type(kind.__name__, (kind,), {"send_request": own})
