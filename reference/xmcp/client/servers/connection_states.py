"""The states of a server and of one connection as tables: (state, event) to the next state and the actions.

A server has at most one current connection, and any number of old ones that finish the requests they have:

    server   DISCONNECTED ── NEEDED ──▶ CONNECTING ── OPENED ──▶ CONNECTED        CLOSE leads from every state
                  ▲                        │ FAILED, CANCELLED       │ LOST       to CLOSED, which nothing leaves
                  └────────────────────────┴─────────────────────────┘

    connection     STARTING ── STARTED ──▶ READY ── RETIRED ──▶ DRAINING ── UNUSED ──▶ LEAVING ── ENDED ──▶ ENDED

Pure; `mcp_server` and `connection` carry the actions out. An event without a row is a programming error there:
`UnexpectedEvent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias, TypeVar


class ServerState(Enum):
    """Whether a server can be used."""

    DISCONNECTED = "disconnected"
    """There is no connection; the next request opens one."""
    CONNECTING = "connecting"
    """A connection is being opened; all requests wait for it."""
    CONNECTED = "connected"
    """There is a current connection that is not known to be broken."""
    CLOSED = "closed"
    """The application closed the client. Final."""


class ServerEvent(Enum):
    """What happens to a server's connection."""

    NEEDED = "needed"
    """A request needs a connection."""
    OPENED = "opened"
    """The connection that was being opened is ready."""
    FAILED = "failed"
    """It could not be opened."""
    CANCELLED = "cancelled"
    """Its opening was cancelled."""
    LOST = "lost"
    """The current connection turned out to be broken. (The loss of an older one is no event of the server.)"""
    CLOSE = "close"
    """The application closes the client."""


class ServerAction(Enum):
    """What `connection.Server` has to do."""

    START_OPENING = "start opening"
    REFUSE = "refuse"
    """Raise `ConnectFailed`."""
    ADOPT = "adopt"
    """Make the new connection the current one, and report that the server is connected."""
    REPORT_UNREACHABLE = "report unreachable"
    RETIRE = "retire"
    """Retire the current connection and report the loss."""
    CANCEL_OPENING = "cancel opening"
    CLOSE_CONNECTIONS = "close connections"


class ConnectionState(Enum):
    """How far one connection has come."""

    STARTING = "starting"
    READY = "ready"
    """It is connected and the tools are listed."""
    DRAINING = "draining"
    """It is not used for new requests; running requests may finish."""
    LEAVING = "leaving"
    """Its task is closing it."""
    ENDED = "ended"
    """Its task has ended. Final."""


class ConnectionEvent(Enum):
    """What happens to one connection."""

    STARTED = "started"
    RETIRED = "retired"
    """It is broken, and no new request will use it."""
    UNUSED = "unused"
    """The last request on it has ended."""
    CLOSE = "close"
    """It must end now, even if requests are running on it."""
    ENDED = "ended"


class ConnectionAction(Enum):
    """What a `Connection` has to do."""

    LEAVE = "leave"
    """Ask the task that owns the connection to close it."""
    ABORT_START = "abort start"
    """Cancel the start of the connection, which may hang."""


class UnexpectedEvent(RuntimeError):
    """An event in a state in which it cannot happen: a programming error of the client."""


State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)
Action = TypeVar("Action", bound=Enum)
Table: TypeAlias = Mapping[tuple[State, Event], tuple[State, tuple[Action, ...]]]

