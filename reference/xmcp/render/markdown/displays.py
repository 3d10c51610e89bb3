"""Displays as Markdown: `to_markdown`, and the table of all drawers.

What is shown is decided in `xmcp.render.view`. Nothing of a display but a `markdown` payload has a meaning as Markdown
(XMCP-DSP-032), no picture is loaded, and no link hides where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from xmcp.render.envelopes import AnyEnvelope, view_of
from xmcp.render.markdown.rewriting import rewritten
from xmcp.render.markdown.writing import escaped, fenced, grid, heading, linked, one_line, paragraphs, quoted
from xmcp.render.view import content, wording
from xmcp.render.view.charts import chart_table
from xmcp.render.view.tables import columns_missing, columns_of, rows_missing
from xmcp.render.view.untrusted import is_blank, label

Drawer: TypeAlias = Callable[[Any, content.View, int], str]
"""From a content, its view and the level of the titles inside it to Markdown."""

_NOTHING: Final = f"*{wording.NOTHING}*"


def to_markdown(envelope: AnyEnvelope, *, heading_level: int = 3) -> str:
    """Return a display as CommonMark with GFM tables, for issues, chats and files.

    Text of the display is escaped, so that it has no meaning as Markdown or HTML; the address of a link stands beside
    its words. A chart is its description and the table of its data.

    Args:
        envelope: A display of any origin; a broken one is shown by the fallback ladder, never refused.
        heading_level: Level of the title, 1 to 6.

    Raises:
        ValueError: `heading_level` is not 1 to 6.
    """
    if not 1 <= heading_level <= 6:
        raise ValueError(f"heading_level must be 1 to 6, not {heading_level}")
    return f"{_view(view_of(envelope), heading_level)}\n"


def _view(view: content.View, level: int) -> str:
    title = one_line(label(view.title or ""))
    head = heading(level, title) if title else ""
    shown = _DRAWERS[type(view.content)](view.content, view, level + bool(title))
    return _parts(head, shown, *map(_note, view.notices))


def _parts(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _note(words: str) -> str:
    return f"*note: {one_line(label(words, 400))}*" if words else ""


def _beginning(words: str, drawn: Callable[[str], str]) -> str:
    """Return as much of a text as is shown, drawn, and a notice if there is more."""
    shown, notice = wording.beginning(words)
    return _NOTHING if is_blank(shown) else _parts(drawn(shown), _note(notice or ""))


def _text(shown: content.Text, _view: content.View, _level: int) -> str:
    return _beginning(shown.text, paragraphs)


def _markdown(shown: content.Markdown, _view: content.View, level: int) -> str:
    return _beginning(shown.source, lambda source: rewritten(source, level - 1))


def _code(shown: content.Code, _view: content.View, _level: int) -> str:
    name = one_line(wording.code_heading(shown))
    return _beginning(shown.source, lambda source: _parts(name, fenced(source, shown.language)))


def _html(shown: content.Html, _view: content.View, _level: int) -> str:
    return _parts(_beginning(shown.source, lambda source: fenced(source, "html")), _note(wording.HTML_IS_SOURCE))


def _json(shown: content.Json, _view: content.View, _level: int) -> str:
    words, notice = wording.json_text(shown)
    return _parts(fenced(words, "json"), _note(notice or ""))


def _table(shown: content.Table, _view: content.View, _level: int) -> str:
    columns = columns_of(shown)
    if not columns:
        return _parts(_NOTHING, _note(rows_missing(shown)))
    cells = [[wording.NO_VALUE if cell is None else one_line(cell) for cell in column.cells] for column in columns]
    lines = grid(
        [one_line(column.title) for column in columns],
        [column.align for column in columns],
        list(zip(*cells, strict=True)),
    )
    notices = rows_missing(shown), columns_missing(shown, len(columns))
    return _parts(
        lines, "" if shown.rows else f"*{wording.NO_ROWS}*", one_line(wording.caption(shown)), *map(_note, notices)
    )


def _chart(shown: content.Chart, view: content.View, level: int) -> str:
    words = paragraphs(wording.description(view.alt)) if view.alt else one_line(wording.chart_description(shown))
    return _parts(words, _table(chart_table(shown), view, level))


def _image(shown: content.Image, _view: content.View, _level: int) -> str:
    words = wording.image_description(shown) or wording.NO_DESCRIPTION
    facts = one_line(wording.image_facts(shown))
    target = "" if wording.is_inline(shown) else linked(shown.src, escaped(shown.src))
    return _parts(f"image: {one_line(words)}", " · ".join(filter(None, (facts, target))))


_SIGNS: Final[Mapping[content.Level, str]] = {"info": "ℹ", "success": "✔", "warning": "▲", "error": "✖"}


def _notification(shown: content.Notification, _view: content.View, _level: int) -> str:
    words, notice = wording.message(shown)
    said = _NOTHING if is_blank(words) else paragraphs(words)
    return _parts(quoted(f"**{_SIGNS[shown.level]} {wording.LEVELS[shown.level]}**  {said}"), _note(notice or ""))


def _facts(shown: content.Facts, _view: content.View, _level: int) -> str:
    items, notice = shown.items, wording.items_missing(shown)
    lines = [f"- {one_line(label(name))}: {_value(value)}" for name, value in items]
    return _parts("\n".join(lines) or _NOTHING, _note(notice or ""))


def _value(value: object) -> str:
    words = wording.scalar(value)
    return wording.NO_VALUE if words is None else one_line(words)


_ARROWS: Final[Mapping[wording.Direction | None, str]] = {"up": "▲ ", "down": "▼ ", None: ""}


def _metrics(shown: content.Metrics, _view: content.View, _level: int) -> str:
    items, notice = shown.items, wording.items_missing(shown)
    return _parts("\n".join(map(_metric, items)) or _NOTHING, _note(notice or ""))


def _metric(shown: content.Metric) -> str:
    value, unit = wording.amount(shown)
    change, direction = wording.change(shown)
    delta = f" ({_ARROWS[direction]}{one_line(change)})" if change else ""
    return f"- {one_line(label(shown.label))}: **{one_line(value)}**{f' {one_line(unit)}' if unit else ''}{delta}"


def _file(shown: content.File, _view: content.View, _level: int) -> str:
    name, facts = one_line(wording.file_name(shown)), one_line(wording.file_facts(shown))
    return " · ".join(filter(None, (linked(shown.uri, name), facts)))


def _group(shown: content.Group, _outer: content.View, level: int) -> str:
    return "\n\n".join(_view(view, level) for view in shown.views) or _NOTHING


_DRAWERS: Mapping[type[Any], Drawer] = {
    content.Text: _text,
    content.Markdown: _markdown,
    content.Code: _code,
    content.Html: _html,
    content.Json: _json,
    content.Table: _table,
    content.Bars: _chart,
    content.Plot: _chart,
    content.Pie: _chart,
    content.Heat: _chart,
    content.Image: _image,
    content.Notification: _notification,
    content.Facts: _facts,
    content.Metrics: _metrics,
    content.File: _file,
    content.Group: _group,
}
