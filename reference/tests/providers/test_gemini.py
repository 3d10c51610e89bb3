"""GeminiProvider and its format: the google-genai SDK against a loopback server that speaks generateContent."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from google import genai
from google.genai._api_client import BaseApiClient
from starlette.responses import JSONResponse, Response, StreamingResponse
from support.http_host import http_host
from support.vendors.gemini import FOREIGN, MODEL, Gemini, chunk, one_part, quota

import xmcp.providers.gemini as provider_module
from xmcp.chat.completions import VendorState
from xmcp.chat.messages import turn_messages
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.providers import (
    Completion,
    ErrorCategory,
    GeminiProvider,
    ModelRequest,
    ProviderError,
    ToolCall,
    ToolSchemas,
    Usage,
)
from xmcp.providers.base import Received
from xmcp.providers.contract import SECRET, Answer, BreaksOff, Hangs, Raw, Refusal
from xmcp.providers.formats import gemini

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object"}}}
NO_TOOLS = ToolSchemas()
ONE_TOOL = ToolSchemas.of([TOOL])
DATA = "data:image/png;base64,iVBORw0="
SSE = "text/event-stream"


class Server(Gemini):
    """The stand-in; `replies` are given first, as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[Response] = []
        self.urls: list[str] = []

    def _answer(self, request: Any, body: Any) -> Response:
        self.urls.append(str(request.url.path) + "?" + request.url.query)
        answer = super()._answer(request, body)
        return self.replies.pop(0) if self.replies else answer


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as server:
        yield server


async def ask(
    server: Server, request: ModelRequest | None = None, provider: Any = None
) -> tuple[list[str], Completion]:
    stream = (provider or server.provider).stream(request or ModelRequest(HELLO))
    *texts, completion = [piece async for piece in stream]
    assert isinstance(completion, Completion)
    return texts, completion


async def failure(server: Server, request: ModelRequest | None = None, provider: Any = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(server, request, provider)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value


def events(*parts: dict[str, Any], finish: str | None = "STOP", **last: Any) -> Response:
    end = {"finishReason": finish} if finish else {}
    return Response(b"".join([*map(one_part, parts), chunk(candidates=[end], **last)]), media_type=SSE)


def slowly(reply: Response) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(reply.body), 100):
            yield bytes(reply.body[begin : begin + 100])
            await asyncio.sleep(0.001)

    return StreamingResponse(pieces(), media_type=reply.media_type)


def assembled(*parts: dict[str, Any], finish: str = "STOP", names: Any = None) -> Completion:
    assembly = gemini.Assembly("gemini", None, names)
    for part in parts:
        assembly.take({"candidates": [{"content": {"parts": [part]}}]})
    assembly.take({"candidates": [{"finishReason": finish}]})
    return assembly.finish(done=True)


def body(messages: list[Any], model: str = MODEL, tools: ToolSchemas = NO_TOOLS, **options: Any) -> dict[str, Any]:
    return gemini.request_body(model, messages, tools, SamplerConfig(**options))


def turn(completion: Completion, *results: Any) -> list[dict[str, Any]]:
    messages = turn_messages(completion.text, completion.tool_calls, ["" for _ in results])
    for message, result in zip(messages[1:], results, strict=True):
        message["content"] = result
    return json.loads(json.dumps([with_vendor_state(messages[0], completion.vendor_state), *messages[1:]]))


# ---- requests


async def test_the_request_is_what_the_format_says(server: Server) -> None:
    sampler = SamplerConfig(
        temperature=0,
        max_tokens=7,
        seed=3,
        stop=["END"],
        response_format={"type": "object"},
        tool_choice="required",
        reasoning_effort="low",
    )
    history = [{"role": "developer", "content": "Be brief."}, {"role": "system", "content": "Be kind."}, *HELLO]
    await ask(server, ModelRequest(history, ONE_TOOL, "gemini-3-other", sampler))
    assert server.urls == ["/v1/models/gemini-3-other:streamGenerateContent?alt=sse"]
    assert server.headers[0]["x-goog-api-key"] == SECRET
    assert server.headers[0]["accept-encoding"] == "identity"
    assert server.bodies[0] == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "add", "description": "Adds", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0,
            "maxOutputTokens": 7,
            "stopSequences": ["END"],
            "seed": 3,
            "responseJsonSchema": {"type": "object"},
            "responseMimeType": "application/json",
            "thinkingConfig": {"thinkingLevel": "LOW"},
        },
    }


