"""A right server of a workshop, the base of the ninth set: its tools, and what it fills in.

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

from unseen_ninth.tools import TOOLS

CUSTOMER: Json = {
    "customer_id": "cu-30517",
    "branch": (
        "The old mill by the weir <left bank> & the shed behind it: second door, up the stairs, past the clocks; "
        "ring twice, and wait for Zoë, who keeps the key of the store and the book of the branch, in which each "
        "instrument that comes in or goes out is written down with the day, the hour and the name of its owner."
    ),
    "member": True,
    "ledger": 2**60 + 7,
    "pin": "pin-quince-88412",
}
SECRET = ("pin",)


class Workshop(Observatory):
    """A workshop with the wire `always`."""

    def tools(self) -> dict[str, Tool]:
        return deepcopy(TOOLS)

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            raise MCPError(-32602, "A call has the name of a tool.")
        raise Failure("UNKNOWN_TOOL", "The workshop does not have this tool.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "A spring broke where nobody looked.", {"error_id": number})

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
        return "\n(A display was made for the person; perhaps this client is not able to show it.)"

    def disclosed(self, call: Call) -> Json:
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = [f"{name} is {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name} is a secret" for name in filled.get("redacted", [])]
        said += [f"{name} as it was sent is not used" for name in filled.get("overridden", [])]
        line = "From the book of the workshop: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def server(self) -> Server[Any]:
        server = super().server()
        server.name = "workshop"
        return server


class NegotiatedWorkshop(Workshop):
    """The workshop with the wire `negotiated`."""

    wire = "negotiated"


class PlainWorkshop(Workshop):
    """The workshop with the wire `plain`."""

    wire = "plain"
