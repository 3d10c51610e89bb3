"""Wrong in what the list says of tools, or in the parameters that the observatory fills in."""

from __future__ import annotations

import mcp_types

from unseen_eighth.kit import Call, Json, Tool
from unseen_eighth.observatory import NegotiatedObservatory, Observatory, PlainObservatory
from unseen_eighth.registry import breaks


@breaks("TOL-002")
class MarkedForFriends(NegotiatedObservatory):
    """Says that a tool has a display only to clients that declared the extension; it shows one to the others, too."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if not declared:
            tool.meta.pop("display", None)
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-010")
class HiddenFromOldOnes(Observatory):
    """Lists no tool with pages after a handshake, since old clients did not follow them; another one depends on it."""

    def list_of(self, *, declared: bool, handshake: bool) -> list[mcp_types.Tool]:
        tools = super().list_of(declared=declared, handshake=handshake)
        return [one for one in tools if not handshake or "cursor" not in one.input_schema["properties"]]


@breaks("TOL-021")
class FalsyIsUnset(NegotiatedObservatory):
    """Leaves each value out of what it filled in that is false in its language, such as the priority 0."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        return {**said, "values": {name: one for name, one in said["values"].items() if one}}


@breaks("TOL-023")
class CallerWins(Observatory):
    """Merges what the caller sent over what it fills in, in the wrong order of two maps."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        call.filled |= call.forged
        call.forged = {}


@breaks("TOL-024")
class LeftForTheArchive(PlainObservatory):
    """Leaves a key that the caller sent among the arguments of one tool, that for frames, where it does not fit."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        if call.tool == "check_frames":
            call.args |= call.forged


@breaks("TOL-030")
class AnnotationsAreNew(NegotiatedObservatory):
    """Lists tools without annotations after a handshake, while those that are cacheable say so in either era."""

    def annotations(self, tool: Tool, *, handshake: bool) -> mcp_types.ToolAnnotations | None:
        return None if handshake else super().annotations(tool, handshake=handshake)
