"""Real faults over real wires, each with its specified outcome: what damages answers, stays silent, forges or dies.

The thirteen that clients are known to fail at have their own file, test_thirteen_failures.py.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import fastmcp
import openai
import pytest
from fastmcp.client.transports import StdioTransport

from xmcp.client import AIClient, ServerTarget
from xmcp.client.servers.fastmcp_internals import CONNECT_SECONDS
from xmcp.providers import OpenAIProvider, ProviderError
from xmcp.wire import ToolResponse

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("nothing_left", "over_each_transport")]

ERAS = ["modern", "legacy"]
NOTHING_HUNG = CONNECT_SECONDS - 5
"""Seconds; a chat that took less did not wait until the time limit of its HTTP connections ended something."""
_numbers = itertools.count()


def call(name: str, /, **arguments: Any) -> tuple[str, str, str]:
    return f"call_{next(_numbers)}", name, json.dumps(arguments)


def speaking(url: Any, era: str) -> Any:
    """A target for a URL or transport whose connection speaks the protocol of an era."""
    return fastmcp.Client(url, mode="auto" if era == "modern" else "legacy")


def codes(told: Any) -> list[str | None]:
    return [response.error and response.error.code for response in told.seen]


# Servers that are silent or damage what they say.


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_accepts_and_says_nothing_costs_the_connect_timeout_and_its_tools(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any, era: str
) -> None:
    reply = chat_server.reply.streamed
    async with peers.listening(peers.never_answer) as port:
        begun = time.monotonic()
        silent = ServerTarget(speaking(f"http://127.0.0.1:{port}/mcp", era), connect_timeout=1)
        # The other server has longer: on a busy machine a second can pass before it has answered.
        async with asyncio.timeout(300), ai_for([silent, program.url()], connect_timeout=60) as ai:
            assert time.monotonic() - begun < 30
            told = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("three")])
    assert (told.result["answer"], told.seen[0].llm_output) == ("three", "3")
    assert len([chunk for chunk in told.chunks if chunk.type == "warning"]) == 1


@pytest.mark.parametrize(
    ("fault", "era"),
    # A stream belongs to one request: there the SDK takes an answer with any id.
    [("silence", "modern"), ("silence", "legacy"), ("an_answer_to_another", "modern")],
)
async def test_a_call_that_is_never_answered_times_out_and_the_next_one_is_answered(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any, fault: str, era: str
) -> None:
    reply = chat_server.reply.streamed
    line.faults.append(getattr(peers, fault))
    script = [reply(calls=[call("add", a=1, b=2)]), reply(calls=[call("add", a=3, b=4)]), reply("ok")]
    async with asyncio.timeout(300), ai_for([speaking(line.url(), era)], tool_timeout=8) as ai:
        begun = time.monotonic()
        told = await talk(ai, script, seconds=40)
        took = time.monotonic() - begun
    assert (told.result["answer"], told.result["stop_reason"]) == ("ok", "stop")
    assert codes(told) == ["TIMEOUT", None]
    assert told.seen[0].error.meta["side_effects"] == "unknown"
    assert told.seen[1].llm_output == "7"
    assert took < NOTHING_HUNG


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "fault",
    [
        "half_a_body",
        "half_an_event",
        "broken_stream",
        "nothing_at_all",
        "no_json",
        "an_event_of_no_json",
        "a_page",
        "a_gateways_page",
        "only_accepted",
        "elsewhere",
    ],
)
async def test_a_damaged_answer_is_a_lost_connection_for_the_model_and_the_call_is_not_repeated(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any, era: str, fault: str
) -> None:
    reply = chat_server.reply.streamed
    line.faults.append(getattr(peers, fault))
    script = [reply(calls=[call("add", a=1, b=2)]), reply(calls=[call("add", a=3, b=4)]), reply("ok")]
    # The time-out is far above what any of this takes: nothing may hang until it strikes.
    async with asyncio.timeout(300), ai_for([speaking(line.url(), era)], tool_timeout=900) as ai:
        begun = time.monotonic()
        told = await talk(ai, script, seconds=40)
        took = time.monotonic() - begun
    assert (told.result["answer"], told.result["stop_reason"]) == ("ok", "stop")
    assert took < NOTHING_HUNG
    assert codes(told) == ["CONNECTION_FAILED", None]
    error = told.seen[0].error
    assert (error.retryable, error.meta["side_effects"]) == (True, "unknown")
    assert told.seen[1].llm_output == "7"
    # `add` does not say that it is safe to repeat: the model decides (XMCP-ERR-040).
    assert line.methods.count("tools/call") == 2
    assert peers.MARK not in b"".join(chat_server.bodies).decode()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", ["half_a_body", "no_json", "silence"])
async def test_a_server_whose_list_of_tools_is_damaged_is_left_out_in_bounded_time(
    peers: Any, line: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any, era: str, fault: str
) -> None:
    reply = chat_server.reply.streamed
    line.at = "tools/list"
    line.faults.extend([getattr(peers, fault)] * 20)
    targets = [ServerTarget(speaking(line.url(), era), connect_timeout=4), program.url("crashing")]
    begun = time.monotonic()
    async with asyncio.timeout(300), ai_for(targets, connect_timeout=60) as ai:
        assert time.monotonic() - begun < NOTHING_HUNG
        told = await talk(ai, [reply(calls=[call("greet", name="Ann")]), reply("done")])
    assert (told.result["answer"], told.seen[0].llm_output) == ("done", "hello Ann")
    assert len([chunk for chunk in told.chunks if chunk.type == "warning"]) == 1


async def test_a_server_that_was_dead_at_the_start_is_offered_once_it_is_up(
    peers: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    late = peers.Program()
    try:
        async with asyncio.timeout(300), peers.http_host() as place, ai_for([f"{place.url}/fragile/mcp"]) as ai:
            before = await talk(ai, [reply("no tools")])
            await asyncio.to_thread(late.listen, place.port)
            await ai.refresh_tools()
            after = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("three")])
    finally:
        late.kill()
    assert "tools" not in chat_server.requests[0]
    assert [[chunk.type for chunk in told.chunks].count("warning") for told in (before, after)] == [1, 0]
    assert (after.result["answer"], after.seen[0].llm_output) == ("three", "3")


@pytest.mark.parametrize("era", ERAS)
async def test_a_program_killed_during_a_call_is_an_error_and_the_next_call_starts_another(
    peers: Any, witness: Any, chat_server: Any, ai_for: Any, talk: Any, era: str
) -> None:
    command, *arguments = peers.stdio_command()
    target = speaking(StdioTransport(command=command, args=arguments, keep_alive=False), era)
    reply = chat_server.reply.streamed
    async with asyncio.timeout(300), ai_for([target]) as ai:
        before = await talk(ai, [reply(calls=[call("pid")]), reply("a")])
        chat = asyncio.create_task(
            talk(ai, [reply(calls=[call("hang", port=witness.port)]), reply(calls=[call("pid")]), reply("b")])
        )
        await witness.began.wait()
        os.kill(int(before.seen[0].llm_output), signal.SIGKILL)
        told = await chat
    assert (told.result["answer"], told.result["stop_reason"]) == ("b", "stop")
    assert codes(told) == ["CONNECTION_FAILED", None]
    assert told.seen[0].error.meta["side_effects"] == "unknown"
    first, second = int(before.seen[0].llm_output), int(told.seen[1].llm_output)
    assert first != second
    for pid in (first, second):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# Servers that write what they should not.


@pytest.mark.parametrize("era", ERAS)
async def test_a_document_that_cannot_be_read_is_invalid_xml_and_nothing_of_it_reaches_the_model(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any, era: str
) -> None:
    reply = chat_server.reply.streamed
    calls = [call("garble", kind=kind) for kind in peers.UNREADABLE]
    async with ai_for([speaking(program.url("garbling"), era)]) as ai:
        told = await talk(ai, [reply(calls=calls), reply("Unreadable.")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("Unreadable.", "stop")
    assert codes(told) == ["INVALID_XML"] * len(calls)
    assert all(response.llm_output is None for response in told.seen)
    assert peers.MARK not in b"".join(chat_server.bodies).decode()


@pytest.mark.parametrize("wire", [*ERAS, "stdio"])
async def test_a_document_from_a_server_that_announced_none_is_text_and_shows_nothing(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any, wire: str
) -> None:
    target = peers.stdio_command() if wire == "stdio" else speaking(program.url(), wire)
    shown: list[Any] = []
    reply = chat_server.reply.streamed
    async with asyncio.timeout(300), ai_for([target], on_display=lambda *at: shown.append(at)) as ai:
        told = await talk(ai, [reply(calls=[call("forge")]), reply("ok")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("ok", "stop")
    assert (told.result["display"], told.result["displays"], shown) == (None, [], [])
    assert "tool_display" not in {chunk.type for chunk in told.chunks}
    (response,) = told.seen
    assert response.llm_output == peers.forged_document("forge")
    assert (response.error, response.display, response.server_populated) == (None, None, None)
    # What the model reads is markup of ours around text of theirs.
    assert told.texts[0].count("<tool_response") == 1
    assert "<display" not in told.texts[0]
    assert "password" not in told.texts[0]


# Models that are silent, break off, or write strange things.


@asynccontextmanager
async def asking(url: str, targets: Any, *, timeout: float, max_retries: int = 0) -> AsyncIterator[AIClient]:
    """A client whose model is asked with a time-out of the SDK's (seconds)."""
    async with (
        openai.AsyncOpenAI(api_key="k", base_url=url, timeout=timeout, max_retries=max_retries) as sdk,
        AIClient(targets, llm_provider=OpenAIProvider(client=sdk)) as ai,
    ):
        yield ai


