"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel


class DisplayEnvelope(BaseModel):
    """
    What a person is shown (spec chapter 3). Unknown keys are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    type: Annotated[
        str,
        Field(
            max_length=64, pattern="^(?:[a-z][a-z0-9_]*|x-[a-z0-9]+(?:[-.][a-z0-9]+)+)$"
        ),
    ]
    """
    What kind of thing the payload is; a registered name, or `x-vendor-name`.
    """
    payload: dict[str, Any] | list[Any] | str
    """
    The data to render, in the shape the type prescribes.
    """
    title: Annotated[str | None, Field(max_length=200)] = None
    """
    Heading, plain text.
    """
    alt: Annotated[str | None, Field(max_length=4000)] = None
    """
    The display in words: what a terminal or a screen reader says.
    """
    fallback: DisplayEnvelope | None = None
    """
    Shown instead where the type is unknown.
    """
    id: Annotated[str | None, Field(max_length=128, min_length=1)] = None
    """
    A later display with the same id replaces this one.
    """
    meta: dict[str, Any] | None = None
    """
    Extra facts; absent rather than null.
    """


class Scalar(RootModel[str | float | bool | None]):
    root: str | float | bool | None


class Column(BaseModel):
    key: str
    title: str | None = None
    type: str | None = None
    align: Literal["left", "right", "center"] | None = None


class ImageUri(RootModel[str]):
    root: Annotated[
        str,
        Field(
            pattern="^(?:https://[^\\s\\\\]+|data:image/(?:png|jpeg|gif|webp|avif)[;,]\\S*)$"
        ),
    ]


class Image(BaseModel):
    src: ImageUri
    alt: str | None = None
    mime: str | None = None
    width: Annotated[float | None, Field(gt=0.0)] = None
    height: Annotated[float | None, Field(gt=0.0)] = None


class Notification(BaseModel):
    message: str
    level: Literal["info", "success", "warning", "error"] | None = None


class Code(BaseModel):
    code: str
    language: str | None = None
    filename: str | None = None


class Fact(BaseModel):
    label: str
    value: Scalar | None


class Metric(BaseModel):
    label: str
    value: float | str
    unit: str | None = None
    delta: float | str | None = None


class File(BaseModel):
    uri: Annotated[str, Field(min_length=1)]
    name: str | None = None
    mime: str | None = None
    size: Annotated[int | None, Field(ge=0)] = None


class Table(BaseModel):
    columns: list[str | Column]
    rows: list[list[Any] | dict[str, Any]]
    caption: str | None = None
    row_header: str | None = None
    total_rows: Annotated[int | None, Field(ge=0)] = None
    truncated: bool | None = None


DisplayEnvelope.model_rebuild()
