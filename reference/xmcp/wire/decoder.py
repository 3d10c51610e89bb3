"""The decoder: from a document, whole or in pieces, to a tool response. encoder.py is its counterpart.

Bytes, encodings and the parser are handled here, the content of the document in content.py.
"""

from __future__ import annotations

import re
from copy import copy
from xml.parsers import expat

from xmcp.wire.canonical import read_canonical
from xmcp.wire.content import Arrived, BadDisplay, Content
from xmcp.wire.errors import DecodeError, DecodeErrorKind
from xmcp.wire.limits import DEFAULT_LIMITS, Limits
from xmcp.wire.response import ToolResponse


def decode(data: str | bytes, *, limits: Limits = DEFAULT_LIMITS, bad_display: BadDisplay = "raise") -> ToolResponse:
    """Return the response of a whole document.

    `data` is text or UTF-8, with or without a byte order mark and an XML declaration. With `bad_display="drop"` a
    display that is not JSON or not an envelope is left out, and `warnings` says so.

    Raises:
        DecodeError: The document is not a valid tool response. No other exception is raised for any content.
    """
    if len(data) <= limits.document_bytes:
        raw = _utf8(data)
        if len(raw) <= limits.document_bytes and (response := read_canonical(raw, limits)):
            return response
    decoder = Decoder(limits=limits, bad_display=bad_display)
    decoder._take(data, final=True)
    return decoder._content.response()


_PIECE = 512
"""Maximum number of bytes that are collected before a call of the parser, for documents of any length."""
_ENDS = ((b"<!-", re.compile(b"-->")), (b"<?", re.compile(rb"\?>")))
"""What ends that which begins so, and is no tag."""


