"""Wrong in what the theatre says of its tools, or in the parameters that it fills in."""

from __future__ import annotations

import mcp_types
from unseen_eighth.kit import Call, Json, Tool

from unseen_twelfth.registry import breaks
from unseen_twelfth.theatre import SECRET, NegotiatedTheatre, PlainTheatre, Theatre


@breaks("TOL-001")
class CacheForAnHour(NegotiatedTheatre):
    """Lists for how many seconds the answers of a tool can be cached in the place of whether they can."""

    def listed(self, name: str, tool: Tool, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        if tool.meta.get("cacheable"):
            tool.meta["cacheable"] = 3600
        return super().listed(name, tool, declared=declared, handshake=handshake)


@breaks("TOL-021")
class OnceOrTheOther(Theatre):
    """Names a parameter for which the caller sent a value as overridden, and no longer among those it filled in."""

    def disclosed(self, call: Call) -> Json:
        said = super().disclosed(call)
        said["values"] = {name: one for name, one in said["values"].items() if name not in call.forged}
        said["redacted"] = [name for name in said["redacted"] if name not in call.forged]
        return said


@breaks("TOL-023")
class NullIsNotSet(PlainTheatre):
    """Takes what the caller sent where the value that it has itself is null, with the operator for that."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        for name, one in call.forged.items():
            if call.filled[name] is None:
                call.filled[name] = one


@breaks("TOL-024")
class OnlySecretsAside(NegotiatedTheatre):
    """Sets aside what the caller sent for a secret alone: other parameters that it fills in do not fit the schema."""

    def set_aside(self, call: Call, tool: Tool) -> None:
        super().set_aside(call, tool)
        call.args |= {name: one for name, one in call.forged.items() if name not in SECRET}
        call.forged = {name: one for name, one in call.forged.items() if name in SECRET}


@breaks("TOL-030")
class CachedBookings(Theatre):
    """Lists the tool that books rehearsals as one that is cacheable, since the same booking need not be made twice."""

    def tools(self) -> dict[str, Tool]:
        tools = super().tools()
        tools["book_rehearsal"].meta["cacheable"] = True
        return tools
