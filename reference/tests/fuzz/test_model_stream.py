"""Whatever a model vendor answers, a chat has an answer or a `ProviderError`: stream, whole answer, error body."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
from hypothesis import example, given
from hypothesis import strategies as st
from support.chats import chat
from support.fuzzing import SECONDS, as_bytes, damaged, damaged_bytes, fuzzing
from support.scripted_model import Replies
from support.scripted_server import ScriptedServer
from support.silence import Silence

from xmcp.chat.events import Done
from xmcp.chat.messages import begin
from xmcp.client.hooks.log import EventLog
from xmcp.providers import OpenAIProvider, ProviderError

CALL = ("c1", "look", '{"where": "here"}')

STREAM = [
    json.loads(piece.removeprefix(b"data: "))
    for piece in Replies.streamed("Let me see.", [CALL, ("c2", "look", "{}")]).pieces
    if isinstance(piece, bytes) and b"[DONE]" not in piece
]
WHOLE = [
    json.loads(b"".join(piece for piece in reply.pieces if isinstance(piece, bytes)))
    for reply in (Replies.whole("Hello"), Replies.whole("Let me see.", [CALL]))
]
ERROR = {"error": {"message": "quota", "type": "insufficient_quota", "param": None, "code": "429"}}

Answer = tuple[int, str, bytes, int]
"""Status, content type, body, and the size of the pieces that the body arrives in."""


def events(chunks: list[Any], *, done: bool) -> bytes:
    """Return the chunks as a stream of events."""
    return b"".join(b"data: " + as_bytes(chunk) + b"\n\n" for chunk in chunks) + (b"data: [DONE]\n\n" if done else b"")


STREAMS = st.builds(lambda chunks, done: events(chunks, done=done), damaged(st.just(STREAM)), st.booleans())
WHOLES = damaged(st.sampled_from(WHOLE)).map(as_bytes)
ERRORS = damaged(st.just(ERROR)).map(as_bytes)
ANSWERS = st.one_of(
    st.tuples(st.just(200), st.just("text/event-stream"), STREAMS, st.sampled_from([7, 10**6])),
    st.tuples(st.just(200), st.just("application/json"), WHOLES, st.just(10**6)),
    st.tuples(st.sampled_from([400, 401, 429, 500]), st.just("application/json"), ERRORS, st.just(10**6)),
    st.tuples(
        st.just(200),
        st.sampled_from(["text/event-stream", "application/json", "text/html"]),
        damaged_bytes(st.sampled_from([events(STREAM, done=True), *map(as_bytes, WHOLE)])),
        st.just(5),
    ),
)


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def outcome(answer: Answer) -> Any:
    """Return how a chat ends whose model answers once with `answer`, and then with `Hello`."""
    left = [answer]

    def answered(_: httpx2.Request) -> httpx2.Response:
        status, kind, body, size = left.pop() if left else (200, "application/json", as_bytes(WHOLE[0]), 10**6)
        return httpx2.Response(status, headers={"content-type": kind}, content=in_pieces(body, size))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answered)) as http:
        sdk = openai.AsyncOpenAI(api_key="sk-secret", base_url="http://model/v1", http_client=http, max_retries=0)
        server, silence = ScriptedServer({"look": "a tree"}), Silence()
        running = chat(OpenAIProvider(client=sdk), server, settings={"max_turns": 2}, log=EventLog(silence))
        try:
            async with asyncio.timeout(SECONDS):
                events = [event async for event in running.run()]
        except ProviderError as error:
            return error
        finally:
            assert not silence.crashes, silence.crashes[0]
        done = events[-1]
        assert isinstance(done, Done)
        for event in events:
            json.dumps(event.to_json())
        begin(done.result["history"], "go on")  # a history that another chat accepts
        return done.result


def wrong(**delta: Any) -> Answer:
    return 200, "text/event-stream", events([{"choices": [{"delta": delta}]}], done=True), 10**6


@given(ANSWERS)
@example(wrong(tool_calls=[{"index": 0, "id": "c", "function": {"name": 7, "arguments": "{}"}}]))
@example((200, "text/event-stream", events([{"choices": [{"delta": {}, "finish_reason": {}}]}], done=True), 9))
@fuzzing(150)
def test_whatever_a_vendor_answers_a_chat_ends_with_a_result_or_a_provider_error(answer: Answer) -> None:
    asyncio.run(outcome(answer))
