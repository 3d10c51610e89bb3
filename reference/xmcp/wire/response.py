"""What one tool call answered, as Python values: the response and its error. How it is written is not known here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xmcp.wire import lexical
from xmcp.wire.envelope import DisplayEnvelope
from xmcp_models.registry import ERROR_CATEGORIES, ERROR_CODES, VERSION

_ALIASES: dict[str, str] = {alias: code for code, row in ERROR_CODES.items() for alias in row.get("aliases", ())}


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure (spec chapter 4).

    `code` is upper case (`[A-Z][A-Z0-9_]{0,62}`), registered or not. `message` is for the model and for
    developers; white space around it is dropped, as the wire does not carry it. `retry_after_ms` is in
    milliseconds, 0 to 2^53-1. `meta` is a JSON object. Where `category` or `retryable` is None it becomes
    what the registry says of the code, else of the category; an unknown code is `internal` and not
    retryable. Raises ValueError or TypeError for a member that the wire does not know.
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
        # A member of an enum is written as what it is, not as what it is called.
        object.__setattr__(self, "code", str.__str__(self.code))
        object.__setattr__(self, "category", str.__str__(category))
        object.__setattr__(self, "retryable", retryable)
        object.__setattr__(self, "retry_after_ms", None if after is None else int(after))
        object.__setattr__(self, "message", self.message.strip(lexical.XML_WHITE_SPACE))


@dataclass(slots=True, init=False)
class ToolResponse:
    """What one tool call answered (spec chapter 2): text for the model, a display for the person, or an error.

    `llm_output` and `error` exclude each other; a display may go with either or stand alone. `format` is
    the media type of `llm_output`, `truncated` whether it was cut. `server_populated` says which parameters the
    server filled in (spec section 2.7): an object with `values`, `redacted`, `overridden`. A decoded response
    also says whether it was `lossy` (somewhere a character was replaced because the wire cannot carry it) and
    has `warnings`: what the reader passed over, one sentence each.
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
    ) -> None:
        """`display` is an envelope or a mapping that is one, else pydantic.ValidationError or TypeError."""
        if display is not None and not isinstance(display, DisplayEnvelope):
            if not isinstance(display, Mapping):
                raise TypeError("display must be a DisplayEnvelope, a mapping that is one, or None")
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

    def to_xml(self) -> str:
        """The document; `xmcp.wire.encode` says what it raises and has options."""
        from xmcp.wire.encode import encode

        return encode(self)

    @staticmethod
    def from_xml(data: str | bytes) -> ToolResponse:
        """The response that a document is; raises DecodeError. `xmcp.wire.decode` has options."""
        from xmcp.wire.decode import decode

        return decode(data)
