"""What passed between the suite and a peer, as data: the catalogue it gave, each call with its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import Reading
from xmcp_models.registry import TOOL_META_KEY


class Intent(StrEnum):
    """Why a call was made."""

    VALID = "valid arguments"
    INVALID = "invalid arguments"
    UNKNOWN_TOOL = "a tool that does not exist"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the peer lists it; the fields are MCP's, unparsed."""

    name: str
    input_schema: dict[str, Any]
    meta: dict[str, Any]
    read_only: bool

    @property
    def metadata(self) -> Any:
        """The tool metadata of chapter 5, or `None`."""
        return self.meta.get(TOOL_META_KEY)

    @property
    def displays(self) -> bool:
        """True for a tool whose metadata says that it can answer with a display."""
        return isinstance(self.metadata, dict) and self.metadata.get("display") is True

    @property
    def takes_show_user(self) -> bool:
        """True when a caller can give `show_user`."""
        properties = self.input_schema.get("properties")
        return isinstance(properties, dict) and "show_user" in properties


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a peer says of itself in one protocol era."""

    protocol_version: str
    extensions: dict[str, Any]
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One `tools/call` that the suite makes.

    `refused` and `fault` belong to `Intent.INVALID`: the pointers of the arguments at fault, and how they are.
    `trap` is the marked text that one of the arguments carries, if any. `forged` names the arguments that only the
    server fills in; then `refused` has those of them that the input schema by itself does not allow.
    """

    tool: Tool | None
    name: str
    arguments: dict[str, Any]
    intent: Intent = Intent.VALID
    refused: tuple[str, ...] = ()
    fault: str = ""
    trap: str = ""
    forged: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same for calls that ask the same."""
        return json.dumps([self.name, self.arguments], sort_keys=True)

    @property
    def shows(self) -> bool:
        """True when the call asks for a display."""
        return self.arguments.get("show_user") is True

    def __str__(self) -> str:
        text = json.dumps(self.arguments, ensure_ascii=True)
        return f"{quoted(self.name)}({text if len(text) <= 200 else text[:200] + '…'})"


@dataclass(frozen=True, slots=True)
class Twin:
    """What the document said that the same call got as a client that declared the extension: whether it has the text
    of the trap, `server_populated`, an error."""

    echoes: bool
    fills: bool
    failed: bool


@dataclass(slots=True)
class Exchange:
    """A call and how it ended: with a result, with one that is not MCP's, with a JSON-RPC error, or with silence.

    `twin` is there for the calls of a plain client, where the other client got a document.
    """

    call: Call
    result: dict[str, Any] | None = None
    malformed: str | None = None
    rpc_error: str | None = None
    lost: str | None = None
    reading: Reading = field(default_factory=Reading)
    twin: Twin | None = None

    @property
    def text(self) -> str | None:
        """The text of the first content block, if it is one of text."""
        content = (self.result or {}).get("content")
        first = content[0] if isinstance(content, list) and content else None
        if isinstance(first, dict) and first.get("type") == "text" and isinstance(first.get("text"), str):
            return str(first["text"])
        return None

    @property
    def first_block(self) -> str:
        """The first content block, for a report."""
        if self.text is not None:
            return f"the text `{quoted(self.text)}`"
        return f"content `{quoted(str((self.result or {}).get('content')))}`"