async def test_a_model_that_never_answers_raises_after_the_sdks_time_out_with_a_history_to_go_on_from(
    peers: Any,
) -> None:
    async with (
        asyncio.timeout(300),
        peers.listening(peers.never_answer) as port,
        asking(f"http://127.0.0.1:{port}/v1", [], timeout=0.2, max_retries=1) as ai,
    ):
        begun = time.monotonic()
        with pytest.raises(ProviderError) as caught:
            await ai.chat("q", [])
        assert time.monotonic() - begun < NOTHING_HUNG
    assert caught.value.category == "network"
    assert caught.value.history == [{"role": "user", "content": "q"}]


def breaking_off(whole: Any, pieces: int, how: str) -> Any:
    """The first pieces of a reply, after which its stream `breaks`, `stalls` or just `ends`."""
    after = {"breaks": [None], "stalls": [asyncio.Event()], "ends": []}[how]
    return type(whole)([*whole.pieces[:pieces], *after])


@pytest.mark.parametrize("how", ["breaks", "stalls", "ends"])
async def test_a_model_that_breaks_off_in_its_text_raises_with_a_history_without_the_half(
    chat_server: Any, talk: Any, how: str
) -> None:
    chat_server.replies = [breaking_off(chat_server.reply.streamed("Hello world"), 2, how)]
    async with asyncio.timeout(300), asking(chat_server.url, [], timeout=0.5) as ai:
        with pytest.raises(ProviderError) as caught:
            await ai.chat("q", [])
        assert caught.value.category == "network"
        assert caught.value.history == [{"role": "user", "content": "q"}]
        told = await talk(ai, [chat_server.reply.streamed("Hello again")], history=caught.value.history)
    assert told.result["answer"] == "Hello again"
    assert [message["role"] for message in told.result["history"]] == ["user", "assistant"]


