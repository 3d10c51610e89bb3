"""What a chat tells while it runs and what it returns: the public values of `stream_chat()` and `chat()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

ChunkType: TypeAlias = Literal[
    "llm_delta",
    "tool_call",
    "tool_started",
    "tool_result",
    "tool_display",
    "tool_error",
    "warning",
    "usage",
    "done",
]

StopReason: TypeAlias = Literal["stop", "display", "max_turns", "length", "content_filter", "empty"]
"""Why a chat ended.

`stop`: the model answered. `display`: the calls of a turn showed the answer. `max_turns`: the limit was reached before
either. `length`, `content_filter`: the vendor cut or withheld the answer. `empty`: the model said nothing at all.
"""


class ChatUsage(TypedDict):
    """What a chat used: tokens as the vendor counted them (`None`: it never said) and calls of the model."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    llm_calls: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChunk:
    """One event of a chat (semantics 25). `turn` counts the model's answers from 1; 0 is before the first.

    ============== ==================================================================================================
    type           fields it has
    ============== ==================================================================================================
    `llm_delta`    `text`: the next piece of what the model writes
    `tool_call`    `call_id`, `tool_name`, `arguments` (`None` if they are no JSON object), `text`: as they were written
    `tool_started` `call_id`, `tool_name`: the call has its slot and is on its way
    `tool_result`  `call_id`, `tool_name`, `response`, `text`: its `llm_output`
    `tool_error`   `call_id`, `tool_name`, `response`, `error`
    `tool_display` `call_id`, `tool_name`, `envelope`: show it now
    `warning`      `text`, and `call_id`, `tool_name` where it is about a call
    `usage`        `usage`: what the model call that just ended used
    `done`         `result`: what `chat()` returns; nothing follows
    ============== ==================================================================================================

    Calls of one turn run at once, so their events mix; those of one call keep the order of the table.
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
    usage: ChatUsage | None = None
    result: ChatResult | None = None