class Decoder:
    """Decodes a document that arrives in pieces: call `feed` for each, then `close`.

    Pieces may end anywhere, also within a character. A fault is raised by the `feed` that finds it, and again by
    every later call. The result does not depend on where the pieces end.

    `feed` returns what is complete before the document ends, text first and then the display, so that a program can
    show it as it arrives:

        shown = ""
        for piece in pieces:
            shown += decoder.feed(piece).text
        response = decoder.close()
        rest = (response.llm_output or "")[len(shown):]

    What a program can rely on:

    - The text that was returned is at each moment the beginning of `llm_output`, whatever follows: no later piece takes
      a character back or changes it. It has no character twice, and nothing of an error, a display or another element.
    - The display is the one that `close` returns. It comes once, after all of the text, and only if it is valid.
    - Text comes at most 512 bytes later than its own bytes, or where a reference, a tag or a comment ends that has
      begun. `close` returns all of it, also what waited for more.
    - All of it is provisional until `close` has returned (spec section 7.2). If there is a fault later, `feed` or
      `close` raises it, and what was returned is void: it belongs to a document that is not an answer.
    """

    __slots__ = (
        "_closed",
        "_content",
        "_fault",
        "_fed",
        "_held",
        "_held_bytes",
        "_is_text",
        "_limit",
        "_look",
        "_parser",
        "_tag_bytes",
        "_taken",
        "_token",
        "_wanted",
    )

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS, bad_display: BadDisplay = "raise") -> None:
        # Without expat's namespace mode: namespaces.py says why.
        self._parser = expat.ParserCreate("utf-8")
        if hasattr(self._parser, "SetReparseDeferralEnabled"):
            self._parser.SetReparseDeferralEnabled(False)  # `_wanted` does the same, for every version of expat
        self._content = Content(self._parser, limits, bad_display)
        self._limit = limits.document_bytes
        self._tag_bytes = limits.tag_bytes
        # Bytes: received, passed to expat, the position of the next check for long tags, the start of an unfinished
        # token; then those not yet passed to expat, their number, and how many are needed for the next call.
        self._taken = 0
        self._fed = 0
        self._look = limits.tag_bytes
        self._token = b""
        self._is_text = False
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._wanted = 2
        self._fault: DecodeError | None = None
        self._closed = False

    def feed(self, chunk: str | bytes) -> Arrived:
        """Take the next piece, and return what it completes.

        A fault is raised at the latest when a sixteenth more of the document, and 512 bytes more, have arrived;
        within a tag or a comment, when twice as much has arrived. A document above the size limit is refused at once.

        Raises:
            DecodeError: There is a fault in the pieces so far.
            ValueError: `close` was called before.
        """
        self._take(chunk, final=False)
        return self._content.arrived()

    def close(self) -> ToolResponse:
        """Return the response, after the last piece.

        Raises:
            DecodeError: The document is not a valid tool response.
            ValueError: `close` was called before.
        """
        self._take(b"", final=True)
        return self._content.response()

    def _take(self, chunk: str | bytes, *, final: bool) -> None:
        if self._fault:
            raise copy(self._fault)
        if self._closed:
            raise ValueError("this decoder is closed; use a new one for each document")
        try:
            self._hold(chunk)
            if final or self._held_bytes >= self._wanted:
                self._parse(final=final)
        except DecodeError as fault:
            self._fault = copy(fault)  # without its traceback, which refers to this object
            self._content.leave()
            raise
        if final:
            self._closed = True
            self._content.leave()

    def _hold(self, chunk: str | bytes) -> None:
        room = self._limit - self._taken
        # A character has at least one byte, so a text with too many characters is refused without encoding it.
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
            self._feed_slices(memoryview(data))
            if final:
                parser.Parse(b"", True)
        except expat.ExpatError as fault:
            raise DecodeError(
                DecodeErrorKind.NOT_WELL_FORMED,
                expat.errors.messages.get(fault.code, "not well-formed"),
                line=fault.lineno,
                column=fault.offset + 1,
                offset=max(parser.ErrorByteIndex, 0),
            ) from None
        # expat reads an unfinished token from its start at each call: waiting until twice as much has arrived keeps
        # the total time linear. Small pieces are collected until a call is worthwhile; later in the document, more.
        self._wanted = max(1, self._taken - parser.CurrentByteIndex, min(self._taken // 16, _PIECE))

    def _feed_slices(self, data: memoryview) -> None:
        """Pass the data to expat, and refuse a tag that is longer than allowed, however the data is cut.

        expat needs ten times as long for a tag of a megabyte as for the same amount of text, before it calls a
        handler. So there is a check every `tag_bytes`, and where a tag has begun, the next when it has that length.
        """
        parser, at = self._parser, 0
        while at < len(data):
            piece = data[at : at + self._look - self._fed]
            parser.Parse(piece, False)
            unfinished = parser.CurrentByteIndex - self._fed
            if unfinished >= 0:
                self._token = bytes(piece[unfinished : unfinished + 3])
            elif len(self._token) < 3:
                self._token += bytes(piece[: 3 - len(self._token)])
            at += len(piece)
            self._fed += len(piece)
            if self._fed == self._look:
                self._look += self._until_the_next_check(data, at)

    def _until_the_next_check(self, data: memoryview, at: int) -> int:
        """Return the number of bytes after which to look again, at the position `at` of the data."""
        pending = self._fed - self._parser.CurrentByteIndex
        end = next((end for start, end in _ENDS if pending and self._token.startswith(start)), None)
        if end:
            # expat reads a comment from its start each time: the next check is at its end. Two bytes of the mark there
            # can have come before.
            found = end.search(data, max(0, at - 2))
            return max(found.end() if found else len(data), at + 1) - at
        if not pending or self._token[:1] != b"<":
            return self._tag_bytes
        if pending >= self._tag_bytes:
            raise self._content.fault(DecodeErrorKind.LIMIT, f"a tag is longer than {self._tag_bytes} bytes")
        return self._tag_bytes - pending

    def _check_encoding(self, data: bytes) -> None:
        """Refuse what expat would read as UTF-16, whatever encoding it is given (XML 1.0, appendix F)."""
        if data.startswith((b"\xfe\xff", b"\xff\xfe")) or b"\0" in data[:2]:
            if self._is_text:
                raise self._content.fault(DecodeErrorKind.NOT_WELL_FORMED, "a NUL character")
            message = "the document looks like UTF-16 or UTF-32: it must be UTF-8"
            raise self._content.fault(DecodeErrorKind.ENCODING, message)


def _utf8(chunk: str | bytes) -> bytes:
    # A lone surrogate becomes bytes that are not UTF-8: expat refuses them and reports the place.
    return chunk.encode("utf-8", "surrogatepass") if isinstance(chunk, str) else bytes(chunk)
