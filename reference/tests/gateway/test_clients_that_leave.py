"""Clients that leave, come back, repeat a request, or take nothing of what is sent to them."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from support.clock import never
from support.gateways import Served, chunks_in, events_in, served, types_in, until
from support.scripted_model import ScriptedModel, asks
from support.stuck_reader import stuck_reader

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.gateway.encoders.native import NativeEncoder
from xmcp.gateway.http.chats import MAX_READERS
from xmcp.gateway.http.event_stream import PIECE_BYTES, EventStream
from xmcp.gateway.runs.request import Caller
from xmcp.providers import Completion

SSE = {"accept": "text/event-stream"}
SOON = {"runs": {"client_gone_seconds": 0.2}}
ASK: dict[str, Any] = {"model": "assistant", "messages": [{"role": "user", "content": "go"}]}


async def run_that_began(gateway: Served) -> Any:
    """Return the run, once a tool waits in it."""
    async with asyncio.timeout(10):
        await gateway.shop.began.wait()
    (run,) = gateway.gateway.runs.running
    return run


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_is_gone_has_its_run_cancelled_with_its_tool_after_the_grace(stream: bool) -> None:
    model = ScriptedModel(asks("wait"))
    async with served(model, SOON) as gateway:
        async with gateway.http() as http:
            asking = asyncio.create_task(http.post("/v1/chat/completions", json={**ASK, "stream": stream}))
            run = await run_that_began(gateway)
            asking.cancel()
            await asyncio.wait({asking})
        async with asyncio.timeout(10):
            await gateway.shop.stopped.wait()
            await run.over()
    assert run.state.status == "cancelled"
    assert len(model.requests) == 1


async def test_a_client_that_is_gone_stops_the_model() -> None:
    left = asyncio.Event()

    async def hang() -> None:
        try:
            await never()
        finally:
            left.set()

    async with served(ScriptedModel(["a", hang]), SOON) as gateway:
        async with gateway.http() as http, http.stream("POST", "/chat", json={"input": "x"}, headers=SSE) as answer:
            async for _ in answer.aiter_text():
                break
        async with asyncio.timeout(10):
            await left.wait()


async def test_a_client_that_comes_back_within_the_grace_keeps_its_run() -> None:
    go_on = asyncio.Event()

    async def pause() -> None:
        await go_on.wait()

    model = ScriptedModel(["one ", pause, "two", Completion("one two")])
    async with served(model, {"runs": {"client_gone_seconds": 0.5}}) as gateway, gateway.http() as http:
        async with http.stream("POST", "/chat", json={"input": "x"}, headers=SSE) as answer:
            run_id = answer.headers["xmcp-run-id"]
        back = asyncio.create_task(http.get(f"/runs/{run_id}/events"))
        await asyncio.sleep(1.0)
        go_on.set()
        assert types_in((await back).text)[-1] == "run.finished"


async def test_a_repetition_that_says_so_joins_the_run_and_calls_no_tool_again() -> None:
    """As openai-python does after a time-out: the same body, without an Idempotency-Key, with a count."""
    model = ScriptedModel(asks("wait"), "never asked")
    async with served(model) as gateway:
        hurried = gateway.openai(timeout=1.0, max_retries=1)
        with pytest.raises(openai.APITimeoutError):
            await hurried.chat.completions.create(**ASK)
        assert gateway.shop.calls == ["wait"]
        (run,) = gateway.gateway.runs.running
        run.cancel("caller")
    assert len(model.requests) == 1


async def test_a_repetition_gets_the_answer_of_the_run_that_it_joins() -> None:
    go_on = asyncio.Event()

    async def pause() -> None:
        await go_on.wait()

    model = ScriptedModel(["It is ", pause, "done.", Completion("It is done.")])
    retry = {"x-stainless-retry-count": "1"}
    async with served(model) as gateway, gateway.http() as http:
        first = asyncio.create_task(http.post("/v1/chat/completions", json=ASK))
        await model.asked.wait()
        second = asyncio.create_task(http.post("/v1/chat/completions", json=ASK, headers=retry))
        await asyncio.sleep(0.1)
        go_on.set()
        one, other = await first, await second
        later = await http.post("/v1/chat/completions", json=ASK, headers=retry)
    assert len(model.requests) == 1
    assert one.json() == other.json() == later.json()
    assert "xmcp-replayed" not in one.headers
    assert other.headers["xmcp-replayed"] == later.headers["xmcp-replayed"] == "true"


async def test_equal_requests_at_the_same_moment_have_runs_of_their_own() -> None:
    model = ScriptedModel(then="hi")
    async with served(model) as gateway, gateway.http() as http:
        answers = await asyncio.gather(*(http.post("/chat", json={"input": "x"}) for _ in range(40)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == len(model.requests) == 40


async def test_an_equal_request_that_is_no_repetition_has_a_run_of_its_own() -> None:
    async with served(ScriptedModel("one", "two")) as gateway, gateway.http() as http:
        texts = [
            (await http.post("/v1/chat/completions", json=ASK)).json()["choices"][0]["message"]["content"]
            for _ in range(2)
        ]
    assert texts == ["one", "two"]


async def test_an_equal_request_joins_a_run_whose_client_has_left() -> None:
    """As the AI SDK repeats: without any mark."""
    model = ScriptedModel(asks("wait"), "never asked")
    async with served(model) as gateway, gateway.http() as http:
        first = asyncio.create_task(http.post("/v1/chat/completions", json=ASK))
        run = await run_that_began(gateway)
        first.cancel()
        await asyncio.wait({first})
        await until(lambda: run.is_alone)
        second = asyncio.create_task(http.post("/v1/chat/completions", json={**ASK}))
        await until(lambda: not run.is_alone)
        run.cancel("caller")
        assert (await second).status_code == 499
    assert len(model.requests) == 1


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_failure_after_a_tool_is_repeated_unless_it_was_read_in_a_stream(streamed: bool) -> None:
    """The AI SDK repeats a request without any mark after an error status; after a stream it is a person who does."""
    failure = ProviderError("down", category=ErrorCategory.NETWORK, provider="p")
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), failure, "better")
    asked = {**ASK, "stream": streamed}
    async with served(model) as gateway, gateway.http() as http:
        first = await http.post("/v1/chat/completions", json=asked)
        again = await http.post("/v1/chat/completions", json=asked)
        marked = await http.post("/v1/chat/completions", json=asked, headers={"x-stainless-retry-count": "1"})
    assert first.status_code == (200 if streamed else 503)
    assert ("better" in again.text) is streamed
    assert (again.headers.get("xmcp-replayed") == "true") is not streamed
    assert marked.headers["xmcp-replayed"] == "true"
    assert gateway.shop.calls == ["add"]


async def test_an_equal_request_of_another_conversation_joins_no_run() -> None:
    body = {"model": "assistant", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    async with served(ScriptedModel(["Hel", never], "Hello")) as gateway, gateway.http() as http:

        def of(chat: str) -> Any:
            return http.stream("POST", "/v1/chat/completions", json=body, headers={"x-openwebui-chat-id": chat})

        async with of("one"):
            run = gateway.gateway.runs.running[0]
        await until(lambda: run.is_alone)
        async with of("two") as other:
            assert other.headers["xmcp-run-id"] != run.id
        async with of("one") as again:
            assert again.headers["xmcp-run-id"] == run.id
            run.cancel("caller")


async def test_equal_requests_with_keys_of_their_own_are_meant_twice() -> None:
    async with served(ScriptedModel("one", "two")) as gateway, gateway.http() as http:
        asked = [{"idempotency-key": "order-1"}, {"idempotency-key": "order-2", "x-stainless-retry-count": "1"}]
        first, second = [await http.post("/chat", json={"input": "a"}, headers=headers) for headers in asked]
        again = await http.post("/chat", json={"input": "a"}, headers=asked[0])
    assert (first.json()["answer"], second.json()["answer"], again.json()["answer"]) == ("one", "two", "one")


async def test_an_idempotency_key_runs_once_and_refuses_another_body() -> None:
    key = {"idempotency-key": "order-7"}
    model = ScriptedModel("one", "two")
    async with served(model) as gateway, gateway.http() as http:
        first = await http.post("/chat", json={"input": "a"}, headers=key)
        again = await http.post("/chat", json={"input": "a"}, headers=key)
        streamed = await http.post("/chat", json={"input": "a"}, headers={**key, **SSE})
        other = await http.post("/chat", json={"input": "b"}, headers=key)
        empty = await http.post("/chat", json={"input": "b"}, headers={"idempotency-key": "k" * 256})
    assert first.json()["run_id"] == again.json()["run_id"]
    assert events_in(streamed.text)[-1][2]["answer"] == "one"
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert (empty.status_code, empty.json()["error"]["code"]) == (400, "invalid_idempotency_key")
    assert len(model.requests) == 1


async def test_a_failure_before_any_tool_is_tried_again_and_one_after_a_tool_is_not() -> None:
    refused = ProviderError("busy", category=ErrorCategory.RATE_LIMIT, provider="p")
    async with served(ScriptedModel(refused, "now")) as gateway:
        completion = await gateway.openai(max_retries=1).chat.completions.create(**ASK)
    assert completion.choices[0].message.content == "now"
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), refused, then="not again")
    async with served(model) as gateway:
        with pytest.raises(openai.RateLimitError):
            await gateway.openai(max_retries=2).chat.completions.create(**ASK)
        async with gateway.http() as http:
            again = await http.post("/v1/chat/completions", json=ASK, headers={"x-stainless-retry-count": "1"})
    assert gateway.shop.calls == ["add"]
    assert again.status_code == 429
    assert again.headers["x-should-retry"] == "false"


async def test_a_reader_that_takes_nothing_is_dropped_and_the_run_goes_on() -> None:
    piece = "x" * 65_536

    async def pause() -> None:
        await asyncio.sleep(0.005)

    pieces = [one for _ in range(100) for one in (piece, pause)]
    model = ScriptedModel([*pieces, Completion(piece * 100)])
    async with served(model) as gateway, stuck_reader(gateway.url) as stuck:
        await model.asked.wait()
        (run,) = gateway.gateway.runs.running
        await until(lambda: not gateway.server.server_state.connections)
        assert not run.ended
        await run.over()
        assert run.state.status == "finished"
        assert len(run.state.text) == 100 * 65_536
        # What had been sent can still be read; it does not end as a whole response does.
        received = b""
        while data := await asyncio.get_running_loop().sock_recv(stuck, 1_000_000):
            received += data
        assert received.startswith(b"HTTP/1.1 200")
        assert not received.endswith(b"0\r\n\r\n")


async def test_a_reader_that_takes_nothing_is_dropped_after_a_time_also_if_little_waits() -> None:
    async def pause() -> None:
        await asyncio.sleep(1.5)

    large = "x" * 8_000_000
    model = ScriptedModel([large, pause, "end", Completion(large + "end")])
    async with (
        served(model, {"listen": {"send_seconds": 0.2, "ping_seconds": 0.1}}) as gateway,
        stuck_reader(gateway.url),
    ):
        await model.asked.wait()
        (run,) = gateway.gateway.runs.running
        await until(lambda: not gateway.server.server_state.connections)
        assert not run.ended
        await run.over()
        assert run.state.status == "finished"


@pytest.mark.parametrize("what", ["/events", ""])
async def test_a_reader_that_takes_nothing_of_what_is_whole_is_dropped_too(what: str) -> None:
    large = "x" * 8_000_000
    model = ScriptedModel(Completion(large))
    async with served(model, {"listen": {"send_seconds": 0.2}}) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "hi"})
        path = f"/runs/{answer.headers['xmcp-run-id']}{what}"
        async with stuck_reader(gateway.url, path) as stuck:

            def is_served() -> bool:
                served_now: Any = gateway.server.server_state.connections
                return stuck.getsockname() in [one.client for one in served_now]

            await until(is_served)
            await until(lambda: not is_served())
        assert large in (await http.get(path)).text


async def test_much_is_sent_in_pieces_so_that_a_slow_reader_has_time_for_it() -> None:
    sizes: list[int] = []

    async def send(message: Any) -> None:
        sizes.append(len(message.get("body", b"")))

    async with served(ScriptedModel(Completion("x" * 1_000_000))) as gateway, gateway.http() as http:
        answer = await http.post("/chat", json={"input": "hi"})
        run = gateway.gateway.runs.get(answer.headers["xmcp-run-id"], Caller("local"))
        assert run is not None
        stream = EventStream(
            run, run.read(), NativeEncoder(), headers={}, pause=b"", ping=60, send_timeout=60, abort=print
        )
        await stream({}, never, send)
    assert max(sizes) == PIECE_BYTES
    assert sum(sizes) > 1_000_000


async def test_many_readers_of_one_run_get_the_same_events() -> None:
    go_on = asyncio.Event()

    async def pause() -> None:
        await go_on.wait()

    model = ScriptedModel([*(f"{n} " for n in range(500)), pause, "end", Completion("x")])
    async with served(model) as gateway, gateway.http() as http:
        first = asyncio.create_task(http.post("/chat", json={"input": "x"}, headers=SSE))
        await model.asked.wait()
        (run,) = gateway.gateway.runs.running
        others = [asyncio.create_task(http.get(f"/runs/{run.id}/events")) for _ in range(20)]
        await asyncio.sleep(0.2)
        go_on.set()
        texts = {answer.text for answer in await asyncio.gather(first, *others)}
    assert len(texts) == 1
    assert chunks_in(texts.pop())[-1]["answer"] == "x"


async def test_a_run_has_a_bounded_number_of_readers() -> None:
    go_on = asyncio.Event()

    async def pause() -> None:
        await go_on.wait()

    async with served(ScriptedModel([pause, "end", Completion("x")])) as gateway, gateway.http() as http:
        first = asyncio.create_task(http.post("/chat", json={"input": "x"}, headers=SSE))
        await until(lambda: gateway.gateway.runs.running)
        (run,) = gateway.gateway.runs.running
        readers = [run.read() for _ in range(MAX_READERS - run.readers)]
        refused = await http.get(f"/runs/{run.id}/events")
        readers[0].close()
        let_in = asyncio.create_task(http.get(f"/runs/{run.id}/events"))
        await until(lambda: run.readers == MAX_READERS)
        go_on.set()
        assert (await let_in).status_code == (await first).status_code == 200
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_readers")
