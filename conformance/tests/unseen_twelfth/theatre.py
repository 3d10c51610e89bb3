"""A right server of a theatre, the base of the twelfth set: its tools, and what it fills in.

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

from unseen_twelfth.tools import TOOLS

CUSTOMER: Json = {
    "customer_id": "cu-31874",
    "seat_note": (
        "Always at the end of a row <left aisle> & never behind the pillar of the dress circle; the step of row F is "
        "too high for her, so call Zoë at the stage door, who brings her in by the lift of the scene dock and keeps "
        "the coat, the stick and the opera glasses until the house lights are up -> twenty minutes before curtain."
    ),
    "subscriber": False,
    "club_card": 2**60 + 7,
    "companion": None,
    "card_token": "token-limelight-44817",
}
SECRET = ("card_token",)


class Theatre(Observatory):
    """A theatre with the wire `always`."""

    def tools(self) -> dict[str, Tool]:
        return deepcopy(TOOLS)

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            raise MCPError(-32602, "A call has to name a tool.")
        raise Failure("UNKNOWN_TOOL", "The theatre has no tool that is called so.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "Something fell from the flies, and the curtain came down.", {"error_id": number})

    def set_aside(self, call: Call, tool: Tool) -> None:
        for name in tool.meta.get("server_populated", []):
            call.filled[name] = deepcopy(CUSTOMER[name])
            if name in call.args:
                call.forged[name] = call.args.pop(name)
        if tool.meta.get("display") and call.args.get("show_user", "") is None:
            del call.args["show_user"]
        call.wanted = tool.meta.get("display") is True and call.args.get("show_user") is True

    def hint(self, call: Call, answer: Answer) -> str:
        if answer.display is None or call.client:
            return ""
        return "\n(A display of this was sent for the person, but this client is perhaps not able to show it.)"

    def disclosed(self, call: Call) -> Json:
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = [f"{name} is {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name} is kept secret" for name in filled.get("redacted", [])]
        said += [f"{name} as it was sent is not used" for name in filled.get("overridden", [])]
        line = "The box office filled in: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def server(self) -> Server[Any]:
        server = super().server()
        server.name = "theatre"
        return server


class NegotiatedTheatre(Theatre):
    """The theatre with the wire `negotiated`."""

    wire = "negotiated"


class PlainTheatre(Theatre):
    """The theatre with the wire `plain`."""

    wire = "plain"
