"""Bodies of requests: bounded before they are read, in size, in time, and all together, then parsed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

import orjson
from starlette.requests import ClientDisconnect, Request

from xmcp.chat.json_values import is_deeper_than
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.gateway.http.refusals import Refused, wait_headers

MAX_DEPTH: Final = 100
"""Maximum number of levels of a body."""

_JSON: Final = "application/json"
_DISCARD_SECONDS: Final = 2.0


class Arriving:
    """Counts the bytes of the bodies that are read at the same time.

    Args:
        most: Maximum number of bytes. Of one tenant, no more than half of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Counter[str | None] = Counter()

    @property
    def bytes(self) -> int:
        """How many there are now."""
        return self._of.total()

    def take(self, tenant: str | None, size: int) -> bool:
        """Count further bytes of a tenant, and return whether there is room for them; `give_back` must follow then."""
        if self._of[tenant] + size > self._most // 2 or self.bytes + size > self._most:
            return False
        self._of[tenant] += size
        return True

    def give_back(self, tenant: str | None, size: int) -> None:
        """Count bytes no longer."""
        self._of[tenant] -= size
        if not self._of[tenant]:
            del self._of[tenant]


async def read_body(request: Request, max_bytes: int, seconds: float) -> bytes:
    """Return the body of a request with JSON.

    Raises:
        Refused: it has another type or a compression, is too large, does not arrive in time, or too many arrive now.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        # Also keeps web pages out: a browser sends this type across origins only if the server allows it beforehand.
        raise Refused(415, f"Send the body as JSON, with Content-Type: {_JSON}.", "unsupported_media_type")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "Send the body without a Content-Encoding.", "unsupported_media_type")
    return await received(request, max_bytes, seconds)


async def received(request: Request, max_bytes: int, seconds: float) -> bytes:
    """Return the body of a request, of whatever type.

    Raises:
        Refused: it is too large, or does not arrive in time.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > max_bytes):
        await _discard(request)
        raise _too_large(max_bytes)
    arriving: Arriving = request.app.state.arriving
    tenant = request.state.caller.tenant
    body = bytearray()
    refusal: Refused | None = None
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                if len(body) + len(piece) > max_bytes:
                    refusal = _too_large(max_bytes)
                    break
                if not arriving.take(tenant, len(piece)):
                    refusal = _too_many()
                    break
                body += piece
    except TimeoutError:
        closing = {"connection": "close"}
        raise Refused(408, f"The body did not arrive within {seconds:g} s.", "timeout", headers=closing) from None
    except ClientDisconnect:
        raise Refused(400, "The connection was closed before the body had arrived.", "incomplete_body") from None
    finally:
        arriving.give_back(tenant, len(body))
    if refusal is not None:
        body.clear()
        await _discard(request)
        raise refusal
    return bytes(body)


async def _discard(request: Request) -> None:
    """Read the rest of a body for a short time and keep nothing: a client that still sends does not see the answer."""
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while (await request.receive()).get("more_body", False):
                pass
    except TimeoutError:
        return


async def json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises:
        Refused: it is not JSON, or not an object.
    """
    try:
        value = await in_worker_if_large(len(body), _parsed, body)
    except TooDeep:
        raise Refused(400, f"The body is nested more than {MAX_DEPTH} levels deep.", "invalid_json") from None
    except orjson.JSONDecodeError as error:
        # Without the words of the parser beyond the place: they quote nothing, but they are its own.
        where = f"line {error.lineno}, column {error.colno}"
        raise Refused(400, f"The body is not JSON: see {where}.", "invalid_json") from None
    if not isinstance(value, dict):
        raise Refused(400, "The body must be a JSON object.", "invalid_json")
    return value


class TooDeep(Exception):
    """JSON that is nested deeper than what reads it later."""


def _parsed(body: bytes) -> Any:
    value = orjson.loads(body)
    if is_deeper_than(MAX_DEPTH, value):
        raise TooDeep
    return value


def _too_many() -> Refused:
    told = "Too many large bodies arrive at the moment. Try again in 1 s."
    return Refused(503, told, "overloaded", headers={**wait_headers(1), "connection": "close"})


def _too_large(max_bytes: int) -> Refused:
    # The rest is not read, so that the connection cannot be used any more.
    closing = {"connection": "close"}
    return Refused(413, f"The body has more than {max_bytes:,} bytes.", "request_too_large", headers=closing)
