"""`xmcp render`: what it draws of documents and envelopes, and how it says that there is nothing to draw."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.http_host import Handler, in_thread, never_answer

from xmcp.cli import run
from xmcp.cli.display_sources import MOST_READ
from xmcp.wire import ErrorInfo, ToolResponse

TABLE = {"type": "table", "title": "Sales", "payload": [{"region": "EMEA", "sales": 42}]}
CHART = {
    "type": "chart",
    "payload": {
        "mark": "bar",
        "data": {"values": [{"d": "Mon", "n": 3}]},
        "encoding": {"x": {"field": "d"}, "y": {"field": "n"}},
    },
}
Command = Callable[..., tuple[int, str, str]]


def document(inner: str) -> str:
    return f'<tool_response tool_name="sales_summary">{inner}</tool_response>'


SHOWN = document(f"<llm_output>For the model.</llm_output><display>{json.dumps(TABLE)}</display>")


@pytest.fixture
def render(workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `xmcp render` in an empty folder; its exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code: Any = run(["render", *arguments])
        except SystemExit as ended:
            code = ended.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return int(code or 0), captured.out, captured.err

    return call


def put(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def answers(head: str, body: bytes = b"") -> Handler:
    """A server that gives this answer to every request."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return handler


def test_the_display_of_a_document_is_drawn_with_its_tool(render: Command) -> None:
    code, out, err = render(put("a.xml", SHOWN))
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["shown by sales_summary", "Sales"]
    assert "EMEA" in out
    assert "For the model" not in out


def test_an_envelope_and_a_list_of_envelopes_are_drawn(render: Command) -> None:
    code, out, _ = render(put("a.json", json.dumps(TABLE)))
    assert code == 0
    assert "EMEA" in out
    code, both, _ = render(put("b.json", "\ufeff  " + json.dumps([TABLE, CHART])))
    assert code == 0
    assert both.startswith(f"{out}\n")
    assert "Mon" in both


def test_standard_input_is_drawn(render: Command) -> None:
    assert "EMEA" in render("-", stdin=SHOWN.encode())[1]


def test_a_width_is_kept(render: Command) -> None:
    _, out, _ = render(put("a.json", json.dumps({"type": "text", "payload": "word " * 50})), "--width", "30")
    assert max(map(len, out.splitlines())) <= 30


def test_an_error_is_shown_as_one(render: Command) -> None:
    error = ErrorInfo(code="NOT_FOUND", message="There is none.", retryable=False)
    code, out, err = render(put("a.xml", ToolResponse("sales", error=error).to_xml()))
    assert (code, err) == (0, "")
    assert "Error  NOT_FOUND: There is none." in out


def test_the_answer_of_an_address_is_drawn(render: Command) -> None:
    body = SHOWN.encode()
    with in_thread(answers(f"HTTP/1.1 200 OK\ncontent-length: {len(body)}", body)) as url:
        code, out, _ = render(f"{url}/a.xml")
    assert code == 0
    assert "EMEA" in out


# ---- forms ----


def test_a_list_of_any_length_is_written_as_it_is_drawn(render: Command) -> None:
    many = [{"type": "text", "payload": f"text {n} of *all*", "title": f"T{n}"} for n in range(50)]
    source = put("a.json", json.dumps(many))
    assert render(source)[1].count("of *all*") == 50
    code, page, _ = render(source, "--html", "-")
    assert code == 0
    assert page.count('<p class="plain">text') == page.count("</h1>") == 50
    code, markdown, _ = render(source, "--markdown", "-")
    assert code == 0
    assert markdown.count("of \\*all\\*\n") == markdown.count("### T") == 50


