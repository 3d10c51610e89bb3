"""Displays and chats in notebooks: executed as Jupyter does it, and exported as their readers get them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from html5lib import HTMLParser
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from support.browser import page
from support.hostile_displays import NAMES, envelope

from xmcp import DisplayEnvelope
from xmcp.chat.events import (
    CallReport,
    ChatChunk,
    ChatFailed,
    ChatResult,
    Done,
    LLMDelta,
    LLMRetry,
    ToolDisplay,
    ToolError,
    ToolResult,
)
from xmcp.chat.usage import ChatUsage
from xmcp.render.notebook import ENVELOPE, Bundle, ChatCell, bundle_of, show_chat
from xmcp.wire import ErrorInfo, ToolResponse

VEGA_LITE = "application/vnd.vegalite.v6+json"
TABLE = DisplayEnvelope(type="table", payload=[{"region": "EMEA", "sales": 42}], title="Sales")
CHART = DisplayEnvelope(
    type="chart",
    payload={
        "mark": "bar",
        "data": {"values": [{"day": "Mon", "n": 3}, {"day": "Tue", "n": 5}]},
        "encoding": {"x": {"field": "day"}, "y": {"field": "n"}},
    },
    alt="Orders rose.",
)
USAGE = ChatUsage(input_tokens=1, output_tokens=1, cached_tokens=0, requests=1, tool_calls=0, duration_ms=1.0)
ERROR = ErrorInfo(code="NOT_FOUND", message="There is none.", retryable=False)


def result(answer: str | None, *displays: DisplayEnvelope) -> ChatResult:
    first = displays[0] if displays else None
    return ChatResult(answer=answer, display=first, displays=[*displays], history=[], usage=USAGE, stop_reason="stop")


class Cell:
    """What a cell shows: its outputs in order, each the latest with its id."""

    def __init__(self) -> None:
        self.outputs: dict[str, Bundle] = {}

    def __call__(self, bundle: Bundle, display_id: str, *, update: bool) -> None:
        assert update == (display_id in self.outputs)
        self.outputs[display_id] = bundle

    @property
    def texts(self) -> list[str]:
        return [bundle["text/plain"].strip() for bundle in self.outputs.values()]


def shown(*events: ChatChunk, clock: Any = lambda: 0.0) -> list[str]:
    cell = Cell()
    chat = ChatCell(cell, clock)
    for event in events:
        chat.show(event)
    return cell.texts


def call(call_id: str = "1") -> dict[str, Any]:
    return {"turn": 1, "call_id": call_id, "tool_name": "sales"}


# ---- forms ----


def test_a_display_has_its_envelope_and_what_programs_can_show() -> None:
    bundle = TABLE._repr_mimebundle_(include=None, exclude=None)
    assert set(bundle) == {ENVELOPE, "text/html", "text/plain"}
    assert bundle[ENVELOPE] == TABLE.to_dict()
    assert "EMEA" in bundle["text/html"]
    assert "EMEA" in bundle["text/plain"]


def test_only_a_chart_that_is_drawn_is_vega_lite_and_it_is_written_anew() -> None:
    assert VEGA_LITE in CHART._repr_mimebundle_()
    spec = bundle_of(CHART)[VEGA_LITE]
    assert spec["description"] == "Orders rose."
    assert spec["layer"][0]["data"]["values"] == [
        {"category": "Mon", "value": 3, "series": ""},
        {"category": "Tue", "value": 5, "series": ""},
    ]


def test_moments_are_moments_in_the_vega_lite_of_a_notebook() -> None:
    rows = [{"t": f"2024-05-01T12:00:{second}+02:00", "n": 1} for second in ("00", "01.25", "59")]
    time, n = {"field": "t", "type": "temporal"}, {"field": "n"}
    layers = [
        {"mark": "line", "encoding": {"x": time, "y": n}},
        {"mark": "rule", "encoding": {"x": {"datum": "2024-05-01T10:00:30Z"}}},
    ]
    spec = bundle_of({"type": "chart", "payload": {"data": {"values": rows}, "layer": layers}})[VEGA_LITE]
    line, rule = spec["layer"]
    assert line["encoding"]["x"] == {"field": "x", "type": "temporal", "title": "t", "scale": {"type": "utc"}}
    assert [row["x"][10:] for row in line["data"]["values"]] == ["T10:00:00.000Z", "T10:00:01.250Z", "T10:00:59.000Z"]
    assert rule["encoding"] == {"x": {"datum": "2024-05-01T10:00:30.000Z", "type": "temporal"}}


def test_a_large_envelope_is_not_kept_in_the_notebook() -> None:
    assert ENVELOPE not in bundle_of({"type": "table", "payload": [{"text": "x" * 1000}] * 1000})


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_display_has_no_form_that_a_notebook_would_run(name: str) -> None:
    bundle = bundle_of(envelope(name))
    assert set(bundle) <= {ENVELOPE, VEGA_LITE, "text/html", "text/plain"}
    cells = [nbformat.v4.new_output("display_data", data=bundle)]
    nbformat.validate(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=cells)]))
    if VEGA_LITE in bundle:
        members = re.findall(r'"(\w+)":', json.dumps([*_without_data(bundle[VEGA_LITE])]))
        assert not {"url", "href", "params", "transform", "expr", "signal", "usermeta", "config"} & {*members}
        assert bundle[VEGA_LITE]["width"] == 480


def _without_data(value: Any) -> Any:
    if isinstance(value, dict):
        yield {key: [*_without_data(one)] for key, one in value.items() if key != "values"}
    elif isinstance(value, list):
        for one in value:
            yield from _without_data(one)


def test_the_result_of_a_chat_is_its_answer_and_its_displays() -> None:
    bundle = result("**EMEA** sold <b>42</b>.", TABLE, CHART)._repr_mimebundle_()
    assert "<strong>EMEA</strong> sold &lt;b&gt;42&lt;/b&gt;." in bundle["text/html"]
    assert bundle["text/html"].count("<style>") == 1
    assert "<svg" in bundle["text/html"]
    assert "Sales" in bundle["text/plain"]
    assert "(no answer: stop)" in result(None)._repr_mimebundle_()["text/plain"]


def test_a_notebook_is_not_needed_to_import_any_of_it() -> None:
    code = "import sys, xmcp, xmcp.render.notebook, xmcp.client; xmcp.DisplayEnvelope\n"
    code += "assert 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys, xmcp; xmcp.DisplayEnvelope; assert 'xmcp.render' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- a chat while it happens ----


def test_text_is_shown_as_it_arrives_and_drawn_when_it_is_complete() -> None:
    now = iter(range(100))
    cell = Cell()
    chat = ChatCell(cell, lambda: float(next(now)))
    chat.show(LLMDelta(turn=1, text="**EMEA**"))
    assert cell.texts == ["**EMEA**"]
    chat.show(LLMDelta(turn=1, text=" sold 42."))
    chat.show(Done(turn=1, result=result("**EMEA** sold 42.")))
    assert cell.texts == ["EMEA sold 42."]


def test_text_is_not_drawn_for_every_piece_of_it() -> None:
    drawn = []
    chat = ChatCell(lambda bundle, display_id, *, update: drawn.append(bundle), clock=lambda: 1.0)
    for _ in range(1000):
        chat.show(LLMDelta(turn=1, text="x"))
    assert len(drawn) == 1


def test_a_display_with_the_id_of_an_earlier_one_takes_its_place() -> None:
    first, second = (DisplayEnvelope(type="text", payload=text, id="progress") for text in ("half", "all"))
    other = DisplayEnvelope(type="text", payload="other")
    events = [ToolDisplay(**call(), envelope=envelope) for envelope in (first, other, second, other)]
    assert shown(*events) == ["all", "other", "other"]


def test_a_call_has_one_line_that_says_how_it_goes() -> None:
    response = ToolResponse("sales", "x")
    assert shown(
        ToolResult(**call("1"), response=response, text="x", report=CallReport()),
        ToolError(**call("2"), response=ToolResponse("sales", error=ERROR), error=ERROR, report=CallReport()),
    ) == ["sales: done", "sales: failed with NOT_FOUND"]


def test_a_model_that_begins_again_takes_back_what_it_wrote() -> None:
    retry = LLMRetry(turn=1, attempt=1, wait_ms=1, error=ERROR)
    assert shown(
        LLMDelta(turn=1, text="wrong"), retry, LLMDelta(turn=1, text="right"), Done(turn=1, result=result("right"))
    ) == ["right"]


def test_a_chat_that_fails_says_so() -> None:
    failed = ChatFailed(turn=1, error=ERROR, history=[], ui_message="No model could be asked.")
    (text,) = shown(failed)
    assert "Error  No model could be asked." in text


@pytest.mark.parametrize("cancelled", [False, True])
async def test_showing_a_chat_closes_its_stream(cancelled: bool) -> None:
    cell, began, closed = Cell(), asyncio.Event(), asyncio.Event()

    async def events() -> AsyncGenerator[ChatChunk, None]:
        try:
            yield LLMDelta(turn=1, text="a")
            began.set()
            if cancelled:
                await asyncio.Event().wait()
            yield Done(turn=1, result=result("a"))
        finally:
            closed.set()

    showing = asyncio.create_task(show_chat(events(), shows=cell))
    await began.wait()
    if cancelled:
        showing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await showing
    else:
        assert (await showing)["answer"] == "a"
    assert closed.is_set()
    assert cell.texts == ["a"]


# ---- in Jupyter ----

CELLS = (
    "from xmcp import DisplayEnvelope\n"
    "DisplayEnvelope(type='table', title='Sales', payload=[{'a': '<img src=https://evil.example/p.png>', 'n': 42}])",
    "DisplayEnvelope(type='chart', payload={'mark': 'bar', 'data': {'values': [{'d': 'Mon', 'n': 3}]},\n"
    "    'encoding': {'x': {'field': 'd'}, 'y': {'field': 'n'}}})",
    "DisplayEnvelope(type='markdown', payload='<script>window.ran = 1</script> [a](javascript:window.ran=1)')",
    "from xmcp.chat.events import Done, LLMDelta, ToolDisplay\n"
    "from xmcp.render.notebook import ChatCell\n"
    "cell = ChatCell()\n"
    "cell.show(LLMDelta(turn=1, text='Here **it** is.'))\n"
    "for words in ('half', 'everything'):\n"
    "    envelope = DisplayEnvelope(type='text', payload=words, id='progress')\n"
    "    cell.show(ToolDisplay(turn=1, call_id='1', tool_name='t', envelope=envelope))",
)


@pytest.fixture(scope="module")
def notebook() -> Any:
    """A notebook that was executed."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    return made


def test_a_cell_updates_the_display_with_the_same_id(notebook: Any) -> None:
    outputs = [one["data"]["text/plain"].strip() for one in notebook.cells[3].outputs]
    assert outputs == ["Here it is.", "everything"]


async def test_an_exported_notebook_shows_table_and_chart_and_runs_nothing(notebook: Any, tmp_path: Path) -> None:
    html, _ = HTMLExporter().from_notebook_node(notebook)
    tables = HTMLParser(namespaceHTMLElements=False).parse(html).iter("table")
    assert any("<img src=https://evil.example/p.png>" in "".join(one.itertext()) for one in tables)
    file = tmp_path / "notebook.html"
    file.write_text(html, encoding="utf-8")
    async with page() as browser:
        await browser.record_requests()
        await browser.show(file.as_uri())
        seen = "document.querySelector('.xmcp {}').getBoundingClientRect().height > 50"
        assert await browser.value(seen.format("svg"))
        assert await browser.value(seen.format("table"))
        # Jupyter's own rules for tables would have it at the right.
        assert await browser.value("getComputedStyle(document.querySelector('.xmcp td')).textAlign") == "left"
        assert await browser.value("window.ran") is None
        assert not [one for one in browser.requested if "evil.example" in one]
