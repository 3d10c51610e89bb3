"""The option that says what the lines of charts are drawn with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

plots_option: Final[Callable[[Callable[..., Any]], Callable[..., Any]]] = click.option(
    "--plots",
    "lines",
    type=click.Choice(["braille", "blocks"]),
    envvar="XMCP_PLOTS",
    show_envvar=True,
    help="What draws the lines of charts; blocks, if braille is out of line in your font.",
)
"""It gives a command the parameter `lines`, as `xmcp.render.render` takes it."""