async def test_members_for_the_vendor_are_added_to_those_that_are_there(server: Server) -> None:
    extra = {"generationConfig": {"topK": 5}, "cachedContent": "cachedContents/1"}
    told = body(HELLO, temperature=0.5, extra_body=extra)
    assert told["generationConfig"] == {"temperature": 0.5, "topK": 5}
    assert told["cachedContent"] == "cachedContents/1"


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3-flash", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro", "minimal", {"thinkingLevel": "LOW"}),
        ("models/gemini-4-ultra", "high", {"thinkingLevel": "HIGH"}),
        ("gemini-flash-latest", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
        ("gemini-2.0-flash", "high", None),
        ("gemma-3-27b-it", "high", None),
    ],
)
def test_the_effort_is_told_as_the_model_takes_it(model: str, effort: Any, config: Any) -> None:
    told = body(HELLO, model, reasoning_effort=effort)
    assert told.get("generationConfig", {}).get("thinkingConfig") == config


def test_a_tool_whose_name_is_not_legal_there_goes_under_another() -> None:
    names = ("2fa", "_2fa", "-x")
    tools = ToolSchemas.of([{"type": "function", "function": {"name": name}} for name in names])
    told = body(HELLO, tools=tools, tool_choice="2fa")
    assert [one["name"] for one in told["tools"][0]["functionDeclarations"]] == ["__2fa", "_2fa", "_-x"]
    assert told["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["__2fa"]
    parts = [{"functionCall": {"name": name}} for name in ("__2fa", "_2fa", "_-x", "unknown")]
    completion = assembled(*parts, names=gemini.own_names(tools))
    assert [call.name for call in completion.tool_calls] == [*names, "unknown"]
    _, model, results = body([*HELLO, *turn(completion, "", "", "", "")], tools=tools)["contents"]
    asked = [part["functionCall"]["name"] for part in model["parts"]]
    assert asked == ["__2fa", "_2fa", "_-x", "unknown"]
    assert [part["functionResponse"]["name"] for part in results["parts"]] == asked


def test_tools_are_written_once_for_each_version_of_the_catalogue() -> None:
    assert body(HELLO, tools=ONE_TOOL)["tools"] is body(HELLO, tools=ONE_TOOL)["tools"]


def test_pictures_of_each_form() -> None:
    urls = [DATA, "data:image/svg+xml,%3Csvg/%3E", "https://example.com/a/b.webp?x=1.png", "https://example.com/photo"]
    content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    (told,) = body([{"role": "user", "content": [{"type": "text", "text": ""}, *content]}])["contents"]
    assert told["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}},
        {"inlineData": {"mimeType": "image/svg+xml", "data": "PHN2Zy8+"}},
        {"fileData": {"mimeType": "image/webp", "fileUri": urls[2]}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": urls[3]}},
    ]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "data:image/png", "", None, 7])
async def test_a_picture_that_the_model_cannot_see_is_refused_before_anything_is_sent(server: Server, url: Any) -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    error = await failure(server, ModelRequest([message]))
    assert (error.category, error.model) == (ErrorCategory.CONTENT, MODEL)
    assert "https://" in error.message
    assert server.bodies == []


@pytest.mark.parametrize(("model", "inside"), [("gemini-3-pro", True), ("gemini-2.5-pro", False)])
def test_a_picture_in_a_result_stands_where_the_model_sees_it(model: str, inside: bool) -> None:
    picture = {"type": "image_url", "image_url": {"url": DATA}}
    calls = (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))
    history = [*HELLO, *turn(Completion("", calls), [{"type": "text", "text": "one"}, picture], "two")]
    *_, results = body(history, model)["contents"]
    blob = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}}
    first = {"name": "f", "response": {"output": "one"}}
    second = {"functionResponse": {"name": "g", "response": {"output": "two"}}}
    if inside:
        assert results["parts"] == [{"functionResponse": {**first, "parts": [blob]}}, second]
    else:
        assert results["parts"] == [{"functionResponse": first}, second, blob]


