"""A time limit for the head of an HTTP request: who opens connections and sends nothing, or a byte now and then."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:  # the package httptools is not installed
    HttpToolsProtocol = H11Protocol  # type: ignore[assignment, misc]

HEAD_SECONDS: Final = 10.0
"""Seconds within which the request line and all headers of a request must arrive, the first byte included."""


def with_head_timeout(protocol: type[asyncio.Protocol], seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """Return a subclass of uvicorn's `protocol` that closes connections on which no whole head arrives in time.

    Between two requests uvicorn's own keep-alive limit counts until the first byte. A protocol that is not uvicorn's
    for HTTP/1.1 is returned unchanged.
    """
    if not issubclass(protocol, (H11Protocol, HttpToolsProtocol)):
        return protocol

    class WithHeadTimeout(protocol):  # type: ignore[valid-type, misc]
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_timer()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return WithHeadTimeout
