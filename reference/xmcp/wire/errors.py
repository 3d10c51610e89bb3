"""The error of the decoder: the closed set of kinds of faults, and the exception.

The encoder raises plain `ValueError` and `TypeError`.
"""

from __future__ import annotations

from enum import StrEnum


class DecodeErrorKind(StrEnum):
    """Why a document is refused. Programs may branch on this closed set; messages are for people."""

    NOT_WELL_FORMED = "NOT_WELL_FORMED"
    """It is not XML 1.0 with namespaces, or not UTF-8."""
    DTD = "DTD"
    """It has a document type declaration."""
    ENCODING = "ENCODING"
    """It is, or declares itself as, XML 1.1 or another encoding than UTF-8."""
    SCHEMA = "SCHEMA"
    """An element, attribute or text is missing, misplaced or malformed."""
    VERSION = "VERSION"
    """It has a major version that this package does not support; nothing in it may be trusted."""
    BAD_JSON = "BAD_JSON"
    """The content of `<display>`, `<meta>` or `<server_populated>` is not one JSON value with unique keys, or, in the
    last two, not an object."""
    BAD_ENVELOPE = "BAD_ENVELOPE"
    """The content of `<display>` is JSON but not a display envelope."""
    LIMIT = "LIMIT"
    """It is larger, deeper or has more parts than the receiver allows."""


_LONGEST = 300


class DecodeError(Exception):
    """A document that cannot be read as a tool response.

    `message` is one line of at most 300 printable characters, whatever the document contains. `line` and `column`
    count characters from 1; `offset` counts bytes of the UTF-8 form from 0. For `BAD_JSON`, `BAD_ENVELOPE` and JSON
    that is nested too deep, they point at the end tag of the element with the JSON. A whole document above the size
    limit is refused without reading it: line 1, column 1, offset 0.
    """

    def __init__(
        self,
        kind: DecodeErrorKind,
        message: str,
        *,
        line: int = 1,
        column: int = 1,
        offset: int = 0,
    ) -> None:
        if len(message) > _LONGEST:
            message = message[: _LONGEST - 1] + "…"
        if not message.isprintable():
            message = "".join(character if character.isprintable() else "\ufffd" for character in message)
        super().__init__(kind, message)
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column
        self.offset = offset

    def __str__(self) -> str:
        """Return `KIND at line L, column C: message`."""
        return f"{self.kind} at line {self.line}, column {self.column}: {self.message}"