def test_results_stand_in_the_order_of_their_calls_and_alone() -> None:
    calls = (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))
    assistant, first, second = turn(Completion("", calls), "1", "2")
    history = [
        *HELLO,
        assistant,
        second,
        first,
        {"role": "user", "content": "and?"},
        {"role": "user", "content": "now"},
    ]
    told = body(history)["contents"]
    assert [one["role"] for one in told] == ["user", "model", "user", "user"]
    assert [part["functionResponse"]["response"]["output"] for part in told[2]["parts"]] == ["1", "2"]
    assert told[3]["parts"] == [{"text": "and?"}, {"text": "now"}]


def test_what_is_empty_is_not_told() -> None:
    history = [*HELLO, {"role": "assistant", "content": ""}, {"role": "user", "content": None}, *HELLO]
    assert body(history)["contents"] == [{"role": "user", "parts": [{"text": "hello"}, {"text": "hello"}]}]


@pytest.mark.parametrize("arguments", ["", "oops", "[1]", None])
def test_arguments_that_are_no_object_are_an_empty_one(arguments: Any) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    history = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert body(history, "gemini-2.5-pro")["contents"][1]["parts"] == [{"functionCall": {"name": "f", "args": {}}}]


# ---- state


def test_calls_of_another_vendor_have_the_signature_that_is_not_checked() -> None:
    calls = (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))
    history = [*HELLO, *turn(Completion("Hm.", calls), "1", "2")]
    signed = [part.get("thoughtSignature") for part in body(history)["contents"][1]["parts"]]
    assert signed == [None, FOREIGN, None]
    assert "thoughtSignature" not in str(body(history, "gemini-2.5-pro"))


def test_signatures_and_ids_come_back_on_the_parts_that_had_them() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "I think", "thought": True},
        {"text": "so", "thought": True, "thoughtSignature": "dGhvdWdodA=="},
        {"text": "I "},
        {"text": "look"},
        {"text": " now", "thoughtSignature": "dGV4dA=="},
        {"text": "."},
        {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "Y2FsbC0x"},
        {"functionCall": {"id": "/strange id/", "name": "f", "args": {"a": 2}}},
        {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "Y29kZQ=="},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    completion = assembled(*parts)
    assert completion.text == "I look now."
    assert [(call.id, json.loads(call.arguments)) for call in completion.tool_calls] == [
        ("call_0", {"a": 1}),
        ("call_1", {"a": 2}),
    ]
    _, model, results = body([*HELLO, *turn(completion, "one", "two")])["contents"]
    assert model["parts"] == [parts[1], {"text": "I look"}, *parts[4:]]
    assert results["parts"] == [
        {"functionResponse": {"name": "f", "response": {"output": "one"}}},
        {"functionResponse": {"id": "/strange id/", "name": "f", "response": {"output": "two"}}},
    ]


def test_an_answer_with_nothing_to_keep_has_no_state() -> None:
    completion = assembled({"text": "Hm", "thought": True}, {"text": "a"}, {"functionCall": {"name": "f"}})
    assert completion.vendor_state is None


def test_a_text_that_was_changed_goes_before_the_state_and_calls_keep_their_signatures() -> None:
    completion = assembled(
        {"text": "secret", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"name": "f"}, "thoughtSignature": "Y2FsbA=="},
    )
    assistant, result = turn(completion, "1")
    told = body([*HELLO, {**assistant, "content": "[removed]"}, result])["contents"][1]["parts"]
    assert told == [
        {"text": "[removed]"},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Y2FsbA=="},
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "x",
        {},
        [7, None],
        [{"call": 5}, {"call": -1}, {"call": "0"}, {"text": "3"}, {"text": -2}, {"part": 1}, {"thought": 1}],
        [{"call": 0, "id": 3, "signature": 4}, {"call": 0}],
    ],
)
def test_a_state_of_any_form_leaves_the_answer_whole(value: Any) -> None:
    answer = Completion("Hm.", (ToolCall("a", "f", "{}"),), vendor_state=VendorState("gemini", value))
    parts = body([*HELLO, *turn(answer, "1")], "gemini-2.5-pro")["contents"][1]["parts"]
    assert parts == [{"text": "Hm."}, {"functionCall": {"name": "f", "args": {}}}]


# ---- answers


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        *((one, "content_filter") for one in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")),
        ("OTHER", "stop"),
    ],
)
def test_why_an_answer_ended(finish: str, reason: str) -> None:
    assert assembled({"text": "a"}, finish=finish).finish_reason == reason


