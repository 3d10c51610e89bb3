"""Limits for connections of HTTP: for who opens them and sends nothing, a byte now and then, or a head without an end;
and for who takes nothing of an answer."""

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

HEAD_BYTES: Final = 64 * 1024
"""Maximum size of a head in bytes, as h11 has it; one more read of the socket can come before it is noticed."""


class _BoundedHead(HttpToolsProtocol):
    """uvicorn's protocol of httptools, which has no limit for a head, and takes trailers for headers.

    When a connection is lost it tells the newest request alone, which may wait behind the one that is answered.
    """

    _in_head = False
    _head_bytes = 0
    _answered: Any = None

    def data_received(self, data: bytes) -> None:
        goes_on = self._in_head
        super().data_received(data)
        if goes_on and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # a trailer would stand among headers that were checked
            super().on_header(name, value)


def with_head_timeout(protocol: type[asyncio.Protocol], seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """Return a subclass of uvicorn's `protocol` that closes connections on which no whole head arrives in time.

    Between two requests uvicorn's own keep-alive limit counts until the first byte. A protocol that is not uvicorn's
    for HTTP/1.1 is returned unchanged.
    """
    if not issubclass(protocol, (H11Protocol, HttpToolsProtocol)):
        return protocol
    if protocol is HttpToolsProtocol:  # without httptools that of h11, which has no such calls
        protocol = _BoundedHead

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


def with_send_timeout(protocol: type[asyncio.Protocol], seconds: float) -> type[asyncio.Protocol]:
    """Return a subclass of uvicorn's `protocol` that cuts connections whose client takes nothing of what is sent.

    uvicorn itself keeps such an answer for ever. What fits the buffer of the transport, 64 KiB as a rule, is not seen.
    """

    class WithSendTimeout(protocol):  # type: ignore[valid-type, misc]
        _unsent = 0
        _watch: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._look_later()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._look_no_more()

        def connection_lost(self, exc: Exception | None) -> None:
            self._look_no_more()
            super().connection_lost(exc)

        def _look_later(self) -> None:
            self._unsent = self.transport.get_write_buffer_size()
            self._watch = self.loop.call_later(seconds, self._look)

        def _look(self) -> None:
            # Nothing is written meanwhile: who writes waits.
            if self.transport.get_write_buffer_size() < self._unsent:
                self._look_later()
            else:
                self.transport.abort()

        def _look_no_more(self) -> None:
            if self._watch is not None:
                self._watch.cancel()
                self._watch = None

    return WithSendTimeout
