"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, RootModel


class Version(RootModel[str]):
    root: Annotated[str, Field(pattern="^(0|[1-9][0-9]{0,3})\\.(0|[1-9][0-9]{0,3})$")]


class DisplayType(RootModel[str]):
    root: Annotated[
        str,
        Field(
            max_length=64, pattern="^(?:[a-z][a-z0-9_]*|x-[a-z0-9]+(?:[-.][a-z0-9]+)+)$"
        ),
    ]


class Declaration(BaseModel):
    """
    What a client puts under the extension identifier into its capabilities (section 6.1). Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    versions: Annotated[list[Version], Field(min_length=1)]
    """
    Versions of the specification that the client reads.
    """
    documents: bool | None = None
    """
    False if the client reads plain results only (section 1.6). Absent means true.
    """
    display_types: Annotated[list[DisplayType] | None, Field(alias="displayTypes")] = (
        None
    )
    """
    The display types that the client's renderer knows.
    """
    max_bytes: Annotated[
        int | None, Field(alias="maxBytes", ge=4096, le=9007199254740991)
    ] = None
    """
    The size in bytes of UTF-8 of the largest document that the client accepts.
    """
