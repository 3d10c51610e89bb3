"""Displays in the terminal.

What may live here: drawing of the simple kinds of content with rich, the table of all drawers, and the entry points
`render` and `to_text`. What is shown is decided in ladder.py; tables and charts are drawn in table.py, bars.py and
plot.py. Every string of a display passes `untrusted`, and none is ever read as rich markup. Source: wire.md 7.3, 7.6.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp.render.view import content
from xmcp.render.terminal.bars import BarChart
from xmcp.render.terminal.canvas import NARROWEST
from xmcp.render.view.ladder import plan
from xmcp.render.terminal.markdown import SafeMarkdown
from xmcp.render.view.numerals import byte_size, quantity
from xmcp.render.view.outline import outline
from xmcp.render.view.payloads import is_number
from xmcp.render.terminal.plot import PlotChart
from xmcp.render.terminal.syntax import source
from xmcp.render.terminal.table import TableGrid, scalar
from xmcp.render.view.untrusted import label, link, revealed, visible
from xmcp_models.display_envelope import DisplayEnvelope

_NOTHING = Text("(nothing to show)", style="dim")


def render(envelope: DisplayEnvelope | Mapping[str, Any], width: int | None = None) -> RenderableType:
    """Return the rich renderable for a display.

    Args:
        envelope: a display of any origin; one that is broken is shown by the fallback ladder, never refused.
        width: cells to use at most; None is the width of the console that prints it. Both count as 24 if less.
    """
    return _Room(draw(plan(envelope.model_dump() if isinstance(envelope, DisplayEnvelope) else envelope)), width)


def to_text(envelope: DisplayEnvelope | Mapping[str, Any], width: int = 80) -> str:
    """Return a display as plain text, at most `width` cells wide (24 if less), without colours or escape sequences."""
    page = io.StringIO()
    plain: dict[str, Any] = {"color_system": None, "force_terminal": False, "force_jupyter": False}
    Console(file=page, width=max(width, NARROWEST), legacy_windows=False, **plain).print(render(envelope))
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().split("\n")[:-1])


@dataclass(frozen=True, slots=True)
class _Room:
    """Gives `drawn` a width in which something can be seen."""

    drawn: RenderableType
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else min(self.width, options.max_width)
        yield from console.render(self.drawn, options.update(width=max(width, NARROWEST), height=None))


def draw(view: content.View) -> RenderableType:
    """Return the renderable for a planned view: title, content, the host's notices."""
    parts: list[RenderableType] = [Text(label(view.title), style="bold")] if view.title else []
    parts.append(_DRAWERS[type(view.content)](view.content))
    parts.extend(_notice(notice) for notice in view.notices)
    return Group(*parts)


def _notice(words: str) -> Text:
    return Text(f"note: {label(words)}", style="dim italic")


def _words(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style) if text.strip() else _NOTHING


def _text(shown: content.Text) -> RenderableType:
    return _words(shown.text)


def _markdown(shown: content.Markdown) -> RenderableType:
    return SafeMarkdown(shown.source) if shown.source.strip() else _NOTHING


def _code(shown: content.Code) -> RenderableType:
    if not shown.source.strip():
        return _NOTHING
    name = label(" · ".join(filter(None, (shown.filename, shown.language))), 80)
    heading = [Text(name, style="dim")] if name else []
    return Group(*heading, Padding(source(shown.source, shown.language), (0, 0, 0, 2)))


def _html(shown: content.Html) -> RenderableType:
    return Group(_code(content.Code(shown.source, "html")), _notice("HTML is shown as source text, not interpreted"))


def _json(shown: content.Json) -> RenderableType:
    text, cut = outline(shown.value)
    return Group(source(text, "json"), *([_notice("the value is long; not all of it is shown")] if cut else []))


def _image(shown: content.Image) -> RenderableType:
    facts = [shown.mime or (shown.src[5:].partition(";")[0].partition(",")[0] if shown.src.startswith("data:") else "")]
    if shown.size:
        facts.append("{} × {} px".format(*map(quantity, shown.size)))
    if shown.src.startswith("data:"):
        facts.append(f"{byte_size(len(shown.src) * 3 // 4)} inside the message")
    words = _words(revealed(shown.alt)) if shown.alt else Text("(no description)", style="dim")
    about = label(" · ".join(filter(None, facts)))
    return Group(
        Text.assemble(("image  ", "dim"), words),
        *([Text(f"       {about}", style="dim")] if about else []),
        *([] if shown.src.startswith("data:") else [Text.assemble("       ", _link(shown.src))]),
    )


def _link(uri: str) -> Text:
    safe = link(uri)
    return Text(safe, style="underline", overflow="fold") if safe else Text("(link not shown)", style="dim")


_LEVELS: Mapping[content.Level, tuple[str, str]] = {
    "info": ("ℹ Info", "bold cyan"),
    "success": ("✔ Success", "bold green"),
    "warning": ("▲ Warning", "bold yellow"),
    "error": ("✖ Error", "bold red"),
}


def _notification(shown: content.Notification) -> RenderableType:
    name, style = _LEVELS[shown.level]
    return Text.assemble((f"{name}  ", style), _words(revealed(shown.message)))


def _facts(shown: content.Facts) -> RenderableType:
    if not shown.items:
        return _NOTHING
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=32)
    grid.add_column()
    for name, value in shown.items:
        grid.add_row(Text(label(name), style="dim"), scalar(value))
    return grid


def _metrics(shown: content.Metrics) -> RenderableType:
    if not shown.items:
        return _NOTHING
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=32)
    grid.add_column(justify="right")
    grid.add_column()
    for metric in shown.items:
        unit = label(metric.unit or "", 24)
        value = Text.assemble((_amount(metric.value), "bold"), f" {unit}" if unit else "")
        grid.add_row(Text(label(metric.label)), value, _delta(metric.delta))
    return grid


def _amount(value: object) -> str:
    return quantity(value) if is_number(value) else label(str(value), 80)


def _delta(delta: object) -> Text:
    if delta is None:
        return Text()
    words = f"{'+' if delta > 0 else ''}{quantity(delta)}" if is_number(delta) else label(str(delta), 40)
    arrow, style = {"+": ("▲ ", "green"), "-": ("▼ ", "red"), "−": ("▼ ", "red")}.get(words[:1], ("", ""))
    return Text(arrow + words, style=style)


def _file(shown: content.File) -> RenderableType:
    facts = label(" · ".join(filter(None, (shown.mime, None if shown.size is None else byte_size(shown.size)))))
    return Group(
        Text.assemble(("file  ", "dim"), label(shown.name or "(no name)"), (f"  {facts}" if facts else "", "dim")),
        Text.assemble("      ", _link(shown.uri)),
    )


def _group(shown: content.Group) -> RenderableType:
    if not shown.views:
        return _NOTHING
    return Group(*[part for view in shown.views for part in (Text(), draw(view))][1:])


_DRAWERS: Mapping[type[Any], Callable[[Any], RenderableType]] = {
    content.Text: _text,
    content.Markdown: _markdown,
    content.Code: _code,
    content.Html: _html,
    content.Json: _json,
    content.Table: TableGrid,
    content.Bars: BarChart,
    content.Plot: PlotChart,
    content.Image: _image,
    content.Notification: _notification,
    content.Facts: _facts,
    content.Metrics: _metrics,
    content.File: _file,
    content.Group: _group,
}
