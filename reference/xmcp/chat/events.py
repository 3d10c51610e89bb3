"""What a chat tells while it runs and what it returns: the public values of `stream_chat()` and `chat()`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from xmcp.chat.usage import ChatUsage, UsageRecord
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

ChunkType: TypeAlias = Literal[
    "llm_delta",
    "tool_call",
    "tool_started",
    "retry",
    "tool_result",
    "tool_error",
    "tool_display",
    "warning",
    "usage",
    "done",
]

StopReason: TypeAlias = Literal[
    "stop", "display", "clarify", "max_turns", "timeout", "length", "content_filter", "empty"
]
"""Why a chat ended (spec section 11.7).

`stop`: the model answered. `display`: the calls of a turn showed the answer. `clarify`: the model asks the person.
`max_turns`, `timeout`: the limit was reached before any of these. `length`, `content_filter`: the vendor cut or
withheld the answer. `empty`: the model said nothing at all.
"""


class ChatResult(TypedDict):
    """What `chat()` returns.

    `answer` is the model's final text, `None` if there is none; `display` the first of `displays`, which are all that
    was shown, by turn and in call order; `history` the conversation to pass to the next call, complete and valid.
    """

    answer: str | None
    display: DisplayEnvelope | None
    displays: list[DisplayEnvelope]
    history: list[dict[str, Any]]
    usage: ChatUsage
    stop_reason: StopReason


@dataclass(frozen=True, slots=True)
class CallReport:
    """How a call of a tool went: the server that was asked (`None`: none was), how often, and how long it all took."""

    server: str | None = None
    attempts: int = 0
    duration_ms: float = 0.0
    cached: bool = False
    """Whether the answer came from the cache, or from an equal call that was under way."""
    handed_on: Mapping[str, str] | None = None
    """Parameters that a predecessor filled in, with the predecessor's name (spec section 11.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChunk:
    """One event of a chat (semantics 25). `turn` counts the model's answers from 1; 0 is before the first.

    ============== ==================================================================================================
    type           fields it has
    ============== ==================================================================================================
    `llm_delta`    `text`: the next piece of what the model writes
    `tool_call`    `call_id`, `tool_name`, `arguments` (`None` if they are no JSON object), `text`: as they were written
    `tool_started` `call_id`, `tool_name`, `report`: the call has its slot and is on its way to a server
    `retry`        `call_id`, `tool_name`, `attempt` (how many have failed), `wait_ms`, `error`. Without `call_id` it is
                   the model that is asked again: its text of this turn so far is void
    `tool_result`  `call_id`, `tool_name`, `response`, `text`: its `llm_output`, `report`
    `tool_error`   `call_id`, `tool_name`, `response`, `error`, `report`
    `tool_display` `call_id`, `tool_name`, `envelope`: show it now
    `warning`      `text`, and `call_id`, `tool_name` where it is about a call
    `usage`        `usage`: what the model call that just ended used
    `done`         `result`: what `chat()` returns; nothing follows
    ============== ==================================================================================================

    Calls of one turn run at once, so their events mix; those of one call keep the order of the table.
    `xmcp.chat.records.event` gives a chunk as the JSON of spec section 10.2.
    """

    type: ChunkType
    turn: int
    text: str | None = None
    call_id: str | None = None
    tool_name: str | None = None
    arguments: dict[str, Any] | None = None
    response: ToolResponse | None = None
    envelope: DisplayEnvelope | None = None
    error: ErrorInfo | None = None
    attempt: int | None = None
    wait_ms: int | None = None
    report: CallReport | None = None
    usage: UsageRecord | None = None
    result: ChatResult | None = None