SERVER_TABLE: Final[Table[ServerState, ServerEvent, ServerAction]] = {
    (ServerState.DISCONNECTED, ServerEvent.NEEDED): (ServerState.CONNECTING, (ServerAction.START_OPENING,)),
    (ServerState.CONNECTING, ServerEvent.NEEDED): (ServerState.CONNECTING, ()),
    (ServerState.CONNECTED, ServerEvent.NEEDED): (ServerState.CONNECTED, ()),
    (ServerState.CLOSED, ServerEvent.NEEDED): (ServerState.CLOSED, (ServerAction.REFUSE,)),
    #
    (ServerState.CONNECTING, ServerEvent.OPENED): (ServerState.CONNECTED, (ServerAction.ADOPT,)),
    (ServerState.CONNECTING, ServerEvent.FAILED): (ServerState.DISCONNECTED, (ServerAction.REPORT_UNREACHABLE,)),
    (ServerState.CONNECTING, ServerEvent.CANCELLED): (ServerState.DISCONNECTED, ()),
    (ServerState.CONNECTED, ServerEvent.LOST): (ServerState.DISCONNECTED, (ServerAction.RETIRE,)),
    #
    (ServerState.DISCONNECTED, ServerEvent.CLOSE): (ServerState.CLOSED, (ServerAction.CLOSE_CONNECTIONS,)),
    (ServerState.CONNECTING, ServerEvent.CLOSE): (
        ServerState.CLOSED,
        (ServerAction.CANCEL_OPENING, ServerAction.CLOSE_CONNECTIONS),
    ),
    (ServerState.CONNECTED, ServerEvent.CLOSE): (ServerState.CLOSED, (ServerAction.CLOSE_CONNECTIONS,)),
    (ServerState.CLOSED, ServerEvent.CLOSE): (ServerState.CLOSED, (ServerAction.CLOSE_CONNECTIONS,)),
    # The end of an opening that the closing overtook.
    (ServerState.CLOSED, ServerEvent.OPENED): (ServerState.CLOSED, (ServerAction.CLOSE_CONNECTIONS,)),
    (ServerState.CLOSED, ServerEvent.FAILED): (ServerState.CLOSED, (ServerAction.REPORT_UNREACHABLE,)),
    (ServerState.CLOSED, ServerEvent.CANCELLED): (ServerState.CLOSED, ()),
}

CONNECTION_TABLE: Final[Table[ConnectionState, ConnectionEvent, ConnectionAction]] = {
    (ConnectionState.STARTING, ConnectionEvent.STARTED): (ConnectionState.READY, ()),
    # It ends as soon as it has started.
    (ConnectionState.STARTING, ConnectionEvent.RETIRED): (ConnectionState.STARTING, (ConnectionAction.LEAVE,)),
    (ConnectionState.STARTING, ConnectionEvent.UNUSED): (ConnectionState.STARTING, ()),
    (ConnectionState.STARTING, ConnectionEvent.CLOSE): (
        ConnectionState.LEAVING,
        (ConnectionAction.LEAVE, ConnectionAction.ABORT_START),
    ),
    #
    (ConnectionState.READY, ConnectionEvent.RETIRED): (ConnectionState.DRAINING, ()),
    (ConnectionState.READY, ConnectionEvent.UNUSED): (ConnectionState.READY, ()),
    (ConnectionState.READY, ConnectionEvent.CLOSE): (ConnectionState.LEAVING, (ConnectionAction.LEAVE,)),
    #
    (ConnectionState.DRAINING, ConnectionEvent.RETIRED): (ConnectionState.DRAINING, ()),
    (ConnectionState.DRAINING, ConnectionEvent.UNUSED): (ConnectionState.LEAVING, (ConnectionAction.LEAVE,)),
    (ConnectionState.DRAINING, ConnectionEvent.CLOSE): (ConnectionState.LEAVING, (ConnectionAction.LEAVE,)),
    #
    (ConnectionState.LEAVING, ConnectionEvent.STARTED): (ConnectionState.LEAVING, ()),
    (ConnectionState.LEAVING, ConnectionEvent.RETIRED): (ConnectionState.LEAVING, ()),
    (ConnectionState.LEAVING, ConnectionEvent.UNUSED): (ConnectionState.LEAVING, ()),
    (ConnectionState.LEAVING, ConnectionEvent.CLOSE): (ConnectionState.LEAVING, ()),
    # When the task ends, the connection is over; later events change nothing.
    **{(state, ConnectionEvent.ENDED): (ConnectionState.ENDED, ()) for state in ConnectionState},
    (ConnectionState.ENDED, ConnectionEvent.RETIRED): (ConnectionState.ENDED, ()),
    (ConnectionState.ENDED, ConnectionEvent.UNUSED): (ConnectionState.ENDED, ()),
    (ConnectionState.ENDED, ConnectionEvent.CLOSE): (ConnectionState.ENDED, ()),
}


def step(table: Table[State, Event, Action], state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
    """Return the state that follows `event`, and the actions to carry out, in order.

    Raises:
        UnexpectedEvent: the table has no row for it.
    """
    try:
        return table[state, event]
    except KeyError:
        raise UnexpectedEvent(f"{event} in the state {state}") from None
