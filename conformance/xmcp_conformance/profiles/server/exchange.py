"""What passes between the suite and a server, as data: each call, and how it ended."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from xmcp_conformance.core.events import CallMade, Ending
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import Reading

from .catalogue import ListedTool
from .schema_strategies import MANY

NO_ANSWER = "no answer within"
"""How `lost` begins where a call was not answered in time."""

LIMITS_RATE = "no answer but HTTP 429, more often or for longer than the suite waits"
"""What `lost` says where the endpoint limits the rate, which is no fault of the server's."""
_LONGEST_REQUEST: Final = 50_000
"""Maximum number of characters of a call that is kept, to be made again."""


class Intent(StrEnum):
    """Why a call is made."""

    VALID = "valid arguments"
    INVALID = "invalid arguments"
    UNKNOWN_TOOL = "a tool that does not exist"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A `tools/call` that the suite makes.

    Attributes:
        tool: the tool as the server lists it; `None` for a tool that does not exist.
        name: the name of the tool.
        arguments: the arguments.
        intent: why the call is made.
        refused: for invalid arguments the JSON pointers of those at fault; for `forged` ones the pointers of those that
            the input schema does not allow.
        fault: for invalid arguments, what is wrong with them, in words.
        traps: the hostile texts that the arguments carry, with their marks.
        forged: the names of the arguments that only the server may fill in.
    """

    tool: ListedTool | None
    name: str
    arguments: dict[str, Any]
    intent: Intent = Intent.VALID
    refused: tuple[str, ...] = ()
    fault: str = ""
    traps: tuple[str, ...] = ()
    forged: tuple[str, ...] = ()
    key: str = field(init=False, repr=False, compare=False)
    """A key that is equal for calls of the same tool with the same arguments."""
    _said: str | None = field(default=None, init=False, repr=False, compare=False)
    """The call in words, once it was said."""

    def __post_init__(self) -> None:
        # A digest: arguments can be large, and keys are kept for as long as a run lasts.
        written = json.dumps([self.name, self.arguments], sort_keys=True).encode()
        object.__setattr__(self, "key", hashlib.blake2b(written, digest_size=16).hexdigest())

    @property
    def shows(self) -> bool:
        """True for a call that asks for a display."""
        return self.arguments.get("show_user") is True

    @property
    def hands_on_a_wish(self) -> bool:
        """True for a call that asks another tool for a display, with the arguments that it hands on to it."""
        return any(isinstance(value, dict) and value.get("show_user") is True for value in self.arguments.values())

    @property
    def of_tool(self) -> str:
        """The name of the tool that was called, safe to print; empty if the server does not list it."""
        return quoted(self.name) if self.tool is not None else ""

    @property
    def request(self) -> dict[str, Any] | None:
        """The parameters of the call, to make it again; `None` where they are long."""
        long = len(self.name) + len(json.dumps(self.arguments)) > _LONGEST_REQUEST
        return None if long else {"name": self.name, "arguments": self.arguments}

    def __str__(self) -> str:
        if self._said is None:
            text = json.dumps(self.arguments, ensure_ascii=True)
            said = f"{quoted(self.name)}({text if len(text) <= 200 else text[:200] + '…'})"
            object.__setattr__(self, "_said", said)
        return str(self._said)


@dataclass(frozen=True, slots=True)
class Twin:
    """What the server answered to the same call of a client that declared the extension.

    `text`: the text for the model. `echoes`: the traps that it had. `populates`: there was `server_populated`.
    `failed`: there was an error. `code`: its code. `size`: the size of the document in bytes, 0 for a plain result.
    `says_cut`: the document says that its text was cut. `has_display`: there was a display. `earlier`: the texts
    for the model in earlier answers to the same call, where they were others.
    """

    echoes: tuple[str, ...]
    populates: bool
    failed: bool
    text: str | None = None
    code: str | None = None
    size: int = 0
    says_cut: bool = False
    has_display: bool = False
    earlier: tuple[str, ...] = ()


@dataclass(slots=True)
class Exchange:
    """A call and how it ended: with a result, an invalid result, a JSON-RPC error, or no answer at all.

    `twin` is set for a call of a plain client that was made before by one that had declared, as the server knew.
    `is_busy`: the answer asks to make the call again later, and that was not yet done as often as it helps.
    `seconds`: how long it took.
    """

    call: ToolCall
    result: dict[str, Any] | None = None
    malformed: str | None = None
    rpc_error: str | None = None
    lost: str | None = None
    reading: Reading = field(default_factory=Reading)
    twin: Twin | None = None
    is_busy: bool = False
    seconds: float = 0.0

    @property
    def timed_out(self) -> bool:
        """True for a call that was not answered in time, or not let through, over a connection that is still there."""
        return self.lost is not None and self.lost.startswith((NO_ANSWER, LIMITS_RATE))

    @property
    def asked_for_too_much(self) -> bool:
        """True where the connection did not survive the answer to a call with a huge number, which may be as large."""
        return self.lost is not None and not self.timed_out and has_huge_number(self.call.arguments)

    @property
    def text(self) -> str | None:
        """The text of the first content block, if that is a text block."""
        content = (self.result or {}).get("content")
        first = content[0] if isinstance(content, list) and content else None
        if isinstance(first, dict) and first.get("type") == "text" and isinstance(first.get("text"), str):
            return str(first["text"])
        return None

    @property
    def size(self) -> int:
        """The size of `text` in bytes."""
        return len((self.text or "").encode("utf-8", "surrogatepass"))

    @property
    def ended_with(self) -> str:
        """How a call without a result ended, in words."""
        return f"the JSON-RPC error {self.rpc_error}" if self.rpc_error else f"{self.lost}"

    @property
    def failed(self) -> str:
        """How a call without a result that MCP allows ended, in words."""
        return self.malformed or self.ended_with

    @property
    def first_block(self) -> str:
        """The first content block, quoted for a report."""
        if self.text is not None:
            return f"the text `{quoted(self.text)}`"
        return f"content `{quoted(str((self.result or {}).get('content')))}`"


@dataclass(frozen=True, slots=True)
class ReadView:
    """What a server answered when the view of MCP Apps was read (section 6.7): a result, or how it ended without."""

    result: dict[str, Any] = field(default_factory=dict)
    failure: str = ""


def call_made(run: str, exchange: Exchange) -> CallMade:
    """Return the event of a call that ended so, in the run of this name."""
    call, document = exchange.call, exchange.reading.document
    ending: Ending = "unread"
    code = display = error_id = ""
    if exchange.timed_out or exchange.asked_for_too_much:
        ending = "unanswered"
    elif call.intent is not Intent.VALID:
        ending = "refusal"
    elif document is not None:
        ending = "succeeded" if document.error is None else "failed"
        if document.error is not None:
            code = quoted(document.error.code)
            named = (document.error.meta or {}).get("error_id")
            error_id = quoted(named) if isinstance(named, str) else ""
        shown = document.display.get("type") if isinstance(document.display, dict) else None
        display = quoted(shown) if isinstance(shown, str) else ""
    return CallMade(run, str(call), quoted(call.name), ending, code, display, call.shows, error_id)


def has_huge_number(value: Any) -> bool:
    """Return whether arguments have a number beyond those that every tool is called with."""
    if isinstance(value, dict | list):
        return any(has_huge_number(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and abs(value) > MANY
