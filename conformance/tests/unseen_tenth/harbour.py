"""A right server of a harbour, the base of the tenth set: what it knows of whoever asks, and what it says.

The way of a call, the documents and the plain results are those of the eighth set.
"""

from __future__ import annotations

import uuid
from copy import deepcopy
from typing import Any

import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from unseen_eighth.kit import PREFIX, Answer, Call, Failure, Json, Tool
from unseen_eighth.observatory import Observatory

from unseen_tenth.tools import TOOLS

OWNER: Json = {
    "owner_id": "ow-77421",
    "address": (
        "The long house on the quay <north side> & the loft over it: past the ice house, by the crane, up the iron "
        "stairs, through the door with the anchor; ask for Søren or for Åse, who have the papers of all boats that lie "
        "here, in the order in which they came, with the names of those who sail them & of those who own them."
    ),
    "resident": False,
    "ledger": 2**60 + 11,
    "code": "code-halyard-30958",
}
SECRET = ("code",)


class Harbour(Observatory):
    """A harbour with the wire `always`."""

    def tools(self) -> dict[str, Tool]:
        return deepcopy(TOOLS)

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            raise MCPError(-32602, "A call needs the name of a tool.")
        raise Failure("UNKNOWN_TOOL", "The harbour has no tool of this name.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "A rope gave way, and nobody saw why.", {"error_id": number})

    def set_aside(self, call: Call, tool: Tool) -> None:
        for name in tool.meta.get("server_populated", []):
            call.filled[name] = deepcopy(OWNER[name])
            if name in call.args:
                call.forged[name] = call.args.pop(name)
        if tool.meta.get("display") and call.args.get("show_user", "") is None:
            del call.args["show_user"]
        call.wanted = tool.meta.get("display") is True and call.args.get("show_user") is True

    def hint(self, call: Call, answer: Answer) -> str:
        return "" if answer.display is None or call.client else self.perhaps()

    def perhaps(self) -> str:
        """Return what is said of a display that is perhaps not shown."""
        return "\n(There is a display for the person; it may be that this client is not able to show it.)"

    def disclosed(self, call: Call) -> Json:
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = [f"{name}: {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name}: kept secret" for name in filled.get("redacted", [])]
        said += [f"{name}: not what was sent" for name in filled.get("overridden", [])]
        line = "The harbour master filled in " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def server(self) -> Server[Any]:
        server = super().server()
        server.name = "harbour"
        return server


class NegotiatedHarbour(Harbour):
    """The harbour with the wire `negotiated`."""

    wire = "negotiated"


class PlainHarbour(Harbour):
    """The harbour with the wire `plain`."""

    wire = "plain"
