"""Request ids of one session: an id in use is refused.

Over stdio and SSE all answers of a session share one stream, so a client could not tell two answers with the same id
apart. Streamable HTTP refuses such a request earlier (`fastmcp_internals/http_sessions.py`), or has no sessions.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import INVALID_REQUEST

from xmcp.server.fastmcp_internals.outgoing_messages import dispatcher_of

_IN_USE: Final[weakref.WeakKeyDictionary[object, set[str]]] = weakref.WeakKeyDictionary()
"""The ids in use on each stream of messages."""


async def refuse_ids_in_use(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a message; middleware of the SDK for every method.

    Raises:
        MCPError: Another request of the session with the same id is not answered yet. For the SDK, 7 equals "7".
    """
    stream = dispatcher_of(ctx.session)
    if ctx.request_id is None or stream is None:
        return await call_next(ctx)
    in_use = _IN_USE.setdefault(stream, set())
    request_id = str(ctx.request_id)
    if request_id in in_use:
        text = "The id of this request belongs to a request of this session that is not answered yet. Use each id once."
        raise MCPError(code=INVALID_REQUEST, message=text)
    in_use.add(request_id)
    try:
        return await call_next(ctx)
    finally:
        in_use.discard(request_id)
