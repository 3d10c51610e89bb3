"""Wrong servers: plain results."""

from __future__ import annotations

import json
from dataclasses import replace

import mcp_types

from unseen_fifth.kit import PREFIX, Json, Outcome, Problem, Tool, Visit, legal
from unseen_fifth.observatory import Negotiated, Plain
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Slip, block


@breaks("MCP-020")
class BlocksOfTwoThousand(Negotiated):
    """Long texts are sent in blocks of two thousand characters, wherever a block ends."""

    class _Slip(Slip):
        def for_the_model(self, outcome: Outcome) -> list[mcp_types.ContentBlock]:
            said = legal(self.said(outcome))
            return [block(said[at : at + 2000]) for at in range(0, len(said), 2000)] or [block("")]

    slip = _Slip


@breaks("MCP-021", "DSP-001")
class PictureAsText(Plain):
    """The display of a picture is put into the result by the proxy of the archive, as the JSON text that it stores."""

    class _Slip(Slip):
        def members(self, outcome: Outcome) -> Json:
            said = super().members(outcome)
            if said.get("display", {}).get("type") == "image":
                said["display"] = json.dumps(said["display"])
            return said

    slip = _Slip


@breaks("MCP-024")
class VendorsOwnErrors(Plain):
    """Errors of the observatory's own are not in the registry, so nobody looks up whether a retry helps."""

    class _Slip(Slip):
        def error(self, problem: Problem) -> Json:
            said = super().error(problem)
            own = problem.code.startswith("X_")
            return {name: value for name, value in said.items() if name != "retryable" or not own}

    slip = _Slip


@breaks("MCP-048")
class ShortValues(Negotiated):
    """The block that says what the server filled in has the values of a narrow table, forty characters of each."""

    class _Slip(Slip):
        def filled(self, filled: Json) -> mcp_types.TextContent:
            rows = [f"{name}: {str(value)[:40]}" for name, value in filled["values"].items()]
            hidden = [f"{name}: hidden" for name in filled["redacted"]]
            mark = {f"{PREFIX}server_populated": True}
            return mcp_types.TextContent(type="text", text="\n".join([*rows, *hidden]), _meta=mark)

    slip = _Slip


@breaks("MCP-023")
class DocumentOfTheUnforeseen(Negotiated):
    """What nobody foresaw is written at the outermost place of the server, which knows documents alone."""

    def written(self, visit: Visit, tool: type[Tool] | None, outcome: Outcome) -> mcp_types.CallToolResult:
        unforeseen = isinstance(outcome, Problem) and outcome.code == "INTERNAL"
        return super().written(replace(visit, documents=visit.documents or unforeseen), tool, outcome)
