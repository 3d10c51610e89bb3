"""Where a request belongs, if the gateway is several processes: every request that is about something has a name, and
the home of the name is the process that knows more of it, such as its session, or the run that it repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request

from xmcp.chat.messages import Message
from xmcp.gateway.ids import conversation_of
from xmcp.gateway.runs.request import ChatRequest
from xmcp.gateway.runs.retries import RequestMark
from xmcp.gateway.runs.rounds import run_of_call
from xmcp.gateway.workers.connections import is_from_peer

if TYPE_CHECKING:
    from xmcp.gateway.workers.peers import Peers


class Elsewhere(Exception):
    """A request that belongs to another process.

    Attributes:
        worker: The number of that process.
        body: The body of the request; `None` if it was not read.
    """

    def __init__(self, worker: int, body: bytes | None) -> None:
        super().__init__(f"the request belongs to worker {worker}")
        self.worker = worker
        self.body = body


def name_of_session(tenant: str | None, session_id: str) -> str:
    """Return the name of a session, which is also that of its conversation."""
    return conversation_of(tenant, session_id)


def name_of_chat(chat: ChatRequest, tenant: str | None, mark: RequestMark) -> str:
    """Return the name of a chat: equal ones have equal names, and those that go on from another one have its home.

    The round that a chat goes on from comes before an `Idempotency-Key`: a client can send a new key with each.
    """
    earlier = chat.goes_on_from or _last_round(chat.history)
    if (name := name_of_earlier(tenant, chat.session_id, earlier)) is not None:
        return name
    if mark.key is not None:
        return "\0".join(mark.key)
    return mark.digest.hex()


def name_of_earlier(tenant: str | None, session_id: str | None, run_id: str | None) -> str | None:
    """Return the name of what a chat goes on from: its session, or else an earlier run; `None` if there is neither."""
    return run_id if session_id is None else name_of_session(tenant, session_id)


def _last_round(history: Sequence[Message]) -> str | None:
    """Return the run that left the last calls to the client; `None` if none did."""
    for message in reversed(history):
        for call in message.get("tool_calls") or ():
            if (run_id := run_of_call(call["id"])) is not None:
                return run_id
    return None


def peers_of(request: Request) -> Peers | None:
    """Return the other processes, for a request that came from outside; `None` if another one handed it on.

    Nothing is handed on twice, so that no request goes in a circle.
    """
    peers: Peers | None = request.app.state.peers
    return None if peers is None or is_from_peer(request.scope) else peers


def keep_to_home(
    request: Request, name: Callable[[], str], body: bytes | None = None, *, unless_away: bool = False
) -> None:
    """Leave a request to the home of its name; `body` is that of the request if it was read.

    `unless_away`: this process can answer, too, as long as the home is not there.

    Raises:
        Elsewhere: that is another process.
    """
    if (peers := peers_of(request)) is None:
        return
    worker = peers.place.home_of(name())
    if worker != peers.place.number and not (unless_away and peers.is_away(worker)):
        raise Elsewhere(worker, body)
