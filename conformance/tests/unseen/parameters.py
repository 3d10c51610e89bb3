"""Servers whose tool metadata and filled-in parameters go wrong (chapter 5)."""

from __future__ import annotations

import mcp_types

from unseen.desk import TEXT, Answer, Call, Desk, Json, Negotiated
from unseen.registry import breaks


@breaks("TOL-001")
class GrowingDependencies(Desk):
    """Each list of the tools appends to the one list of dependencies that all share: the second has a name twice."""

    def __init__(self) -> None:
        super().__init__()
        self.depends: list[str] = []

    def metadata(self, name: str) -> Json | None:
        return {"depends_on": list(self.depends)} if name == "reserve" else super().metadata(name)

    def catalogue(self, *, declared: bool) -> list[mcp_types.Tool]:
        self.depends.append("search")
        return super().catalogue(declared=declared)


@breaks("TOL-010")
class HiddenFromPlain(Negotiated):
    """A tool is hidden from clients that did not declare the extension; another one that depends on it is not."""

    def catalogue(self, *, declared: bool) -> list[mcp_types.Tool]:
        return [tool for tool in super().catalogue(declared=declared) if declared or tool.name != "search"]


@breaks("TOL-011")
class CircleOfThree(Desk):
    """Three tools depend on each other, each added by another author."""

    def metadata(self, name: str) -> Json | None:
        circle = {"note": ["tags"], "tags": ["labels"], "labels": ["note"]}
        return {"depends_on": circle[name]} if name in circle else super().metadata(name)


@breaks("TOL-020")
class Inherited(Desk):
    """The schema of one tool inherits its properties by `allOf` and `$ref`, and among them the user that the server
    fills in."""

    def tools(self) -> dict[str, Json]:
        base = {"type": "object", "properties": {"user_id": TEXT, "status": TEXT}}
        schema = {"type": "object", "allOf": [{"$ref": "#/$defs/Base"}], "$defs": {"Base": base}}
        return {**super().tools(), "orders": schema}


@breaks("TOL-021", "MCP-025")
class ForgottenSecret(Negotiated):
    """A parameter that the caller tried to set is in `overridden`, and no longer in `redacted`."""

    def do_orders(self, call: Call) -> Answer:
        answer = super().do_orders(call)
        populated = dict(answer.populated or {})
        if "api_key" in call.arguments:
            populated["redacted"] = []
        return Answer(answer.text, populated=populated)


@breaks("TOL-023")
class SetDefault(Negotiated):
    """The user is filled in with `setdefault`: a text that the caller sends for it stays."""

    def do_orders(self, call: Call) -> Answer:
        answer = super().do_orders(call)
        sent = call.arguments.get("user_id")
        if not isinstance(sent, str) or not sent:
            return answer
        populated = {"values": {"user_id": sent}, "redacted": ["api_key"]}
        return Answer(f"3 orders of {sent}.", populated=populated)


@breaks("TOL-024", "ERR-020")
class SecondParameter(Desk):
    """Only the first of the parameters that the server fills in is set aside before the schema judges the rest."""

    def filled(self, name: str) -> tuple[str, ...]:
        return super().filled(name)[:1]


@breaks("TOL-030")
class CacheableForm(Desk):
    """A form is cacheable, since it is always the same, and says that it writes, since its author copied that."""

    def metadata(self, name: str) -> Json | None:
        return {"cacheable": True} if name == "note" else super().metadata(name)

    def listed(self, name: str, *, declared: bool) -> mcp_types.Tool:
        tool = super().listed(name, declared=declared)
        writes = mcp_types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
        return tool.model_copy(update={"annotations": writes}) if name == "note" else tool
