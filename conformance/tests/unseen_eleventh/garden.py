"""A right server of a garden that keeps seeds, the base of the eleventh set: its tools, and what it fills in.

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

from unseen_eleventh.tools import TOOLS

GARDENER: Json = {
    "gardener_id": "ga-60221",
    "plot": (
        "The slope behind the palm house <south side> & the dry bed above it, between the wall and the old pear; "
        "ask for Renée, who has the plan of the beds, in which each plant has its number, the year it was sown in "
        "and the name of whoever brought the seed, with a cross for those which did not live through a winter."
    ),
    "staff": False,
    "badge": 2**59 + 3,
    "gate_code": "gate-hellebore-70913",
}
SECRET = ("gate_code",)


class Garden(Observatory):
    """A garden with the wire `always`."""

    def tools(self) -> dict[str, Tool]:
        return deepcopy(TOOLS)

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            raise MCPError(-32602, "A call needs the name of a tool.")
        raise Failure("UNKNOWN_TOOL", "The garden has no tool of this name.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "Something withered that nobody had looked at.", {"error_id": number})

    def set_aside(self, call: Call, tool: Tool) -> None:
        for name in tool.meta.get("server_populated", []):
            call.filled[name] = deepcopy(GARDENER[name])
            if name in call.args:
                call.forged[name] = call.args.pop(name)
        if tool.meta.get("display") and call.args.get("show_user", "") is None:
            del call.args["show_user"]
        call.wanted = tool.meta.get("display") is True and call.args.get("show_user") is True

    def hint(self, call: Call, answer: Answer) -> str:
        if answer.display is None or call.client:
            return ""
        return "\n(There is a display of this for the person, but this client is perhaps not able to show it.)"

    def disclosed(self, call: Call) -> Json:
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = [f"{name} is {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name} is not disclosed" for name in filled.get("redacted", [])]
        said += [f"{name} as it was sent is not used" for name in filled.get("overridden", [])]
        line = "The garden itself filled in: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def server(self) -> Server[Any]:
        server = super().server()
        server.name = "garden"
        return server


class NegotiatedGarden(Garden):
    """The garden with the wire `negotiated`."""

    wire = "negotiated"


class PlainGarden(Garden):
    """The garden with the wire `plain`."""

    wire = "plain"
