"""Clients that do something unusual that the specification allows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

from xmcp.chat.completions import ToolCall
from xmcp.chat.events import ChatChunk, ChatWarning, LLMUsage
from xmcp.client.calls import context_budget, server_results
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools.catalogue import Catalogue
from xmcp.wire import REFERENCE_TYPE, DisplayEnvelope, encode
from xmcp_models.registry import RESULT_META_KEY


def repeats_the_marks() -> None:
    """The document of a plain result repeats its `format`, `truncated` and `lossy` (section 11.11)."""
    read = server_results.read

    def marked(result: Any, tool_name: str, *, speaks_xmcp: bool) -> Reading:
        reading = read(result, tool_name, speaks_xmcp=speaks_xmcp)
        mark = (result.meta or {}).get(RESULT_META_KEY) if speaks_xmcp else None
        response = reading.response
        if not isinstance(mark, Mapping) or mark.get("form") != "plain" or not response.llm_output:
            return reading
        response.truncated, response.lossy = mark.get("truncated") is True, mark.get("lossy") is True
        with suppress(TypeError, ValueError):
            response.format = mark.get("format")
            encode(response, check=False)
            return reading
        response.format = None
        return reading

    server_results.read = marked


def one_name_for_all_that_is_unknown() -> None:
    """Every name that the model made up is replaced by one and the same, in events and the history (section 11.11)."""
    begin_turn = Chat._begin_turn

    def renamed(self: Chat, catalogue: Catalogue, text: str, calls: Sequence[ToolCall]) -> ToolTurn:
        known = {*catalogue.entries, *self._settings.meta_tools}
        name = "no_such_tool"
        while name in known:
            name += "_"
        return begin_turn(
            self, catalogue, text, [call if call.name in known else replace(call, name=name) for call in calls]
        )

    Chat._begin_turn = renamed  # type: ignore[method-assign]


def reference_with_more_and_less() -> None:
    """A reference has the `id`, the `alt` and the `meta` of its display, and no `note` (section 3.5)."""

    def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
        given = {name: getattr(display, name) for name in ("title", "id", "alt", "meta")}
        kept = {name: value for name, value in given.items() if value is not None and (note or name == "title")}
        payload = {"type": display.type, "bytes": context_budget.size(display)}
        return DisplayEnvelope(type=REFERENCE_TYPE, payload=payload, **kept)

    context_budget.reference = reference


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered(ChatWarning):
    """An event of the client's own."""

    def to_json(self) -> dict[str, Any]:
        return {"type": "answer_received", "turn": self.turn, "note": self.text, "tokens": None}


def events_of_its_own() -> None:
    """After each `usage` there is an event of the client's own type, with members of its own (section 10.2)."""
    run = Chat.run

    async def telling(self: Chat) -> AsyncGenerator[ChatChunk, None]:
        async with aclosing(run(self)) as events:
            async for event in events:
                yield event
                if isinstance(event, LLMUsage):
                    yield _Answered(turn=event.turn, text="The model was asked.")

    Chat.run = telling  # type: ignore[method-assign]
