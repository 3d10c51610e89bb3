"""OpenAIProvider: the real openai SDK against a loopback server that speaks the chat-completions format."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import traceback
import tracemalloc
from typing import Any

import pytest
from support.http_host import http_host
from support.scripted_model import Reply

from xmcp.providers import Completion, ErrorCategory, ModelRequest, OpenAIProvider, ProviderError, ToolCall, ToolSchemas
from xmcp.providers.formats import chat_completions
from xmcp.providers.streamed_answers import MAX_ERROR_BYTES

pytestmark = pytest.mark.usefixtures("over_each_transport")

REFUSED = ("Connection refused", "All connection attempts failed")
"""In the words of our transport, and of httpx2's own."""
HELLO = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}


@pytest.fixture
async def provider(chat_server: Any) -> Any:
    provider = OpenAIProvider("sk-secret-key", chat_server.url, "m")
    yield provider
    await provider.aclose()


async def ask(provider: OpenAIProvider, request: ModelRequest | None = None) -> tuple[list[str], Completion]:
    pieces = [piece async for piece in provider.stream(request or ModelRequest(HELLO))]
    assert isinstance(pieces[-1], Completion)
    assert all(isinstance(piece, str) for piece in pieces[:-1])
    return pieces[:-1], pieces[-1]


async def test_a_streamed_text_arrives_in_deltas_and_ends_with_one_completion(
    chat_server: Any, provider: OpenAIProvider
) -> None:
    chat_server.replies = [chat_server.reply.streamed("Grüße, 世界")]
    deltas, completion = await ask(provider)
    assert len(deltas) == 2
    assert "".join(deltas) == completion.text == "Grüße, 世界"
    assert (completion.finish_reason, completion.tool_calls, completion.model) == ("stop", (), "m-1")
    usage = completion.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (10, 5, 2)


async def test_a_delta_is_given_before_the_rest_has_arrived(chat_server: Any, provider: OpenAIProvider) -> None:
    gate, reply = asyncio.Event(), chat_server.reply.streamed("ab")
    reply.pieces.insert(2, gate)
    chat_server.replies = [reply]
    stream = provider.stream(ModelRequest(HELLO))
    assert await anext(stream) == "a"
    gate.set()
    rest = [piece async for piece in stream]
    assert rest[0] == "b"


@pytest.mark.parametrize("way", ["streamed", "whole"])
async def test_calls_are_assembled_and_their_arguments_kept_as_written(
    chat_server: Any, provider: OpenAIProvider, way: str
) -> None:
    calls = [("c1", "add", '{"a": 1 , "b":2}'), ("c2", "add", '{"a": oops')]
    chat_server.replies = [getattr(chat_server.reply, way)("Let me see.", calls)]
    deltas, completion = await ask(provider)
    assert "".join(deltas) == completion.text == "Let me see."
    assert completion.tool_calls == tuple(ToolCall(*call) for call in calls)
    assert completion.finish_reason == "tool_calls"
    assert completion.usage.input_tokens == 10


