"""Displays as HTML: `to_html`, the simple kinds of content, and the table of all drawers.

What is shown is decided in `xmcp.render.view`. The HTML has no script, and loads nothing: a picture is shown only if
its bytes are in the display (XMCP-SEC-020). Every string of a display is text (XMCP-DSP-032).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from xmcp.render.envelopes import AnyEnvelope, view_of
from xmcp.render.html.markdown import linked, markdown
from xmcp.render.html.style_sheet import PAGE_STYLE_SHEET, STYLE_SHEET, with_inline_styles
from xmcp.render.html.table import table
from xmcp.render.markup import Markup, element, joined, text
from xmcp.render.svg import chart
from xmcp.render.view import content, wording
from xmcp.render.view.charts import chart_table
from xmcp.render.view.limits import INLINE_IMAGE, JSON_NODES
from xmcp.render.view.untrusted import is_blank, label

Styles: TypeAlias = Literal["sheet", "inline", "none"]
Drawer: TypeAlias = Callable[[Any, content.View, int], Markup]
"""From a content, its view and the level of the titles inside it to HTML."""

_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+={0,2}")
_MOST_DATA: Final = 200
"""Rows of the data below a chart."""
_LARGEST_PICTURE: Final = INLINE_IMAGE * 4 // 3 + 64
"""Characters of a `data:` URI."""


def to_html(
    envelope: AnyEnvelope,
    *,
    page: bool = False,
    styles: Styles = "sheet",
    heading_level: int | None = None,
    lang: str = "en",
) -> str:
    """Return a display as HTML that has no script, loads nothing, and can be read in light and in dark.

    Args:
        envelope: A display of any origin; a broken one is shown by the fallback ladder, never refused.
        page: A whole page; otherwise a `div` to put into one.
        styles: `sheet` has a `style` element of about 5 kB; `inline` has the declarations in each element, for mails;
            `none` leaves them to the page, which has `STYLE_SHEET` once.
        heading_level: Level of the title, 1 to 6; default 1 in a page, else 3.
        lang: Language of the page, as in the attribute `lang`.

    Raises:
        ValueError: `styles`, `heading_level` or `lang` is none of these.
    """
    if styles not in ("sheet", "inline", "none"):
        raise ValueError(f"styles must be 'sheet', 'inline' or 'none', not {styles!r}")
    level = heading_level if heading_level is not None else 1 if page else 3
    if not 1 <= level <= 6:
        raise ValueError(f"heading_level must be 1 to 6, not {heading_level}")
    if not _LANGUAGE.fullmatch(lang):
        raise ValueError(f"lang must be a language tag such as 'en' or 'pt-BR', not {lang!r}")
    view = view_of(envelope)
    shown = draw(view, level)
    if page:
        shown = _page(shown, view.title, styles, lang)
    elif styles == "sheet":
        shown = Markup(f"<style>\n{STYLE_SHEET}\n</style>\n{shown}")
    return f"{with_inline_styles(shown) if styles == 'inline' else shown}\n"


def page_of(envelopes: Sequence[AnyEnvelope]) -> str:
    """Return a page with these displays one below the other, as many as they are: `to_html(page=True)` of several."""
    views = tuple(map(view_of, envelopes))
    whole = views[0] if len(views) == 1 else content.View(content.Group(views), "group")
    return f"{_page(draw(whole, 1), whole.title, 'sheet', 'en')}\n"


def _page(shown: Markup, title: str | None, styles: Styles, lang: str) -> Markup:
    head = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="referrer", content="no-referrer"),
            element("title", label(title or "Display")),
            Markup(f"<style>\n{PAGE_STYLE_SHEET}\n</style>") if styles == "sheet" else None,
        ]
    )
    body = element("body", element("main", shown))
    return Markup(f"<!doctype html>\n{element('html', element('head', head), body, lang=lang)}")


_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def draw(view: content.View, heading_level: int) -> Markup:
    """Return the element of a planned view: title, content, notices."""
    return element("div", _parts(view, heading_level), class_="xmcp")


def _parts(view: content.View, level: int) -> Markup:
    """Return title, content and notices of a view. What is inside the view has titles of the level below its own."""
    title = label(view.title or "")
    head = element(f"h{min(level, 6)}", title, class_="title") if title else None
    shown = _DRAWERS[type(view.content)](view.content, view, level + bool(title))
    return joined([head, shown, *map(_note, view.notices)])


def _note(words: str) -> Markup:
    return element("p", f"note: {label(words)}", class_="note")


_NOTHING: Final = element("p", wording.NOTHING, class_="nothing")


def _with_note(shown: Markup, notice: str | None) -> Markup:
    return Markup(shown + _note(notice)) if notice else shown


def _beginning(words: str, drawn: Callable[[str], Markup]) -> Markup:
    """Return as much of a text as is shown, drawn, and a notice if there is more."""
    shown, notice = wording.beginning(words)
    return _NOTHING if is_blank(shown) else _with_note(drawn(shown), notice)


def _lines(words: str) -> Markup:
    return element("p", words, class_="plain")


def _text(shown: content.Text, _view: content.View, _level: int) -> Markup:
    return _beginning(shown.text, _lines)


def _markdown(shown: content.Markdown, _view: content.View, level: int) -> Markup:
    return _beginning(shown.source, lambda source: markdown(source, level - 1))


def _source(words: str, heading: str = "") -> Markup:
    head = element("p", heading, class_="file-name") if heading else None
    return joined([head, element("pre", element("code", words.rstrip("\n")), tabindex=0)])


def _code(shown: content.Code, _view: content.View, _level: int) -> Markup:
    return _beginning(shown.source, lambda source: _source(source, wording.code_heading(shown)))


def _html(shown: content.Html, _view: content.View, _level: int) -> Markup:
    return _with_note(_beginning(shown.source, _source), wording.HTML_IS_SOURCE)


def _json(shown: content.Json, _view: content.View, _level: int) -> Markup:
    words, notice = wording.json_text(shown, JSON_NODES)
    return _with_note(_source(words), notice)


def _table(shown: content.Table, view: content.View, _level: int) -> Markup:
    return table(shown, label(view.title) if view.title else None)


def _chart(shown: content.Chart, view: content.View, _level: int) -> Markup:
    """Return the drawing of a chart, its description, and its data for those to whom the drawing says nothing."""
    alt = wording.description(view.alt) if view.alt else None
    data = element("details", element("summary", "Data"), table(chart_table(shown), "Data of the chart", _MOST_DATA))
    drawing = element("div", chart(shown, alt), class_="scroll", tabindex=0)
    return element("figure", drawing, element("figcaption", alt) if alt else None, data)


def _image(shown: content.Image, _view: content.View, _level: int) -> Markup:
    words, facts = wording.image_description(shown), wording.image_facts(shown)
    caption = words or wording.NO_DESCRIPTION
    about = element("p", facts, class_="note") if facts else None
    if not wording.is_inline(shown):
        address = element("p", text("image: "), linked(shown.src, text(shown.src)), class_="note")
        return element("figure", element("figcaption", caption), about, address)
    if len(shown.src) > _LARGEST_PICTURE or not _PICTURE.fullmatch(shown.src):
        return element("figure", element("figcaption", caption), about, _note("the picture is not shown"))
    width, height = shown.size or (None, None)
    drawn = element("img", src=shown.src, alt=words or "", width=_pixels(width), height=_pixels(height))
    return element("figure", drawn, element("figcaption", caption) if words else None)


def _pixels(size: float | None) -> int | None:
    return None if size is None else min(max(round(size), 1), 4000)


_SIGNS: Final[Mapping[content.Level, str]] = {"info": "ℹ", "success": "✔", "warning": "▲", "error": "✖"}


def _notification(shown: content.Notification, _view: content.View, _level: int) -> Markup:
    words, notice = wording.message(shown)
    level = element("strong", f"{_SIGNS[shown.level]} {wording.LEVELS[shown.level]}")
    said = f"  {wording.NOTHING if is_blank(words) else words}"
    return _with_note(element("p", level, said, class_=f"notification {shown.level}"), notice)


def _facts(shown: content.Facts, _view: content.View, _level: int) -> Markup:
    items, notice = shown.items, wording.items_missing(shown)
    rows = [
        element("tr", element("th", label(name), class_="fact", scope="row"), _fact(wording.scalar(value)))
        for name, value in items
    ]
    return _with_note(element("table", element("tbody", joined(rows))) if rows else _NOTHING, notice)


def _fact(value: str | None) -> Markup:
    return element("td", element("span", wording.NO_VALUE, class_="faint") if value is None else value)


_ARROWS: Final[Mapping[wording.Direction | None, str]] = {"up": "▲ ", "down": "▼ ", None: ""}


def _metrics(shown: content.Metrics, _view: content.View, _level: int) -> Markup:
    items, notice = shown.items, wording.items_missing(shown)
    cards = element("div", joined(map(_metric, items)), class_="metrics") if items else _NOTHING
    return _with_note(cards, notice)


def _metric(shown: content.Metric) -> Markup:
    value, unit = wording.amount(shown)
    change, direction = wording.change(shown)
    return element(
        "div",
        element("p", label(shown.label), class_="metric-name"),
        element("p", value, element("span", f" {unit}", class_="unit") if unit else None, class_="amount"),
        element("p", _ARROWS[direction] + change, class_=f"delta {direction}" if direction else "delta")
        if change
        else None,
        class_="metric",
    )


def _file(shown: content.File, _view: content.View, _level: int) -> Markup:
    facts = wording.file_facts(shown)
    about = element("span", f" · {facts}", class_="faint") if facts else None
    return element("p", linked(shown.uri, text(wording.file_name(shown))), about, class_="file")


def _group(shown: content.Group, _view: content.View, level: int) -> Markup:
    if not shown.views:
        return _NOTHING
    parts = [_parts(view, level) for view in shown.views]
    return joined([parts[0], *(element("div", part, class_="part") for part in parts[1:])])


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
