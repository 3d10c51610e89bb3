"""Judge the events of chats in a file of JSON Lines as sequences: their order, their turns, and what `done` counts.

Events have no name of their chat. So a file has one chat after the other, each closed by `done` or `failed`; one that
has no closing event was cancelled, or the file ends before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.event_order import NEXT
from xmcp_conformance.core.observation import Place, broken
from xmcp_conformance.core.untrusted_text import quoted

_CLOSING: Final = ("done", "failed")


@dataclass(slots=True)
class ChatEvents:
    """The events of a chat so far, as far as the next one depends on them."""

    last: dict[str, str] = field(default_factory=dict)
    """The type of the last event of each call, by its id."""
    turn: int = 0
    usages: int = 0
    closed: str = ""

    def then(self, event: Any, line: int) -> Observations:
        """Yield what is wrong with the next event, which is in a line, and take it into account."""
        if not isinstance(event, Mapping) or not isinstance(kind := event.get("type"), str):
            return
        if self.closed:
            self.last, self.turn, self.usages, self.closed = {}, 0, 0, ""
        yield from _order(self, event, kind, line)
        yield from _counts(self, event, kind, line)
        id_, turn = event.get("call_id"), event.get("turn")
        if isinstance(id_, str) and kind in NEXT:
            self.last[id_] = kind
        self.turn = max(self.turn, turn) if isinstance(turn, int) else self.turn
        self.usages += kind == "usage"
        self.closed = kind if kind in _CLOSING else ""


@check("XMCP-REC-002", profile="document")
def _order(chat: ChatEvents, event: Mapping[str, Any], kind: str, line: int) -> Observations:
    id_ = event.get("call_id")
    if not isinstance(id_, str) or kind not in NEXT:
        return
    before = chat.last.get(id_, "")
    if kind not in NEXT[before]:
        seen = f"`{kind}` of `{quoted(id_)}` after {f'its `{before}`' if before else 'no other event of it'}"
        yield broken("XMCP-REC-002", seen, " or ".join(NEXT[before]), where=Place(line, 1))


@check("XMCP-REC-006", profile="document")
def _counts(chat: ChatEvents, event: Mapping[str, Any], kind: str, line: int) -> Observations:
    turn, where = event.get("turn"), Place(line, 1)
    if isinstance(turn, int) and turn < chat.turn:
        yield broken("XMCP-REC-006", f"`turn` {turn} after {chat.turn}", "turns that never fall", where=where)
    result = event.get("result") if kind == "done" else None
    usage = result.get("usage") if isinstance(result, Mapping) else None
    if isinstance(usage, Mapping) and chat.usages and usage.get("llm_calls") != chat.usages:
        seen = f"`llm_calls` {quoted(str(usage.get('llm_calls')))} in `done`"
        yield broken("XMCP-REC-006", seen, f"{chat.usages}, how many events `usage` there were", where=where)
