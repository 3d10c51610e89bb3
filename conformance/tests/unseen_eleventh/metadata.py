"""Wrong in what the garden says of its tools, or in the parameters that it fills in."""

from __future__ import annotations

import mcp_types
from unseen_eighth.kit import Answer, Call, Tool

from unseen_eleventh.garden import Garden, NegotiatedGarden, PlainGarden
from unseen_eleventh.registry import breaks


@breaks("TOL-001")
class FormatterOfNoName(NegotiatedGarden):
    """Lists the name of the formatter of each tool that has metadata, which is the empty text for all but one."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if tool.meta:
            tool.meta["xml_formatter"] = "SeedFormatter" if name == "find_seeds" else ""
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-010")
class UnderscoreForHyphen(PlainGarden):
    """Names a tool that pictures depend on as its function is named, with an underscore."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["plant_picture"].meta["depends_on"] = ["find_seeds", "label_tray"]
        return tools


@breaks("TOL-021")
class NothingLentNothingSaid(Garden):
    """Says nothing of what it filled in where there is no loan to list, as that answer is made earlier."""

    def serve(self, call: Call) -> Answer:
        answer = super().serve(call)
        if call.tool == "my_loans" and call.args.get("most") == 0:
            answer.filled = None
        return answer


@breaks("TOL-023")
class SpreadArguments(NegotiatedGarden):
    """Spreads the arguments over what it filled in: a text of the caller is used in the place of a text of its own."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, one in call.forged.items():
            if isinstance(one, str) and isinstance(call.filled[name], str) and one:
                call.filled[name] = one


@breaks("TOL-030")
class IdempotentIsEnough(NegotiatedGarden):
    """Says after a handshake of the tools that can be cached only that they are idempotent."""

    def annotations(self, tool: Tool, *, handshake: bool) -> mcp_types.ToolAnnotations | None:
        if handshake and tool.meta.get("cacheable"):
            return mcp_types.ToolAnnotations(idempotent_hint=True)
        return super().annotations(tool, handshake=handshake)
