"""The programs in `examples/` do what their first lines and the table in its README say."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from fastmcp import Client
from support import browser
from support.example_programs import EXAMPLES, MARKUP, ROOT, SERVE, events_in, program, shows
from support.http_host import hosted
from support.scripted_model import ChatServer

from xmcp_models.registry import ERROR_META_KEY

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

OBSERVED = {
    "server.py": {"XMCP-ERR-001", "XMCP-ERR-021", "XMCP-ERR-022", "XMCP-MCP-020"},
    "display_server.py": {"XMCP-DSP-022", "XMCP-DSP-024", "XMCP-ERR-021", "XMCP-MCP-021", "XMCP-TOL-001"},
}
"""What each server has to show: without a tool that fails, for example, it would conform and be no example."""


def test_the_readme_lists_every_program_and_each_is_short() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(([^)]+\.\w+)\)", text)
    assert all((EXAMPLES / path).is_file() for path in listed)
    programs = [path for names in ("*.py", "web_*/*.py", "own_provider/*.py", "ci/*") for path in EXAMPLES.glob(names)]
    assert {str(path.relative_to(EXAMPLES)) for path in programs} <= set(listed)
    for path in (EXAMPLES / name for name in listed if not name.startswith("..")):
        most = {"client_adapter": 160, "own_provider": 100}.get(path.parent.name, 90)  # every feature of a client
        assert len(path.read_text(encoding="utf-8").splitlines()) <= most, path


@pytest.mark.parametrize(
    ("broken", "said"),
    [("", "32 passed, 6 skipped"), ('.split(b"\\n")', "test_a_text_comes_in_pieces_and_then_as_a_completion")],
)
def test_the_provider_of_ones_own_keeps_the_contract(tmp_path: Path, broken: str, said: str) -> None:
    shutil.copytree(EXAMPLES / "own_provider", tmp_path, dirs_exist_ok=True)
    if broken:
        program = tmp_path / "provider.py"
        text = program.read_text(encoding="utf-8")
        assert broken in text
        program.write_text(text.replace(broken, ".splitlines()"), encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == (1 if broken else 0), done.stdout
    assert said in done.stdout


@pytest.mark.slow
def test_the_server_of_the_quick_start_conforms(tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "guides" / "quick-start.md").read_text(encoding="utf-8")
    [program] = re.findall(r'```python title="shop.py"\n(.*?)```', page, re.DOTALL)
    (tmp_path / "shop.py").write_text(program, encoding="utf-8")
    command = f"{sys.executable} -m xmcp serve shop.py --transport stdio"
    words = [sys.executable, "-m", "xmcp", "check", "server", "--stdio", command, "--require", "100%"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith("CONFORMS")


@pytest.mark.slow
@pytest.mark.parametrize("name", OBSERVED)
def test_a_server_conforms_and_shows_what_it_is_for(name: str, tmp_path: Path) -> None:
    copy = shutil.copy(EXAMPLES / name, tmp_path)
    words = ("check", "server", "--strict", "--examples", "3", "--json", "report.json")
    command = f"{sys.executable} -m xmcp serve {copy} --transport stdio"
    done = subprocess.run(
        [sys.executable, "-m", "xmcp", *words, "--stdio", command], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    passed = {row["id"] for row in report["requirements"] if row["status"] == "pass"}
    assert OBSERVED[name] - passed == set()


async def test_the_server_says_what_helps_in_each_of_its_failures() -> None:
    warehouse = program(EXAMPLES / "server.py")
    async with Client(warehouse.mcp) as client:

        async def error(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            return dict((result.meta or {})[ERROR_META_KEY])

        assert (await error("stock", article="sofa"))["message"] == "There is no sofa; there are lamp, chair."
        assert (await error("reserve", article="chair", pieces=4))["code"] == "CONFLICT"
        assert (await error("reserve", article="chair", pieces=0))["meta"]["fields"][0]["pointer"] == "/pieces"
        assert (await client.call_tool("price", {"article": "lamp", "currency": "USD"})).data == 20.52
        warehouse.asked["at"] += 3600  # a second can be over before the next call of a test
        limited = await error("price", article="lamp", currency="USD")
        assert (limited["code"], limited["retryable"], limited["retry_after_ms"]) == ("RATE_LIMIT", True, 1000)


async def test_the_client_streams_an_answer_draws_a_display_and_remembers(chat_server: ChatServer) -> None:
    table = ("c0", "sales_table", '{"region": "EMEA", "show_user": true}')
    chat_server.replies = [
        chat_server.reply.streamed("One moment. ", [table]),
        chat_server.reply.streamed("", [("c1", "sales_table", '{"region": "MARS"}')]),
        chat_server.reply.streamed("It was 42 in May."),
        chat_server.reply.error(401, "no key"),
    ]
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLES / "client.py"), SERVE),
        env={**os.environ, "OPENAI_BASE_URL": chat_server.url, "OPENAI_API_KEY": "k", "MODEL": "m-1"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await client.communicate(b"Show me EMEA.\nAnd May?\nAnd June?\n")
    assert client.returncode == 0, err
    for said in ("One moment.", "Units sold", "42", "(sales_table: VALIDATION_FAIL)", "It was 42 in May."):
        assert said in out.decode(), said
    assert "The model cannot be asked" in err.decode()
    asked = chat_server.requests[-1]
    assert asked["model"] == "m-1"
    assert [message["content"] for message in asked["messages"] if message["role"] == "user"] == [
        "Show me EMEA.",
        "And May?",
        "And June?",
    ]


@pytest.fixture
async def chat_url(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The page's program, with a scripted model and the server of displays."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("MCP_SERVER", SERVE)
    async with hosted(program(EXAMPLES / "web_page" / "chat.py").app) as url:
        yield url


async def test_the_program_of_the_page_streams_events_without_results_and_history(
    chat_server: ChatServer, chat_url: str
) -> None:
    chat_server.replies = [shows(chat_server, "sales_table", region="EMEA", show_user=True)]
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{chat_url}/ask", json="Show me EMEA.")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_in(answer.text)
    kinds = [event["type"] for event in events]
    assert kinds == ["llm_delta", "llm_delta", "tool_started", "tool_display", "done"]
    assert events[-2]["envelope"]["type"] == "table"
    assert events[-1]["result"]["stop_reason"] == "display"
    assert "history" not in events[-1]["result"]


async def test_the_program_of_the_page_says_that_the_model_cannot_be_asked(
    chat_server: ChatServer, chat_url: str
) -> None:
    chat_server.replies = [chat_server.reply.error(401, "sk-secret")]
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{chat_url}/ask", json="Hello?")
    assert [event["type"] for event in events_in(answer.text)] == ["failed"]
    assert "sk-secret" not in answer.text


async def test_a_question_that_is_not_json_is_refused(chat_url: str) -> None:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{chat_url}/ask", content="Hel", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.text) == (400, "The question is not JSON.")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Content-Type": "text/plain"}, 415), ({"Host": "evil.example", "Content-Type": "application/json"}, 400)],
)
async def test_the_program_of_the_page_refuses_other_sites(chat_url: str, headers: dict[str, str], status: int) -> None:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{chat_url}/ask", content='"Show me EMEA."', headers=headers)
    assert answer.status_code == status
    async with httpx2.AsyncClient() as client:
        assert (await client.get(f"{chat_url}/chat.py")).status_code == 404


async def ask(page: browser.Page, question: str) -> None:
    """Ask as soon as the answer before is complete."""
    await page.until("!document.querySelector('button').disabled")
    await page.value(f"document.querySelector('#question').value = {json.dumps(question)}")
    await page.value("document.querySelector('button').click()")


@pytest.mark.slow
async def test_the_page_shows_text_as_it_arrives_then_the_display_and_runs_nothing_of_it(
    chat_server: ChatServer, chat_url: str
) -> None:
    gate, table = asyncio.Event(), shows(chat_server, "sales_table", region="EMEA", show_user=True)
    table.pieces.insert(2, gate)
    chat_server.replies = [table, chat_server.reply.streamed(MARKUP)]
    chat_server.replies.insert(1, shows(chat_server, "remind", text=MARKUP, show_user=True))
    async with browser.page() as page:
        await page.show(f"{chat_url}/")
        await ask(page, "Show me EMEA.")
        await page.until("document.querySelector('#chat p')?.textContent === 'Her'")
        gate.set()
        await page.until("document.querySelectorAll('#chat table tr').length === 4")
        cells = await page.value("[...document.querySelectorAll('th, td, caption')].map(one => one.textContent)")
        assert cells[:3] == ["Units sold in EMEA", "month", "Units sold"]
        assert cells[-2:] == ["2026-05", "42"]
        await ask(page, "Remind me.")
        await page.until(f"document.querySelector('[role=status]')?.textContent === {json.dumps(MARKUP)}")
        await ask(page, "Write markup.")
        await page.until(f"document.querySelector('#chat p:last-child')?.textContent === {json.dumps(MARKUP)}")
        assert await page.value("[document.title, document.querySelectorAll('img').length]") == ["Chat", 0]


@pytest.mark.slow
async def test_the_page_is_ready_for_the_next_question_and_stays_at_the_newest_line(
    chat_server: ChatServer, chat_url: str
) -> None:
    chat_server.replies = [shows(chat_server, "sales_chart", show_user=True)]
    chat_server.replies += [chat_server.reply.streamed("word " * 2000), chat_server.reply.error(401, "no key")]
    line = 'sales_table {"region": "EMEA", "show_user": true}'  # as the page names it where there is no key
    state = """(() => {
        const field = document.querySelector('#question'), box = document.querySelector('#form').getBoundingClientRect()
        const bottom = Math.abs(scrollY + innerHeight - document.documentElement.scrollHeight) < 2
        return [field.value, box.bottom <= innerHeight, bottom, chat.hasAttribute('aria-busy')]
    })()"""
    async with browser.page() as page:
        for width in (1280, 390):
            await page.show(f"{chat_url}/", width=width)
            await page.value(f"document.querySelector('#question').value = {json.dumps(line)}")
            field = "document.querySelector('#question')"
            assert await page.value(f"{field}.scrollHeight <= {field}.clientHeight && {field}.clientWidth > 250")
            assert await page.value("document.documentElement.scrollWidth <= innerWidth")
        await page.value(f"{field}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter', cancelable: true}}))")
        await page.until("document.querySelector('figure svg')")
        await ask(page, "Write a lot.")
        await ask(page, "And more?")
        await page.until("chat.lastElementChild.textContent.startsWith('The chat cannot go on: ')")
        await page.until("!document.querySelector('button').disabled")
        assert await page.value(state) == ["", True, True, False]
        await page.value("scrollTo(0, 0)")
        await page.value("show({type: 'llm_delta', text: 'word '})")
        assert await page.value("scrollY") == 0  # who reads above is not taken away


@pytest.mark.slow
async def test_the_page_says_that_an_answer_is_not_complete(chat_url: str) -> None:
    async with browser.page() as page:
        await page.show(f"{chat_url}/")
        await page.value("show({type: 'done', result: {stop_reason: 'max_turns'}})")
        assert await page.value("chat.lastElementChild.textContent") == "(The answer ended early: max_turns.)"
        await page.value('fetch = async () => new Response(\'data: {"type": "llm_delta", "text": "It w"}\\n\\n\')')
        await ask(page, "And May?")
        await page.until("chat.lastElementChild.textContent === '(The answer broke off.)'")
        await page.value("fetch = async () => { throw new TypeError('no server') }")
        await ask(page, "And June?")
        await page.until("chat.querySelectorAll('h2').length === 2")
        await page.until("chat.lastElementChild.textContent === '(The answer broke off.)'")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ('sales_table {"region": "EMEA", "show_user": true}', '"type":"tool_display"'),
        ('sales_table {"region": "EMEA"}', '[{"month":"2026-03","units":31}'),
        ("sales_table", 'The call failed. Try: sales_table {"region": "EMEA", "show_user": true}'),
        ("Hello?", "No key, so no model."),
    ],
)
async def test_the_program_of_the_page_starts_without_a_key_and_says_so(
    question: str, said: str, keyless_url: str
) -> None:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{keyless_url}/ask", json=question)
    assert said in answer.text or said in told(answer.text), answer.text


def told(stream: str) -> str:
    """The text of the model in a stream of events."""
    return "".join(event.get("text", "") for event in events_in(stream))


@pytest.fixture
async def keyless_url(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[str]:
    """The page's program without a key, with the server of displays."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MCP_SERVER", "MODEL"):
        monkeypatch.delenv(name, raising=False)
    async with hosted(program(EXAMPLES / "web_page" / "chat.py").app) as url:
        assert "a script stands in for the model" in capsys.readouterr().out
        yield url


