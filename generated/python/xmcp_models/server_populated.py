"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel


class RedactedItem(RootModel[str]):
    root: Annotated[str, Field(min_length=1)]


class OverriddenItem(RootModel[str]):
    root: Annotated[str, Field(min_length=1)]


class ServerPopulated(BaseModel):
    """
    The JSON object in `<server_populated>` of a tool response (spec section 2.7): which parameters the server filled in for this call. Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    values: dict[str, Any] | None = None
    """
    Maps the name of a parameter to the value with which the tool was called.
    """
    redacted: list[RedactedItem] | None = None
    """
    Parameters that were filled in and whose value is not disclosed.
    """
    overridden: list[OverriddenItem] | None = None
    """
    Parameters for which the caller sent a value that was not used.
    """
