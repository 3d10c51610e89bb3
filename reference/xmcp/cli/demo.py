"""`xmcp demo`: a scripted conversation with the sample server, which runs as a process of its own, over stdio.

It is drawn as `xmcp chat` draws a conversation.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from xmcp.cli.numbers import Number
from xmcp.cli.plots import plots_option
from xmcp.render.view.untrusted import visible

if TYPE_CHECKING:
    from rich.console import Console

    from xmcp.cli.chat.screen import Screen
    from xmcp.providers.scripted import Script
    from xmcp.render.terminal import Lines

_SAMPLE = "xmcp.samples.sales:mcp"
_SERVE = ("-m", "xmcp", "serve", _SAMPLE, "--transport", "stdio")
_PAUSE = 0.04
"""Seconds between two pieces of text on a terminal, as from a real model."""


def conversation() -> tuple[tuple[str, ...], Script]:
    """Return the person's questions and the script of the model."""
    from xmcp.providers.scripted import Turn

    questions = (
        "How did EMEA do lately?",
        "Show me that as a table.",
        "And a chart of all regions.",
        "Refresh the data, then write the Q2 report.",
    )
    script: list[Turn | str] = [
        Turn(
            "Let me look at the figures.",
            [("list_regions", {}), ("sales_summary", {"region": "EMEA", "months": 3})],
        ),
        "EMEA made 2,337.1 k€ from April to June. May was weak: 734.4 k€ after 779.9 k€ in April. June made up for it "
        "with 822.8 k€, the best month of the quarter. Atlas carries the region with 1,365.9 k€; Comet is small but "
        "grows every month.",
        Turn(calls=[("sales_summary", {"region": "EMEA", "months": 3, "show_user": True})]),
        Turn(calls=[("sales_chart", {"by": "month", "show_user": True})]),
        Turn(calls=[("refresh_warehouse", {}), ("broken_report", {"quarter": "Q2"})]),
        "Neither worked, and for different reasons. The data warehouse is busy; that passes, and I can try again in "
        "two seconds. Until then the figures are those of June. The report failed inside the server, and trying again "
        "would not help: please give the error id to the person who runs the server.",
    ]
    return questions, script


@click.command(short_help="See it work, without network or key.")
@click.option(
    "--connect-timeout",
    type=Number(0.1, 300),
    default=30.0,
    show_default=True,
    help="Seconds in which the sample server has to start.",
)
@plots_option
def demo(connect_timeout: float, lines: Lines | None) -> None:
    """Play a short conversation with a sample server.

    The server is real: a process of its own, over stdio. Only the model is scripted, so this needs no network and no
    key.
    """
    from rich.console import Console

    from xmcp.cli.chat.screen import Screen

    console = Console(highlight=False)
    console.print("[bold]XMCP demo[/]: a sample server over stdio and a scripted model. No network, no key.")
    console.print("Here > is you and ● the model, ✓ and ✗ are calls of tools, and a frame has what a server shows you.")
    with TemporaryDirectory(prefix="xmcp-demo-") as directory:
        log = Path(directory, "server.log")
        trouble = asyncio.run(_chat(Screen(console, lines=lines), log, connect_timeout))
        logged = log.read_text(errors="replace").splitlines() if log.exists() else []
    if trouble is not None:
        if logged or "no answer within" not in trouble:
            raise click.ClickException(f"the sample server did not start: {visible(logged[-1]) if logged else trouble}")
        raise click.ClickException(
            f"the sample server `{_SAMPLE}` did not start within {connect_timeout:g} s. On a busy machine, allow it "
            f"longer with --connect-timeout {max(120, 2 * connect_timeout):g}."
        )
    records = [line.partition("xmcp.server: ")[2] or line for line in logged]
    _closing(console, [line for line in records if line.startswith(("The tool ", "RuntimeError: "))])


async def _chat(screen: Screen, log: Path, connect_timeout: float) -> str | None:
    """Play the conversation; return the reason if the server cannot be reached."""
    from fastmcp.client.transports import StdioTransport

    from xmcp.cli.waiting import Waiting
    from xmcp.client import AIClient
    from xmcp.providers import ScriptedProvider

    questions, script = conversation()
    server = StdioTransport(sys.executable, list(_SERVE), keep_alive=False, log_file=log)
    client = AIClient(
        [server], llm_provider=ScriptedProvider(script), connect_timeout=connect_timeout, logger=_silent_logger()
    )
    async with AsyncExitStack() as stack:
        with Waiting("xmcp demo", screen.console) as waiting:
            waiting.begin("the sample server to start", connect_timeout)
            ai = await stack.enter_async_context(client)
        drawing = asyncio.create_task(_draw(screen))
        stack.callback(drawing.cancel)
        history: list[dict[str, Any]] = []
        for question in questions:
            screen.person(question)
            screen.begin()
            async with aclosing(ai.stream_chat(question, history)) as chunks:
                async for chunk in chunks:
                    if chunk.type == "warning" and chunk.turn == 0:
                        return chunk.text
                    screen.event(chunk)
                    if chunk.type == "llm_delta" and screen.console.is_terminal:
                        await asyncio.sleep(_PAUSE)
                    if chunk.type == "done":
                        history = chunk.result["history"]
    return None


async def _draw(screen: Screen) -> None:
    """Draw what changes with the time, until it is cancelled."""
    while True:
        await asyncio.sleep(_PAUSE)
        screen.tick()


def _silent_logger() -> logging.Logger:
    """Return a logger without output, because the transcript shows what goes wrong in the chat."""
    logger = logging.getLogger("xmcp.demo")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


_SEEN = (
    "Two calls in one turn. Their results went to the model, which wrote the answer.",
    "A table and a chart. The server made them for you; the model got a sentence about what you see, and no second "
    "call of the model was needed.",
    "Two failures as data. One says when to try again. The other gives an id; the reason, with a password in it, "
    "is only in the server's log:",
)
_NEXT = (
    ("xmcp chat --provider demo", "call these tools yourself; with a key, ask a model"),
    ("xmcp serve xmcp.samples.sales:mcp", "the same tools on http://127.0.0.1:3333/mcp"),
    ("xmcp check", "let the conformance suite judge them"),
    ("xmcp serve your_server.py", "yours"),
)


def _closing(console: Console, log_lines: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    seen = Table.grid(padding=(0, 1))
    for sentence in _SEEN:
        seen.add_row("  •", sentence)
    for line in log_lines[:2]:
        seen.add_row("", Text(visible(line), style="dim"))
    following = Table.grid(padding=(0, 2))
    for command, purpose in _NEXT:
        following.add_row(f"  [cyan]{command}[/]", purpose)
    console.print("\n[bold]What you saw[/]", seen, "\n[bold]Next[/]", following, sep="\n")