def test_a_reason_that_is_new_is_an_end() -> None:
    assert assembled({"text": "a"}, finish="A_NEW_REASON").finish_reason == "stop"
    assert assembled({"functionCall": {"name": "f"}}).finish_reason == "tool_calls"


async def test_a_call_that_the_vendor_could_not_read_can_be_asked_for_again(server: Server) -> None:
    end = {"finishReason": "MALFORMED_FUNCTION_CALL"}
    server.replies = [Response(chunk(candidates=[end]), media_type=SSE)]
    error = await failure(server)
    assert (error.category, error.began) == (ErrorCategory.NETWORK, True)
    assert error.message.endswith("gave up its answer: MALFORMED_FUNCTION_CALL")
    told = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(\n"}]}
    assembly = gemini.Assembly("gemini")
    assembly.take(told)  # as Vertex AI tells it
    with pytest.raises(ProviderError, match=r"MALFORMED_FUNCTION_CALL \(print\(\\n\)$"):
        assembly.finish(done=True)
    assert assembled({"functionCall": {"name": "f"}}, finish="UNEXPECTED_TOOL_CALL").finish_reason == "tool_calls"


async def test_a_blocked_prompt_is_an_error_that_says_why(server: Server) -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not\nthat"}
    server.replies = [Response(chunk(promptFeedback=feedback), media_type=SSE)]
    error = await failure(server)
    assert error.category is ErrorCategory.CONTENT
    assert error.message.endswith(r"refused the prompt: not\nthat")


async def test_thoughts_and_the_results_of_the_vendors_tools_are_counted(server: Server) -> None:
    counted = {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}
    server.replies = [events({"text": "a"}, usageMetadata=counted), events({"text": "a"}, usageMetadata={})]
    assert (await ask(server))[1].usage == Usage(15, 7, reasoning_tokens=4)
    assert (await ask(server))[1].usage == Usage()


@pytest.mark.parametrize("count", [-1, 2**60, "9", None, True, 1.5])
def test_a_number_that_is_no_count_is_none(count: int) -> None:
    assert gemini.usage({"promptTokenCount": count, "candidatesTokenCount": 2}) == Usage(None, 2, None)


async def test_what_arrived_is_known_before_the_end(server: Server) -> None:
    first = {"text": "thinking é", "thought": True}
    counted = {"promptTokenCount": 9}
    content = {"content": {"parts": [first, {"functionCall": {"name": "f", "args": {"a": 1}}}]}}
    server.replies = [
        Response(chunk(candidates=[content], usageMetadata=counted) + one_part({"text": "a"}), media_type=SSE)
    ]
    received = Received()
    error = await failure(server, ModelRequest(HELLO, received=received))
    assert "broke off in the middle" in error.message
    assert (received.bytes, received.usage, received.model) == (1 + 7, Usage(9), MODEL)


async def test_a_delta_is_given_before_the_rest_has_arrived(server: Server) -> None:
    gate = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield one_part({"text": "a"})
        await gate.wait()
        yield one_part({"text": "b"}, finishReason="STOP")

    server.replies = [StreamingResponse(pieces(), media_type=SSE)]
    stream = server.provider.stream(ModelRequest(HELLO))
    assert await anext(stream) == "a"
    gate.set()
    assert await anext(stream) == "b"
    await stream.aclose()


async def test_an_answer_in_one_piece_is_read_too(server: Server) -> None:
    whole = {"candidates": [{"content": {"parts": [{"text": "a{b"}]}, "finishReason": "STOP"}]}
    server.replies = [Response(json.dumps(whole, indent=2), media_type="application/json")]
    assert (await ask(server))[1].text == "a{b"


# ---- failures


def error(status: int, state: str, message: str, details: Any = None) -> JSONResponse:
    told = {"code": status, "message": message, "status": state}
    return JSONResponse({"error": told if details is None else {**told, "details": details}}, status)


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(provider_module._ATTEMPTS, "attempts", 1)


@pytest.mark.usefixtures("no_retries")
@pytest.mark.parametrize(
    ("status", "state", "message", "details", "category"),
    [
        (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", None, "auth"),
        (403, "PERMISSION_DENIED", "Your API key was reported as leaked.", None, "auth"),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", None, "auth"),
        (400, "INVALID_ARGUMENT", "No.", [{"reason": "API_KEY_INVALID"}], "auth"),
        (400, "INVALID_ARGUMENT", "Request contains an invalid argument.", [7, {"reason": 7}], "unknown"),
        (404, "NOT_FOUND", "models/x is not found", None, "model"),
        (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", None, "rate_limit"),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", None, "quota"),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", quota("TokensPerMinute"), "rate_limit"),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", quota("RequestsPerDayPerProject"), "quota"),
        (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", quota("RequestsPerDayPerProject"), "quota"),
        (500, "INTERNAL", "An internal error has occurred.", None, "network"),
        (504, "DEADLINE_EXCEEDED", "Deadline expired.", None, "network"),
    ],
)
async def test_a_refusal_has_its_category(
    server: Server, status: int, state: str, message: str, details: Any, category: str
) -> None:
    server.replies = [error(status, state, message, details)]
    refused = await failure(server)
    assert (refused.category, refused.status, refused.provider) == (category, status, "gemini")
    assert f"refused the request: {message.rstrip('.')}" in refused.message
    assert not refused.began


@pytest.mark.usefixtures("no_retries")
@pytest.mark.parametrize("body_", [b"<html>internal host db-7</html>", b"\xff\xfe db-7", b"[]", b'"db-7"', b"7", b""])
async def test_the_body_of_an_error_that_is_not_the_vendors_is_not_shown(server: Server, body_: bytes) -> None:
    server.replies = [Response(body_, 502, media_type="text/html")]
    refused = await failure(server)
    assert "db-7" not in "".join(traceback.format_exception(refused))
    assert (refused.category, refused.status) == (ErrorCategory.NETWORK, 502)


async def test_the_sdk_retries_what_passes(server: Server) -> None:
    server.answers(Refusal(ErrorCategory.NETWORK), Answer("at last"))
    assert (await ask(server))[1].text == "at last"
    assert server.bodies[0] == server.bodies[1]


async def test_an_error_inside_a_stream_is_an_error(server: Server) -> None:
    told = json.dumps({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}})
    server.replies = [Response(one_part({"text": "a"}) + f"data: {told}\n\n".encode(), media_type=SSE)]
    refused = await failure(server)
    assert (refused.category, refused.status, refused.began) == (ErrorCategory.RATE_LIMIT, 429, True)


async def test_an_address_that_is_no_api_is_named_with_what_it_answers(server: Server) -> None:
    server.replies = [Response(b"<title>Welcome</title>", media_type="text/html")]
    refused = await failure(server)
    assert "streamGenerateContent answers text/html, which is not Gemini's API." in refused.message
    assert not refused.began


async def test_a_redirect_is_not_followed_with_the_key(server: Server) -> None:
    server.replies = [Response(b"", 307, {"location": "/elsewhere"})]
    assert (await failure(server)).status == 307
    assert len(server.urls) == 1


@pytest.mark.parametrize(
    "bound",
    ["streamed_answers.MAX_STREAM_BYTES", "formats.sse.MAX_EVENT_BYTES", "formats.gemini.MAX_ANSWER_CHARACTERS"],
)
async def test_an_answer_above_a_bound_is_an_error_that_asks_for_less(
    server: Server, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(f"xmcp.providers.{bound}", 3000)
    server.replies = [slowly(events(*({"text": "x" * 600} for _ in range(4)))), slowly(events({"text": "x" * 4000}))]
    if bound.endswith("EVENT_BYTES"):
        await ask(server)  # each of its events is below
    else:
        server.replies.pop(0)
    large = await failure(server)
    assert (large.category, large.began) == (ErrorCategory.TOO_LARGE, True)
    assert "too large to be read" in large.message


@pytest.mark.parametrize("kind", [SSE, "application/json"])
async def test_an_event_of_very_many_parts_is_refused_and_not_read(
    server: Server, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("xmcp.providers.formats.chat_completions.MAX_CONTAINERS", 200)
    few = [one_part({"text": "ok"}) for _ in range(199)]
    many = json.dumps({"candidates": [{"content": {"parts": [{"text": "a"}] * 300}}]}).encode()
    few.append(chunk(candidates=[{"finishReason": "STOP"}]))
    server.replies = [slowly(Response(b"".join(few), media_type=SSE))]
    assert (await ask(server))[1].text == "ok" * 199
    server.replies = [slowly(Response(b"data: " + many + b"\n\n" if kind == SSE else many, media_type=kind))]
    assert (await failure(server)).category is ErrorCategory.TOO_LARGE


async def test_a_page_of_models_of_very_many_parts_is_refused_and_not_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "MAX_CONTAINERS", 200)
    for number, names in ((100, [MODEL]), (300, None)):
        listed = {"models": [{"name": f"models/{MODEL}"}], "more": [[]] * number}
        server.replies = [slowly(JSONResponse(listed))]
        if names is not None:
            assert await server.provider.list_models() == names  # type: ignore[attr-defined]
            continue
        with pytest.raises(ProviderError) as caught:
            await server.provider.list_models()  # type: ignore[attr-defined]
        assert caught.value.category is ErrorCategory.TOO_LARGE


async def test_of_an_endless_list_of_models_no_more_is_read_than_anybody_has(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "MAX_MODELS", 5)
    pages = iter(range(50))  # a request beyond them fails

    def listed(path: str) -> Any:
        model = {"name": f"models/m{next(pages)}", "supportedGenerationMethods": ["embedContent"]}
        return {"models": [model], "nextPageToken": "more"}

    monkeypatch.setattr(server, "listed", listed)
    assert isinstance(server.provider, GeminiProvider)
    assert await server.provider.list_models() == []
    assert next(pages) == 5


def test_instructions_without_words_are_left_out() -> None:
    history = [{"role": "system", "content": ""}, {"role": "system", "content": "Be brief."}, *HELLO]
    assert gemini.request_body("m", history, NO_TOOLS)["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert "systemInstruction" not in gemini.request_body("m", [history[0], *HELLO], NO_TOOLS)


def test_of_an_error_only_texts_are_told() -> None:
    deep: Any = "why"
    for _ in range(980):
        deep = [deep]
    error = gemini.reported({"error": {"message": deep, "status": "UNAVAILABLE"}}, "gemini", status=503)
    assert (error.message, error.category) == ("gemini refused the request: UNAVAILABLE", ErrorCategory.NETWORK)


@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": "f", "args": {"a": "x" * 900}}},
        {"text": "x" * 900, "thought": True, "thoughtSignature": "YQ=="},
        {"text": "", "thoughtSignature": "x" * 900},
        {"executableCode": {"language": "PYTHON", "code": "x" * 900}},
    ],
)
def test_everything_that_is_kept_counts(monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]) -> None:
    monkeypatch.setattr(gemini, "MAX_ANSWER_CHARACTERS", 1800)
    assert assembled(part)
    with pytest.raises(ProviderError, match="too large"):
        assembled(part, part, part)


