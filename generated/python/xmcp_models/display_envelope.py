"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel


class DisplayEnvelope(BaseModel):
    """
    A display for a person (spec chapter 3). Unknown members are ignored.
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
    Kind of display: a registered type, or `x-vendor-name`.
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
    The display in words, for terminals and screen readers.
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
    Additional information; absent rather than null.
    """


class TextPayload(RootModel[str]):
    root: str
    """
    `text`, `markdown` (CommonMark with GFM tables, raw HTML off), `html` (source text).
    """


class ChartPayload(BaseModel):
    """
    `chart`: a Vega-Lite specification with its data inside; the registry of types lists what it cannot contain.
    """


class JsonPayload(RootModel[dict[str, Any] | list[Any] | str]):
    root: dict[str, Any] | list[Any] | str
    """
    `json`, and every type without a schema of its own.
    """


class GroupPayload(RootModel[list[DisplayEnvelope]]):
    """
    `group`: displays in order.
    """

    root: Annotated[list[DisplayEnvelope], Field(max_length=32)]
    """
    `group`: displays in order.
    """


class ReferencePayload(BaseModel):
    """
    `x-xmcp-reference`: what a client sends to the model in place of a large display.
    """

    type: str
    """
    Type of the display that the person sees.
    """
    bytes: Annotated[int, Field(ge=0, le=9007199254740991)]
    """
    Its size as JSON in UTF-8.
    """
    note: str | None = None


class Scalar(RootModel[str | float | bool | None]):
    root: str | float | bool | None


class Column(BaseModel):
    key: str
    """
    Member of a row that is an object; rows that are arrays follow the order of the columns.
    """
    title: str | None = None
    type: str | None = None
    """
    Type of the cells: `text`, `number` (grouped digits), `boolean`, `date` or `datetime`; a renderer treats any other value as `text`.
    """
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
    width: Annotated[float | None, Field(gt=0.0, le=9007199254740991.0)] = None
    height: Annotated[float | None, Field(gt=0.0, le=9007199254740991.0)] = None


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
    size: Annotated[int | None, Field(ge=0, le=9007199254740991)] = None
    """
    Bytes.
    """


class ImagePayload(RootModel[ImageUri | Image]):
    root: ImageUri | Image
    """
    `image`: the URI of the picture, or an object with the URI and details.
    """


class NotificationPayload(RootModel[str | Notification]):
    root: str | Notification
    """
    `notification`: the message, or an object with the message and a level.
    """


class CodePayload(RootModel[str | Code]):
    root: str | Code
    """
    `code`: the source code, or an object with the code, its language and file name.
    """


class FactsPayload(RootModel[dict[str, Scalar | None] | list[Fact]]):
    root: dict[str, Scalar | None] | list[Fact]
    """
    `facts`: labels with values, as an object or, where the order or a repeated label matters, as a list.
    """


class MetricPayload(RootModel[Metric | list[Metric]]):
    root: Metric | list[Metric]
    """
    `metric`: one number that matters, or several.
    """


class FilePayload(RootModel[File]):
    root: File
    """
    `file`: what a person can open or save.
    """


class Table(BaseModel):
    columns: list[str | Column]
    rows: list[list[Any] | dict[str, Any]]
    caption: str | None = None
    row_header: str | None = None
    """
    Key of the column that holds the name of each row.
    """
    total_rows: Annotated[int | None, Field(ge=0, le=9007199254740991)] = None
    """
    Number of rows of the whole table, if `rows` has only some of them.
    """
    truncated: bool | None = None


class TablePayload(RootModel[Table | list[dict[str, Any]]]):
    root: Table | list[dict[str, Any]]
    """
    `table`: columns and rows, or a list of objects whose keys are the columns. A program that cares for the order of columns names them in `columns`.
    """


DisplayEnvelope.model_rebuild()
