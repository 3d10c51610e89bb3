"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, RootModel


class DependsOnItem(RootModel[str]):
    root: Annotated[str, Field(max_length=128, min_length=1)]


class ServerPopulatedItem(RootModel[str]):
    root: Annotated[str, Field(min_length=1)]


class ToolMetadata(BaseModel):
    """
    What a server says about a tool beyond MCP, under `<prefix>tool` in the tool's `_meta` (spec chapter 5). Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    display: bool | None = False
    """
    True when the tool can answer with a display; then its input schema has the boolean property `show_user`.
    """
    depends_on: list[DependsOnItem] | None = None
    """
    Names of tools of the same server; their calls in the same turn come before a call of this tool.
    """
    provides: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    """
    Name of the parameter through which tools that depend on this one get its whole result.
    """
    server_populated: list[ServerPopulatedItem] | None = None
    """
    Parameters that the server fills in. They are not in the input schema.
    """
    xml_formatter: Annotated[str | None, Field(min_length=1)] = None
    """
    Name of the formatter that writes `llm_output`, for people who read the list of tools.
    """
    cacheable: bool | None = False
    """
    True when a call with the same arguments can be answered from a cache.
    """
    wrapped_in: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    """
    Name of the member of `structuredContent` that holds the tool's value, where the value is no object.
    """
