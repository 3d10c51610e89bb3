"""Thirteen known ways in which clients fail, one numbered test for each, with real peers and transports.

They were found in a comparison of existing clients. Further faults are in test_real_faults.py.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
from typing import Any

import fastmcp
import pytest

from xmcp.providers import ProviderError

pytestmark = pytest.mark.usefixtures("nothing_left")

ERAS = ["modern", "legacy"]
_numbers = itertools.count()


def call(name: str, /, **arguments: Any) -> tuple[str, str, str]:
    return f"call_{next(_numbers)}", name, json.dumps(arguments)


def speaking(url: str, era: str) -> Any:
    """A target for a URL whose connection speaks the protocol of an era."""
    return url if era == "modern" else fastmcp.Client(url, mode="legacy")


def codes(told: Any) -> list[str | None]:
    return [response.error and response.error.code for response in told.seen]


# 1. Dead server at connect (1 of 2): in all six clients the whole setup fails.
async def test_1_a_dead_server_at_connect_is_left_out_and_named_and_the_other_one_works(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    async with asyncio.timeout(300), peers.http_host() as nobody:
        dead = f"{nobody.url}/mcp"
        async with ai_for([dead, program.url()]) as ai:
            told = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("three")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("three", "stop")
    assert [response.llm_output for response in told.seen] == ["3"]
    (warning,) = [chunk.text for chunk in told.chunks if chunk.type == "warning"]
    assert dead in warning


# 2. Server gone during use: some raise, two have the host task cancelled.
@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_2_a_server_that_dies_during_a_call_is_an_error_for_the_model_and_the_chat_goes_on(
    peers: Any, program: Any, witness: Any, chat_server: Any, ai_for: Any, talk: Any, era: str
) -> None:
    doomed = peers.Program()
    await asyncio.to_thread(doomed.listen)
    reply = chat_server.reply.streamed
    script = [
        reply(calls=[call("doomed__hang", port=witness.port), call("steady__add", a=1, b=2)]),
        reply(calls=[call("doomed__add", a=1, b=2), call("steady__add", a=3, b=4)]),
        reply("One server is down."),
    ]
    async with asyncio.timeout(300), ai_for({"doomed": speaking(doomed.url(), era), "steady": program.url()}) as ai:
        chat = asyncio.create_task(talk(ai, script))
        await witness.began.wait()
        doomed.kill()
        told = await chat
    assert (told.result["answer"], told.result["stop_reason"]) == ("One server is down.", "stop")
    assert codes(told) == ["CONNECTION_FAILED", None, "CONNECTION_FAILED", None]
    assert [response.llm_output for response in told.seen if response.error is None] == ["3", "7"]
    lost, away = told.seen[0].error, told.seen[2].error
    assert "doomed" in lost.message
    assert (lost.retryable, away.retryable) == (True, True)
    # Nobody knows how far the first call came; the second never left.
    assert (lost.meta["side_effects"], away.meta["side_effects"]) == ("unknown", "none")
    assert not chat.cancelling()


# 3. Server restart: legacy clients report "Session terminated" forever.
@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_3_a_server_that_restarts_is_found_again(
    peers: Any, chat_server: Any, ai_for: Any, talk: Any, era: str
) -> None:
    old, new = peers.Program(), peers.Program()
    reply = chat_server.reply.streamed
    try:
        async with peers.http_host() as place:  # nobody else gets the port in between
            await asyncio.to_thread(old.listen, place.port)
            async with asyncio.timeout(300), ai_for([speaking(old.url(), era)]) as ai:
                before = await talk(ai, [reply(calls=[call("pid")]), reply("a")])
                old.kill()
                await asyncio.to_thread(new.listen, place.port)
                after = await talk(ai, [reply(calls=[call("pid")]), reply(calls=[call("pid")]), reply("b")])
    finally:
        new.kill()
    assert (codes(before), after.result["answer"]) == ([None], "b")
    # A stateless connection does not notice. One with a session may learn of its end from the first call.
    assert codes(after)[0] in ((None,) if era == "modern" else (None, "CONNECTION_FAILED"))
    assert after.seen[1].llm_output not in (None, before.seen[0].llm_output)


# 4. Endless tool loop: all raise; the turns done are lost.
async def test_4_an_endless_tool_loop_ends_at_the_limit_with_all_its_turns_in_the_history(
    program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    async with ai_for([program.url()], max_turns=5) as ai:
        told = await talk(ai, [reply(calls=[call("add", a=n, b=n)]) for n in range(5)])
        assert (told.result["answer"], told.result["stop_reason"]) == (None, "max_turns")
        assert [response.llm_output for response in told.seen] == ["0", "2", "4", "6", "8"]
        again = await talk(ai, [reply("Enough.")], history=told.result["history"])
    assert again.result["answer"] == "Enough."
    assert chat_server.requests[-1]["messages"][: len(told.result["history"])] == told.result["history"]


# 5. Malformed JSON arguments: three end the chat silently, one calls the tool with `{}`.
@pytest.mark.parametrize("arguments", ['{"a": 1, "b', "a=1, b=2", "[1, 2]", "\x00", '{"a": 1, "b": NaN}'])
async def test_5_malformed_arguments_are_explained_to_the_model_and_no_server_is_called(
    line: Any, chat_server: Any, ai_for: Any, talk: Any, arguments: str
) -> None:
    reply = chat_server.reply.streamed
    broken, mended = ("call_x", "add", arguments), call("add", a=1, b=2)
    async with ai_for([line.url()]) as ai:
        told = await talk(ai, [reply(calls=[broken]), reply(calls=[mended]), reply("three")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("three", "stop")
    assert codes(told) == ["VALIDATION_FAIL", None]
    assert "JSON" in told.seen[0].error.message
    assert told.seen[1].llm_output == "3"
    assert line.methods.count("tools/call") == 1


# 6. Unknown tool: one raises.
async def test_6_an_unknown_tool_is_an_error_that_lists_the_tools_there_are(
    line: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    async with ai_for([line.url()]) as ai:
        told = await talk(ai, [reply(calls=[call("ad", a=1, b=2)]), reply(calls=[call("add", a=1, b=2)]), reply("ok")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("ok", "stop")
    assert codes(told) == ["UNKNOWN_TOOL", None]
    assert {"add", "look", "pid"} <= {*told.seen[0].error.meta["params"]["names"]}
    assert "add" in told.seen[0].error.message
    assert line.methods.count("tools/call") == 1


# 7. Tool raises, 3 parallel calls, one fails: one puts the stack trace into the model's context.
async def test_7_one_of_three_parallel_calls_fails_and_the_order_is_kept_and_nothing_of_the_inside_is_told(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    calls = [call("greet", name="Ann"), call("crash"), call("greet", name="Bob")]
    async with ai_for([program.url("crashing")]) as ai:
        told = await talk(ai, [reply(calls=calls), reply("Ann and Bob.")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("Ann and Bob.", "stop")
    ids = [message["tool_call_id"] for message in told.result["history"] if message["role"] == "tool"]
    assert ids == [id_ for id_, _, _ in calls]
    assert [response.llm_output for response in told.seen] == ["hello Ann", None, "hello Bob"]
    error = told.seen[1].error
    assert (error.code, error.retryable) == ("INTERNAL", False)
    assert error.meta["error_id"]
    sent = b"".join(chat_server.bodies).decode()
    for inside in (peers.MARK, "Traceback", '.py\\"', "RuntimeError", os.path.dirname(peers.HERE)):
        assert inside not in sent


# 8. LLM 500 or 429 once: all recover. For ever: all raise after 3 requests.
@pytest.mark.parametrize("status", [500, 429])
async def test_8_a_model_that_fails_once_costs_nothing_but_a_moment(
    program: Any, chat_server: Any, ai_for: Any, talk: Any, status: int
) -> None:
    reply, error = chat_server.reply.streamed, chat_server.reply.error(status, "busy")
    async with ai_for([program.url()]) as ai:
        told = await talk(ai, [error, reply(calls=[call("add", a=1, b=2)]), error, reply("three")])
    assert (told.result["answer"], told.result["stop_reason"]) == ("three", "stop")
    assert (codes(told), told.result["usage"]["llm_calls"]) == ([None], 2)


@pytest.mark.parametrize(("status", "category"), [(500, "network"), (429, "rate_limit")])
async def test_8_a_model_that_fails_for_ever_raises_with_a_history_to_go_on_from(
    program: Any, chat_server: Any, ai_for: Any, talk: Any, valid: Any, status: int, category: str
) -> None:
    reply, error = chat_server.reply.streamed, chat_server.reply.error(status, "busy")
    chat_server.replies = [reply(calls=[call("add", a=1, b=2)]), error]
    async with asyncio.timeout(300), ai_for([program.url()]) as ai:
        with pytest.raises(ProviderError) as caught:
            await ai.chat("q", [])
        failed = caught.value
        assert (failed.category, failed.status) == (category, status)
        assert len(chat_server.requests) == 4
        assert failed.history is not None
        valid(failed.history)
        assert [message["role"] for message in failed.history] == ["user", "assistant", "tool"]
        told = await talk(ai, [reply("three")], history=failed.history)
    assert told.result["answer"] == "three"
    assert told.result["history"][:3] == failed.history


# 9. Cancel during a tool call: two leave it running.
@pytest.mark.parametrize("wire", [*ERAS, "stdio"])
async def test_9_a_chat_cancelled_during_a_tool_call_cancels_the_tool_at_its_server(
    peers: Any, program: Any, witness: Any, chat_server: Any, ai_for: Any, talk: Any, valid: Any, wire: str
) -> None:
    target = peers.stdio_command() if wire == "stdio" else speaking(program.url(), wire)
    reply = chat_server.reply.streamed
    chat_server.replies = [reply("Wait.", calls=[call("nonsense"), call("hang", port=witness.port)])]
    handed: list[Any] = []
    history: list[Any] = []
    async with asyncio.timeout(300), ai_for([target], on_error=lambda _, at: handed.append(at)) as ai:
        running = asyncio.all_tasks()
        chat = asyncio.create_task(ai.chat("q", history))
        await witness.began.wait()
        chat.cancel()
        with pytest.raises(asyncio.CancelledError):
            await chat
        assert await witness.ended == "cancelled"
        left = {task for task in asyncio.all_tasks() - running if not peers.is_peers_task(task)}
        if left:  # the SDK's own, which ends when the server has let go
            assert not (await asyncio.wait(left, timeout=5))[1]
        # The connection did not suffer.
        told = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("three")])
    assert (codes(told), told.result["answer"]) == ([None], "three")
    assert history == []
    assert len(handed) == 1
    valid(handed[0])


# 10. New tool at run time: only one offers it.
async def test_10_a_tool_that_is_new_at_run_time_is_offered_after_a_refresh_and_a_removed_one_is_not(
    peers: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    async with asyncio.timeout(300), ai_for([peers.stdio_command()]) as ai:
        await talk(ai, [reply(calls=[call("grow", name="sprout"), call("prune", name="look")]), reply("done")])
        changes = await ai.refresh_tools()
        assert ([*changes.added], [*changes.removed], [*changes.changed]) == (["sprout"], ["look"], [])
        calls = [call("sprout"), call("look")]
        told = await talk(ai, [reply(calls=calls), reply("fruit")])
        offered = [tool["function"]["name"] for tool in chat_server.requests[-1]["tools"]]
        assert changes.total == len(offered)
        nothing_new = await ai.refresh_tools()
    assert ("sprout" in offered, "look" in offered) == (True, False)
    assert (codes(told), told.seen[0].llm_output) == ([None, "UNKNOWN_TOOL"], "sprout bears fruit")
    assert told.result["answer"] == "fruit"
    assert [*nothing_new.added, *nothing_new.removed, *nothing_new.changed] == []


# 11. 5 MB tool result: all six send 5 000 000 characters to the model.
@pytest.mark.slow
@pytest.mark.parametrize("wire", [*ERAS, "stdio"])
async def test_11_of_five_megabytes_the_model_gets_what_fits_the_application_all_and_the_chat_goes_on(
    peers: Any, program: Any, chat_server: Any, ai_for: Any, talk: Any, wire: str
) -> None:
    size = 5_000_000
    target = peers.stdio_command() if wire == "stdio" else speaking(program.url(), wire)
    reply = chat_server.reply.streamed
    script = [reply(calls=[call("large", size=size)]), reply(calls=[call("add", a=1, b=2)]), reply("done")]
    async with asyncio.timeout(300), ai_for([target]) as ai:
        told = await talk(ai, script, seconds=20)
    assert (told.result["answer"], told.result["stop_reason"]) == ("done", "stop")
    assert codes(told) == [None, None]
    (whole, _) = [chunk.response for chunk in told.chunks if chunk.type == "tool_result"]
    assert whole.llm_output == peers.DIGITS * (size // len(peers.DIGITS))
    # The beginning, a note of how much is missing, the end.
    budget = 512 * 1024
    seen = told.seen[0].llm_output
    head, note, tail = re.split(r"\n(\[.*\])\n", seen)
    assert whole.llm_output.startswith(head)
    assert whole.llm_output.endswith(tail)
    assert (min(len(head), len(tail)) > 1000, len(head) + len(tail)) == (True, budget)
    assert f"{size - budget} bytes" in note
    assert 'truncated="true"' in told.texts[0]
    assert len(told.texts[0].encode()) < budget + 1000
    assert max(map(len, chat_server.bodies)) < budget + 20_000
    assert told.seen[1].llm_output == "3"


# 12. Privacy: telemetry with query and response is on by default, traces are exported, price lists are fetched.
@pytest.mark.slow
async def test_12_no_address_is_contacted_but_the_model_and_the_servers_that_were_given(
    peers: Any, program: Any, chat_server: Any
) -> None:
    reply = chat_server.reply.streamed
    calls = [call("near__add", a=1, b=2), call("far__add", a=3, b=4)]
    chat_server.replies = [reply(calls=calls), reply("done")]
    watched = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WATCHED,
        json.dumps([chat_server.url, program.url(), peers.stdio_command()]),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(300):
        output, _ = await watched.communicate()
    assert watched.returncode == 0
    *events, answer = [json.loads(text) for text in output.splitlines()]
    assert answer == ["answer", "done", ["3", "7"]]
    model_port = int(chat_server.url.split(":")[2].split("/")[0])
    connected = {tuple(event[1]) for event in events if event[0] == "socket.connect"}
    assert connected == {("127.0.0.1", model_port), ("127.0.0.1", program.port)}
    looked_up = {event[1] for event in events if event[0] == "socket.getaddrinfo"}
    assert looked_up <= {"127.0.0.1"}
    assert {event[0] for event in events} <= {"socket.connect", "socket.getaddrinfo", "subprocess.Popen"}
    # Python's own `platform` asks for the processor that way.
    started = [event[1] for event in events if event[0] == "subprocess.Popen"]
    assert [words for words in started if words != ["uname", "-p"]] == [peers.stdio_command()]


WATCHED = """
import json, os, sys

