"""Displays drawn in a terminal: `render`, `framed`, `to_text`, the simple kinds of content, the table of all drawers.

What is shown is decided in `xmcp.render.view`. Every string of a display is made safe by `view/untrusted.py` before it
is drawn, and none is ever read as rich markup (XMCP-DSP-032).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.box import ROUNDED
from rich.cells import set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from xmcp.render.envelopes import AnyEnvelope, view_of
from xmcp.render.terminal.as_written import view_as_written, writing
from xmcp.render.terminal.bars import BarChart
from xmcp.render.terminal.canvas import NARROWEST
from xmcp.render.terminal.markdown import SafeMarkdown
from xmcp.render.terminal.plot import Lines, PlotChart
from xmcp.render.terminal.syntax import source
from xmcp.render.terminal.table import TableGrid, cell
from xmcp.render.view import content, wording
from xmcp.render.view.charts import bars_of_pie, chart_table
from xmcp.render.view.links import link
from xmcp.render.view.untrusted import is_blank, label, visible

_EDGES = 6
"""Cells of the upper edge of a frame beside the words in it."""
_NOTHING = Text(wording.NOTHING, style="dim")


def render(envelope: AnyEnvelope, width: int | None = None, *, lines: Lines | None = None) -> RenderableType:
    """Return the rich renderable for a display.

    Args:
        envelope: A display of any origin; a broken one is shown by the fallback ladder, never refused.
        width: Maximum number of cells; None is the width of the console. At least 24 are used in any case.
        lines: What the lines of charts are drawn with, `braille` or `blocks`, which every font has in the width of its
            letters. None: braille on a terminal, blocks elsewhere.
    """
    return _Drawn(view_of(envelope), width, lines)


def framed(
    envelope: AnyEnvelope, tool_name: str, server: str | None = None, *, lines: Lines | None = None
) -> RenderableType:
    """Return a display in a frame that says who shows it (XMCP-SEC-025), as nothing that a model writes can.

    Args:
        envelope: As for `render`.
        tool_name: The tool whose result has the display.
        server: The name of its server, where there is one.
        lines: As for `render`.
    """
    origin = label(tool_name, 60) if server is None else f"{label(tool_name, 60)} of {label(server, 40)}"
    return _Framed(render(envelope, lines=lines), origin)


def to_text(envelope: AnyEnvelope, width: int = 80, *, lines: Lines | None = None) -> str:
    """Return a display as plain text, at most `width` cells wide (24 if less), without colours or escape sequences.

    `lines` is as for `render`.
    """
    page = io.StringIO()
    plain: dict[str, Any] = {"color_system": None, "force_terminal": False, "force_jupyter": False}
    Console(file=page, width=max(width, NARROWEST), legacy_windows=False, **plain).print(render(envelope, lines=lines))
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().split("\n")[:-1])


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Draws a view in at most `width` cells, but never in less than is readable."""

    view: content.View
    width: int | None
    lines: Lines | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else min(self.width, options.max_width)
        written = writing(console)
        drawn = draw(view_as_written(self.view, written), lines=self.lines)
        width = max(width - len(written("…")) + 1, NARROWEST)  # it ends what is cut
        for text, style, control in console.render(drawn, options.update(width=width, height=None)):
            yield Segment(text if control else written(text), style, control)


@dataclass(frozen=True, slots=True)
class _Framed:
    """Draws a frame around `drawn`, with its origin in the upper edge."""

    drawn: RenderableType
    origin: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        written = writing(console)
        title, end = Text(f"shown by {written(self.origin)}"), written("…")
        if title.cell_len > (room := options.max_width - _EDGES):
            title = Text(set_cell_size(title.plain, room - len(end)).rstrip() + end)
        title.stylize("bold", len("shown by "))
        yield Panel(self.drawn, title=title, title_align="left", box=ROUNDED, border_style="cyan")


def draw(view: content.View, *, lines: Lines | None = None) -> RenderableType:
    """Return the renderable for a planned view: title, content, notices. `lines` is as for `render`."""
    parts: list[RenderableType] = [Text(label(view.title), style="bold")] if view.title else []
    drawers = _DRAWERS | {content.Plot: partial(PlotChart, lines=lines), content.Group: partial(_group, lines=lines)}
    parts.append(drawers[type(view.content)](view.content))
    parts.extend(_notice(notice) for notice in view.notices)
    return Group(*parts)


def _notice(words: str) -> Text:
    return Text(f"note: {label(words)}", style="dim italic")


def _with_notice(drawn: RenderableType, notice: str | None) -> RenderableType:
    return Group(drawn, _notice(notice)) if notice else drawn


