"""The messages to a client: the connection they belong to, and what is changed in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession

MessageRewrite = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""From the method of a message and its parameters to the parameters to send."""


def connection_of(session: ServerSession) -> Connection:
    """Return the connection of a request; the SDK creates a new session object for each request."""
    return session._connection


def dispatcher_of(session: ServerSession) -> object | None:
    """Return what dispatches the messages of the session's stream; None where each request has a stream of its own."""
    outbound: object = session._request_outbound
    return getattr(getattr(outbound, "_inner", outbound), "_dispatcher", None)


class _WithholdingSession(ServerSession):
    """A session that changes the parameters of each message to the client before it is sent."""

    _rewrites: tuple[MessageRewrite, ...]

    def _rewritten(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        for rewrite in self._rewrites:
            params = rewrite(method, params)
        return params

    async def send_request(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a question of the server: elicitation, sampling, roots."""
        return await super().send_request(self._rewritten_message(request), *args, **options)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress of the request that the session belongs to."""
        text = self._rewritten("notifications/progress", {} if message is None else {"message": message})
        await super().report_progress(progress, total, text.get("message"))

    async def _notify(self, notification: Any, **options: Any) -> None:
        await super()._notify(self._rewritten_message(notification), **options)

    def _rewritten_message(self, message: Any) -> Any:
        members = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        params = members.get("params")
        if params is None or (rewritten := self._rewritten(members["method"], params)) == params:
            return message
        return type(message).model_validate({**members, "params": rewritten})


def rewrite_messages(session: ServerSession, rewrite: MessageRewrite) -> None:
    """Apply `rewrite` to the method and the parameters of each message that is sent through `session` from now on.

    A session object belongs to one request; the SDK's own class only, because a program may bring another.
    """
    if type(session) is ServerSession:
        session.__class__ = _WithholdingSession
        session._rewrites = ()  # type: ignore[attr-defined]
    if isinstance(session, _WithholdingSession):
        session._rewrites = (*session._rewrites, rewrite)