async def test_without_a_key_each_line_that_the_page_names_works_and_no_markup_is_shown(keyless_url: str) -> None:
    async with httpx2.AsyncClient() as client:
        _, *lines = (await client.get(f"{keyless_url}/begin")).text.splitlines()
        assert [line.split()[0] for line in lines] == ["sales_table", "sales_chart", "remind"]
        for line in lines:
            shown = (await client.post(f"{keyless_url}/ask", json=line)).text
            assert '"type":"tool_display"' in shown, line
            assert "tool_error" not in shown, line
        failed = (await client.post(f"{keyless_url}/ask", json="sales_table {}")).text
    assert failed.count("Missing required argument") == 2  # the message of one event, and its `meta`
    assert "<tool_response" not in failed


async def test_with_a_key_the_page_names_no_lines(chat_url: str) -> None:
    async with httpx2.AsyncClient() as client:
        assert (await client.get(f"{chat_url}/begin")).text == ""


@pytest.mark.slow
async def test_without_a_key_the_page_opens_with_what_can_be_asked(keyless_url: str) -> None:
    async with browser.page() as page:
        await page.show(f"{keyless_url}/")
        await page.until("document.querySelector('#chat pre')?.textContent.startsWith('No key, so no model.')")


CHART = {"type": "chart", "title": "Orders", "payload": {"mark": "bar", "data": {"values": [{"day": "Mon", "n": 3}]}}}

