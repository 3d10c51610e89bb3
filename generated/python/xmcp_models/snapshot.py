"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from . import chat_event


class Snapshot(BaseModel):
    """
    A stored conversation (spec section 10.5), which another process can continue. Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    format: Literal["xmcp-conversation"]
    version: Annotated[int, Field(ge=1)]
    """
    Version of this format; this schema describes version 1.
    """
    created_at: AwareDatetime
    session_id: str | None = None
    tenant_id: str | None = None
    history: list[chat_event.Message]
    usage: chat_event.UsageTotal | None = None
    metadata: dict[str, Any] | None = None
    """
    Data of the application.
    """