async def test_an_answer_in_one_piece_has_a_bound(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmcp.providers.streamed_answers.MAX_BODY_BYTES", 1000)
    server.replies = [Response(b'{"a": "' + b"x" * 2000 + b'"}', media_type="application/json")]
    assert (await failure(server)).category is ErrorCategory.TOO_LARGE


@pytest.mark.parametrize("status", [200, 400])
async def test_a_compressed_answer_is_not_decompressed(server: Server, status: int) -> None:
    bomb = gzip.compress(b" " * (16 << 20))
    server.replies = [Response(bomb, status, {"content-encoding": "gzip"}, SSE)]
    refused = await failure(server)
    assert ("compressed (gzip)" in refused.message) == (status == 200)


@pytest.mark.parametrize("charset", ["bz2", "no such thing"])
async def test_an_error_may_name_any_charset(server: Server, charset: str) -> None:
    server.replies = [Response(b"no", 400, {"content-type": f"text/plain; charset={charset}"})]
    assert (await failure(server)).status == 400


async def test_an_error_is_decoded_as_utf8_whatever_it_names(server: Server) -> None:
    """Some codecs of Python take seconds for a body, or make megabytes of it."""
    provider: Any = server.provider
    opened: list[Any] = []
    await provider._sdk()
    provider._http.event_hooks["response"].append(_noting(opened))
    server.replies = [Response(b"no", 400, {"content-type": "text/plain; charset=punycode"})]
    await failure(server)
    assert [response.encoding for response in opened] == ["utf-8"]


async def test_a_key_of_any_form_is_not_repeated(server: Server) -> None:
    server.replies = [error(400, "INVALID_ARGUMENT", "The key plain.words.of.nobody is not known.")]
    provider = GeminiProvider("plain.words.of.nobody", server._host.url, MODEL)
    refused = await failure(server, provider=provider)
    await provider.aclose()
    assert refused.message.endswith("The key [redacted] is not known.")


async def test_of_an_error_no_more_is_read_than_tells_what_it_is(server: Server) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000
            await asyncio.sleep(0)

    server.replies = [StreamingResponse(endless(), 400)]
    async with asyncio.timeout(60):
        assert "HTTP status 400" in (await failure(server)).message


async def test_nothing_for_too_long_is_an_answer_that_was_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "ANSWER_SECONDS", 0.2)
    server.answers(Hangs("half"))
    given_up = await failure(server)
    assert (given_up.category, given_up.unanswered, given_up.began) == (ErrorCategory.NETWORK, True, True)


