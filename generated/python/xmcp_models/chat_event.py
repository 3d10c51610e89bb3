"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from . import display_envelope, error_meta, usage_record


class UsageTotal(BaseModel):
    """
    What all requests to models in a chat used: the sums of the figures that are known; null where none is.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    input_tokens: Annotated[int | None, Field(ge=0)]
    output_tokens: Annotated[int | None, Field(ge=0)]
    cached_tokens: Annotated[int | None, Field(ge=0)]
    reasoning_tokens: Annotated[int | None, Field(ge=0)] = None
    llm_calls: Annotated[int, Field(ge=0)]
    cost_usd: Annotated[float | None, Field(ge=0.0)] = None


class Function(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    name: Annotated[str, Field(min_length=1)]
    arguments: str


class ToolCall(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: Annotated[str, Field(min_length=1)]
    type: Literal["function"]
    function: Annotated[Function, Field(title="FunctionCall")]


class Message(BaseModel):
    """
    One message in the format of OpenAI's chat completions.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Any] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: Annotated[str | None, Field(min_length=1)] = None


class Error(BaseModel):
    """
    An error (spec chapter 4) as JSON.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    code: Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]{0,62}$")]
    message: Annotated[str, Field(min_length=1)]
    retryable: bool
    retry_after_ms: Annotated[int | None, Field(ge=0, le=9007199254740991)] = None
    category: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,62}$")]
    meta: error_meta.ErrorMeta | None = None


class ChatResult(BaseModel):
    """
    The result of a chat.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    answer: str | None
    """
    The model's final text; null if there is none.
    """
    display: display_envelope.DisplayEnvelope | None
    """
    The first of `displays` that a tool answered with; null if there is none.
    """
    displays: list[display_envelope.DisplayEnvelope]
    """
    All displays of the chat, by turn and, within a turn, in call order.
    """
    history: list[Message] | None = None
    """
    The conversation, to be passed to the next chat; absent where the reader is not to see it.
    """
    usage: UsageTotal
    stop_reason: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `stop`, `tool_calls`, `display`, `clarify`, `max_turns`, `timeout`, `length`, `content_filter` or `empty`.
    """


class ChatEvent(BaseModel):
    """
    One event of a chat (spec section 10.2). Unknown members are ignored, and so are events of an unknown type.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `llm_delta`, `llm_reasoning`, `tool_call`, `tool_started`, `tool_progress`, `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage`, `done` or `failed`.
    """
    turn: Annotated[int, Field(ge=0)]
    """
    Number of the turn, counted from 1; 0 before the first request to the model.
    """
    call_id: Annotated[str | None, Field(min_length=1)] = None
    """
    The call the event is about.
    """
    tool_name: Annotated[str | None, Field(min_length=1)] = None
    """
    The tool as the model knows it.
    """
    text: str | None = None
    """
    Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments of a call; null if the model did not write a JSON object.
    """
    progress: float | None = None
    """
    How far an attempt of the call is, in units of the server's own.
    """
    total: float | None = None
    """
    What `progress` will be at the end, where the server knows it.
    """
    envelope: display_envelope.DisplayEnvelope | None = None
    """
    The display to show to the person now.
    """
    error: Error | None = None
    attempt: Annotated[int | None, Field(ge=1)] = None
    """
    How many attempts have failed so far.
    """
    wait_ms: Annotated[int | None, Field(ge=0)] = None
    """
    The wait before the next attempt that the client plans, in milliseconds; a wait for a slot comes on top.
    """
    usage: usage_record.UsageRecord | None = None
    result: ChatResult | None = None
    history: list[Message] | None = None
    """
    The conversation up to the failure, to be passed to the next chat; absent where the reader is not to see it.
    """
