"""The program of the guide "A chat in a web page": over HTTP, and in a browser."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from support import browser, mcp_servers
from support.example_programs import EXAMPLES, MARKUP, SERVE, events_in, program, shows
from support.http_host import hosted
from support.scripted_model import ChatServer, Reply

TABLE = {"region": "EMEA", "show_user": True}


@pytest.fixture
async def url(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The program, with a scripted model and the server of displays."""
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("MCP_SERVER", SERVE)
    async with hosted(program(EXAMPLES / "web_stream" / "app.py").app) as place:
        yield place


async def told(url: str, question: str) -> tuple[httpx2.Response, list[dict[str, Any]]]:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/ask", json={"page": "p1", "question": question})
    return answer, events_in(answer.text)


async def test_the_program_streams_what_the_page_shows_and_remembers_the_conversation(
    chat_server: ChatServer, url: str
) -> None:
    chat_server.replies = [shows(chat_server, "sales_table", **TABLE), chat_server.reply.streamed("It was 42 in May.")]
    answer, events = await told(url, "Show me EMEA.")
    names = ("content-type", "cache-control", "x-accel-buffering")
    assert [answer.headers[name] for name in names] == ["text/event-stream", "no-cache", "no"]
    kinds = [event["type"] for event in events if event["type"] != "llm_delta"]
    assert kinds == ["tool_call", "tool_started", "tool_result", "tool_display", "done"]
    assert events[-1]["result"]["displays"][0]["type"] == "table"
    assert "history" not in events[-1]["result"]
    _, events = await told(url, "And May?")
    assert "".join(event["text"] for event in events if event["type"] == "llm_delta") == "It was 42 in May."
    asked = chat_server.requests[-1]["messages"]
    assert [message["content"] for message in asked if message["role"] == "user"] == ["Show me EMEA.", "And May?"]


async def test_a_failure_ends_the_stream_as_any_other_and_says_no_secret(chat_server: ChatServer, url: str) -> None:
    chat_server.replies = [chat_server.reply.error(401, "sk-secret")]
    answer, events = await told(url, "Hello?")
    assert [event["type"] for event in events] == ["failed"]
    assert "sk-secret" not in answer.text


async def test_a_reader_that_leaves_ends_the_chat_at_the_model(chat_server: ChatServer, url: str) -> None:
    endless = chat_server.reply.streamed("It was long ago.")
    endless.pieces.insert(2, asyncio.Event())
    chat_server.replies = [endless, chat_server.reply.streamed("Yes.")]
    async with httpx2.AsyncClient() as client:
        asking = {"page": "p1", "question": "Tell me a story."}
        async with client.stream("POST", f"{url}/ask", json=asking) as answer:
            first = await anext(answer.aiter_lines())
    assert first == "event: llm_delta"
    async with asyncio.timeout(20):
        await chat_server.left.wait()
    _, events = await told(url, "Go on?")
    assert events[-1]["result"]["answer"] == "Yes."


async def test_a_second_question_while_a_chat_runs_is_refused_in_words_and_disturbs_nothing(
    chat_server: ChatServer, url: str
) -> None:
    gate, slow = asyncio.Event(), chat_server.reply.streamed("It was long ago.")
    slow.pieces.insert(2, gate)
    chat_server.replies = [slow, chat_server.reply.streamed("Yes.")]
    async with httpx2.AsyncClient() as client:
        asking = {"page": "p1", "question": "Tell me a story."}
        async with client.stream("POST", f"{url}/ask", json=asking) as answer:
            lines = answer.aiter_lines()
            await anext(lines)
            refused, events = await told(url, "Go on?")
            assert (refused.status_code, events) == (409, [])
            assert refused.text == "The last question is still being answered: wait, or stop it."
            gate.set()
            rest = [line async for line in lines]
    assert "event: done" in rest
    answer, events = await told(url, "Go on?")
    assert events[-1]["result"]["answer"] == "Yes."
    asked = [message["content"] for message in chat_server.requests[-1]["messages"] if message["role"] == "user"]
    assert asked == ["Tell me a story.", "Go on?"]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, '{"page": "p", "question": "q"}', 415),
        ({"Host": "evil.example", "Content-Type": "application/json"}, '{"page": "p", "question": "q"}', 400),
        ({"Content-Type": "application/json"}, "Hel", 400),
        ({"Content-Type": "application/json"}, "[]", 400),
        ({"Content-Type": "application/json"}, "{}", 400),
    ],
)
async def test_other_sites_and_what_is_no_question_are_refused(
    headers: dict[str, str], body: str, status: int, url: str
) -> None:
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/ask", content=body, headers=headers)
        assert answer.status_code == status
        assert (await client.get(f"{url}/app.py")).status_code == 404


