"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from . import chat_event, display_envelope


class RunEvent(BaseModel):
    """
    One event of a run of a gateway (spec section 10.6). Unknown members are ignored, and so are events of an unknown type.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: Annotated[str, Field(pattern="^[a-z][a-z0-9_.]*$")]
    """
    `run.started`, `step.started`, `text.delta`, `tool.started` and so on; section 10.6 has all of them.
    """
    seq: Annotated[int | None, Field(ge=1)] = None
    """
    Place of the event among those of its attempt.
    """
    data: dict[str, Any]
    """
    What the event says; its members depend on the type.
    """


class RunStarted(BaseModel):
    """
    Data of `run.started`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    run_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,128}$")]
    """
    The run. It is in the `id` of each event.
    """
    model: Annotated[str, Field(min_length=1)]
    """
    The model that was asked for.
    """


class RunStep(BaseModel):
    """
    Data of `step.started`, `step.finished` and `stream.reset`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """


class RunText(BaseModel):
    """
    Data of `text.delta` and `reasoning.delta`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    text: str
    """
    The next piece.
    """


class RunToolStarted(BaseModel):
    """
    Data of `tool.started`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    call_id: Annotated[str, Field(min_length=1)]
    """
    The call that the event is about.
    """
    tool: Annotated[str, Field(min_length=1)]
    """
    The tool as the model knows it.
    """
    arguments: dict[str, Any] | None
    """
    The arguments that the model wrote; null if it did not write a JSON object.
    """


class RunToolProgress(BaseModel):
    """
    Data of `tool.progress`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    call_id: Annotated[str, Field(min_length=1)]
    """
    The call that the event is about.
    """
    tool: Annotated[str, Field(min_length=1)]
    """
    The tool as the model knows it.
    """
    progress: float
    """
    How far an attempt of the call is, in units of the server's own.
    """
    total: float | None = None
    """
    What `progress` will be at the end, where the server knows it.
    """
    text: str | None = None
    """
    What the server says of it.
    """


class RunDisplay(BaseModel):
    """
    Data of `display`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    call_id: Annotated[str, Field(min_length=1)]
    """
    The call that the event is about.
    """
    tool: Annotated[str, Field(min_length=1)]
    """
    The tool as the model knows it.
    """
    envelope: display_envelope.DisplayEnvelope
    """
    The display to show to the person now.
    """


class RunNotice(BaseModel):
    """
    Data of `notice`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    kind: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    What it is about: `warning`, `model_retry`, `tool_retry` and so on.
    """
    text: str | None = None
    """
    Words for a person.
    """


class RunSegment(BaseModel):
    """
    Something that was shown: the text of a step, or a display.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    text: str | None = None
    display: display_envelope.DisplayEnvelope | None = None


class RunToolUsed(BaseModel):
    """
    A call of a tool, as far as it is.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    call_id: Annotated[str, Field(min_length=1)]
    tool: Annotated[str, Field(min_length=1)]
    status: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `running`, `ok` or `error`.
    """


class RunFinished(BaseModel):
    """
    Data of `run.finished`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stop_reason: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    Why the chat ended, as in section 10.2.
    """
    answer: str | None
    """
    The model's final text; null if there is none.
    """
    usage: chat_event.UsageTotal


class RunSnapshot(BaseModel):
    """
    Data of `snapshot`: what the run has come to so far.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `running`, or how the run ended: `finished`, `error`, `cancelled` or `interrupted`.
    """
    segments: list[RunSegment]
    """
    What was shown so far, in its order.
    """
    tools_used: list[RunToolUsed]
    """
    The calls so far, in the order in which they began.
    """


class RunToolFinished(BaseModel):
    """
    Data of `tool.finished`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    step: Annotated[int, Field(ge=0)]
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    call_id: Annotated[str, Field(min_length=1)]
    """
    The call that the event is about.
    """
    tool: Annotated[str, Field(min_length=1)]
    """
    The tool as the model knows it.
    """
    status: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `ok` or `error`.
    """
    ms: Annotated[float, Field(ge=0.0)]
    """
    How long the call took, in milliseconds.
    """
    text: str | None = None
    """
    The text of the result, or the beginning of a long one.
    """
    error: chat_event.Error | None = None
