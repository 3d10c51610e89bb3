"""`SyncAIClient`: blocking, from any thread, and nothing is left running."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from xmcp import XMCP
from xmcp.client import AIClient, sync
from xmcp.client.sync import SyncAIClient
from xmcp.providers import ProviderError, ScriptedProvider, Turn

SECONDS = 10.0
Valid = Callable[[list[dict[str, Any]]], None]


class Peer:
    """A server with `add`, and `hang`, which says when it begins and when it was cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()
        self.calls = 0
        self.server = mcp = XMCP("peer")

        @mcp.tool
        def add(a: int, b: int) -> int:
            self.calls += 1
            return a + b

        @mcp.tool
        async def hang() -> str:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "never"


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread for thread in set(threading.enumerate()) - before if thread.name == "xmcp client"]
    assert left == []


def tasks(ai: SyncAIClient) -> int:
    """How many tasks there are in the background, once those that were about to end have ended."""

    async def count(_: AIClient) -> int:
        for _ in range(100):
            await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    return ai._await(count)


CALL_ADD = Turn("well,", [("add", {"a": 1, "b": 2})])
CALL_HANG = Turn("", [("hang", {})])


def client(*script: Turn | str, peer: Peer | None = None, **options: Any) -> SyncAIClient:
    return SyncAIClient([(peer or Peer()).server], llm_provider=ScriptedProvider(script), **options)


def test_a_script_chats_without_a_loop() -> None:
    with client(CALL_ADD, "three") as ai:
        result = ai.chat("q", [])
        assert result["answer"] == "three"
        assert [chunk.type for chunk in ai.stream_chat("q", [])][-1] == "done"
        assert {tool["function"]["name"] for tool in ai.tools} == {"add", "hang"}
        assert [server.name for server in ai.servers] == ["peer"]
        assert ai.refresh_tools().total == 2


async def test_a_notebook_cell_chats_while_its_own_loop_is_running() -> None:
    assert asyncio.get_running_loop().is_running()
    with client(CALL_ADD, "three") as ai:
        assert ai.chat("q", [])["answer"] == "three"
        assert [chunk.type for chunk in ai.stream_chat("q", [])][-1] == "done"


def test_a_stream_is_what_the_client_streams() -> None:
    async def streamed() -> list[str]:
        async with AIClient([Peer().server], llm_provider=ScriptedProvider([CALL_ADD, "three"])) as ai:
            return [chunk.type async for chunk in ai.stream_chat("q", [])]

    with client(CALL_ADD, "three") as ai:
        assert [chunk.type for chunk in ai.stream_chat("q", [])] == asyncio.run(streamed())


def test_twenty_threads_share_a_client() -> None:
    peer = Peer()
    with client(CALL_ADD, "three", peer=peer) as ai, ThreadPoolExecutor(20) as threads:
        together = threading.Barrier(20)

        def ask(number: int) -> list[Any]:
            together.wait(SECONDS)
            return [ai.chat(str(number), []), *ai.stream_chat(str(number), [])]

        for number, (result, *chunks) in enumerate(threads.map(ask, range(20), timeout=300)):
            assert result["history"][0]["content"] == str(number)
            assert chunks[-1].result["history"] == result["history"]
    assert peer.calls == 40


def test_breaking_out_of_a_stream_cancels_the_chat_and_leaves_nothing() -> None:
    peer = Peer()
    with client(CALL_HANG, peer=peer) as ai:
        idle = tasks(ai)
        for chunk in ai.stream_chat("q", []):
            if chunk.type == "tool_started":
                assert peer.begun.wait(SECONDS)
                break
        assert peer.cancelled.wait(SECONDS)
        assert tasks(ai) == idle


def test_a_call_that_was_announced_does_not_begin_before_the_loop_asks_for_more() -> None:
    peer = Peer()
    with client(CALL_ADD, peer=peer) as ai:
        for chunk in ai.stream_chat("q", []):
            if chunk.type == "tool_call":
                ai.refresh_tools()
                break
    assert peer.calls == 0


def test_a_forgotten_stream_is_ended_by_the_garbage_collector_in_whatever_thread() -> None:
    peer = Peer()
    gc.disable()
    try:
        with client(CALL_HANG, peer=peer) as ai:
            ring: list[Any] = [ai.stream_chat("q", [])]
            ring.append(ring)
            assert next(chunk for chunk in ring[0] if chunk.type == "tool_started")
            assert peer.begun.wait(SECONDS)
            del ring
            begun = time.monotonic()
            ai._call(lambda _: gc.collect())
            assert time.monotonic() - begun < SECONDS, "the background thread waited for itself"
            assert peer.cancelled.wait(SECONDS)
    finally:
        gc.enable()


def test_an_exception_comes_through_with_its_history(valid: Valid) -> None:
    with client(CALL_ADD) as ai:
        with pytest.raises(ProviderError) as caught:
            ai.chat("q", [])
        assert caught.value.history is not None
        valid(caught.value.history)
        assert len(caught.value.history) == 3
        with pytest.raises(ProviderError):
            list(ai.stream_chat("q", []))
        with pytest.raises(ValueError, match="need the history"):
            ai.chat("q")
        with pytest.raises(ValueError, match="need the history"):
            ai.stream_chat("q")