async def test_the_request_is_what_the_format_says(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    await ask(provider, ModelRequest(HELLO, ToolSchemas.of([TOOL]), "other"))
    assert chat_server.paths == ["/v1/chat/completions"]
    assert chat_server.requests[0] == {
        "model": "other",
        "messages": HELLO,
        "tools": [TOOL],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert chat_server.headers[0]["authorization"] == "Bearer sk-secret-key"
    assert chat_server.headers[0]["content-type"] == "application/json"


async def test_without_tools_the_request_has_no_tools(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    await ask(provider)
    assert "tools" not in chat_server.requests[0]
    assert chat_server.requests[0]["model"] == "m"


async def test_the_prepared_tools_go_out_byte_for_byte(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    prepared = ToolSchemas((TOOL,), 1, b'[ {"made":  "once"} ]')
    await ask(provider, ModelRequest(HELLO, prepared))
    assert prepared.json in chat_server.bodies[0]


async def test_a_connection_is_used_again(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    for _ in range(3):
        await ask(provider)
    assert (len(chat_server.requests), chat_server.connections) == (3, 1)


async def test_ids_are_minted_where_the_vendor_gives_none_and_repeated_ones_made_unique(
    chat_server: Any, provider: OpenAIProvider
) -> None:
    chat_server.replies = [chat_server.reply.whole(calls=[("", "a", "{}"), ("x", "b", "{}"), ("x", "c", "{}")])]
    _, completion = await ask(provider)
    ids = [call.id for call in completion.tool_calls]
    assert [call.name for call in completion.tool_calls] == ["a", "b", "c"]
    assert len({*ids}) == 3
    assert ids[1] == "x"
    assert all(ids)


@pytest.mark.parametrize("last", [None, b""], ids=["connection broken", "ended early"])
async def test_an_answer_that_breaks_off_is_a_network_error(
    chat_server: Any, provider: OpenAIProvider, last: bytes | None
) -> None:
    reply = chat_server.reply.streamed("half of it")
    reply.pieces = [*reply.pieces[:2], last] if last is None else reply.pieces[:2]
    chat_server.replies = [reply]
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert caught.value.category is ErrorCategory.NETWORK
    assert caught.value.to_error_info().retryable is True


async def test_a_stream_may_end_without_done_after_its_finish_reason(
    chat_server: Any, provider: OpenAIProvider
) -> None:
    reply = chat_server.reply.streamed("fine")
    reply.pieces = reply.pieces[:-1]
    chat_server.replies = [reply]
    assert (await ask(provider))[1].text == "fine"


@pytest.mark.parametrize(
    ("status", "message", "code", "category", "registered"),
    [
        (401, "Incorrect API key provided: sk-secret-key.", "invalid_api_key", "auth", "AUTH_REQUIRED"),
        (402, "Insufficient Balance", None, "balance", "QUOTA_EXCEEDED"),
        (429, "You exceeded your current quota", "insufficient_quota", "quota", "QUOTA_EXCEEDED"),
        (429, "Rate limit reached", "rate_limit_exceeded", "rate_limit", "RATE_LIMIT"),
        (400, "This model's maximum context length is 8 tokens", None, "context", "CONTEXT_TOO_LARGE"),
        (400, "The response was filtered", "content_filter", "content", "CONTENT_POLICY"),
        (400, "No such parameter", None, "unknown", "INTERNAL"),
        (503, "Overloaded", None, "network", "UPSTREAM_UNAVAILABLE"),
    ],
)
async def test_a_refusal_has_its_category_and_no_secret(
    chat_server: Any, provider: OpenAIProvider, status: int, message: str, code: str, category: str, registered: str
) -> None:
    chat_server.replies = [chat_server.reply.error(status, message, code)]
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    error = caught.value
    assert (error.category, error.status, error.provider, error.model) == (category, status, "openai", "m")
    assert error.to_error_info().code == registered
    assert error.to_error_info().meta == {"upstream_status": status}
    assert "secret" not in str(error)


async def test_the_sdk_retries_what_passes(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.error(500, "oops"), chat_server.reply.streamed("at last")]
    assert (await ask(provider))[1].text == "at last"
    assert len(chat_server.requests) == 2
    assert chat_server.bodies[0] == chat_server.bodies[1]


async def test_an_error_inside_a_stream_is_an_error(chat_server: Any, provider: OpenAIProvider) -> None:
    reply = chat_server.reply.streamed("some")
    reply.pieces[2:] = [chat_server.reply.event({"error": {"message": "Rate limit reached", "code": 429}})]
    chat_server.replies = [reply]
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    assert caught.value.category is ErrorCategory.RATE_LIMIT


async def test_a_page_that_is_no_answer_is_an_error_without_its_content(
    chat_server: Any, provider: OpenAIProvider
) -> None:
    reply = chat_server.reply.error(502, "")
    reply.pieces, reply.content_type = [b"<html>internal host db-7</html>"], "text/html"
    chat_server.replies = [reply]
    with pytest.raises(ProviderError, match="HTTP status 502") as caught:
        await ask(provider)
    assert "db-7" not in str(caught.value)


async def test_a_server_that_is_not_there_is_a_network_error_that_names_the_host() -> None:
    import openai

    async with http_host() as nobody:
        url = f"{nobody.url}/v1"
        provider = OpenAIProvider(client=openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0))
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1") as caught:
            await ask(provider)
    assert caught.value.category is ErrorCategory.NETWORK


async def test_messages_that_are_not_json_are_refused_by_name(provider: OpenAIProvider) -> None:
    with pytest.raises(ProviderError, match="cannot be written as JSON"):
        await ask(provider, ModelRequest([{"role": "user", "content": b"bytes"}]))


async def test_integers_of_any_size_in_a_tool_schema_go_through(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    tool = {"type": "function", "function": {"name": "big", "parameters": {"maximum": 10**30}}}
    await ask(provider, ModelRequest(HELLO, ToolSchemas.of([tool])))
    assert json.loads(chat_server.bodies[0])["tools"] == [tool]


async def test_leaving_a_stream_early_lets_go_of_the_connection(
    chat_server: Any, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    never, reply = asyncio.Event(), chat_server.reply.streamed("ab")
    reply.pieces.insert(2, never)
    chat_server.replies = [reply]
    post, responses = provider._post, []

    async def kept(*args: Any) -> Any:
        responses.append(await post(*args))
        return responses[0]

    monkeypatch.setattr(provider, "_post", kept)
    stream = provider.stream(ModelRequest(HELLO))
    assert await anext(stream) == "a"
    await stream.aclose()
    assert responses[0].is_closed
    await asyncio.wait_for(chat_server.left.wait(), 5)


@pytest.mark.parametrize(
    ("way", "bound"),
    [
        ("streamed", "formats.chat_completions.MAX_ANSWER_CHARACTERS"),
        ("streamed", "formats.sse.MAX_EVENT_BYTES"),
        ("streamed", "streamed_answers.MAX_STREAM_BYTES"),
        ("whole", "formats.chat_completions.MAX_ANSWER_CHARACTERS"),
        ("whole", "streamed_answers.MAX_BODY_BYTES"),
    ],
)
async def test_an_answer_above_a_bound_is_an_error_that_asks_for_less(
    chat_server: Any, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch, way: str, bound: str
) -> None:
    monkeypatch.setattr(f"xmcp.providers.{bound}", 1000)
    chat_server.replies = [getattr(chat_server.reply, way)("x" * 5000)]
    with pytest.raises(ProviderError, match="too large to be read") as caught:
        await ask(provider)
    assert (caught.value.category, caught.value.began) == (ErrorCategory.TOO_LARGE, True)
    assert caught.value.to_error_info().retryable is False


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_a_compressed_answer_is_not_asked_for_and_not_decompressed(
    chat_server: Any, provider: OpenAIProvider, content_type: str
) -> None:
    bomb = gzip.compress(b" " * (16 << 20))
    chat_server.replies = [Reply([bomb], 200, content_type, {"content-encoding": "gzip"})]
    with pytest.raises(ProviderError, match=r"compressed \(gzip\).*switch compression off"):
        await ask(provider)
    assert chat_server.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("compressed", [False, True])
async def test_of_an_error_no_more_is_read_than_tells_what_it_is(
    chat_server: Any, provider: OpenAIProvider, compressed: bool
) -> None:
    gate, endless = asyncio.Event(), b"x" * MAX_ERROR_BYTES
    # After these pieces the vendor would go on for ever: it waits until the client has left.
    headers = {"content-encoding": "gzip"} if compressed else {}
    chat_server.replies = [Reply([b'{"error":{"message":"', endless, endless, gate], 400, "application/json", headers)]
    with pytest.raises(ProviderError, match="HTTP status 400"):
        await asyncio.wait_for(ask(provider), 300)


async def test_the_body_of_a_redirect_is_not_decompressed_either(chat_server: Any, provider: OpenAIProvider) -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    headers = {"content-encoding": "gzip", "location": "/v1/elsewhere"}
    chat_server.replies = [Reply([bomb], 307, "text/plain", headers), chat_server.reply.streamed("ok")]
    tracemalloc.start()
    try:
        assert (await ask(provider))[1].text == "ok"
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("charset", ["bz2", "hex", "punycode", "no such thing"])
async def test_an_error_may_name_any_charset(chat_server: Any, provider: OpenAIProvider, charset: str) -> None:
    chat_server.replies = [Reply([b"no"], 400, f"text/plain; charset={charset}")]
    with pytest.raises(ProviderError, match="HTTP status 400"):
        await ask(provider)


async def test_a_chunk_with_many_parts_is_read_in_a_worker(
    chat_server: Any, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []

    def noting(read: Any) -> Any:
        def noted(*args: Any) -> Any:
            threads.append(threading.current_thread() is threading.main_thread())
            return read(*args)

        return noted

    monkeypatch.setattr(chat_completions, "parse", noting(chat_completions.parse))
    monkeypatch.setattr(chat_completions.Assembly, "take", noting(chat_completions.Assembly.take))
    many = json.dumps({"choices": [{"delta": {"content": "a"}}], "more": [[]] * 30_000})
    chat_server.replies = [Reply([f"data: {many}\n\ndata: [DONE]\n\n".encode()], 200, "text/event-stream")]
    assert (await ask(provider))[0] == ["a"]
    assert threads == [False, False]


async def test_azure_finds_its_deployment_in_the_path(chat_server: Any) -> None:
    import openai

    chat_server.replies = [chat_server.reply.streamed("ok")]
    endpoint = chat_server.url.removesuffix("/v1")
    async with openai.AsyncAzureOpenAI(api_key="k", azure_endpoint=endpoint, api_version="v") as client:
        provider = OpenAIProvider(client=client, model="my-deployment")
        await ask(provider)
        await provider.aclose()
        assert not client.is_closed()
    assert chat_server.paths == ["/openai/deployments/my-deployment/chat/completions?api-version=v"]
    assert chat_server.headers[0]["api-key"] == "k"


def test_no_key_anywhere_is_an_auth_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        OpenAIProvider()
    assert caught.value.category is ErrorCategory.AUTH
    assert OpenAIProvider(base_url="http://localhost:1/v1").name == "openai"


def test_a_client_and_a_key_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        OpenAIProvider("key", client=object())  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["sk-…", "sk-\u200babc", "ключ"])
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_placeholder_that_was_left_in_for_the_key_is_an_auth_error_that_says_so(
    key: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match=r"API key .* placeholder such as `sk-…`") as caught:
        OpenAIProvider(key if way == "argument" else None)
    assert (caught.value.category, caught.value.provider) == (ErrorCategory.AUTH, "openai")
    assert "ключ" not in str(caught.value)


async def test_an_address_that_is_no_api_is_named_with_what_it_answers(
    chat_server: Any, provider: OpenAIProvider
) -> None:
    chat_server.replies = [Reply([b"<!doctype html><title>Welcome</title>"], content_type="text/html; charset=utf-8")]
    with pytest.raises(ProviderError) as caught:
        await ask(provider)
    said = f"{chat_server.url}/chat/completions answers text/html, which is not OpenAI's chat completions API."
    assert str(caught.value).startswith(said)
    assert not caught.value.began


async def test_a_model_that_cannot_be_reached_is_named_by_its_address() -> None:
    async with http_host() as host:
        provider = OpenAIProvider(base_url=f"{host.url.replace('//', '//user:secret@')}/v1")
        with pytest.raises(ProviderError) as caught:
            await ask(provider)
        await provider.aclose()
        words = [f"The model at {host.url}/v1 cannot be reached: {why}" for why in REFUSED]
        assert str(caught.value) in words
        told = "".join(traceback.format_exception(caught.value))
    assert "APIConnectionError" in told
    assert "site-packages" not in told  # no frames of the libraries


def test_a_base_url_without_http_is_refused_with_the_one_that_is_meant() -> None:
    with pytest.raises(ValueError, match=r"neither http:// nor https://: write http://127\.0\.0\.1:8500/v1$"):
        OpenAIProvider(base_url="127.0.0.1:8500/v1")
    with pytest.raises(ValueError, match="write http://models") as refused:
        OpenAIProvider(base_url="user:secret@models:8500/v1")
    assert "secret" not in str(refused.value)


async def test_a_refusal_names_the_host_of_the_base_url(chat_server: Any, provider: OpenAIProvider) -> None:
    chat_server.replies = [chat_server.reply.error(400, "no such option")]
    with pytest.raises(ProviderError) as refused:
        await ask(provider)
    host = chat_server.url.split("/")[2]
    assert str(refused.value) == f"{host} refused the request: no such option"
    assert refused.value.provider == "openai"


@pytest.mark.parametrize("length", [1, 100_000])
async def test_an_event_that_is_no_json_is_blamed_on_the_host_of_the_base_url(
    chat_server: Any, provider: OpenAIProvider, length: int
) -> None:
    chat_server.replies = [Reply([b"data: {" + b"x" * length + b"\n\n"])]
    with pytest.raises(ProviderError) as refused:
        await ask(provider)
    assert str(refused.value).startswith(chat_server.url.split("/")[2])


@pytest.mark.parametrize("base_url", [None, "https://api.openai.com/v1"])
def test_openai_itself_is_called_by_its_name(base_url: str | None) -> None:
    assert OpenAIProvider("k", base_url)._called == "openai"
