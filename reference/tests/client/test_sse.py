"""A chat as server-sent events: whole messages, signs of life in between, no history, and nothing left when it ends."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from support import clock
from support.loop_lag import MIB, assert_never_blocked
from support.scripted_model import ScriptedModel, asks

from xmcp import XMCP
from xmcp.chat.errors import QuotaExceeded
from xmcp.client import AIClient, ChatChunk, Conversation, EventStream, SyncAIClient, ToolDisplay
from xmcp.providers import ProviderError
from xmcp.wire import DisplayEnvelope

KEEP_ALIVE = ": \n\n"
BREAKS = "a\nb\r\nc\rd\u2028e\u0085f\x0bg ü 日本 \ud83d event: x\n\ndata: y"
SENT = "a\nb\r\nc\rd\u2028e\u0085f\x0bg ü 日本 \ufffd event: x\n\ndata: y"

SHOW = asks(("show", {"show_user": True}), text=BREAKS)

Valid = Callable[[list[dict[str, Any]]], None]


def read(stream: str) -> list[tuple[str, str]]:
    """The types and data of a stream, by the algorithm of the standard; shares nothing with the product."""
    messages: list[tuple[str, str]] = []
    kind, data = "", list[str]()
    *lines, rest = re.split("\r\n|\r|\n", stream)
    assert rest == ""
    for line in lines:
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "" and data:
            messages.append((kind, "\n".join(data)))
        if line == "":
            kind, data = "", []
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        else:
            assert colon, "a line that is no field"
            assert name == "", "neither a comment nor a field that is used here"
    return messages


def events(texts: Iterable[str]) -> list[dict[str, Any]]:
    told = read("".join(texts))
    values = [json.loads(data) for _, data in told]
    assert [kind for kind, _ in told] == [value["type"] for value in values]
    return values


def peer() -> XMCP:
    server = XMCP("peer")

    @server.display_tool
    def show(show_user: bool = True) -> dict[str, Any]:
        return {"type": "text", "payload": BREAKS.replace("\ud83d", "")}

    return server


@asynccontextmanager
async def client(*answers: Any, **options: Any) -> AsyncIterator[AIClient]:
    async with asyncio.timeout(60), AIClient([peer()], llm_provider=ScriptedModel(*answers), **options) as ai:
        yield ai


def stream_of(ai: AIClient, of: str) -> EventStream:
    return ai.stream_chat("q", []) if of == "client" else Conversation(ai).stream_chat("q")


async def nothing_left(before: set[asyncio.Task[Any]]) -> None:
    """Wait until all tasks have ended that were not there before."""
    async with asyncio.timeout(10):
        while own := asyncio.all_tasks() - before:
            await asyncio.wait(own)


@pytest.mark.parametrize("of", ["client", "conversation"])
async def test_each_text_is_one_message_whose_data_is_the_event_as_one_line_of_json(of: str) -> None:
    async with client(SHOW) as ai:
        texts = [text async for text in stream_of(ai, of).sse()]
    assert all(len(read(text)) == 1 and text.endswith("\n\n") for text in texts)
    told = events(texts)
    kinds = [event["type"] for event in told]
    assert kinds == ["llm_delta", "usage", "tool_call", "tool_started", "tool_result", "tool_display", "done"]
    assert told[0] == {"type": "llm_delta", "turn": 1, "text": SENT}
    assert told[-1]["result"]["displays"][0]["payload"] == SENT.replace("\ufffd", "")
    assert texts[0].startswith("event: llm_delta\ndata: {")
    assert "ü 日本" in texts[0], "what needs no escape has none"


@pytest.mark.parametrize("whole", [False, True])
async def test_the_history_stays_here_unless_the_application_sends_it(whole: bool) -> None:
    async with client("yes", ProviderError("down", category="network")) as ai:
        system = {"role": "system", "content": "the secret of the house"}
        for kind in ("done", "failed"):
            stream = ai.stream_chat("q", [system])
            texts = [text async for text in stream.sse(history=whole)]
            last = events(texts)[-1]
            assert last["type"] == kind
            holder = last["result"] if kind == "done" else last
            assert ("secret" in "".join(texts)) is whole
            assert holder.get("history") == (stream.history if whole else None)


async def test_only_the_types_that_the_page_shows_are_sent() -> None:
    async with client("one ", "two") as ai:
        texts = [text async for text in ai.stream_chat("q", []).sse(types={"llm_delta", "done"})]
        assert [event["type"] for event in events(texts)] == ["llm_delta", "done"]
        assert [text async for text in ai.stream_chat("q", []).sse(types=())] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"types": {"llm_text"}}, "llm_delta"),
        ({"types": "done"}, "collection"),
        ({"keep_alive": 0}, "above 0"),
        ({"keep_alive": float("nan")}, "above 0"),
    ],
)
async def test_an_option_that_cannot_be_meant_is_refused_at_once(options: dict[str, Any], said: str) -> None:
    async with client() as ai:
        with pytest.raises(ValueError, match=said):
            ai.stream_chat("q", []).sse(**options)


async def test_a_large_display_holds_up_no_other_chat() -> None:
    rows = [{"region": "EMEA", "sales": number, "note": "x" * 60} for number in range(80_000)]
    large = ToolDisplay(turn=1, call_id="c0", tool_name="t", envelope=DisplayEnvelope(type="table", payload=rows))

    async def only_that() -> AsyncGenerator[ChatChunk, None]:
        yield large

    stream = EventStream()
    sizes = []

    async def work() -> None:
        stream.attach(only_that())
        sizes.append(sum([len(text) async for text in stream.sse()]))

    await assert_never_blocked(8 * MIB, work)
    assert sizes[0] > 7 * MIB


# -- failures ---------------------------------------------------------------------------------------------------------


class Strict:
    def before_tool(self, state: Any) -> None:
        raise QuotaExceeded(tenant_id="acme", quota="calls")


@pytest.mark.parametrize("of", ["client", "conversation"])
@pytest.mark.parametrize(
    ("answer", "code"),
    [(ProviderError("down", category="network"), "UPSTREAM_UNAVAILABLE"), (asks("show"), "QUOTA_EXCEEDED")],
)
async def test_a_failure_that_the_reader_was_told_of_is_no_exception(of: str, answer: Any, code: str) -> None:
    async with client(answer, middleware=[Strict()]) as ai:
        last = events([text async for text in stream_of(ai, of).sse()])[-1]
    assert (last["type"], last["error"]["code"]) == ("failed", code)


async def test_a_failure_that_the_reader_was_not_told_of_is_raised() -> None:
    async with client(ProviderError("down", category="network")) as ai:
        with pytest.raises(ProviderError, match="down"):
            _ = [text async for text in ai.stream_chat("q", []).sse(types={"llm_delta"})]


async def test_the_person_reads_no_address_of_a_model() -> None:
    down = ProviderError("The model at http://10.0.0.7/v1 cannot be reached: check LOCAL_KEY.", category="network")
    provider = ScriptedModel(down, down)
    async with AIClient([], llm_provider=provider, fallback_models=["m-2"]) as ai:
        texts = [text async for text in ai.stream_chat("q", []).sse()]
    told = [event["error"]["message"] for event in events(texts) if event["type"] in ("retry", "failed")]
    assert told == [down.ui_message()] * len(told)
    assert {"retry", "failed"} <= {event["type"] for event in events(texts)}
    assert "10.0.0.7" not in "".join(texts)


async def test_what_nobody_foresaw_is_told_without_its_words_and_raised_for_the_log() -> None:
    class Broken:
        def before_llm(self, state: Any) -> None:
            raise KeyError("the secret of the house")

    async with client("yes", middleware=[Broken()]) as ai:
        stream = ai.stream_chat("q", []).sse()
        texts = [await anext(stream)]
        with pytest.raises(KeyError):
            await to_the_end(stream)
    assert events(texts)[-1]["error"]["code"] == "INTERNAL"
    assert "secret" not in "".join(texts)


async def test_a_chat_that_was_refused_sends_nothing_and_raises() -> None:
    async with client("yes") as ai:
        history = [{"role": "assistant", "tool_calls": [{"id": "c0"}]}]
        with pytest.raises(ValueError, match="history"):
            _ = [text async for text in ai.stream_chat("q", history).sse()]


# -- signs of life ----------------------------------------------------------------------------------------------------


async def slow(*_: object) -> str:
    await asyncio.sleep(100)
    return "yes"


@pytest.mark.parametrize(("keep_alive", "comments"), [(15.0, 6), (40.0, 2), (None, 0)])
def test_a_comment_is_sent_while_nothing_happens_and_the_step_of_the_chat_goes_on(
    keep_alive: float | None, comments: int
) -> None:
    async def main() -> list[str]:
        async with AIClient([], llm_provider=ScriptedModel(slow)) as ai:
            return [text async for text in ai.stream_chat("q", []).sse(keep_alive=keep_alive)]

    texts = clock.run(main())
    assert texts[:comments] == [KEEP_ALIVE] * comments
    assert [event["type"] for event in events(texts)] == ["llm_delta", "usage", "done"]
    assert KEEP_ALIVE not in texts[comments:]


def test_events_that_are_not_sent_are_no_sign_of_life() -> None:
    async def dribbling(_: object) -> AsyncIterator[str]:
        for _ in range(10):
            await asyncio.sleep(10)
            yield "word "

    async def main() -> list[str]:
        async with AIClient([], llm_provider=ScriptedModel(dribbling)) as ai:
            return [text async for text in ai.stream_chat("q", []).sse(types={"done", "failed"})]

    *comments, last = clock.run(main())
    assert comments == [KEEP_ALIVE] * 6
    assert len(read(last)) == 1


def test_the_chat_takes_a_step_only_when_it_is_asked_for() -> None:
    said: list[str] = []

    async def talking(_: object) -> AsyncIterator[str]:
        for word in ("one", "two", "three"):
            await asyncio.sleep(25)
            said.append(word)
            yield word

    async def main() -> None:
        async with (
            AIClient([], llm_provider=ScriptedModel(talking)) as ai,
            aclosing(ai.stream_chat("q", []).sse(keep_alive=10)) as texts,
        ):
            for words in (["one"], ["one", "two"]):
                assert [await anext(texts) for _ in range(2)] == [KEEP_ALIVE] * 2
                assert words[-1] in await anext(texts)
                await asyncio.sleep(1000)
                assert said == words

    clock.run(main())


# -- leaving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["client", "conversation"])
@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("closed", "at a message"),
        ("closed", "at a comment"),
        ("dropped", "at a message"),
        ("dropped", "at a comment"),
        ("cancelled", "while it waits"),
    ],
)
async def test_leaving_ends_the_chat_and_leaves_nothing(of: str, how: str, where: str, valid: Valid) -> None:
    ended = asyncio.Event()

    async def hanging(_: object) -> AsyncIterator[str]:
        try:
            yield "Well, "
            await clock.never()
        finally:
            ended.set()

    async with client(hanging, "on") as ai:
        before = asyncio.all_tasks()
        conversation = Conversation(ai)
        stream: EventStream | None = ai.stream_chat("q", []) if of == "client" else conversation.stream_chat("q")
        assert stream is not None
        texts: Any = stream.sse(keep_alive=0.01)
        stream = None
        assert "Well, " in await anext(texts)
        if where == "at a comment":
            assert await anext(texts) == KEEP_ALIVE
        if how == "cancelled":
            waiting = asyncio.create_task(to_the_end(texts))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.wait({waiting})
            assert waiting.cancelled()
        elif how == "closed":
            await texts.aclose()
            assert ended.is_set()
        texts = None
        await ended.wait()
        if of == "conversation":
            assert (await conversation.chat("next")).answer == "on"
            assert [one["content"] for one in conversation.history] == ["q", "Well, ", "next", "on"]
            valid(conversation.history)
        await nothing_left(before)


async def to_the_end(texts: AsyncIterator[str]) -> None:
    async for _ in texts:
        pass


async def test_the_next_chat_of_a_conversation_waits_for_the_end_of_a_dropped_one() -> None:
    async with client([*"ab", clock.never], "on") as ai:
        conversation = Conversation(ai)
        async for _ in conversation.stream_chat("q").sse():
            break
        assert (await conversation.chat("next")).answer == "on"


def test_messages_that_are_read_keep_their_conversation_and_history_busy() -> None:
    async def main() -> float:
        async with AIClient([], llm_provider=ScriptedModel(["a", clock.never], ["b", clock.never])) as ai:
            conversation, history = Conversation(ai), list[dict[str, Any]]()
            async with (
                aclosing(conversation.stream_chat("q").sse()) as first,
                aclosing(ai.stream_chat("q", history).sse()) as second,
            ):
                await anext(first)
                await anext(second)
                begun = asyncio.get_running_loop().time()
                with pytest.raises(RuntimeError, match="is running"):
                    await conversation.chat("next")
                with pytest.raises(RuntimeError, match="in use by another"):
                    await ai.chat("next", history)
                return asyncio.get_running_loop().time() - begun

    assert clock.run(main()) == 0.0, "it waited for the end of a stream that it took for a dropped one"


# -- without await ----------------------------------------------------------------------------------------------------


def test_a_chat_without_await_has_messages_too() -> None:
    with SyncAIClient([peer()], llm_provider=ScriptedModel(SHOW, ["a", clock.never])) as ai:
        told = events(ai.stream_chat("q", []).sse(types={"llm_delta", "done"}))
        assert [event["type"] for event in told] == ["llm_delta", "done"]
        assert told[0]["text"] == SENT
        conversation = ai.conversation()
        for text in conversation.stream_chat("q").sse(keep_alive=0.01):
            if text == KEEP_ALIVE:
                break
        assert [one["content"] for one in conversation.history] == ["q", "a"]
        stream = conversation.stream_chat("next")
        assert next(stream).type == "llm_delta"
        stream.close()
        assert list(stream) == []