NAMES = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto",
         "socket.sendmsg", "subprocess.Popen", "os.system", "os.posix_spawn", "urllib.Request", "webbrowser.open"}

def tell(*words):
    os.write(1, (json.dumps(words, default=str) + "\\\\n").encode())

def hook(name, args):
    if name in NAMES:
        unix = name == "socket.connect" and not isinstance(args[1], tuple)
        tell("unix" if unix else name, args[1] if name in ("socket.connect", "subprocess.Popen") else args[0])

sys.addaudithook(hook)

import asyncio
from xmcp import AIClient, ToolResponse

async def main(model, far, near):
    async with AIClient({"far": far, "near": near}, openai_api_key="k", openai_base_url=model) as ai:
        result = await ai.chat("q", [])
    tools = [ToolResponse.from_xml(m["content"]).llm_output for m in result["history"] if m["role"] == "tool"]
    return "answer", result["answer"], tools

answer = asyncio.run(main(*json.loads(sys.argv[1])))
import atexit
atexit.register(lambda: tell(*answer))
""".replace("\\\\", "\\")
"""Runs a chat and says which addresses, names and programs the process asks for, from its first import to its end."""


# 13. A raw HTTP client without retry met one stale keep-alive connection.
async def test_13_a_connection_that_the_server_closed_while_it_was_idle_costs_no_call(
    line: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        first = await talk(ai, [reply(calls=[call("add", a=1, b=2)]), reply("a")])
        assert await line.close_idle() == 1
        second = await talk(ai, [reply(calls=[call("add", a=3, b=4)]), reply("b")])
    assert (codes(first), codes(second)) == ([None], [None])
    assert second.seen[0].llm_output == "7"
    assert line.methods.count("tools/call") == 2


async def test_13_a_call_that_changes_nothing_is_repeated_when_its_connection_ends_without_a_byte(
    peers: Any, line: Any, chat_server: Any, ai_for: Any, talk: Any
) -> None:
    reply = chat_server.reply.streamed
    line.faults.append(peers.nothing_at_all)
    async with asyncio.timeout(300), ai_for([line.url()]) as ai:
        told = await talk(ai, [reply(calls=[call("look")]), reply("seen")])
    assert (codes(told), told.seen[0].llm_output) == ([None], "seen")
    assert line.methods.count("tools/call") == 2
    assert line.reused[line.methods.index("tools/call")]
