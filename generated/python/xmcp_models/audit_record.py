"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from . import chat_event, usage_record


class ToolInvocation(BaseModel):
    """
    One tool call, with all its attempts.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    call_id: Annotated[str, Field(min_length=1)]
    tool_name: Annotated[str, Field(min_length=1)]
    """
    The tool as the model knows it.
    """
    server: str | None
    """
    The server whose tool it is; null where no server has it.
    """
    arguments: dict[str, Any] | None
    """
    Arguments as the model wrote them; null if it did not write a JSON object.
    """
    outcome: Literal["ok", "error", "cancelled"]
    error_code: Annotated[str | None, Field(pattern="^[A-Z][A-Z0-9_]{0,62}$")] = None
    duration_ms: Annotated[float, Field(ge=0.0)]
    attempts: Annotated[int, Field(ge=0)]
    """
    How many attempts were begun, with or without an answer; 0 if there was none.
    """
    cached: bool | None = False
    displayed: bool | None = False


class AuditRecord(BaseModel):
    """
    One audit record of a chat (spec section 10.4); a log has one on each line. Unknown members are ignored, and so are records of an unknown kind.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    kind: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """
    `chat_started`, `message`, `tool_call`, `usage` or `chat_ended`.
    """
    chat_id: Annotated[str, Field(min_length=1)]
    sequence: Annotated[int, Field(ge=0)]
    """
    Counts the records of a chat from 0, without gaps.
    """
    timestamp: AwareDatetime
    session_id: str | None
    tenant_id: str | None
    message: chat_event.Message | None = None
    """
    A message of the history that the chat returned.
    """
    tool_call: ToolInvocation | None = None
    usage: usage_record.UsageRecord | None = None
    stop_reason: str | None = None
    """
    Why the chat ended; null where it failed or was cancelled.
    """
    error: chat_event.Error | None = None
    """
    Why the chat failed, or that it was cancelled.
    """
