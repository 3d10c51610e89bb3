"""`xmcp demo` runs against a real server process and shows what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from fastmcp import Client

import xmcp.cli.demo as demo
from xmcp.cli import run
from xmcp.providers.scripted import Turn
from xmcp.samples.sales import mcp

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def played() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "xmcp", "demo"], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stderr in ("", "xmcp demo: waiting for the sample server to start, at most 30 s …\n")
    return done.stdout


def test_the_demo_shows_calls_answers_a_table_and_a_chart(played: str) -> None:
    for words in (
        "> How did EMEA do lately?",
        '✓ sales_summary(region="EMEA", months=3)',
        "✓ list_regions()",
        '  tells the model: ["EMEA","AMER","APAC","LATAM"]',
        "● EMEA made 2,337.1 k€",
        "╭─ shown by sales_summary of sales ─",
        "╭─ shown by sales_chart of sales ─",
    ):
        assert words in played
    assert re.search(r"Total +779\.9 +734\.4 +822\.8 +2,337\.1", played)
    assert re.search(r"1,250 ┤.*AMER 1,202\.3", played)


def test_the_demo_shows_both_failures_and_how_the_model_takes_them(played: str) -> None:
    assert re.search(r"✗ refresh_warehouse\(\)  .* · 3 attempts\n  DB_TIMEOUT \(retry after 2 s\): ", played)
    assert re.search(r'✗ broken_report\(quarter="Q2"\)  .*\n  INTERNAL \(no retry\): ', played)
    assert "Neither worked, and for different reasons." in played


def test_the_secret_of_the_broken_report_stands_only_where_the_log_is_shown(played: str) -> None:
    chat, log = played.split("What you saw")
    assert "hunter2" not in chat
    assert "hunter2" in log
    (error_id,) = re.findall(r"error_id=(\w+)", log)
    assert error_id in "".join(chat.split())


def test_the_demo_writes_no_escape_sequence_no_document_and_no_braille_into_a_pipe(played: str) -> None:
    assert "\x1b" not in played
    assert "<tool_response" not in played
    assert re.search("[⠁-⣿]", played) is None


def test_the_demo_fits_80_columns(played: str) -> None:
    assert max(map(len, played.splitlines())) <= 80


async def test_the_scripted_model_says_no_number_the_tools_did_not_give() -> None:
    _, script = demo.conversation()
    known = ""
    async with Client(mcp) as client:
        for turn in script:  # type: ignore[union-attr]
            text = turn if isinstance(turn, str) else turn.text
            numbers = re.findall(r"\d[\d,]*\.\d+", text)
            assert all(number.replace(",", "") in known for number in numbers), numbers
            for name, arguments in turn.calls if isinstance(turn, Turn) else ():
                result: Any = await client.call_tool_mcp(name, dict(arguments))
                known += result.content[0].text


def test_a_server_that_does_not_start_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_SERVE", ("-m", "xmcp", "serve", "nowhere:mcp", "--transport", "stdio"))
    assert run(["demo"]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("Error: the sample server did not start: Error: there is no module 'nowhere'")
