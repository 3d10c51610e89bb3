"""How a server fails before there is a result: the exception, its text for people, and which errors mean a loss."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from xmcp.chat.untrusted_text import printable, without_secrets
from xmcp.client.servers.peer_limits import ANSWER_REFUSED, Refusal
from xmcp.dependency_graph import DependencyError

if TYPE_CHECKING:
    from mcp import MCPError

METHOD_NOT_FOUND: Final = -32601
"""JSON-RPC's code for a method that the server does not have."""

MAX_REASON: Final = 200
"""Maximum number of characters in `describe`."""

MAX_SEARCHED: Final = 500
"""Characters of a message that are searched for its meaning: it takes quadratic time, and a server chooses the text."""

_LOST: Final = re.compile(
    r"(?i)connection closed|sse stream ended without|session\b.*\b(?:not found|terminated|expired|unknown|invalid)"
    r"|^sse stream failed|^failed to parse (?:json response|sse message)|^unexpected content type"
    r"|^server returned an error response|^server answered a request with|^redirect to .* not followed"
)
"""Messages of protocol errors which mean that the connection is over, or that it delivered an invalid answer.

They are the SDK's, or those of a server that lost its session. The error code does not tell: FastMCP answers a time-out
of a tool with the code for a closed connection."""


_UNREADABLE: Final = re.compile(
    r"(?i)^failed to parse (?:json response|sse message)|^unexpected content type|^server answered a request with"
    r"|^redirect to .* not followed|^server returned an error response: HTTP 4"
)
"""Those of `_LOST` that say what came in the place of an answer. The connection is given up, but somebody answered."""
_EVENT_TOO_LARGE: Final = re.compile(
    r"^SSE stream failed: (?:Server-sent event exceeded the \d+ byte limit|it sent a message of more than)"
)
"""The SDK's message for an event above its limit, and for a stream that ended with `TooLarge`."""


class ConnectFailed(Exception):
    """A server could not be reached. The message gives the reason for people and contains no credential."""


def refusal_to_start(exc: BaseException) -> DependencyError | None:
    """Return the fault in its own tools because of which a server of this process did not start, if it is why."""
    cause: BaseException | None = exc
    while cause is not None and not isinstance(cause, DependencyError):
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__
    return cause


def means_connection_lost(exc: MCPError) -> bool:
    """Return whether a protocol error means that its connection cannot be used any longer."""
    return _LOST.search(exc.message[:MAX_SEARCHED]) is not None


def means_unreadable_answer(exc: MCPError) -> bool:
    """Return whether an error that means a lost connection is one because of what the other side answered."""
    return _UNREADABLE.search(exc.message[:MAX_SEARCHED]) is not None


def refusal(exc: MCPError) -> Refusal | None:
    """Return why the client did not read the answer; `None` if the error means something else."""
    if _EVENT_TOO_LARGE.match(exc.message):
        return Refusal.TOO_LARGE
    named = exc.data.get(ANSWER_REFUSED) if isinstance(exc.data, dict) else None
    return Refusal(named) if named in tuple(Refusal) else None


def describe(exc: BaseException) -> str:
    """Return an exception as one line for people: its first line or its class, without credentials of URLs.

    Much of it is text of a server; a control character in it is escaped.
    """
    while isinstance(exc, BaseExceptionGroup) and exc.exceptions:
        exc = exc.exceptions[0]
    text = str(exc).removeprefix("Client failed to connect: ").strip().splitlines()
    first = text[0] if text else type(exc).__name__
    # Cut first: looking for credentials takes quadratic time, and a server chooses the text.
    return printable(without_secrets(first[: 10 * MAX_REASON])[:MAX_REASON])