X = {"field": "day", "type": "ordinal"}
Y = {"field": "n", "type": "quantitative"}


def chart(mark: Any, values: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    payload = {"mark": mark, "data": {"values": values}, "encoding": {"x": X, "y": Y, **encoding}}
    return {"type": "chart", "title": "Orders", "alt": "Some orders.", "payload": payload}


DAYS = [{"day": "Mon", "n": 2}, {"day": "Wed", "n": 8}]
MONTHS = [
    {"m": "2026-05", "n": -1, "of": MARKUP},
    {"m": "2026-03", "n": 4, "of": MARKUP},
    {"m": "2026-04", "n": 6, "of": 7},
]
DRAWN: list[tuple[dict[str, Any], list[str], list[Any]]] = [
    (chart("bar", DAYS), ["Mon", "2", "Wed", "8", "n"], [[69, 277], 0]),
    (
        chart({"type": "bar", "tooltip": True}, DAYS, x={**Y, "title": "Orders"}, y={"field": "day", "sort": "-x"}),
        ["Wed", "8", "Mon", "2", "Orders"],
        [[277, 69], 0],
    ),
    (
        chart("line", MONTHS, x={"field": "m", "type": "temporal", "title": "Month"}, color={"field": "of"}),
        [MARKUP[:40], "7", "n", *map(str, range(-1, 7)), "2026-03", "2026-04", "2026-05", "Month"],
        [[12, 12], 2],
    ),
]
NOT_DRAWN = [
    chart("bar", [*DAYS, {"day": "Mon", "n": 3}]),  # one bar on the other
    chart("bar", [{"day": "Mon", "n": -1}]),
    chart("bar", [{"day": "Mon", "n": "1"}]),
    chart("bar", [{"day": "Mon"}]),
    chart("bar", [{"day": "Mon", "n": 1}], y={**Y, "aggregate": "sum"}),
    chart("bar", [{"day": "Mon", "n": 1}], y={**Y, "field": "constructor"}),
    chart("bar", [{"day": 1, "n": 1}], x=Y),
    chart("line", [{"day": "soon", "n": 1}], x={**X, "type": "temporal"}),
    chart("line", [{"day": 1, "n": 1, "of": of} for of in range(7)], color={"field": "of"}),
    chart("point", DAYS),
    chart({"type": "line", "interpolate": "step"}, DAYS),
]
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.mark.slow
async def test_the_page_draws_images_of_pixels_and_charts_as_tables_and_loads_nothing_from_elsewhere(
    chat_url: str,
) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"type": "image", "payload": DOT, "alt": "A dot."}, "img[alt='A dot.']", ""),
        ({"type": "image", "payload": {"src": DOT, "alt": MARKUP}}, "img", ""),
        ({"type": "image", "payload": "data:image/svg+xml,<svg/>", "alt": "Lines."}, "p", "Lines. (This page"),
        ({"type": "image", "payload": "https://example.com/a.png", "title": "Far"}, "p", "Far (This page"),
        (CHART, "table", "OrdersdaynMon3"),
        ({**CHART, "fallback": {"type": "text", "payload": "three"}}, "pre", "three"),
        *((case, "table", "Orders") for case in NOT_DRAWN),
        ({**CHART, "payload": {"mark": "bar", "data": {}}, "alt": "3 on Monday."}, "p", "3 on Monday. (This page"),
        ({"type": "constructor", "payload": 1, "alt": MARKUP}, "p", f"{MARKUP} (This page cannot draw"),
        ({"type": "text", "payload": "x" * 9000}, "pre", "xxx"),
    ]
    async with browser.page() as page:
        await page.show(f"{chat_url}/", width=360)
        for envelope, selector, text in cases:
            await page.value(f"show({json.dumps({'type': 'tool_display', 'envelope': envelope})})")
            last = "document.querySelector('#chat > :last-child')"
            assert await page.value(f"{last}.matches({json.dumps(selector)})"), envelope
            assert (await page.value(f"{last}.textContent")).startswith(text), envelope
            if envelope["type"] == "chart" and selector != "p":  # XMCP-DSP-031
                before = await page.value(f"{last}.previousElementSibling.textContent")
                assert before.startswith("(This page cannot draw this chart; below is its ")
        await page.until("[...document.images].every(one => one.complete)")
        assert await page.value("[...document.images].map(one => one.naturalWidth)") == [1, 1]
        assert await page.value("document.documentElement.scrollWidth <= innerWidth")
        error: dict[str, Any] = {"code": "NOT_FOUND", "message": "There is no book 7."}
        await page.value(f"show({json.dumps({'type': 'tool_error', 'tool_name': 'get_book', 'error': error})})")
        said = await page.value("document.querySelector('#chat > :last-child').textContent")
        assert said == "get_book: There is no book 7. (NOT_FOUND)"
        error = {"code": "INTERNAL", "message": "An error occurred.", "meta": {"error_id": "01J9Z"}}
        await page.value(f"show({json.dumps({'type': 'tool_error', 'tool_name': 'get_book', 'error': error})})")
        said = await page.value("document.querySelector('#chat > :last-child').textContent")
        assert said == "get_book: An error occurred. (INTERNAL, error id 01J9Z)"


