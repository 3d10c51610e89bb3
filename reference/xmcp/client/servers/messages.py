"""A JSON-RPC message of a server, from its bytes: bounded, and decoded off the event loop where it is large."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic_core import from_json

from xmcp.chat.json_pieces import decode_json
from xmcp.client.servers.peer_limits import ANSWER_REFUSED, Refusal, TooLarge
from xmcp.client.servers.result_checks import is_too_wide

INLINE_BYTES: Final = 256 * 1024
"""Maximum size of a message that is decoded on the event loop: in 10 ms at most, and mostly in one or two."""

_READER: Final = ThreadPoolExecutor(1, "xmcp reader")
"""One thread reads the large messages: more of them would not be faster, and each would keep memory of its own."""


async def read_message(data: bytes | str) -> SessionMessage:
    """Return the message that `data` is, or an error in the place of an answer with too many items.

    Raises:
        ValueError: it is not a JSON-RPC message.
    """
    if len(data) <= INLINE_BYTES:
        return _message(data)
    return await asyncio.get_running_loop().run_in_executor(_READER, _message, data)


def _message(data: bytes | str) -> SessionMessage:
    # The SDK's `validate_json` makes the same of a text, and takes seven times as long: it tries each kind of message.
    text = data.encode() if isinstance(data, str) else data
    value = decode_json(text) if len(data) > INLINE_BYTES else from_json(text)
    message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(value, by_name=False)
    if isinstance(message, JSONRPCResponse) and is_too_wide(message.result):
        return too_large(message.id)
    return SessionMessage(message)


def too_large(id_: RequestId) -> SessionMessage:
    """Return the error in the place of an answer that is larger than the client reads."""
    error = ErrorData(code=CONNECTION_CLOSED, message=str(TooLarge()), data={ANSWER_REFUSED: Refusal.TOO_LARGE})
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id_, error=error))
