"""A document as the tool response it is: the one reader, whole or in pieces. encode.py is its mirror.

Bytes, encodings and the parser are handled here; what the document says, in content.py.
"""

from __future__ import annotations

from copy import copy
from xml.parsers import expat

from xmcp.wire.content import BadDisplay, Content
from xmcp.wire.errors import DecodeError, DecodeErrorKind
from xmcp.wire.limits import DEFAULT_LIMITS, Limits
from xmcp.wire.response import ToolResponse


def decode(data: str | bytes, *, limits: Limits = DEFAULT_LIMITS, bad_display: BadDisplay = "raise") -> ToolResponse:
    """The response that a whole document is.

    Takes text or UTF-8, with or without a byte order mark and an XML declaration. Raises DecodeError, and
    nothing else, whatever the content. With `bad_display="drop"` a display that is no JSON or no envelope
    is left out and `warnings` says so; all other faults still raise.
    """
    decoder = Decoder(limits=limits, bad_display=bad_display)
    decoder._take(data, final=True)
    return decoder._content.response()


class Decoder:
    """The same for a document that comes in pieces: `feed` each, then `close`.

    Pieces may end anywhere, within a character too. A fault is raised by the `feed` that meets it, and again
    by every later call. What comes out does not depend on where the pieces end.
    """

    __slots__ = (
        "_closed",
        "_content",
        "_fault",
        "_held",
        "_held_bytes",
        "_is_text",
        "_limit",
        "_parser",
        "_taken",
        "_wanted",
    )

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS, bad_display: BadDisplay = "raise") -> None:
        # Without expat's namespace mode: namespaces.py says why.
        self._parser = expat.ParserCreate("utf-8")
        self._content = Content(self._parser, limits, bad_display)
        self._limit = limits.document_bytes
        # The bytes that were taken in all; those that are not parsed yet, and how many it takes to try.
        self._taken = 0
        self._is_text = False
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._wanted = 2
        self._fault: DecodeError | None = None
        self._closed = False

    def feed(self, chunk: str | bytes) -> None:
        """Take the next piece. Raises DecodeError as soon as a fault is certain, ValueError after `close`."""
        self._take(chunk, final=False)

    def close(self) -> ToolResponse:
        """The response, when everything was fed. Raises DecodeError, or ValueError the second time."""
        self._take(b"", final=True)
        return self._content.response()

    def _take(self, chunk: str | bytes, *, final: bool) -> None:
        if self._fault:
            raise copy(self._fault)
        if self._closed:
            raise ValueError("this decoder is closed: use a new one for each document")
        try:
            self._hold(chunk)
            if final or self._held_bytes >= self._wanted:
                self._parse(final=final)
        except DecodeError as fault:
            self._fault = copy(fault)  # without its traceback, which leads back here
            self._content.leave()
            raise
        if final:
            self._closed = True
            self._content.leave()

    def _hold(self, chunk: str | bytes) -> None:
        room = self._limit - self._taken
        # A character has one byte at least: text that is too long already need not be encoded to be refused.
        data = b"" if len(chunk) > room else _utf8(chunk)
        if len(chunk) > room or len(data) > room:
            raise self._content.fault(DecodeErrorKind.LIMIT, f"the document is longer than {self._limit} bytes")
        if not self._taken:
            self._is_text = isinstance(chunk, str)
        self._taken += len(data)
        self._held.append(data)
        self._held_bytes += len(data)

    def _parse(self, *, final: bool) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._held_bytes = 0
        if len(data) == self._taken:
            self._check_encoding(data)
        parser = self._parser
        try:
            parser.Parse(data, final)
        except expat.ExpatError as fault:
            raise DecodeError(
                DecodeErrorKind.NOT_WELL_FORMED,
                expat.errors.messages.get(fault.code, "not well-formed"),
                line=fault.lineno,
                column=fault.offset + 1,
                offset=max(parser.ErrorByteIndex, 0),
            ) from None
        # expat before 2.6 reads an unfinished token from its start each time: waiting until as much again
        # has come keeps that linear.
        self._wanted = max(1, self._taken - parser.CurrentByteIndex)

    def _check_encoding(self, data: bytes) -> None:
        """Refuse what expat would take for UTF-16, whatever it is told (XML 1.0, appendix F)."""
        if data.startswith((b"\xfe\xff", b"\xff\xfe")) or b"\0" in data[:2]:
            if self._is_text:
                raise self._content.fault(DecodeErrorKind.NOT_WELL_FORMED, "a NUL character")
            message = "the document looks like UTF-16 or UTF-32: it must be UTF-8"
            raise self._content.fault(DecodeErrorKind.ENCODING, message)


def _utf8(chunk: str | bytes) -> bytes:
    # A lone surrogate becomes bytes that are no UTF-8: expat refuses them and says where.
    return chunk.encode("utf-8", "surrogatepass") if isinstance(chunk, str) else bytes(chunk)
