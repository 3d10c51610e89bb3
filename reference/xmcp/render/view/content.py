"""The content of a display whose payload was read: one frozen class for each kind.

Data only. payloads.py and vega_lite_charts.py read the payloads; fallback_ladder.py chooses what is shown. The strings
are unchanged; the functions of untrusted.py, wording.py, tables.py and charts.py make them safe to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Mark: TypeAlias = Literal["line", "area", "point"]
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

    `total_rows` is the number of rows before the server cut the table; `truncated` says that it was cut. `further` are
    the titles of columns beyond the number that is read.
    """

    columns: tuple[Column, ...]
    rows: Sequence[tuple[object, ...]]
    caption: str | None = None
    total_rows: int | None = None
    truncated: bool = False
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CategorySeries:
    """One number for each category of a bar chart; None is no bar. `name` is None for the only series."""

    name: str | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line across a chart at `value` of its axis.

    `label` is what it marks, and `moment` the name of its value on a temporal axis.
    """

    axis: Literal["x", "y"]
    value: float
    label: str | None = None
    moment: str | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar chart. Bars of one category stand on top of each other, or side by side if `grouped`.

    The categories run downwards if `horizontal`. `lines` are drawn over the bars. `rules` cross the axis of values
    ("y"). `total_categories` counts those that were left out as well.
    """

    categories: tuple[str, ...]
    series: tuple[CategorySeries, ...]
    category_title: str
    value_title: str
    horizontal: bool = False
    grouped: bool = False
    lines: tuple[CategorySeries, ...] = ()
    rules: tuple[Rule, ...] = ()
    total_categories: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one line, in drawing order; `name` is None for the only one."""

    name: str | None
    points: tuple[tuple[float, float], ...]
    mark: Mark = "line"


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart of lines, areas and points.

    `x_labels` are named positions on the x axis, which are seconds since 1970 if it is `temporal`. Areas stand on top
    of each other if `stacked`. The axis of values begins at zero if `from_zero`.
    """

    series: tuple[Series, ...]
    x_labels: tuple[tuple[float, str], ...]
    x_title: str
    y_title: str
    from_zero: bool = True
    stacked: bool = False
    rules: tuple[Rule, ...] = ()
    temporal: bool = False


@dataclass(frozen=True, slots=True)
class Pie:
    """A circle cut into slices, in drawing order; a ring if `hole`. No value is negative and their sum is not zero."""

    slices: tuple[tuple[str, float], ...]
    category_title: str
    value_title: str
    hole: bool = False


@dataclass(frozen=True, slots=True)
class Heat:
    """A grid of coloured cells: for each of `rows` a row of `values`, in it a number or None for each of `columns`."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    x_title: str
    y_title: str
    value_title: str


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
    """Labels with values; `total` counts those that were left out as well."""

    items: tuple[tuple[str, object], ...]
    total: int = 0


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that matters."""

    label: str
    value: object
    unit: str | None = None
    delta: object = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """One or more numbers that matter; `total` counts those that were left out as well."""

    items: tuple[Metric, ...]
    total: int = 0


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


Chart: TypeAlias = Bars | Plot | Pie | Heat
Content: TypeAlias = (
    Text | Markdown | Code | Html | Json | Table | Chart | Image | Notification | Facts | Metrics | File | Group
)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown for one envelope.

    `rendered_as` is the display type whose content is shown, or the step of the fallback ladder: `alt`, `text`, `json`.
    `notices` are sentences of the renderer about the display, such as why its type is not shown. `alt` describes a
    content that is a picture to someone who cannot see it.
    """

    content: Content
    rendered_as: str
    title: str | None = None
    notices: tuple[str, ...] = ()
    alt: str | None = None


class CannotShow(Exception):
    """The payload does not fit its type, or cannot be drawn; the message briefly says why."""