async def ask(page: browser.Page, question: str) -> None:
    """Ask as soon as the answer before is complete."""
    await page.until("!document.querySelector('#ask').disabled")
    await page.value(f"document.querySelector('#question').value = {json.dumps(question)}")
    await page.value("document.querySelector('#ask').click()")


LAST = "document.querySelector('#chat').lastElementChild?.textContent"
DISPLAY = "[...document.querySelectorAll('xmcp-display')].at(-1)?.shadowRoot"


@pytest.mark.slow
async def test_the_page_shows_text_as_it_grows_the_tool_at_work_and_its_display_and_runs_nothing(
    chat_server: ChatServer, url: str
) -> None:
    gate, asking = asyncio.Event(), shows(chat_server, "sales_table", **TABLE)
    asking.pieces.insert(2, gate)
    chat_server.replies = [asking, shows(chat_server, "remind", text=MARKUP, show_user=True)]
    chat_server.replies += [shows(chat_server, "sales_table", region="MARS"), chat_server.reply.streamed(MARKUP)]
    async with browser.page() as page:
        await page.show(f"{url}/")
        await ask(page, "Show me EMEA.")
        await page.until("document.querySelector('#chat p')?.textContent === 'Her'")
        gate.set()
        await page.until(f"{DISPLAY}?.querySelectorAll('tr').length === 4")
        assert await page.value("document.querySelector('summary').textContent") == "sales_table: done"
        assert "May" in await page.value("document.querySelector('details pre').textContent")
        cells = await page.value(f"[...{DISPLAY}.querySelectorAll('.title, th, td')].map(one => one.textContent)")
        assert cells[:3] == ["Units sold in EMEA", "month", "Units sold"]
        assert cells[-2:] == ["2026-05", "42"]
        await ask(page, "Remind me.")
        await page.until(f"{DISPLAY}?.querySelector('.notification .words')?.textContent === {json.dumps(MARKUP)}")
        await ask(page, "Write markup.")
        await page.until(f"{LAST} === {json.dumps(MARKUP)} && document.querySelectorAll('h2').length === 3")
        failed = await page.value("[...document.querySelectorAll('summary')].at(-1).textContent")
        assert failed.startswith("sales_table: ")
        assert "region" in failed
        assert await page.value("[document.title, document.querySelectorAll('img').length]") == ["Chat", 0]


