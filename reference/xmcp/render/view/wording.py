"""The words of the simple displays: which facts are written, in which order, how long, and made safe to show.

Pure functions from content to strings. Colours, signs and layout are the renderer's. Text of several lines (`text`,
`code`, the message of a notification) is not here: a renderer passes it through `untrusted` itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from xmcp.render.view import content
from xmcp.render.view.limits import CELL, CHARACTERS, MESSAGE
from xmcp.render.view.numerals import byte_size, is_number, quantity
from xmcp.render.view.outline import MAX_NODES, outline
from xmcp.render.view.untrusted import is_blank, label, revealed, visible

NOTHING: Final = "(nothing to show)"
NO_DESCRIPTION: Final = "(no description)"
NO_LINK: Final = "(link not shown)"
NO_VALUE: Final = "–"
"""What stands for `null`."""
NO_ROWS: Final = "(no rows)"
NO_NAME: Final = "(no name)"
HTML_IS_SOURCE: Final = "HTML is shown as source text, not interpreted"
JSON_IS_CUT: Final = "the value is long; not all of it is shown"
LEVELS: Final[Mapping[content.Level, str]] = {
    "info": "Info",
    "success": "Success",
    "warning": "Warning",
    "error": "Error",
}
"""The name of each notification level."""

Direction: TypeAlias = Literal["up", "down"]
_DIRECTIONS: Final[Mapping[str, Direction]] = {"+": "up", "-": "down", "−": "down"}


def scalar(value: object) -> str | None:
    """Return the text of one JSON value in a cell, cut at `CELL` characters; None for `null`."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    words = value if isinstance(value, str) else outline(value, indent=None)[0]
    if len(words) > CELL:
        words = f"{words[:CELL]}… ({len(words) - CELL} more characters)"
    return visible(words)


def first_of(shown: int, total: int, what: str) -> str:
    """Return the sentence about a part that is shown. `what` is the plural of its pieces."""
    return f"first {shown:,} of {total:,} {what} shown"


def beginning(text: str, most: int = CHARACTERS) -> tuple[str, str | None]:
    """Return the first `most` characters of a text as they are, and a notice if there are more."""
    if len(text) <= most:
        return text, None
    return text[:most], first_of(most, len(text), "characters")


def items_missing(shown: content.Facts | content.Metrics) -> str | None:
    """Return the sentence about facts or metrics that are left out, None if none are."""
    count, what = len(shown.items), "facts" if isinstance(shown, content.Facts) else "metrics"
    return first_of(count, shown.total, what) if shown.total > count else None


def categories_missing(bars: content.Bars) -> str:
    """Return the sentence about categories of a bar chart that are left out; empty if none are."""
    shown = len(bars.categories)
    return first_of(shown, bars.total_categories, "categories") if bars.total_categories > shown else ""


def caption(table: content.Table) -> str:
    """Return the caption of a table, empty if it has none; an ellipsis ends it if it was cut."""
    words = table.caption or ""
    return words if len(words) <= MESSAGE else f"{words[:MESSAGE]}…"


def chart_description(chart: content.Chart) -> str:
    """Return a chart in a few words, for one that its author did not describe."""
    if isinstance(chart, content.Bars):
        size, what, axes = len(chart.categories), "Bar chart", (chart.category_title, chart.value_title)
    elif isinstance(chart, content.Plot):
        size, axes = sum(len(series.points) for series in chart.series), (chart.x_title, chart.y_title)
        what = {"line": "Line chart", "area": "Area chart", "point": "Scatter plot"}[chart.series[0].mark]
    elif isinstance(chart, content.Pie):
        size, what, axes = len(chart.slices), "Pie chart", (chart.category_title, chart.value_title)
    else:
        size, what, axes = len(chart.rows) * len(chart.columns), "Heat map", (chart.x_title, chart.y_title)
    words = [f"{size:,} value{'' if size == 1 else 's'}", *(label(axis, 40) for axis in axes)]
    return f"{what}: {', '.join(filter(None, words))}"


def code_heading(code: content.Code) -> str:
    """Return the line above source text: file name and language; empty if neither is known."""
    return label(_joined(code.filename, code.language), 80)


def message(notification: content.Notification) -> tuple[str, str | None]:
    """Return the message with every hidden character revealed, and a notice if not all of it is there."""
    text, notice = beginning(notification.message, MESSAGE)
    return revealed(text), notice


def json_text(json: content.Json, nodes: int = MAX_NODES) -> tuple[str, str | None]:
    """Return the value as indented JSON of about `nodes` values, and a notice if not all of it is there."""
    text, cut = outline(json.value, nodes=nodes)
    text, notice = beginning(text)
    return text, notice or (JSON_IS_CUT if cut else None)


def is_inline(image: content.Image) -> bool:
    """Tell whether the bytes of the picture are in its address (a `data:` URI)."""
    return image.src.startswith("data:")


def image_description(image: content.Image) -> str | None:
    """Return the description of the picture; None if it has none."""
    return None if image.alt is None or is_blank(image.alt) else description(image.alt)


def description(alt: str) -> str:
    """Return the description of a picture or chart with every hidden character revealed; an ellipsis ends it if cut."""
    return revealed(alt if len(alt) <= MESSAGE else f"{alt[:MESSAGE]}…")


def image_facts(image: content.Image) -> str:
    """Return media type, size in pixels and, of an inline picture, size in bytes; empty if none is known."""
    inline = is_inline(image)
    mime = image.mime or (image.src[5:].partition(";")[0].partition(",")[0] if inline else None)
    pixels = "{} × {} px".format(*map(quantity, image.size)) if image.size else None
    return label(_joined(mime, pixels, f"{byte_size(len(image.src) * 3 // 4)} inside the message" if inline else None))


def file_name(file: content.File) -> str:
    """Return the name of a file, or words that say that it has none."""
    return label(file.name or NO_NAME)


def file_facts(file: content.File) -> str:
    """Return media type and size of a file; empty if neither is known."""
    return label(_joined(file.mime, None if file.size is None else byte_size(file.size)))


def amount(metric: content.Metric) -> tuple[str, str]:
    """Return the value of a metric and its unit; the unit is empty if there is none."""
    value = metric.value
    return quantity(value) if is_number(value) else label(str(value), 80), label(metric.unit or "", 24)


def change(metric: content.Metric) -> tuple[str, Direction | None]:
    """Return the delta of a metric, a number with its sign, and its direction; empty if there is none."""
    delta = metric.delta
    if delta is None:
        return "", None
    words = f"{'+' if delta > 0 else ''}{quantity(delta)}" if is_number(delta) else label(str(delta), 40)
    return words, _DIRECTIONS.get(words[:1])


def _joined(*facts: str | None) -> str:
    return " · ".join(filter(None, facts))
