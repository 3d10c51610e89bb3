"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from . import chat_event, display_envelope


class Segment1(BaseModel):
    """
    Something that was shown: the text of a step, or a display.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    text: str
    display: display_envelope.DisplayEnvelope | None = None


class Segment2(BaseModel):
    """
    Something that was shown: the text of a step, or a display.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    text: str | None = None
    display: display_envelope.DisplayEnvelope


class Segment(RootModel[Segment1 | Segment2]):
    root: Annotated[Segment1 | Segment2, Field(title="Segment")]
    """
    Something that was shown: the text of a step, or a display.
    """


class ToolUsed(BaseModel):
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


class RunEventData(BaseModel):
    """
    What an event of a run says; which members it has depends on its type.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    run_id: Annotated[str | None, Field(pattern="^[A-Za-z0-9_-]{1,128}$")] = None
    """
    The run. It is in the `id` of each event.
    """
    model: Annotated[str | None, Field(min_length=1)] = None
    """
    The model that was asked for, or the one that a request went to.
    """
    step: Annotated[int | None, Field(ge=0)] = None
    """
    Number of the step, counted from 1; 0 before the first request to the model.
    """
    text: str | None = None
    """
    The next piece of a text, a notice, or the text of a result.
    """
    call_id: Annotated[str | None, Field(min_length=1)] = None
    """
    The call that the event is about.
    """
    tool: Annotated[str | None, Field(min_length=1)] = None
    """
    The tool as the model knows it.
    """
    arguments: dict[str, Any] | None = None
    """
    The arguments that the model wrote; null if it did not write a JSON object.
    """
    progress: float | None = None
    """
    How far an attempt of the call is, in units of the server's own.
    """
    total: float | None = None
    """
    What `progress` will be at the end, where the server knows it.
    """
    status: Annotated[str | None, Field(pattern="^[a-z][a-z0-9_]*$")] = None
    """
    How a call ended: `ok` or `error`; or how the run is: `running`, `finished`, `error`, `cancelled` or `interrupted`.
    """
    ms: Annotated[float | None, Field(ge=0.0)] = None
    """
    How long the call took, in milliseconds.
    """
    error: chat_event.Error | None = None
    envelope: display_envelope.DisplayEnvelope | None = None
    """
    The display to show to the person now.
    """
    kind: Annotated[str | None, Field(pattern="^[a-z][a-z0-9_]*$")] = None
    """
    What a notice is about: `warning`, `model_retry`, `tool_retry` and so on.
    """
    stop_reason: str | None = None
    """
    Why the chat ended, as in section 10.2; null where it did not.
    """
    answer: str | None = None
    """
    The model's final text; null if there is none.
    """
    usage: chat_event.UsageTotal | None = None
    segments: list[Segment] | None = None
    """
    What was shown so far, in its order.
    """
    tools_used: list[ToolUsed] | None = None
    """
    The calls so far, in the order in which they began.
    """


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
    data: RunEventData
