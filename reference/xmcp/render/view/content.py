"""The content of a display whose payload was read: one frozen class for each kind.

Data only. payloads.py and vega_lite_charts.py read the payloads; fallback_ladder.py chooses what is shown. The strings
are unchanged; the functions of untrusted.py, wording.py, tables.py and charts.py make them safe to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Align: TypeAlias = Literal["left", "right", "center"]
Level: TypeAlias = Literal["info", "success", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Markdown:
    """CommonMark source with GFM tables."""

    source: str


@dataclass(frozen=True, slots=True)
class Code:
    """Source text, never run."""

    source: str
    language: str | None = None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Html:
    """HTML source, never interpreted."""

    source: str


@dataclass(frozen=True, slots=True)
class Json:
    """Any JSON value."""

    value: object


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; `grouped` asks for thousands separators (its author declared it as `number`)."""

    title: str
    align: Align
    grouped: bool = False
    header: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: every row has as many cells as there are columns.

    `total_rows` is the number of rows before the server cut the table; `truncated` says that it was cut.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]
    caption: str | None = None
    total_rows: int | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar chart: each series has one value for each category; None is no bar."""

    categories: tuple[str, ...]
    series: tuple[tuple[str | None, tuple[float | None, ...]], ...]
    category_title: str
    value_title: str


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one line, in drawing order; `name` is None for the only one."""

    name: str | None
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A line, area or point chart. `x_labels` are named positions on the x axis."""

    mark: Literal["line", "area", "point"]
    series: tuple[Series, ...]
    x_labels: tuple[tuple[float, str], ...]
    x_title: str
    y_title: str
    from_zero: bool = True


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its address, its description, its size in pixels."""

    src: str
    alt: str | None = None
    mime: str | None = None
    size: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A short message."""

    message: str
    level: Level = "info"


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with values."""

    items: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that matters."""

    label: str
    value: object
    unit: str | None = None
    delta: object = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """One or more numbers that matter."""

    items: tuple[Metric, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A file the person can open or save; `size` in bytes."""

    uri: str
    name: str | None = None
    mime: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Several views in order."""

    views: tuple[View, ...]


Content: TypeAlias = (
    Text | Markdown | Code | Html | Json | Table | Bars | Plot | Image | Notification | Facts | Metrics | File | Group
)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown for one envelope.

    `rendered_as` is the display type whose content is shown, or the step of the fallback ladder: `alt`, `text`, `json`.
    `notices` are sentences of the renderer about the display, such as why its type is not shown.
    """

    content: Content
    rendered_as: str
    title: str | None = None
    notices: tuple[str, ...] = ()


class CannotShow(Exception):
    """The payload does not fit its type, or cannot be drawn; the message briefly says why."""
