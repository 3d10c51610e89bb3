"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class FieldError(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    pointer: Annotated[str, Field(pattern="^(/([^~/]|~[01])*)*$")]
    """
    JSON Pointer (RFC 6901) into the arguments; the empty string is the arguments as a whole.
    """
    reason: str | None = None
    """
    Short word for programs, for example `missing` or `wrong_type`.
    """
    message: str
    """
    What is wrong, for the model.
    """


class Limit(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    scope: str | None = None
    """
    Whose limit it is, for example `tenant` or `server`.
    """
    dimension: str | None = None
    """
    What is counted, for example `requests` or `tokens`.
    """
    max: float | None = None
    reset_at: AwareDatetime | None = None


class LocalizedMessage(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    locale: str
    message: str


class HelpLink(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    title: str | None = None
    url: Annotated[str, Field(pattern="^https?://")]


class Cause(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    code: Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]{0,62}$")]


class ErrorMeta(BaseModel):
    """
    The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of the wrong type. The name of a member that is not listed has a vendor prefix, `vendor/name`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    error_id: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    """
    Id under which the server's log has this failure.
    """
    params: dict[str, Any] | None = None
    """
    Every variable part of the message, so that no program has to parse the message.
    """
    fields: list[FieldError] | None = None
    """
    One entry for each argument that was refused.
    """
    side_effects: Literal["none", "unknown", "partial"] | None = None
    """
    Whether the failed call changed anything. Only with `none` is it safe to repeat the call of any tool.
    """
    recovery: Literal["retry", "fix_input", "ask_user", "give_up"] | None = None
    """
    What helps; if absent, the category decides.
    """
    limit: Limit | None = None
    localized: list[LocalizedMessage] | None = None
    """
    The message for the person, by language.
    """
    help: list[HelpLink] | None = None
    """
    Pages that explain the failure.
    """
    cause: Cause | None = None
    upstream_status: Annotated[int | None, Field(ge=100, le=599)] = None
    """
    HTTP status of the service behind the tool, when there was one.
    """
