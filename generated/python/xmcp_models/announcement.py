"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel


class Version(RootModel[str]):
    root: Annotated[str, Field(pattern="^(0|[1-9][0-9]{0,3})\\.(0|[1-9][0-9]{0,3})$")]


class Announcement(BaseModel):
    """
    What a server puts under the extension identifier into its capabilities (section 6.1). Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    versions: Annotated[list[Version], Field(min_length=1)]
    """
    Versions of the specification that the server emits.
    """
    wire: Literal["always", "negotiated", "plain"]
    """
    Which clients get documents (XMCP-MCP-005).
    """