def _beginning(text: str, drawn: Callable[[str], RenderableType]) -> RenderableType:
    """Return as much of a text as is shown, drawn, and a notice if there is more."""
    shown, notice = wording.beginning(text)
    return _NOTHING if is_blank(shown) else _with_notice(drawn(shown), notice)


def _lines(text: str) -> Text:
    return Text(visible(text))


def _text(shown: content.Text) -> RenderableType:
    return _beginning(shown.text, _lines)


def _markdown(shown: content.Markdown) -> RenderableType:
    return _beginning(shown.source, SafeMarkdown)


def _code(shown: content.Code) -> RenderableType:
    name = wording.code_heading(shown)
    heading = [Text(name, style="dim")] if name else []

    def drawn(text: str) -> RenderableType:
        return Group(*heading, Padding(source(text, shown.language), (0, 0, 0, 2)))

    return _beginning(shown.source, drawn)


def _html(shown: content.Html) -> RenderableType:
    return _with_notice(_code(content.Code(shown.source, "html")), wording.HTML_IS_SOURCE)


def _json(shown: content.Json) -> RenderableType:
    text, notice = wording.json_text(shown)
    return _with_notice(source(text, "json"), notice)


def _image(shown: content.Image) -> RenderableType:
    words, facts = wording.image_description(shown), wording.image_facts(shown)
    return Group(
        Text.assemble(
            ("image  ", "dim"),
            Text(wording.NO_DESCRIPTION, style="dim") if words is None else Text(words),
        ),
        *([Text(f"       {facts}", style="dim")] if facts else []),
        *([] if wording.is_inline(shown) else [Text.assemble("       ", _link(shown.src))]),
    )


def _link(uri: str) -> Text:
    safe = link(uri)
    return Text(safe, style="underline", overflow="fold") if safe else Text(wording.NO_LINK, style="dim")


_LEVELS: Mapping[content.Level, tuple[str, str]] = {
    "info": ("ℹ", "bold cyan"),
    "success": ("✔", "bold green"),
    "warning": ("▲", "bold yellow"),
    "error": ("✖", "bold red"),
}


def _notification(shown: content.Notification) -> RenderableType:
    sign, style = _LEVELS[shown.level]
    message, notice = wording.message(shown)
    head = (f"{sign} {wording.LEVELS[shown.level]}  ", style)
    return _with_notice(Text.assemble(head, _NOTHING if is_blank(message) else Text(message)), notice)


def _facts(shown: content.Facts) -> RenderableType:
    if not shown.items:
        return _NOTHING
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=32)
    grid.add_column()
    items, notice = shown.items, wording.items_missing(shown)
    for name, value in items:
        grid.add_row(Text(label(name), style="dim"), cell(wording.scalar(value)))
    return _with_notice(grid, notice)


_ARROWS: Mapping[wording.Direction | None, tuple[str, str]] = {
    "up": ("▲ ", "green"),
    "down": ("▼ ", "red"),
    None: ("", ""),
}


def _metrics(shown: content.Metrics) -> RenderableType:
    if not shown.items:
        return _NOTHING
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=32)
    grid.add_column(justify="right")
    grid.add_column()
    items, notice = shown.items, wording.items_missing(shown)
    for metric in items:
        value, unit = wording.amount(metric)
        change, direction = wording.change(metric)
        arrow, style = _ARROWS[direction]
        amount = Text.assemble((value, "bold"), f" {unit}" if unit else "")
        grid.add_row(Text(label(metric.label)), amount, Text(arrow + change, style=style))
    return _with_notice(grid, notice)


def _file(shown: content.File) -> RenderableType:
    facts = wording.file_facts(shown)
    return Group(
        Text.assemble(("file  ", "dim"), wording.file_name(shown), (f"  {facts}" if facts else "", "dim")),
        Text.assemble("      ", _link(shown.uri)),
    )


def _group(shown: content.Group, lines: Lines | None) -> RenderableType:
    if not shown.views:
        return _NOTHING
    return Group(*[part for view in shown.views for part in (Text(), draw(view, lines=lines))][1:])


_DRAWERS: dict[type[Any], Callable[[Any], RenderableType]] = {
    content.Text: _text,
    content.Markdown: _markdown,
    content.Code: _code,
    content.Html: _html,
    content.Json: _json,
    content.Table: TableGrid,
    content.Bars: BarChart,
    content.Pie: lambda shown: BarChart(bars_of_pie(shown)),
    content.Heat: lambda shown: TableGrid(chart_table(shown)),
    content.Image: _image,
    content.Notification: _notification,
    content.Facts: _facts,
    content.Metrics: _metrics,
    content.File: _file,
}
