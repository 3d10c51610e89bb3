"""The types of the wire: a tool response and its error, as Python values.

How they are written and read is in encoder.py and decoder.py, which need these types; the package gives both
functions to `bind_codec`, so that `to_xml` and `from_xml` import nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xmcp.wire import lexical
from xmcp.wire.display_envelope import DisplayEnvelope
from xmcp_models.registry import ERROR_CATEGORIES, ERROR_CODES, VERSION

_ALIASES: dict[str, str] = {alias: code for code, row in ERROR_CODES.items() for alias in row.get("aliases", ())}


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure (spec chapter 4).

    `code` is upper case (`[A-Z][A-Z0-9_]{0,62}`), registered or not. `message` is for the model and for developers;
    white space around it is dropped, because the wire does not carry it. `retry_after_ms` is in milliseconds, 0 to
    2^53-1. `meta` is a JSON object. The defaults of `category` and `retryable` come from the registry: those of the
    code, otherwise those of the category; an unknown code is `internal` and not retryable.

    Raises:
        ValueError, TypeError: A member has a value that the wire does not allow.
    """

    code: str
    message: str
    retryable: bool | None = None
    retry_after_ms: int | None = None
    category: str | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        lexical.check("error", "code", self.code)
        registered = ERROR_CODES.get(_ALIASES.get(self.code, self.code), {})
        category = registered.get("category", "internal") if self.category is None else self.category
        lexical.check("error", "category", category)
        defaults = registered or ERROR_CATEGORIES.get(category, {})
        retryable = defaults.get("retryable", False) if self.retryable is None else self.retryable
        if not isinstance(retryable, bool):
            raise TypeError("retryable must be a bool or None")
        if not isinstance(self.message, str):
            raise TypeError("message must be a string")
        after = self.retry_after_ms
        if after is not None and (not isinstance(after, int) or isinstance(after, bool)):
            raise TypeError("retry_after_ms must be an int or None: whole milliseconds")
        if after is not None and not 0 <= after <= lexical.MAX_SAFE_INTEGER:
            raise ValueError(f"retry_after_ms must be from 0 to {lexical.MAX_SAFE_INTEGER}")
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise TypeError("meta must be a mapping or None")
        # The value of an enum member counts, not its name.
        object.__setattr__(self, "code", str.__str__(self.code))
        object.__setattr__(self, "category", str.__str__(category))
        object.__setattr__(self, "retryable", retryable)
        object.__setattr__(self, "retry_after_ms", None if after is None else int(after))
        object.__setattr__(self, "message", self.message.strip(lexical.XML_WHITE_SPACE))

    def to_dict(self) -> dict[str, Any]:
        """Return the error as a JSON object, without members that are None; `meta` is not copied."""
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in members.items() if value is not None}


@dataclass(slots=True, init=False)
class ToolResponse:
    """The result of one tool call (spec chapter 2): text for the model, a display for the person, or an error.

    `llm_output` and `error` exclude each other; a display may be combined with either or be alone. `format` is the
    media type of `llm_output`, `truncated` tells whether it was cut. `server_populated` tells which parameters the
    server filled in (spec section 2.7): an object with `values`, `redacted`, `overridden`. In a decoded response
    `lossy` tells whether a character was replaced because the wire cannot carry it, and `warnings` has one sentence
    for each part that the reader ignored. `for_person` has what a client shows the person beside the display: pictures,
    and blocks of the MCP result that are for the user alone (spec section 6.4). No document has it.
    """

    tool_name: str
    llm_output: str | None
    display: DisplayEnvelope | None
    error: ErrorInfo | None
    version: str
    call_id: str | None
    format: str | None
    truncated: bool
    server_populated: Mapping[str, Any] | None
    lossy: bool
    warnings: tuple[str, ...]
    for_person: tuple[DisplayEnvelope, ...]

    def __init__(
        self,
        tool_name: str,
        llm_output: str | None = None,
        display: DisplayEnvelope | Mapping[str, Any] | None = None,
        error: ErrorInfo | None = None,
        version: str = VERSION,
        call_id: str | None = None,
        *,
        format: str | None = None,
        truncated: bool = False,
        server_populated: Mapping[str, Any] | None = None,
        lossy: bool = False,
        warnings: tuple[str, ...] = (),
        for_person: tuple[DisplayEnvelope, ...] = (),
    ) -> None:
        """Create a response; a `display` given as a mapping becomes a `DisplayEnvelope`.

        Raises:
            pydantic.ValidationError: `display` is a mapping, but not a valid envelope.
            TypeError: A member has the wrong type.
        """
        if display is not None and not isinstance(display, DisplayEnvelope):
            if not isinstance(display, Mapping):
                raise TypeError("display must be a DisplayEnvelope, a mapping with the same members, or None")
            display = DisplayEnvelope.model_validate(display)
        if error is not None and not isinstance(error, ErrorInfo):
            raise TypeError("error must be an ErrorInfo or None")
        if server_populated is not None and not isinstance(server_populated, Mapping):
            raise TypeError("server_populated must be a mapping or None")
        self.tool_name = tool_name
        self.llm_output = llm_output
        self.display = display
        self.error = error
        self.version = version
        self.call_id = call_id
        self.format = format
        self.truncated = truncated
        self.server_populated = server_populated
        self.lossy = lossy
        self.warnings = warnings
        self.for_person = for_person

    @property
    def displays(self) -> tuple[DisplayEnvelope, ...]:
        """All that the person is shown: the display first, then `for_person`."""
        return self.for_person if self.display is None else (self.display, *self.for_person)

    def to_xml(self) -> str:
        """Return the document. `xmcp.wire.encode` has options and documents the exceptions."""
        return _encode(self)

    @staticmethod
    def from_xml(data: str | bytes) -> ToolResponse:
        """Return the response of a document. `xmcp.wire.decode` has options.

        Raises:
            DecodeError: The document is not a valid tool response.
        """
        return _decode(data)


_encode: Callable[[ToolResponse], str]
_decode: Callable[[str | bytes], ToolResponse]


def bind_codec(encode: Callable[[ToolResponse], str], decode: Callable[[str | bytes], ToolResponse]) -> None:
    """Set the functions behind `to_xml` and `from_xml`; called once, by the package."""
    global _encode, _decode
    _encode, _decode = encode, decode
