"""Wrong servers: what tools say of themselves, and the parameters that the server fills in."""

from __future__ import annotations

from typing import Any

from unseen_fifth.instruments import MyTime
from unseen_fifth.kit import Json, Outcome, Tool, Visit
from unseen_fifth.observatory import Negotiated, Observatory, Plain
from unseen_fifth.registry import breaks
from unseen_fifth.writers import Paper


@breaks("TOL-002")
class DisplaysOfTheNewEra(Negotiated):
    """Lists for clients with a handshake leave out that a tool has displays; the tools show them all the same."""

    def metadata(self, tool: type[Tool], *, declared: bool, handshake: bool) -> Json | None:
        about = super().metadata(tool, declared=declared, handshake=handshake)
        if about is None or not handshake:
            return about
        return {name: value for name, value in about.items() if name != "display"}


@breaks("TOL-021")
class DisclosedBesideDisplays(Observatory):
    """Beside a display only values are told of what the server filled in, because a person cannot
    use the other names.
    """

    class _Paper(Paper):
        def parts(self, outcome: Outcome) -> list[str]:
            parts: list[str] = super().parts(outcome)
            filled: Any = getattr(outcome, "filled", None)
            if outcome.display is None or filled is None:
                return parts
            return [*parts[:-1], self.filled({name: said for name, said in filled.items() if name != "redacted"})]

    paper = _Paper


class _Asked(MyTime):
    def __init__(self, visit: Visit, args: Json, filled: Json) -> None:
        super().__init__(visit, args, {**filled, "observer_id": visit.args.get("observer_id", filled["observer_id"])})


@breaks("TOL-023")
class AskedObserver(Plain):
    """The observer is filled in as a default, so a caller who names another one sees the hours of that one."""

    swapped = (_Asked,)


@breaks("TOL-024")
class CheckedFirst(Negotiated):
    """Arguments are checked as they come, and what the server fills in is set aside only when they fit."""

    def set_aside(self, visit: Visit, tool: type[Tool]) -> tuple[Json, Json]:
        args, forged = super().set_aside(visit, tool)
        faults = self.faults(visit, tool, {**args, **forged})
        if faults:
            raise self.refusal(visit, faults)
        return args, forged
