"""How a server fails before there is a result: the exception, its text for people, and which errors mean a loss."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from xmcp.chat.untrusted_text import printable, without_secrets
from xmcp.client.servers.peer_limits import ANSWER_REFUSED, Refusal
from xmcp.dependency_graph import DependencyError
from xmcp_models.registry import PREFIX

if TYPE_CHECKING:
    from mcp import MCPError

METHOD_NOT_FOUND: Final = -32601
"""JSON-RPC's code for a method that the server does not have."""

MAX_REASON: Final = 200
"""Maximum number of characters in `describe`."""

MAX_SEARCHED: Final = 500
"""Characters of a message that are searched for its meaning: it takes quadratic time, and a server chooses the text."""

SESSION_LOST: Final = f"{PREFIX}session_lost"
"""Member of the data of a protocol error: True if its HTTP status says that the server does not know the session."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CONNECTION_CLOSED: Final = -32000

_LOST: Final[dict[int, re.Pattern[str]]] = {
    CONNECTION_CLOSED: re.compile(r"(?i)connection closed(?:$|: )|sse stream (?:failed: |ended (?:without|and) )"),
    INVALID_REQUEST: re.compile(r"(?i)session (?:terminated|not found)$"),
    INTERNAL_ERROR: re.compile(r"(?i)server returned an error response(?:$|: HTTP 5)"),
    -32001: re.compile(r"(?i)session not found$"),
}
_UNREADABLE: Final[dict[int, re.Pattern[str]]] = {
    PARSE_ERROR: re.compile(r"(?i)failed to parse (?:json response|sse message): "),
    INVALID_REQUEST: re.compile(r"(?i)unexpected content type: |server answered a request with 202|redirect to .* not"),
    INTERNAL_ERROR: re.compile(r"(?i)server returned an error response: HTTP 4"),
}
"""Protocol errors which mean that the connection is over, or that something else came in the place of an answer, by
their code: how a message of the SDK, or of this client, begins. (-32001 is what the TypeScript SDK answers.)

Neither tells alone. FastMCP answers a time-out of a tool with the code for a closed connection, and a tool may say that
some session of its own has expired, which is not the connection's trouble."""

_REFUSES_CREDENTIALS: Final = {INTERNAL_ERROR: re.compile(r"(?i)server returned an error response: HTTP 40[13]\b")}
"""The same, of a status which says that the credentials were missing or did not suffice."""

_LOSES_SESSION: Final = re.compile(
    r"(?i)(?=.*\bsession\b).*\b(?:not found|no valid|terminated|expired|unknown|invalid)\b"
)
"""What a server says of its own session with a status other than 404, the one that the protocol has for it."""

_EVENT_TOO_LARGE: Final = re.compile(
    r"^SSE stream failed: (?:Server-sent event exceeded the \d+ byte limit|it sent a message of more than)"
)
"""The SDK's message for an event above its limit, and for a stream that ended with `TooLarge`."""


class ConnectFailed(Exception):
    """A server could not be reached. The message gives the reason for people and contains no credential."""


class CredentialsRefused(ConnectFailed):
    """A server refused the credentials with which a connection was to be opened (spec section 6.5)."""


class ConnectionsBusy(ConnectFailed):
    """All connections that a tenant may have to a server with different credentials are in use."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"none of the {most} connections with different credentials is free for its tenant; try again when a chat "
            "has ended"
        )


def refusal_to_start(exc: BaseException) -> DependencyError | None:
    """Return the fault in its own tools because of which a server of this process did not start, if it is why."""
    cause: BaseException | None = exc
    while cause is not None and not isinstance(cause, DependencyError):
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__
    return cause


def means_connection_lost(exc: MCPError) -> bool:
    """Return whether a protocol error means that its connection cannot be used any longer."""
    lost = isinstance(exc.data, dict) and exc.data.get(SESSION_LOST) is True
    return lost or _is_one_of(_LOST, exc) or means_unreadable_answer(exc)


def means_unreadable_answer(exc: MCPError) -> bool:
    """Return whether an error that means a lost connection is one because of what the other side answered."""
    return _is_one_of(_UNREADABLE, exc)


def means_credentials_refused(exc: MCPError) -> bool:
    """Return whether an error that means an unreadable answer says that the server refused the credentials."""
    return _is_one_of(_REFUSES_CREDENTIALS, exc)


def is_refusal_of_credentials(exc: BaseException | None) -> bool:
    """Return whether a connection could not be opened because the server refused the credentials."""
    from mcp import MCPError

    while exc is not None:
        if isinstance(exc, MCPError):
            return means_credentials_refused(exc)
        exc = exc.exceptions[0] if isinstance(exc, BaseExceptionGroup) else exc.__cause__
    return False


def means_session_lost(status: int, code: object, message: object) -> bool:
    """Return whether a protocol error, in the answer to a request with the id of a session, says that there is no such
    session. `status` is that of HTTP; 404 has this meaning, but for the code of an unknown method."""
    if status == 404:
        return code != METHOD_NOT_FOUND
    return isinstance(message, str) and _LOSES_SESSION.match(message[:MAX_SEARCHED]) is not None


def _is_one_of(table: dict[int, re.Pattern[str]], exc: MCPError) -> bool:
    meant = table.get(exc.code)
    return meant is not None and meant.match(exc.message[:MAX_SEARCHED]) is not None


def refusal(exc: MCPError) -> Refusal | None:
    """Return why the client did not read the answer; `None` if the error means something else."""
    if _EVENT_TOO_LARGE.match(exc.message):
        return Refusal.TOO_LARGE
    named = exc.data.get(ANSWER_REFUSED) if isinstance(exc.data, dict) else None
    return Refusal(named) if named in tuple(Refusal) else None


def describe(exc: BaseException) -> str:
    """Return an exception as one line for people: its first line or its class, without credentials of URLs.

    If FastMCP made it of one without a text, such as a reset of a connection, it is that one's class.
    Much of it is text of a server; a control character in it is escaped.
    """
    while isinstance(exc, BaseExceptionGroup) and exc.exceptions:
        exc = exc.exceptions[0]
    text = str(exc).removeprefix("Client failed to connect:").strip().splitlines()
    if not text and str(exc) and exc.__cause__ is not None:
        return describe(exc.__cause__)
    first = text[0] if text else type(exc).__name__
    # Cut first: looking for credentials takes quadratic time, and a server chooses the text.
    return printable(without_secrets(first[: 10 * MAX_REASON])[:MAX_REASON])
