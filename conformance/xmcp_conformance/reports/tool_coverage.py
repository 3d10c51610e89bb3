"""Which tools of a server were seen at work in a run of the suite: a fold over its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp_conformance.core.events import CallMade, ToolListed
from xmcp_models.registry import DISPLAY_TYPES

_OF_ARGUMENTS: Final = {"VALIDATION_FAIL", "INVALID_ARGUMENT", "MISSING_ARGUMENT", "NOT_FOUND"}
"""The codes of failures that other arguments can avoid."""
_MOST_NAMED: Final = 10
_TYPES: Final = [name for name, row in DISPLAY_TYPES.items() if row["status"] == "active" and not name.startswith("x-")]


@dataclass(slots=True)
class ToolCoverage:
    """One tool: whether it was called, and how often its calls with right arguments ended in which way."""

    called: bool = True
    left_out: bool = False
    displays: bool = False
    succeeded: int = 0
    failed: int = 0
    unanswered: int = 0
    shown: int = 0
    dark: int = 0
    """How many calls that succeeded had asked for a display and got none."""
    refused: dict[str, None] = field(default_factory=dict)
    """The codes with which calls failed that had asked for a display, and `no answer` for one that had none."""
    codes: dict[str, str] = field(default_factory=dict)
    """The codes of its errors, each with the `error_id` of the first that had one."""

    @property
    def at_work(self) -> bool:
        """True where it succeeded at least once and, if it can show a display, did so at least once."""
        return self.succeeded > 0 and (self.shown > 0 or not self.displays)

    @property
    def instead(self) -> str:
        """The codes of its errors in the place of displays, in brackets; empty where it also succeeded without one."""
        return f" ({', '.join(filter(None, self.refused))})" if not self.dark and any(self.refused) else ""

    def to_json(self) -> dict[str, Any]:
        """Return the tool as JSON values."""
        counts = {name: getattr(self, name) for name in ("succeeded", "failed", "unanswered", "shown")}
        return {"called": self.called, "displays": self.displays, **counts, "at_work": self.at_work}


@dataclass(slots=True)
class Coverage:
    """The tools of a server by their names, over all runs, and the types of their displays."""

    tools: dict[str, ToolCoverage] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """The types of displays, each with the first tool that showed one."""

    def add_tool(self, event: ToolListed) -> None:
        """Take a tool of the list into account."""
        tool = self.tools.setdefault(event.tool, ToolCoverage(event.called, event.left_out))
        tool.displays = tool.displays or event.displays

    def add_call(self, event: CallMade) -> None:
        """Take a call into account. Tools that are not listed, such as those that do not exist, do not count."""
        tool = self.tools.get(event.tool)
        if tool is None:
            return
        tool.succeeded += event.ending == "succeeded"
        tool.failed += event.ending == "failed"
        tool.unanswered += event.ending == "unanswered"
        tool.dark += event.asked_to_show and event.ending == "succeeded" and not event.display
        if event.asked_to_show and event.ending in ("failed", "unanswered"):
            tool.refused[event.code or ("no answer" if event.ending == "unanswered" else "")] = None
        if event.code:
            tool.codes[event.code] = tool.codes.get(event.code) or event.error_id
        if event.display:
            tool.shown += 1
            self.types.setdefault(event.display, event.tool)

    @property
    def at_work(self) -> int:
        """The number of tools that were seen at work."""
        return sum(tool.at_work for tool in self.tools.values())

    @property
    def any_succeeded(self) -> bool:
        """Whether a call of any tool succeeded."""
        return any(tool.succeeded for tool in self.tools.values())

    @property
    def percent(self) -> float:
        """The share of the wanted tools that were seen at work, in percent; 0 where there is none."""
        at_work = sum(tool.at_work and not tool.left_out for tool in self.tools.values())
        return 100 * at_work / self.wanted if self.wanted else 0.0

    @property
    def wanted(self) -> int:
        """The number of listed tools that the user did not leave out."""
        return sum(not tool.left_out for tool in self.tools.values())

    def gaps(self) -> Iterator[str]:
        """Yield a sentence for each kind of thing that was not seen, or that nobody but the server knows."""
        called = {name: tool for name, tool in self.tools.items() if tool.called}
        never = [name for name, tool in called.items() if not tool.succeeded]
        if never:
            names = listed(never, lambda name: f" ({', '.join(codes)})" if (codes := called[name].codes) else "")
            codes = {code: error_id for name in never for code, error_id in called[name].codes.items()}
            advised = (
                " An `enum` or `examples` for the arguments would help, such as `Field(examples=[…])`."
                if _OF_ARGUMENTS & codes.keys()
                else ""
            )
            reason = ""
            if "INTERNAL" in codes:
                such = f", such as `{codes['INTERNAL']}`" if codes["INTERNAL"] else ""
                kept = "`--log` keeps that of a command"
                reason = f" The server's log has the reason of `INTERNAL` by `error_id`{such}; {kept}."
            yield f"Never succeeded: {names}. At most their errors were judged.{advised}{reason}"
        unseen = {name: tool for name, tool in called.items() if tool.succeeded and tool.displays and not tool.shown}
        if asked := [name for name, tool in unseen.items() if tool.dark or tool.refused]:
            yield f"Asked to show a display, and never did: {listed(asked, lambda name: unseen[name].instead)}."
        if others := [name for name in unseen if name not in asked]:
            yield f"Can show a display, and was not asked to: {listed(others)}."
        if unknown := [name for name in self.types if name not in DISPLAY_TYPES and not name.startswith("x-")]:
            names = listed(unknown, lambda name: f" of `{self.types[name]}`")
            yield (
                f"Types of displays that the specification does not define: {names}. No host shows a misspelt one. It "
                f"defines {', '.join(_TYPES)}; a type of your own is called `x-vendor-name`."
            )


def listed(names: list[str], more: Callable[[str], str] = lambda _: "") -> str:
    """Return the first names for a sentence, each with what `more` says of it, and how many others there are."""
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(f'`{name}`{more(name)}' for name in names[:_MOST_NAMED])}{rest}"