@pytest.mark.usefixtures("no_retries")
async def test_a_model_that_cannot_be_reached_is_named_by_its_address() -> None:
    async with http_host() as host:
        provider = GeminiProvider(base_url=host.url.replace("//", "//user:pass@"))
        with pytest.raises(ProviderError) as caught:
            await anext(provider.stream(ModelRequest(HELLO)))
        await provider.aclose()
    assert str(caught.value) == f"The model at {host.url} cannot be reached: Connection refused"
    assert caught.value.category is ErrorCategory.NETWORK
    told = "".join(traceback.format_exception(caught.value))
    assert "ConnectError" in told
    assert "site-packages" not in told


async def test_messages_that_are_not_json_are_refused_by_name(server: Server) -> None:
    request = ModelRequest(HELLO, sampler=SamplerConfig(extra_body={"x": object()}))
    refused = await failure(server, request)
    assert refused.category is ErrorCategory.CONTENT
    assert "cannot be written as JSON" in refused.message


async def test_a_model_that_cannot_be_a_model_is_refused(server: Server) -> None:
    assert "invalid model" in (await failure(server, ModelRequest(HELLO, model="../files?x"))).message


async def test_a_list_of_models_that_is_none_is_an_error(server: Server) -> None:
    server.replies = [JSONResponse({"models": "all"}), Response(b"no", media_type="application/json")]
    for _ in range(2):
        with pytest.raises(ProviderError, match="no list of models"):
            await server.provider.list_models()  # type: ignore[attr-defined]


