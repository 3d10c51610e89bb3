"""`xmcp render`: draw the displays of a document or an envelope, in the terminal or into a file."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from xmcp.chat.untrusted_text import without_secrets
from xmcp.cli.display_sources import CannotRead, Found, NoDisplay, displays_in, read
from xmcp.cli.numbers import Number
from xmcp.cli.plots import plots_option
from xmcp.render import NoChart, to_markdown, to_png, to_svg
from xmcp.render import render as drawn_in_terminal
from xmcp.render.html.displays import page_of
from xmcp.render.terminal import Lines
from xmcp.render.view.untrusted import label
from xmcp_conformance.core.untrusted_text import printable

from .report_files import STANDARD_OUTPUT, file_option, write_file

_NO_DISPLAY: Final = 1
_FAILED: Final = 3


@click.command()
@click.argument("source", metavar="FILE|URL|-")
@file_option("html", "Write a page of HTML, which has no script and loads nothing.")
@file_option("markdown", "Write Markdown.")
@file_option("svg", "Write the chart as SVG.")
@file_option("png", "Write the chart as PNG; needs pip install 'xmcp[png]'.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--width", type=click.IntRange(24, 1000), metavar="CELLS", help="Width in the terminal; default: all of it."
)
@click.option(
    "--timeout",
    type=Number(0.1, 300),
    default=10,
    show_default=True,
    help="Seconds that the answer of a URL may take.",
)
@plots_option
def render(
    source: str,
    html_path: Path | None,
    markdown_path: Path | None,
    svg_path: Path | None,
    png_path: Path | None,
    opens: bool,
    width: int | None,
    timeout: float,
    lines: Lines | None,
) -> None:
    """Draw what the person sees of a document or an envelope.

    The source holds a document (XML, <tool_response>), or an envelope or a list of envelopes in JSON. It is drawn in
    the terminal, or written in the forms that the options name; FILE of an option can be - for standard output.

    Exit codes: 0 drawn, 1 there is no display in it (for --svg and --png: no chart), 2 usage, 3 it cannot be read or
    written.
    """
    paths = [path for path in (html_path, markdown_path, svg_path, png_path) if path is not None]
    if paths.count(STANDARD_OUTPUT) > 1:
        raise click.UsageError("only one form can go to standard output; name a file for the others")
    found = _found(source, timeout)
    if not paths and not opens:
        _draw(found, width, lines)
    if html_path is not None:
        write_file(html_path, page_of(found.displays))
    if markdown_path is not None:
        write_file(markdown_path, "\n".join(map(to_markdown, found.displays)))
    try:
        if svg_path is not None:
            write_file(svg_path, to_svg(_only(found)))
        if png_path is not None:
            write_file(png_path, to_png(_only(found)))
    except (NoChart, ModuleNotFoundError) as error:
        click.echo(f"xmcp render: {error}", err=True)
        sys.exit(_NO_DISPLAY if isinstance(error, NoChart) else _FAILED)
    if opens:
        _open(found, html_path)


def _found(source: str, timeout: float) -> Found:
    shown = "standard input" if source == "-" else f"`{without_secrets(printable(source))}`"
    try:
        return displays_in(read(source, timeout))
    except CannotRead as error:
        click.echo(f"xmcp render: {shown} cannot be read: {error}", err=True)
        sys.exit(_FAILED)
    except NoDisplay as error:
        click.echo(f"xmcp render: nothing to draw in {shown}: {error}", err=True)
        sys.exit(_NO_DISPLAY)


def _only(found: Found) -> Mapping[str, Any]:
    """Return the display of which a picture is made."""
    if len(found.displays) > 1:
        raise NoChart(f"there are {len(found.displays):,} displays; a picture is made of one that is a chart")
    return found.displays[0]


def _draw(found: Found, width: int | None, lines: Lines | None) -> None:
    console = Console(highlight=False)
    if found.tool_name is not None:
        console.print(Text(f"shown by {label(found.tool_name, 100)}", style="dim"))
    for nth, display in enumerate(found.displays):
        if nth:
            console.print()
        console.print(drawn_in_terminal(display, width, lines=lines))


def _open(found: Found, written: Path | None) -> None:
    """Open the page in the browser: the one that was written, or one among the temporary files."""
    if written is None or written == STANDARD_OUTPUT:
        with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="xmcp-", delete=False, encoding="utf-8") as file:
            file.write(page_of(found.displays))
        written = Path(file.name)
    if not webbrowser.open(written.resolve().as_uri()):
        click.echo(f"No browser could be started. The page is in {written}.", err=True)