def test_each_form_is_written_and_nothing_is_drawn_then(render: Command) -> None:
    source = put("a.json", json.dumps({**CHART, "title": "Orders"}))
    paths = [f"{argument}" for form in ("html", "markdown", "svg", "png") for argument in (f"--{form}", f"out.{form}")]
    assert render(source, *paths) == (0, "", "")
    assert Path("out.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("out.markdown").read_text(encoding="utf-8").startswith("### Orders")
    assert Path("out.svg").read_text(encoding="utf-8").startswith("<svg")
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")


def test_a_form_goes_to_standard_output(render: Command) -> None:
    source = put("a.json", json.dumps(TABLE))
    assert render(source, "--markdown", "-")[1].startswith("### Sales\n")
    code, _, err = render(source, "--markdown", "-", "--html", "-")
    assert code == 2
    assert "only one form can go to standard output" in err


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(render: Command) -> None:
    code, _, err = render("missing.xml", "--html", "no/such/folder/a.html")
    assert code == 2
    assert "the folder `no/such/folder` does not exist" in err


def test_a_picture_of_what_is_no_chart_is_refused(render: Command) -> None:
    code, _, err = render(put("a.json", json.dumps(TABLE)), "--svg", "a.svg")
    assert code == 1
    assert "only a chart is drawn as a picture; this display is shown as table" in err


def test_a_png_without_its_package_says_what_to_install(render: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    code, _, err = render(put("a.json", json.dumps(CHART)), "--png", "a.png")
    assert code == 3
    assert "pip install 'xmcp[png]'" in err


@pytest.mark.parametrize("there_is_a_browser", [True, False])
def test_the_page_is_opened(render: Command, monkeypatch: pytest.MonkeyPatch, there_is_a_browser: bool) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or there_is_a_browser)
    monkeypatch.setattr("tempfile.tempdir", str(Path.cwd()))
    source = put("a.json", json.dumps(TABLE))
    code, out, err = render(source, "--open")
    assert (code, out) == (0, "")
    assert ("No browser could be started" in err) != there_is_a_browser
    (page,) = Path().glob("*.html")
    assert opened == [page.resolve().as_uri()]
    assert "EMEA" in page.read_text(encoding="utf-8")
    render(source, "--open", "--html", "own.html")
    assert opened[1] == Path("own.html").resolve().as_uri()


# ---- nothing to draw ----


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is empty"),
        ("hello", "it is neither a document"),
        ("<!DOCTYPE html><p>x", "it is a page of HTML"),
        (document("<llm_output>x"), "NOT_WELL_FORMED at line 1, column"),
        ("<other/>", "SCHEMA at line 1"),
        (document("<llm_output>x</llm_output><display>{}</display>"), "BAD_ENVELOPE"),
        (document("<llm_output>x</llm_output>"), "it holds only text for the model"),
        ('{"type": "text"}', "it is no envelope: it must be an object with `type` and `payload`"),
        ('[{"type": "text", "payload": "x"}, 1]', "item 1 of the list is no envelope"),
        ("[]", "the list is empty"),
        ('{"type": "text",', "it is not JSON: Expecting property name"),
        ("[" * 100_000, "its JSON is nested too deep"),
        (b'{"a": "\xff"}', "it is not UTF-8: byte 7"),
    ],
)
def test_what_holds_no_display_is_said_to_hold_none(render: Command, content: str | bytes, reason: str) -> None:
    code, out, err = render(put("a.txt", content))
    assert (code, out) == (1, "")
    assert err.startswith("xmcp render: nothing to draw in `a.txt`: ")
    assert reason in err
    assert len(err.splitlines()) == 1


def test_a_file_that_cannot_be_read_is_named(render: Command) -> None:
    Path("folder").mkdir()
    for source, reason in (
        ("missing.xml", "no such file or directory"),
        ("folder", "it is a folder; name a file in it"),
    ):
        assert render(source) == (3, "", f"xmcp render: `{source}` cannot be read: {reason}\n")


def test_five_megabytes_are_drawn_and_more_than_a_reader_accepts_are_not(render: Command) -> None:
    rows = [{"n": n, "text": "x" * 100} for n in range(45_000)]
    text = json.dumps({"type": "table", "payload": rows})
    assert len(text) > 5_000_000
    assert "200 of 45,000 rows shown" in render(put("a.json", text))[1]
    code, _, err = render(put("b.json", b" " * (MOST_READ + 1)))
    assert code == 3
    assert "more than 8 MiB" in err


def test_an_address_that_does_not_answer_costs_a_bounded_time(render: Command) -> None:
    begin = time.monotonic()
    with in_thread(never_answer) as url:
        code, _, err = render(url, "--timeout", "0.3")
    assert code == 3
    assert "no answer within 0.3 seconds; --timeout allows more" in err
    assert time.monotonic() - begin < 20


def test_an_answer_that_never_ends_costs_a_bounded_time_and_size(render: Command) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" " * 1_000_000)
            await writer.drain()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    with in_thread(endless) as url:
        assert f"the answer is larger than {MOST_READ} bytes" in render(url)[2]
    with in_thread(slow) as url:
        assert "no answer within 0.5 seconds" in render(url, "--timeout", "0.5")[2]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("HTTP/1.1 404 Not Found\ncontent-length: 0", "the server answered with 404 Not Found"),
        ("HTTP/1.1 200 OK\ncontent-encoding: gzip\ncontent-length: 1", "the answer is compressed (gzip)"),
        ("HTTP/1.1 302 Found\nlocation: file:///etc/passwd\ncontent-length: 0", "unsupported protocol 'file://'"),
        ("nonsense", "illegal status line"),
    ],
)
def test_an_answer_that_is_none_says_why(render: Command, head: str, reason: str) -> None:
    with in_thread(answers(head, b"x")) as url:
        code, out, err = render(url)
    assert (code, out) == (3, "")
    assert err.startswith(f"xmcp render: `{url}` cannot be read: ")
    assert reason in err


def test_an_address_where_nobody_listens_says_so(render: Command) -> None:
    with in_thread(never_answer) as url:
        pass
    code, _, err = render(url)
    assert code == 3
    assert "cannot be read: " in err


@pytest.mark.parametrize("url", ["http://[::1", "https://exa mple.com", "http://", "http://\u0430" + "b" * 300])
def test_an_address_that_is_none_is_refused(render: Command, url: str) -> None:
    code, _, err = render(url)
    assert code == 3
    assert len(err.splitlines()) == 1


def test_no_secret_of_an_address_is_printed_again(render: Command) -> None:
    with in_thread(never_answer) as url:
        pass
    _, _, err = render(url.replace("http://", "http://me:hunter2@") + "/?token=hunter3")
    assert "hunter" not in err