@pytest.mark.slow
async def test_the_page_draws_bars_and_lines(chat_url: str) -> None:
    async with browser.page() as page:
        await page.show(f"{chat_url}/", width=360)
        for chart, texts, marks in DRAWN:
            await page.value(f"show({json.dumps({'type': 'tool_display', 'envelope': chart})})")
            drawn = await page.value(
                """(() => {
                    const last = chat.lastElementChild, all = (name) => [...last.querySelectorAll(name)]
                    const sizes = all('rect').map(one => Math.round(one.getBoundingClientRect().width))
                    return [last.tagName, all('text').map(one => one.textContent), sizes, all('path[fill]').length]
                })()"""
            )
            assert drawn[:2] == ["FIGURE", texts]
            assert drawn[2:] == marks
            box = "chat.lastElementChild.querySelector('svg').getBoundingClientRect()"
            inside = "box => all.every(one => one.left >= box.left - 1 && one.right <= box.right + 1)"
            all_texts = "[...chat.lastElementChild.querySelectorAll('text')].map(one => one.getBoundingClientRect())"
            assert await page.value(f"(all => ({inside})({box}))({all_texts})")
            label = await page.value("chat.lastElementChild.querySelector('svg').getAttribute('aria-label')")
            assert label == chart["alt"]


STEPS = yaml.safe_load((EXAMPLES / "ci" / "xmcp.yml").read_text(encoding="utf-8"))["jobs"]["check"]["steps"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def run_action(given: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the last step of the action as GitHub does, in a folder, and without its installation."""
    assert given.keys() <= ACTION["inputs"].keys()
    inputs = {name: given.get(name, one.get("default", "")) for name, one in ACTION["inputs"].items()}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)

    install, step = ACTION["runs"]["steps"]
    assert "pip install" in install["run"]
    assert "${{" not in step["run"], "an input would be read as a part of the script"
    files = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_OUTPUT": str(folder / "outputs")}
    env = {**ENVIRONMENT, **files, **{name: filled(text) for name, text in step["env"].items()}}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 1)])
def test_the_workflow_passes_for_a_server_that_conforms_and_only_for_it(
    tmp_path: Path, broken: bool, code: int
) -> None:
    (used,) = [step for step in STEPS if step.get("uses", "").startswith("OWNER/xmcp@")]
    source = (EXAMPLES / "server.py").read_text(encoding="utf-8")
    fault = 'from fastmcp import FastMCP\n\nmcp = FastMCP("plain")\n'
    (tmp_path / "server.py").write_text(fault if broken else source, encoding="utf-8")
    done = run_action(used["with"], tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("CONFORMS" if code == 0 else "DOES NOT CONFORM") in (tmp_path / "summary.md").read_text().splitlines()[0]
    (kept,) = [step["with"]["path"] for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert (tmp_path / "outputs").read_text() == f"reports={kept}\n"
    assert json.loads((tmp_path / kept / "report.json").read_text())["exit_code"] == code
    assert {path.name for path in (tmp_path / kept).iterdir()} == {
        *("report.json", "report.html", "report.sarif", "report.xml", "badge.svg")
    }


PIP = """#!/bin/sh
case "$*" in
*"pip show"*) [ -s version ] && cat version || exit 1 ;;
*"pip install"*) printf 'Name: fastmcp\\nVersion: 4.1.7\\n' > version ;;
esac
"""


@pytest.mark.parametrize(("before", "warned"), [("", False), ("4.1.7", False), ("4.2.3", True)])
def test_the_action_says_where_it_put_another_fastmcp_in_the_place_of_the_server_s(
    tmp_path: Path, before: str, warned: bool
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(PIP)
    (tmp_path / "bin" / "python").chmod(0o755)
    (tmp_path / "version").write_text(f"Name: fastmcp\nVersion: {before}\n" if before else "")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", ACTION["runs"]["steps"][0]["run"]],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}:{ENVIRONMENT['PATH']}", "GITHUB_ACTION_PATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("::warning::XMCP needs FastMCP 4.1.7, and put it in the place of 4.2.3" in done.stdout) is warned


def test_options_in_several_lines_are_all_read() -> None:
    read = next(line for line in ACTION["runs"]["steps"][1]["run"].splitlines() if line.startswith("read "))
    script = f"{read}\nprintf '%s|' \"${{options[@]}}\""
    for given, words in (("--calls 1\n--require 100%\n", "--calls|1|--require|100%|"), ("", "|")):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            env={**ENVIRONMENT, "OPTIONS": given},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == words


@pytest.mark.slow
def test_no_input_of_the_action_is_read_as_a_part_of_its_script(tmp_path: Path) -> None:
    hostile = "$(touch injected) `touch injected`; touch injected"
    inputs = {"server": hostile, "options": f"--calls 2 {hostile}", "header": hostile}
    done = run_action(inputs, tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert not [*tmp_path.rglob("injected")]