@pytest.mark.parametrize("how", ["chat", "stream_chat"])
def test_ctrl_c_in_the_calling_thread_cancels_the_chat(how: str) -> None:
    peer = Peer()

    def interrupt() -> None:
        peer.begun.wait(SECONDS)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    try:
        with client(CALL_HANG, peer=peer) as ai:
            idle = tasks(ai)
            other.start()
            with pytest.raises(KeyboardInterrupt):
                list(getattr(ai, how)("q", []))
            assert peer.cancelled.wait(SECONDS)
            assert tasks(ai) == idle
            assert ai.refresh_tools().total == 2
    finally:
        other.join(SECONDS)
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("how", ["chat", "stream_chat"])
def test_ctrl_c_as_soon_as_the_chat_was_begun_cancels_it_too(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, start = Peer(), sync._Running.start

    def interrupted(running: Any) -> None:
        start(running)
        if how == "chat":  # a stream makes its first step when it is asked for it
            assert peer.begun.wait(SECONDS)
        raise KeyboardInterrupt

    with client(CALL_HANG, peer=peer) as ai:
        idle = tasks(ai)
        with monkeypatch.context() as patch:
            patch.setattr(sync._Running, "start", interrupted)
            # What was caught holds the frames of the interrupted call, as a debugger does: nothing is left to the
            # garbage collector.
            with pytest.raises(KeyboardInterrupt) as caught:
                list(getattr(ai, how)("q", []))
        assert how != "chat" or peer.cancelled.wait(SECONDS)
        assert tasks(ai) == idle
        assert caught.traceback


def test_a_client_that_is_not_open_says_so() -> None:
    ai = client("yes")
    for use in (lambda: ai.chat("q", []), lambda: ai.stream_chat("q", []), lambda: ai.tools, ai.conversation):
        with pytest.raises(RuntimeError, match="inside `with SyncAIClient"):
            use()
    with ai:
        stream = ai.stream_chat("q", [])
        with pytest.raises(RuntimeError, match="in use"), ai:
            pass
    ai.close()
    with pytest.raises(RuntimeError, match="inside `with SyncAIClient"):
        ai.chat("q", [])
    with pytest.raises(RuntimeError, match="inside `with SyncAIClient"):
        next(stream)


def test_a_client_can_be_opened_again() -> None:
    ai = client("yes")
    for _ in range(2):
        with ai:
            assert ai.chat("q", [])["answer"] == "yes"


@pytest.mark.parametrize("how", ["chat", "stream_chat"])
def test_closing_ends_the_chats_of_other_threads(how: str) -> None:
    peer = Peer()
    with ThreadPoolExecutor(1) as threads:
        with client(CALL_HANG, peer=peer) as ai:
            chat = threads.submit(lambda: list(getattr(ai, how)("q", [])))
            assert peer.begun.wait(SECONDS)
        with pytest.raises(RuntimeError, match="closed while"):
            chat.result(SECONDS)
        assert peer.cancelled.wait(SECONDS)


def test_options_are_those_of_the_client() -> None:
    assert inspect.signature(SyncAIClient) == inspect.signature(AIClient)
    with pytest.raises(TypeError, match="max_turn"):
        SyncAIClient([], max_turn=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="max_turns"), client(max_turns=0):
        pass


def test_a_server_that_is_required_and_down_leaves_no_thread() -> None:
    ai = SyncAIClient(urls=["http://127.0.0.1:1"], llm_provider=ScriptedProvider([]), require_servers=True)
    with pytest.raises(Exception, match=r"127\.0\.0\.1"), ai:
        pass


def test_a_hook_that_waits_for_its_own_client_is_told_that_it_cannot() -> None:
    told: list[BaseException] = []

    def sink(usage: Any) -> None:
        try:
            ai.chat("again", [])
        except RuntimeError as exc:
            told.append(exc)

    with client("yes", usage_sink=sink) as ai:
        assert ai.chat("q", [])["answer"] == "yes"
    assert "background thread" in str(told[0])


def test_a_conversation_works_without_await(valid: Valid) -> None:
    peer = Peer()
    with client(CALL_ADD, "three", "four", CALL_HANG, "five", peer=peer) as ai:
        conversation = ai.conversation(session_id="s")
        assert conversation.chat("q").answer == "three"
        assert [chunk.text for chunk in conversation.stream_chat("r") if chunk.type == "llm_delta"] == ["four"]
        for chunk in conversation.stream_chat("s"):
            if chunk.type == "tool_started":
                break
        valid(conversation.history)
        resumed = ai.resume(conversation.snapshot())
        assert resumed.history == conversation.history
        assert resumed.chat("t").answer == "five"
        assert (resumed.usage["llm_calls"], len(conversation.traces)) == (5, 3)
        conversation.clear()
        assert conversation.history == []
        with contextlib.redirect_stdout(None):
            conversation.export_traces("/dev/null")
