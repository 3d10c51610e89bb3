"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from . import chat_event


class Snapshot(BaseModel):
    """
    A conversation at rest (spec section 10.5): what another process needs to go on. Unknown keys are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    format: Literal["xmcp-conversation"]
    version: Annotated[int, Field(ge=1)]
    """
    Version of this format; 1 is described here.
    """
    created_at: AwareDatetime
    session_id: str | None = None
    tenant_id: str | None = None
    history: list[chat_event.Message]
    usage: chat_event.UsageTotal | None = None
    metadata: dict[str, Any] | None = None
    """
    The application's own facts.
    """