@pytest.mark.slow
async def test_the_page_shows_how_far_a_tool_is_and_what_the_model_thinks_folded(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def thinks(reply: Reply, *thoughts: str) -> Reply:
        reply.pieces[1:1] = [chat_server.reply.delta(reasoning_content=thought) for thought in thoughts]
        return reply

    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("MCP_SERVER", " ".join(mcp_servers.stdio_command("fragile")))
    broken = thinks(chat_server.reply.streamed("It i"), "An old idea.")
    broken.pieces[4:] = [None]
    chat_server.replies = [
        broken,
        thinks(shows(chat_server, "count", to=3, seconds=1), "They want ", MARKUP),
        thinks(chat_server.reply.streamed("Done."), "Three it is."),
    ]
    async with hosted(program(EXAMPLES / "web_stream" / "app.py").app) as url, browser.page() as page:
        await page.show(f"{url}/")
        await page.value(
            "window.seen = []; new MutationObserver(() => seen.push(...[...document.querySelectorAll('summary')]"
            ".map(one => one.textContent))).observe(document.querySelector('#chat'), {childList: true, subtree: true})"
        )
        await ask(page, "Count.")
        await page.until(f"{LAST} === 'Done.'")
        seen = await page.value("seen")
        assert [one for one in seen if re.fullmatch(r"count: \d+ % step \d", one)]
        assert "count: 100 % step 3" in seen
        lines = await page.value("[...document.querySelectorAll('summary')].map(one => one.textContent)")
        assert lines == ["thinks …", "count: done", "thinks …"]
        thoughts = await page.value("[...document.querySelectorAll('pre')].map(one => one.textContent)")
        assert [thoughts[0], thoughts[-1]] == [f"They want {MARKUP}", "Three it is."]
        assert await page.value("document.querySelector('details').open") is False
        assert await page.value("[document.title, document.querySelectorAll('img').length]") == ["Chat", 0]


@pytest.mark.slow
async def test_stop_ends_the_chat_and_the_conversation_goes_on(chat_server: ChatServer, url: str) -> None:
    endless = chat_server.reply.streamed("It was long ago.")
    endless.pieces.insert(2, asyncio.Event())
    chat_server.replies = [endless, chat_server.reply.streamed("Yes."), chat_server.reply.error(401, "no key")]
    async with browser.page() as page:
        await page.show(f"{url}/")
        await ask(page, "Tell me a story.")
        await page.until("document.querySelector('#chat p')?.textContent === 'It was l'")
        await page.value("document.querySelector('#stop').click()")
        await page.until(f"{LAST} === '(stopped)'")
        await ask(page, "Go on?")
        await page.until(f"{LAST} === 'Yes.'")
        told = [message["content"] for message in chat_server.requests[-1]["messages"]]
        assert told == ["Tell me a story.", "It was l", "Go on?"]
        await ask(page, "And then?")
        await page.until(f"{LAST}.startsWith('The chat cannot go on: ')")


SMALL_WORDS = "[...document.querySelectorAll('main > *')].map(one => one.shadowRoot ? one.localName : one.textContent)"


async def ask_small(page: browser.Page, question: str) -> None:
    await page.value(f"document.querySelector('input').value = {json.dumps(question)}")
    await page.value("document.querySelector('button').click()")


@pytest.mark.slow
async def test_the_page_of_forty_lines_shows_text_a_table_and_a_chart(chat_server: ChatServer, url: str) -> None:
    chat_server.replies = [
        shows(chat_server, "sales_table", **TABLE),
        shows(chat_server, "sales_chart", show_user=True),
    ]
    chat_server.replies += [chat_server.reply.streamed(MARKUP)]
    files = [EXAMPLES / "web_stream" / "page" / name for name in ("small.html", "small.js")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 40
    async with browser.page() as page:
        await page.show(f"{url}/small.html")
        await ask_small(page, "Show me EMEA.")
        await page.until(f"{DISPLAY}?.querySelectorAll('tr').length === 4")
        await ask_small(page, "And all regions?")
        await page.until(f"{DISPLAY}?.querySelector('svg[role=img]')")
        await ask_small(page, "Write markup.")
        await page.until(f"document.querySelector('main').lastElementChild.textContent === {json.dumps(MARKUP)}")
        words = await page.value(SMALL_WORDS)
        assert words[:4] == ["Show me EMEA.", "Here: ", "sales_table has answered", "xmcp-display"]
        assert words[4:8] == ["And all regions?", "Here: ", "sales_chart has answered", "xmcp-display"]
        legend = await page.value(f"[...{DISPLAY}.querySelectorAll('.legend li')].map(one => one.textContent)")
        assert legend == ["APAC", "EMEA"]


@pytest.mark.slow
async def test_the_page_of_forty_lines_drops_what_is_void_and_says_what_is_refused(
    chat_server: ChatServer, url: str
) -> None:
    broken, gate = chat_server.reply.streamed("It was long ago."), asyncio.Event()
    broken.pieces[2:] = [None]
    slow = chat_server.reply.streamed("It is now.")
    slow.pieces.insert(2, gate)
    chat_server.replies = [broken, slow]
    async with browser.page() as page:
        await page.show(f"{url}/small.html")
        await ask_small(page, "When?")
        await page.until(f"{SMALL_WORDS}.at(-1) === 'It is'")
        await ask_small(page, "Well?")
        await page.until(f"{SMALL_WORDS}.length === 4")
        gate.set()
        await page.until(f"{SMALL_WORDS}[1] === 'It is now.'")
        refused = "The last question is still being answered: wait, or stop it."
        assert await page.value(SMALL_WORDS) == ["When?", "It is now.", "Well?", refused]


@pytest.mark.slow
async def test_the_page_of_forty_lines_shows_how_far_a_tool_is(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("MCP_SERVER", " ".join(mcp_servers.stdio_command("fragile")))
    chat_server.replies = [shows(chat_server, "count", to=3, seconds=1), chat_server.reply.streamed("Done.")]
    async with hosted(program(EXAMPLES / "web_stream" / "app.py").app) as url, browser.page() as page:
        await page.show(f"{url}/small.html")
        await page.value(
            "window.seen = []; new MutationObserver(() => seen.push(...[...document.querySelectorAll('main p')]"
            ".map(one => one.textContent))).observe(document.querySelector('main'), {childList: true, subtree: true})"
        )
        await ask_small(page, "Count.")
        await page.until("document.querySelector('main').lastElementChild?.textContent === 'Done.'")
        assert {"count is called …", "count is at 3 of 3", "count has answered"} <= set(await page.value("seen"))