# ---- the SDK


async def test_leaving_a_stream_early_lets_go_of_the_connection_at_once(server: Server) -> None:
    server.answers(Hangs("half"))
    opened: list[Any] = []
    provider: Any = server.provider
    await provider._sdk()
    provider._http.event_hooks["response"].append(_noting(opened))
    stream = provider.stream(ModelRequest(HELLO))
    await anext(stream)
    await stream.aclose()
    assert [response.is_closed for response in opened] == [True]


def _noting(opened: list[Any]) -> Any:
    async def note(response: Any) -> None:
        opened.append(response)

    return note


async def test_a_connection_is_used_again(server: Server) -> None:
    for _ in range(3):
        await ask(server)
    assert len(server.clients) == 1


async def test_the_sdk_is_made_once_and_not_on_the_loop(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made, threads = GeminiProvider._made, []

    def noted(self: GeminiProvider) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return made(self)

    monkeypatch.setattr(GeminiProvider, "_made", noted)
    await asyncio.gather(*(ask(server) for _ in range(3)))
    await ask(server)
    assert not any(threads)
    assert len(threads) <= 3


@pytest.mark.parametrize("vertex", [False, True])
async def test_a_client_of_the_caller_is_used_and_left_open(
    server: Server, monkeypatch: pytest.MonkeyPatch, vertex: bool
) -> None:
    monkeypatch.setattr(
        server, "read", lambda path, body: Gemini.read(server, "/v1/models/" + path.split("/")[-1], body)
    )
    options = genai.types.HttpOptions(base_url=server._host.url)
    client = genai.Client(api_key="k", vertexai=vertex, http_options=options)
    provider = GeminiProvider(client=client, model=MODEL)
    server.answers(Answer("ok", (ToolCall("c", "add", "{}"),)), BreaksOff("half"), Hangs("half"))
    _, completion = await ask(server, ModelRequest(HELLO, ONE_TOOL), provider)
    assert completion.tool_calls == (ToolCall("c", "add", "{}"),)
    assert server.headers[0]["accept-encoding"] == "identity"
    broken = await failure(server, provider=provider)
    assert (broken.category, broken.began) == (ErrorCategory.NETWORK, True)
    stream = provider.stream(ModelRequest(HELLO))
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(5):
        while not server.left:  # noqa: ASYNC110 - the stand-in counts
            await asyncio.sleep(0.01)
    await provider.aclose()
    server.answers(Answer("still"))
    assert (await ask(server, provider=provider))[1].text == "still"
    await client.aio.aclose()
    client.close()


def _without_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(BaseApiClient, "_async_request")


def _with_another_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sent(self: Any, request: Any) -> Any: ...

    monkeypatch.setattr(BaseApiClient, "_async_request", sent)


def _without_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai._transformers", None)


def _with_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sent(self: Any, request: Any, stream: bool) -> Any:
        return SimpleNamespace(response_stream=object())

    monkeypatch.setattr(BaseApiClient, "_async_request", sent)


@pytest.mark.parametrize("other", [_without_a_method, _with_another_signature, _without_a_module, _with_another_answer])
async def test_a_release_of_the_sdk_that_sends_in_another_way_is_named(
    server: Server, monkeypatch: pytest.MonkeyPatch, other: Any
) -> None:
    other(monkeypatch)
    refused = await failure(server)
    assert f"google-genai {genai.__version__} sends its requests in another way" in refused.message
    assert "pip install 'xmcp[gemini]'" in refused.message
    assert (refused.category, refused.began, server.bodies) == (ErrorCategory.UNKNOWN, False, [])


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_environment")
def test_no_key_anywhere_is_an_auth_error_that_says_what_to_do() -> None:
    with pytest.raises(ProviderError, match="GEMINI_API_KEY") as caught:
        GeminiProvider()
    assert caught.value.category is ErrorCategory.AUTH
    assert GeminiProvider(base_url="http://localhost:1").name == "gemini"


@pytest.mark.usefixtures("no_environment")
async def test_the_environment_names_key_and_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server._host.url)
    # What the environment says of Vertex AI is not for a provider with a key.
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, f"key of {name}")
        provider = GeminiProvider(model=MODEL)
        await ask(server, provider=provider)
        await provider.aclose()
    assert [one["x-goog-api-key"] for one in server.headers] == ["key of GEMINI_API_KEY", "key of GOOGLE_API_KEY"]


