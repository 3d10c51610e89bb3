"""Every string that a view shows, in reading order, as reference/web/test/visible_words.ts, and a view as JSON.

So the view layers of Python and TypeScript can be compared without a terminal and without a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from xmcp.render.view import content, wording
from xmcp.render.view.charts import (
    bar_ticks,
    chart_table,
    is_scatter,
    rule_label,
    series_label,
    shares_of,
    x_axis,
    y_ticks,
)
from xmcp.render.view.links import host_of, link
from xmcp.render.view.numerals import as_sent, quantity
from xmcp.render.view.tables import columns_missing, columns_of, rows_missing
from xmcp.render.view.untrusted import is_blank, label, visible

CONTENTS = content.Content.__args__


def as_json(value: object) -> Any:
    """Return a view, or a part of one, as the JSON that the TypeScript view has."""
    if is_dataclass(value):
        kind = {"kind": type(value).__name__.lower()} if type(value) in CONTENTS else {}
        return kind | {_camel(one.name): as_json(getattr(value, one.name)) for one in fields(value)}
    is_array = isinstance(value, Sequence) and not isinstance(value, (str, list))
    return [as_json(item) for item in value] if is_array else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def visible_words(view: content.View) -> list[str]:
    """Return title, content and notices as they are shown."""
    title = [] if view.title is None else [label(view.title)]
    return [*title, *filter(None, _content(view.content)), *map(label, view.notices)]


def _content(shown: content.Content) -> Iterator[str | None]:
    match shown:
        case content.Text(text) | content.Markdown(text):
            yield from _text(text)
        case content.Code(source):
            yield wording.code_heading(shown)
            yield from _text(source)
        case content.Html(source):
            yield from _text(source)
            yield wording.HTML_IS_SOURCE
        case content.Json():
            text, notice = wording.json_text(shown)
            yield from (visible(text), notice)
        case content.Table():
            yield from _table(shown)
        case content.Image(src):
            yield wording.image_description(shown) or wording.NO_DESCRIPTION
            yield wording.image_facts(shown)
            yield from () if wording.is_inline(shown) else _link(src)
        case content.Notification():
            text, notice = wording.message(shown)
            yield from (wording.LEVELS[shown.level], wording.NOTHING if is_blank(text) else text, notice)
        case content.Facts(items):
            for name, value in items:
                words = wording.scalar(value)
                yield from (label(name), wording.NO_VALUE if words is None else words)
            yield wording.items_missing(shown)
        case content.Metrics(items):
            for metric in items:
                yield from (label(metric.label), *wording.amount(metric), *wording.change(metric))
            yield wording.items_missing(shown)
        case content.File(uri):
            yield from (wording.file_name(shown), wording.file_facts(shown), *_link(uri))
        case content.Group(views):
            for view in views:
                yield from visible_words(view)
        case _:
            yield from _chart(shown)


def _text(text: str) -> Iterator[str | None]:
    start, notice = wording.beginning(text)
    yield from (wording.NOTHING if is_blank(start) else visible(start), notice)


def _link(uri: str) -> Iterator[str]:
    address = link(uri)
    yield from (wording.NO_LINK,) if address is None else (address, host_of(address))


def _table(table: content.Table) -> Iterator[str]:
    for column in columns_of(table):
        yield column.title
        yield f"{column.align}{' numeric' if column.numeric else ''}{' header' if column.header else ''}"
        yield from (wording.NO_VALUE if cell is None else cell for cell in column.cells)
    yield "" if table.caption is None else visible(table.caption)
    yield rows_missing(table)
    yield columns_missing(table, len(table.columns))


def _chart(chart: content.Chart) -> Iterator[str]:
    yield wording.chart_description(chart)
    yield from _table(chart_table(chart))
    if isinstance(chart, content.Bars):
        yield from map(quantity, bar_ticks(chart))
        yield from map(rule_label, chart.rules)
        yield wording.categories_missing(chart)
    elif isinstance(chart, content.Plot):
        axis, places = x_axis(chart)
        yield from map(quantity, (*y_ticks(chart), *y_ticks(chart, stacked=True)))
        yield from map(as_sent, (axis.low, axis.high))
        yield from (name for _, name in places)
        yield from map(series_label, chart.series)
        yield from map(rule_label, chart.rules)
        yield "points" if is_scatter(chart) else "lines"
    elif isinstance(chart, content.Pie):
        yield from shares_of(chart)
