"""Servers that are wrong in what they say of their tools, and in parameters that they fill in: chapter 5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mcp_types

from unseen_fourth.airport import STAFF, Airport, NegotiatedAirport
from unseen_fourth.registry import breaks
from unseen_fourth.routes import Call, Json, Outcome, Route, Step, edited


@breaks("TOL-002")
class MetadataForThoseWhoDeclare(NegotiatedAirport):
    """A client that did not declare the extension gets a list without its metadata, which it would not understand; it
    gets displays all the same."""

    def listed(self, name: str, route: Route, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        return super().listed(
            name, route if declared else replace(route, about=None), declared=declared, handshake=handshake
        )


@breaks("TOL-011")
class ThreeTeamsThreeEdges(Airport):
    """Three teams each added what their tool depends on, and nobody drew the whole."""

    def routes(self) -> dict[str, Route]:
        routes = super().routes()
        found = {**(routes["find_flights"].about or {}), "depends_on": ["flight_status"]}
        routes = edited(routes, "find_flights", about=found)
        return edited(routes, "flight_status", about={"depends_on": ["page_passenger"]})


@breaks("TOL-021")
class OverriddenIsNotFilled(Airport):
    """A parameter that the caller sent goes from the list of values to the list of those that were overridden."""

    def populated(self, call: Call) -> Json:
        said = super().populated(call)
        values = {name: value for name, value in said["values"].items() if name not in call.forged}
        return {**said, "values": values}


@breaks("TOL-023")
class DefaultsUnderTheArguments(Airport):
    """What the server fills in was made a default when sessions came, and the arguments win over defaults; only the
    badge is checked."""

    async def fill_in(self, call: Call, go: Step) -> Outcome:
        trusted = {name: value for name, value in call.args.items() if name in STAFF and name != "badge"}
        if call.tool != "crew_roster" or not trusted or not call.handshake:
            return await super().fill_in(call, go)

        async def with_arguments(inner: Call) -> Outcome:
            return await go(replace(inner, filled={**inner.filled, **trusted}))

        outcome = await super().fill_in(call, with_arguments)
        filled: Any = getattr(outcome, "filled", None)
        if filled is not None:
            filled["values"].update(trusted)
            filled["overridden"] = [name for name in filled["overridden"] if name not in trusted]
        return outcome


@breaks("TOL-024")
class FalsyIsNotSent(NegotiatedAirport):
    """Parameters that the server fills in are taken out of the arguments where they have a value, and null, zero and an
    empty text are none; what is left is refused as unknown."""

    async def fill_in(self, call: Call, go: Step) -> Outcome:
        left = {name: value for name, value in call.args.items() if name in STAFF and not value}

        async def with_left(inner: Call) -> Outcome:
            forged = {name: value for name, value in inner.forged.items() if name not in left}
            return await go(replace(inner, args={**inner.args, **left}, forged=forged))

        return await super().fill_in(call, with_left if call.tool == "crew_roster" else go)
