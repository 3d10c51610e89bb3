"""Wrong in what the list says of tools, or in the parameters that the server fills in."""

from __future__ import annotations

import mcp_types

from unseen_sixth.parts import PREFIX, Ask, Entry, Json, Reply
from unseen_sixth.registry import breaks
from unseen_sixth.theatre import MEMBER, NegotiatedTheatre, PlainTheatre, Theatre


class _Relisted:
    """Changes what the list says of a tool, and nothing else."""

    def about(self, name: str, about: Json, *, declared: bool, handshake: bool) -> Json:
        return about

    def listed(self, name: str, entry: Entry, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        tool: mcp_types.Tool = super().listed(name, entry, declared=declared, handshake=handshake)  # type: ignore[misc]
        about = self.about(name, dict(entry.about), declared=declared, handshake=handshake)
        return tool.model_copy(update={"meta": {f"{PREFIX}tool": about} if about else None})


@breaks("TOL-002")
class ForgottenChart(_Relisted, PlainTheatre):
    """Lost `display` from the metadata of the tool that draws sales, which answers with a chart all the same."""

    def about(self, name: str, about: Json, *, declared: bool, handshake: bool) -> Json:
        return {key: one for key, one in about.items() if key != "display"} if name == "sales" else about


@breaks("TOL-011")
class RoundTrip(_Relisted, NegotiatedTheatre):
    """Lets plays depend on posters, and posters on seats, which depend on plays already."""

    def about(self, name: str, about: Json, *, declared: bool, handshake: bool) -> Json:
        more = {"plays": ["poster"], "poster": ["seat_map"]}.get(name)
        return {**about, "depends_on": more} if more else about


@breaks("TOL-021")
class SilentSpring(Theatre):
    """Forgets to say that it filled in the token where the bookings of spring come from another branch of the code."""

    def disclosed(self, ask: Ask) -> Json:
        said = super().disclosed(ask)
        return {**said, "redacted": []} if ask.args.get("season") == "spring" else said


@breaks("TOL-023")
class TrustedMember(PlainTheatre):
    """Says that it ignores the member that the caller sent, and looks the bookings up for that member."""

    def my_bookings(self, ask: Ask) -> Reply:
        sent = ask.forged.get("member_id")
        ask.filled["member_id"] = MEMBER["member_id"] if sent is None else sent
        reply = super().my_bookings(ask)
        ask.filled["member_id"] = MEMBER["member_id"]
        return reply


@breaks("TOL-024")
class LateHall(NegotiatedTheatre):
    """Sets two of its three parameters aside before it validates; the third was added later, and elsewhere."""

    def prepare(self, ask: Ask) -> None:
        super().prepare(ask)
        if "home_hall" in ask.forged:
            ask.args["home_hall"] = ask.forged.pop("home_hall")


@breaks("MCP-053")
class WrapperOfOldTimes(_Relisted, NegotiatedTheatre):
    """Names the wrapper of a list in the metadata in the stateless era only, where it was asked for it."""

    def about(self, name: str, about: Json, *, declared: bool, handshake: bool) -> Json:
        return {key: one for key, one in about.items() if key != "wrapped_in"} if handshake else about