@pytest.mark.parametrize("options", [{"api_key": "key"}, {"base_url": "http://a"}])
def test_a_client_and_a_key_together_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="not both"):
        GeminiProvider(**options, client=object())  # type: ignore[arg-type]


def test_a_placeholder_that_was_left_in_for_the_key_is_an_auth_error_that_says_so() -> None:
    with pytest.raises(ProviderError, match="placeholder such as `AIza…`") as caught:
        GeminiProvider("ключ")
    assert caught.value.category is ErrorCategory.AUTH
    assert "ключ" not in str(caught.value)


def test_a_base_url_without_http_is_refused_with_the_one_that_is_meant() -> None:
    with pytest.raises(ValueError, match=r"neither http:// nor https://: write http://models:8500$"):
        GeminiProvider(base_url="user:secret@models:8500")


async def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(ProviderError, match=r"pip install 'xmcp\[gemini\]'"):
        await anext(GeminiProvider("key").stream(ModelRequest(HELLO)))


def test_the_provider_is_there_without_its_sdk_being_loaded() -> None:
    code = "import sys; from xmcp.providers import GeminiProvider as G; G('k'); print('google.genai' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


async def test_raw_answers_of_the_contract_are_no_answers(server: Server) -> None:
    server.answers(Raw("no JSON", b"data: oops\n\n", SSE))
    refused = await failure(server)
    assert refused.message.endswith("something that is not JSON: check the base URL and the service behind it.")
    assert "oops" not in "".join(traceback.format_exception(refused))


@pytest.mark.parametrize("base_url", [None, "https://generativelanguage.googleapis.com"])
def test_gemini_itself_is_called_by_its_name(base_url: str | None) -> None:
    assert GeminiProvider("k", base_url)._called == "gemini"
