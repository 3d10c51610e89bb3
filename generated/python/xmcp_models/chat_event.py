"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from . import display_envelope, error_meta, usage_record


class UsageTotal(BaseModel):
    """
    What all model calls of a chat used; null where a vendor did not say.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    input_tokens: Annotated[int | None, Field(ge=0)]
    output_tokens: Annotated[int | None, Field(ge=0)]
    cached_tokens: Annotated[int | None, Field(ge=0)]
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
    An error as values (spec chapter 4).
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
    What a chat came to.
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
    The first of `displays`.
    """
    displays: list[display_envelope.DisplayEnvelope]
    """
    All that was shown, by turn and in call order.
    """
    history: list[Message]
    """
    The conversation, to be given to the next chat.
    """
    usage: UsageTotal
    stop_reason: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `stop`, `display`, `clarify`, `max_turns`, `timeout`, `length`, `content_filter` or `empty`.
    """


class ChatEvent(BaseModel):
    """
    One event of a chat (spec section 10.2). Unknown keys are ignored, and so are events of an unknown type.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `llm_delta`, `tool_call`, `tool_started`, `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage` or `done`.
    """
    turn: Annotated[int, Field(ge=0)]
    """
    The model's answers are counted from 1; 0 is before the first.
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
    The next piece of what the model writes; the arguments of a call as it wrote them; the text of a result; a warning.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments of a call; null where what the model wrote is no JSON object.
    """
    envelope: display_envelope.DisplayEnvelope | None = None
    """
    What the person is to see now.
    """
    error: Error | None = None
    attempt: Annotated[int | None, Field(ge=1)] = None
    """
    How many attempts have failed.
    """
    wait_ms: Annotated[int | None, Field(ge=0)] = None
    """
    Milliseconds until the next attempt.
    """
    usage: usage_record.UsageRecord | None = None
    result: ChatResult | None = None