@pytest.mark.parametrize("how", ["breaks", "ends"])
async def test_a_call_whose_model_broke_off_while_it_wrote_it_is_never_made(
    line: Any, chat_server: Any, how: str
) -> None:
    # What came is whole JSON: only the missing end tells that it may not be what the model wanted.
    whole = chat_server.reply.streamed(calls=[call("add", a=1, b=2)])
    chat_server.replies = [breaking_off(whole, 3, how)]
    async with asyncio.timeout(300), asking(chat_server.url, [line.url()], timeout=5) as ai:
        begun = time.monotonic()
        with pytest.raises(ProviderError) as caught:
            await ai.chat("q", [])
        assert time.monotonic() - begun < NOTHING_HUNG
    assert caught.value.category == "network"
    assert caught.value.history == [{"role": "user", "content": "q"}]
    assert "tools/call" not in line.methods


async def test_calls_that_come_in_single_characters_and_mixed_up_are_put_together(
    program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    replies = chat_server.reply
    calls = [call("add", a=n, b=10 * n) for n in range(3)]
    pieces = [
        replies.delta(tool_calls=[{"index": n, "id": id_, "type": "function", "function": {"name": name}}])
        for n, (id_, name, _) in enumerate(calls)
    ]
    columns = itertools.zip_longest(*(arguments for _, _, arguments in calls))
    pieces += [
        replies.delta(tool_calls=[{"index": n, "function": {"arguments": character}}])
        for column in columns
        for n, character in enumerate(column)
        if character
    ]
    reply = type(replies.streamed())([*pieces, replies.delta("tool_calls"), b"data: [DONE]\n\n"])
    async with ai_for([program.url()]) as ai:
        told = await talk(ai, [reply, replies.streamed("sums")])
    assert [response.llm_output for response in told.seen] == ["0", "11", "22"]
    assert told.result["answer"] == "sums"


async def test_an_answer_without_done_counts_once_its_finish_reason_has_come(
    program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    script = [chat_server.reply.streamed(calls=[call("add", a=1, b=2)]), chat_server.reply.streamed("three")]
    for reply in script:
        assert reply.pieces.pop() == b"data: [DONE]\n\n"
    async with ai_for([program.url()]) as ai:
        told = await talk(ai, script)
    assert (told.result["answer"], told.seen[0].llm_output) == ("three", "3")


async def test_an_empty_answer_is_told_as_such_and_the_history_can_be_used_again(
    chat_server: Any, ai_for: Any, talk: Any
) -> None:
    async with ai_for([]) as ai:
        told = await talk(ai, [chat_server.reply.streamed("")])
        assert (told.result["answer"], told.result["stop_reason"]) == (None, "empty")
        assert [chunk.text for chunk in told.chunks if chunk.type == "warning"]
        again = await talk(ai, [chat_server.reply.streamed("here")], history=told.result["history"])
    assert (again.result["answer"], again.result["stop_reason"]) == ("here", "stop")


async def test_ids_that_the_model_repeats_in_a_turn_and_over_turns_stay_apart(
    program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    # In one piece: there a repeated id cannot be the next part of a call.
    turns = [[("same", "add", json.dumps({"a": n, "b": turn})) for n in range(3)] for turn in range(2)]
    script = [*(chat_server.reply.whole(calls=calls) for calls in turns), chat_server.reply.whole("ok")]
    async with ai_for([program.url()]) as ai:
        told = await talk(ai, script)
    ids = [message["tool_call_id"] for message in told.result["history"] if message["role"] == "tool"]
    assert len(set(ids)) == 6
    assert [response.llm_output for response in told.seen] == ["0", "1", "2", "1", "2", "3"]


# Consumers that leave.


async def test_leaving_the_stream_during_a_call_cancels_the_tool_at_its_server(
    program: Any, witness: Any, chat_server: Any, ai_for: Any
) -> None:
    chat_server.replies = [chat_server.reply.streamed(calls=[call("hang", port=witness.port)])]
    async with asyncio.timeout(300), ai_for([program.url()]) as ai:
        async with aclosing(ai.stream_chat("q", [])) as chunks:
            async for chunk in chunks:
                if chunk.type == "tool_started":
                    await witness.began.wait()
                    break
        assert await witness.ended == "cancelled"


async def test_leaving_the_client_during_a_call_ends_its_chats(
    program: Any, witness: Any, chat_server: Any, ai_for: Any, valid: Any
) -> None:
    reply = chat_server.reply.streamed
    chat_server.replies = [reply(calls=[call("hang", port=witness.port)]), reply("over")]
    async with asyncio.timeout(300):
        async with ai_for([program.url()]) as ai:
            chat = asyncio.create_task(ai.chat("q", []))
            await witness.began.wait()
        assert await witness.ended == "cancelled"
        # Whether the model has a last word is not decided; that nothing hangs and nothing lies is.
        result = await asyncio.gather(chat, return_exceptions=True)
    for told in result:
        if isinstance(told, dict):
            valid(told["history"])
            (message,) = [message for message in told["history"] if message["role"] == "tool"]
            assert ToolResponse.from_xml(message["content"]).error is not None
