"""A right server of a print shop, the base of the thirteenth set: its tools, and what it fills in.

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

from unseen_thirteenth.tools import TOOLS

CUSTOMER: Json = {
    "customer_id": "cu-60417",
    "delivery_note": (
        "Über den Hof & durch die grüne Tür <zweite Klingel>: für große Ballen bitte läuten, für kleine klopfen; "
        "drüben bei Frau Müller-Möbius lösen Schlüssel größere Ängste aus -> nur wärmstens fragen. Danach über die "
        "Brücke zurück, die Nässe schützt kein Vordach, also Öltuch über die Bögen legen."
    ),
    "wants_samples": False,
    "credit_cents": 2**60 + 11,
    "agent": None,
    "account_token": "token-gutenberg-90210",
}
SECRET = ("account_token",)


class PrintShop(Observatory):
    """A print shop with the wire `always`."""

    def tools(self) -> dict[str, Tool]:
        return deepcopy(TOOLS)

    def stranger(self, call: Call) -> Answer:
        if not call.tool:
            raise MCPError(-32602, "A call has to say which tool it is for.")
        raise Failure("UNKNOWN_TOOL", "The print shop has no tool of this name.", {"side_effects": "none"})

    def surprise(self, call: Call, error: Exception) -> Failure:
        number = uuid.uuid4().hex
        self.log.append(f"{number} {type(error).__name__} in {call.tool}")
        return Failure("INTERNAL", "A type case fell over, and all letters are mixed up.", {"error_id": number})

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
        answer.media = ""
        return "\n(A display for the person came with this, but this client is perhaps not able to show it.)"

    def disclosed(self, call: Call) -> Json:
        said: Json = {
            "values": {name: one for name, one in call.filled.items() if name not in SECRET},
            "redacted": [name for name in call.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(call.forged)} if call.forged else said

    def filled_block(self, call: Call, filled: Json) -> mcp_types.TextContent:
        said = [f"{name} = {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name} = (not disclosed)" for name in filled.get("redacted", [])]
        said += [f"{name} was sent and not used" for name in filled.get("overridden", [])]
        line = "The counter filled in: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def server(self) -> Server[Any]:
        server = super().server()
        server.name = "print shop"
        return server


class NegotiatedPrintShop(PrintShop):
    """The print shop with the wire `negotiated`."""

    wire = "negotiated"


class PlainPrintShop(PrintShop):
    """The print shop with the wire `plain`."""

    wire = "plain"
