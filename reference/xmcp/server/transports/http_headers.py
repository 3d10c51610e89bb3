"""The headers of a request, before anything else reads them: no name twice, and a refusal that says what to do.

Two programs that read one request differently are a way around either: a proxy may check the first of two equal
headers, and the server use the second.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

from mcp_types import HEADER_MISMATCH, INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger: Final = logging.getLogger("xmcp.server")

_SINGLE: Final = frozenset(
    {b"authorization", b"content-length", b"content-type", b"host", b"last-event-id", b"origin", b"transfer-encoding"}
)
_MCP: Final = b"mcp-"
_MAX_SHOWN: Final = 200  # characters of a value that is not allowed
_MAX_LOGGED: Final = 20  # different values that are logged; a caller can invent any number


def repeated(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the name of a header that must stand in a request once and does not: MCP's own, and those of HTTP."""
    names = Counter(name for name, _ in headers if name in _SINGLE or name.startswith(_MCP))
    return next((name.decode("latin-1") for name, number in names.items() if number > 1), None)


def combined(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers with one line for each name (RFC 9110, section 5.3); cookies as RFC 9113, section 8.2.3.

    FastMCP gives a background task the last of two lines only: that may be the caller's, beside the one of a proxy.
    """
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    return [(name, (b"; " if name == b"cookie" else b", ").join(several)) for name, several in values.items()]


class HeaderGuard:
    """An ASGI application that refuses or combines repeated headers, and explains why a Host or Origin is refused."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose headers are clear."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = scope["headers"]
        if len({name for name, _ in headers}) == len(headers):
            await self._serve(scope, receive, send)
        elif (name := repeated(headers)) is None:
            await self._serve({**scope, "headers": combined(headers)}, receive, send)
        else:
            code = HEADER_MISMATCH if name.startswith(_MCP.decode()) else INVALID_REQUEST
            text = f"The header {name[:_MAX_SHOWN]!r} appears more than once. Send it once."
            await refusal(400, code, text)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def answer(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] in _EXPLAINED:
                explanation = self._explanation(message, Headers(scope=scope))
                if explanation is not None:
                    refused = True
                    await refusal(message["status"], INVALID_REQUEST, explanation)(scope, receive, send)
                    return
            if not refused:
                await send(message)

        await self.app(scope, receive, answer)

    def _explanation(self, start: Message, headers: Headers) -> str | None:
        """Return the explanation of the refusal that begins with `start`; None if FastMCP's guard did not write it."""
        header, length, option = _EXPLAINED[start["status"]]
        answered = Headers(raw=start["headers"])
        if answered.get("content-length") != str(length) or "content-type" in answered:  # FastMCP gives no type
            return None
        value = headers.get(header, "")[:_MAX_SHOWN]
        if value not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(value)
            logger.warning("Refused requests with the %s %r. To allow it: %s.", header, value, option)
        return f"The {header} {value!r} is not allowed. Who runs the server can allow it: {option}."


_EXPLAINED: Final = {
    421: ("Host", len("Misdirected Request"), "--allowed-host, or allowed_hosts=[...] in code"),
    403: ("Origin", len("Forbidden Origin"), "--allowed-origin, or allowed_origins=[...] in code"),
}
"""Status: the header, the length of FastMCP's own text, and the options that allow a value."""


def refusal(status: int, code: int, text: str) -> JSONResponse:
    """Return an answer without a request id, as a JSON-RPC error, which clients show as it is."""
    error = {"code": code, "message": text}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
