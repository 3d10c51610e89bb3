"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from . import chat_event, display_envelope


class FieldSurrogate(RootModel[str]):
    root: Annotated[str, Field(pattern="^[0-9A-F]{4}$")]


class CodeUnits(BaseModel):
    """
    Text as its UTF-16 code units in hexadecimal digits.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    field_surrogates: Annotated[list[FieldSurrogate], Field(alias="$surrogates")]


class EmittedResponse(BaseModel):
    """
    The text for the model or an error, and a display with either.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    llm_output: str | CodeUnits | None = None
    """
    The text for the model; or, where it has surrogates that are not paired, its code units.
    """
    format: str | None = None
    """
    The media type of that text; absent means `text/plain`.
    """
    truncated: bool | None = False
    """
    Whether that text was cut.
    """
    lossy: bool | None = False
    """
    Whether characters were replaced before the values reached the tool.
    """
    display: display_envelope.DisplayEnvelope | None = None
    error: chat_event.Error | None = None


class ConformanceEmit(BaseModel):
    """
    The arguments of the tool `xmcp_conformance_emit` (spec section 1.7): what a tool is to return. `response` has the members that a response has in the wire vectors.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    response: EmittedResponse
    structured_content: dict[str, Any] | None = None
    """
    The tool's data for programs. It comes with a `llm_output` alone.
    """
    for_user: str | None = None
    """
    The text of a further block, whose audience is the user alone. It comes with a `llm_output` alone.
    """
    show_user: bool | None = False
    """
    As for every display tool. The suite sets it to `true` where the response has a display.
    """
