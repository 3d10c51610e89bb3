"""What a person says in parts: the history has them in the OpenAI chat format, and every vendor's format sends them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest
from support.scripted_model import ScriptedModel

from xmcp import AIClient, Conversation, SamplerConfig, SyncAIClient
from xmcp.chat import user_input
from xmcp.chat.user_input import content_of
from xmcp.client import FilePart, ImagePart, LLMRetry, TextPart
from xmcp.providers import (
    DeepSeekProvider,
    GeminiCLIProvider,
    ModelRequest,
    OpenAIProvider,
    ProviderError,
    ToolSchemas,
)
from xmcp.providers.formats import (
    anthropic_messages,
    chat_completions,
    deepseek,
    gemini,
    gemini_cli,
    minimax,
    mistral,
    responses,
)
from xmcp.providers.streamed_answers import LARGE_REQUEST, Written

PNG = b"\x89PNG\r\n\x1a\n..."
PDF = FilePart(b"%PDF-1.7", "application/pdf", "report.pdf")
PNG_URL = f"data:image/png;base64,{b64encode(PNG).decode()}"
PDF_URL = f"data:application/pdf;base64,{b64encode(PDF.data).decode()}"
PARTS = ["What is", TextPart(" this?"), ImagePart(PNG), PDF]
CONTENT = [
    {"type": "text", "text": "What is"},
    {"type": "text", "text": " this?"},
    {"type": "image_url", "image_url": {"url": PNG_URL}},
    {"type": "file", "file": {"filename": "report.pdf", "file_data": PDF_URL}},
]
PLAIN = SamplerConfig()
NONE = ToolSchemas()


async def test_the_history_has_the_parts_in_the_chat_format_and_a_snapshot_takes_them() -> None:
    model = ScriptedModel("a", "b")
    async with AIClient([], llm_provider=model) as ai:
        conversation = Conversation(ai)
        reply = await conversation.chat(PARTS)
        assert reply["history"] == [{"role": "user", "content": CONTENT}, {"role": "assistant", "content": "a"}]
        resumed = Conversation.resume(ai, json.dumps(conversation.snapshot()))
        await resumed.chat("and now?")
    assert list(model.requests[0].messages) == [{"role": "user", "content": CONTENT}]
    assert model.requests[1].messages[0] == {"role": "user", "content": CONTENT}


async def test_a_query_in_parts_that_is_tried_again_is_not_repeated() -> None:
    model = ScriptedModel(ProviderError("no"), "a")
    async with AIClient([], llm_provider=model) as ai:
        conversation = Conversation(ai)
        with pytest.raises(ProviderError):
            await conversation.chat(PARTS)
        reply = await conversation.chat(PARTS)
    assert [message["role"] for message in reply["history"]] == ["user", "assistant"]


def test_the_client_without_await_takes_parts() -> None:
    model = ScriptedModel()
    with SyncAIClient([], llm_provider=model) as ai:
        ai.chat(PARTS, [])
        list(ai.stream_chat(PARTS, []))
        ai.conversation().chat(PARTS)
    assert [request.messages[0]["content"] for request in model.requests] == [CONTENT] * 3


@pytest.mark.parametrize(
    ("part", "url"),
    [
        (ImagePart("https://x.example/a.png"), "https://x.example/a.png"),
        (ImagePart(PNG_URL), PNG_URL),
        (ImagePart(b"GIF87a", "image/gif"), "data:image/gif;base64,R0lGODdh"),
        (ImagePart(b"\xff\xd8\xff"), "data:image/jpeg;base64,/9j/"),
        (ImagePart(b"GIF89a"), "data:image/gif;base64,R0lGODlh"),
        (ImagePart(b"RIFF\n\n\n\nWEBP"), "data:image/webp;base64,UklGRgoKCgpXRUJQ"),
    ],
)
def test_pictures(part: ImagePart, url: str) -> None:
    assert content_of([part]) == [{"type": "image_url", "image_url": {"url": url}}]


def test_names_may_have_any_characters_but_those_that_control() -> None:
    name = "Bild 9\u202fAM\u00a0(ü).png"
    (part,) = content_of([FilePart(b"a", "image/png", name)])  # type: ignore[misc]
    assert part["file"]["filename"] == name  # type: ignore[index]


def test_a_file_without_a_name_gets_one() -> None:
    (part,) = content_of([FilePart(b"a", "text/PLAIN")])
    assert part == {"type": "file", "file": {"filename": "file.txt", "file_data": "data:text/plain;base64,YQ=="}}


@pytest.mark.parametrize(
    ("query", "kind", "said"),
    [
        (7, TypeError, "user_query must be a text or a list of parts"),
        ([], ValueError, "user_query is an empty list"),
        (["a", {"type": "text"}], TypeError, "user_query[1] must be a text, a TextPart, an ImagePart or a FilePart"),
        ([TextPart(b"a")], TypeError, "user_query[0] is a TextPart of a value of type bytes"),
        ([ImagePart(None)], TypeError, "user_query[0] is an ImagePart of a value of type NoneType: pass bytes, or"),
        ([FilePart("a.pdf", "application/pdf")], TypeError, "pass the bytes of the file"),
        (
            [ImagePart(b"?")],
            ValueError,
            "user_query[0] begins as no picture does: pass the bytes of image/png",
        ),
        (
            ["a", ImagePart(b"")],
            ValueError,
            "user_query[1] is a picture without a byte: was it read to its end before?",
        ),
        ([ImagePart("")], ValueError, "user_query[0] is a picture without a byte"),
        ([ImagePart(b"hi", "image/png")], ValueError, "user_query[0] does not begin as image/png does: pass the bytes"),
        ([ImagePart(PNG, "image/jpeg")], ValueError, "'image/jpeg', and its bytes are image/png: leave the type out"),
        ([ImagePart(b"?", "image/tiff")], ValueError, "'image/tiff': pictures have image/png, image/jpeg"),
        ([ImagePart(PNG, "png")], ValueError, "user_query[0] has the media type 'png': pictures have image/png"),
        ([FilePart(b"", "text/csv", "a.csv")], ValueError, "user_query[0] is the file 'a.csv' without a byte"),
        ([ImagePart("a.png")], ValueError, "begins with neither https:, http: nor data:"),
        ([ImagePart("data:text/html,x")], ValueError, "has a data: URL that is not base64 of image/png"),
        ([FilePart(b"x", "pdf")], ValueError, "has the media type 'pdf': pass one such as 'application/pdf'"),
        ([FilePart(b"x", "a/b;base64,x")], ValueError, "has the media type"),
        (
            [FilePart(b"x", "a/b", Path("dir/a.pdf"))],
            TypeError,
            "user_query[0] has a value of type PosixPath as the na",
        ),
        (["a", FilePart(b"x", "a/b", 7)], TypeError, "user_query[1] has a value of type int as the name of the file: "),
        ([FilePart(b"x", "a/b", b"a.pdf")], TypeError, "pass a text such as 'report.pdf', or None."),
        (
            [FilePart(b"x", "a/b", "a\r\nb")],
            ValueError,
            "user_query[0] has the name 'a\\r\\nb', with a control character: ",
        ),
        (
            [FilePart(bytes(21 * 1024**2), "application/pdf", "report.pdf")],
            ValueError,
            "user_query[0], the file 'report.pdf' of 21 MiB, is too much: all parts together may have 20 MiB, before "
            "they are encoded. Pass the part of it that matters, or its text.",
        ),
        ([ImagePart(PNG + bytes(21 * 1024**2))], ValueError, "Scale it down, or pass its URL."),
        (["x" * 1024**2] * 21, ValueError, "user_query[20], a text of 1 MiB, is too much: all parts together may have"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_is_no_part_is_refused_at_once(query: Any, kind: type[Exception], said: str) -> None:
    async with AIClient([], llm_provider=ScriptedModel()) as ai:
        with pytest.raises(kind) as caught:
            ai.stream_chat(query, [])
    assert said in str(caught.value)


def test_all_parts_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_input, "MAX_INPUT_BYTES", 3 * 1024**2)
    large = FilePart(b"x" * 1024**2, "text/plain")
    assert len(content_of([large] * 3)) == 3
    with pytest.raises(ValueError, match=r"user_query\[3\], a text of 0 MiB, is too much: .* may have 3 MiB"):
        content_of([large] * 3 + ["x"])


@pytest.mark.parametrize(("size", "beside"), [(LARGE_REQUEST, True), (10, False)])
async def test_large_parts_are_encoded_and_written_beside_the_event_loop(
    size: int, beside: bool, chat_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    class Noting(OpenAIProvider):
        def written(self, model: str, request: ModelRequest) -> Written:
            threads.append(get_ident())
            return super().written(model, request)

    def noting(data: bytes) -> bytes:
        threads.append(get_ident())
        return b64encode(data)

    monkeypatch.setattr(user_input, "b64encode", noting)
    provider, data = Noting("k", chat_server.url, "m"), bytes(range(256)) * (size // 256 + 1)
    chat_server.replies = [chat_server.reply.streamed("ok")]
    async with AIClient([], llm_provider=provider) as ai:
        await ai.chat([FilePart(data, "application/pdf")], [])
    await provider.aclose()
    assert {one != get_ident() for one in threads} == {beside}
    sent = chat_server.requests[0]["messages"][0]["content"][0]["file"]["file_data"]
    assert sent == f"data:application/pdf;base64,{b64encode(data).decode()}"


def test_a_part_shows_none_of_its_bytes() -> None:
    assert "PDF" not in repr(PDF)
    assert "PNG" not in repr(ImagePart(PNG))


# ---- the formats of vendors

MESSAGE = [{"role": "user", "content": CONTENT}]


def body_of_chat_completions(messages: Any) -> Any:
    return json.loads(chat_completions.request_body("m", messages, NONE))["messages"][0]["content"]


def body_of_anthropic(messages: Any) -> Any:
    return json.loads(anthropic_messages.write("m", messages, NONE, PLAIN).body)["messages"][0]["content"]


def body_of_gemini(messages: Any) -> Any:
    return gemini.request_body("m", messages, NONE)["contents"][0]["parts"]


def body_of_mistral(messages: Any) -> Any:
    return json.loads(mistral.request_body("m", messages, NONE))["messages"][0]["content"]


def body_of_responses(messages: Any) -> Any:
    return json.loads(responses.request_body("m", messages, NONE, PLAIN))["input"][0]["content"]


@pytest.mark.parametrize(
    ("written", "file"),
    [
        (body_of_chat_completions, CONTENT[-1]),
        (
            body_of_anthropic,
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_URL.partition(",")[2]},
                "title": "report.pdf",
            },
        ),
        (body_of_gemini, {"inlineData": {"mimeType": "application/pdf", "data": PDF_URL.partition(",")[2]}}),
        (body_of_mistral, {"type": "document_url", "document_url": PDF_URL, "document_name": "report.pdf"}),
        (body_of_responses, {"type": "input_file", "filename": "report.pdf", "file_data": PDF_URL}),
    ],
)
def test_each_format_sends_a_file_in_its_place(written: Callable[[Any], Any], file: Any) -> None:
    parts = written(MESSAGE)
    assert len(parts) == 4
    assert parts[-1] == file
    assert PNG_URL.partition(",")[2] in json.dumps(parts[2])


def test_claude_reads_a_text_as_text_and_no_other_files() -> None:
    def content(part: FilePart) -> Any:
        return body_of_anthropic([{"role": "user", "content": content_of([part])}])

    csv = {"type": "text", "media_type": "text/plain", "data": "a,ü"}
    assert content(FilePart("a,ü".encode(), "text/csv"))[0]["source"] == csv
    with pytest.raises(ProviderError, match=r"no files of the type application/zip\. Convert it to a PDF") as caught:
        content(FilePart(b"PK", "application/zip"))
    assert caught.value.category == "unknown"
    with pytest.raises(ProviderError, match=r"text/csv that is not UTF-8\. Save it as UTF-8\."):
        content(FilePart(b"\xff", "text/csv"))


@pytest.mark.parametrize(
    "write",
    [
        lambda messages: deepseek.request_body("m", messages, NONE, PLAIN),
        lambda messages: minimax.request_body("m", messages, NONE, PLAIN),
        gemini_cli.prompt,
    ],
    ids=["deepseek", "minimax", "gemini_cli"],
)
def test_a_format_without_files_refuses_them_and_still_takes_the_rest(write: Callable[[Any], Any]) -> None:
    with pytest.raises(ProviderError, match=r"takes no files at all\. Pass its text, or ask another model\.") as caught:
        write(MESSAGE)
    assert caught.value.category == "unknown"  # so that a fallback is asked
    assert b"this?" in write([{"role": "user", "content": CONTENT[:3]}])


@pytest.mark.parametrize("file", [{"file_id": "f-1"}, {"file_data": "x"}, {"file_data": "data:a/b,x"}, 7])
@pytest.mark.parametrize("written", [body_of_anthropic, body_of_gemini, body_of_mistral])
def test_a_file_whose_content_is_elsewhere_is_refused_in_words(written: Callable[[Any], Any], file: Any) -> None:
    message = {"role": "user", "content": [{"type": "file", "file": file}]}
    with pytest.raises(ProviderError, match=r"whose content is not in the message\. Pass it as a FilePart\."):
        written([message])


async def test_a_file_that_one_vendor_does_not_take_is_read_by_the_next_model(chat_server: Any) -> None:
    provider, other = DeepSeekProvider("k", chat_server.url, model="m"), ScriptedModel("read")
    async with AIClient([], llm_provider=provider, fallback_models=[(other, None)]) as ai:
        events = [event async for event in ai.stream_chat(PARTS, [])]
    await provider.aclose()
    (retry,) = [event for event in events if isinstance(event, LLMRetry)]
    assert "takes no files at all" in retry.error.message
    assert events[-1].result["answer"] == "read"
    assert list(other.requests[0].messages) == [{"role": "user", "content": CONTENT}]
    assert chat_server.requests == []


async def test_a_provider_says_so_before_anything_is_sent(chat_server: Any) -> None:
    cli = GeminiCLIProvider("/no/such/program")
    provider = DeepSeekProvider("k", chat_server.url, model="m")
    for one, model in ((provider, "m"), (cli, None)):
        async with AIClient([], llm_provider=one) as ai:
            with pytest.raises(ProviderError, match="takes no files at all") as caught:
                await ai.chat(PARTS, [])
        assert (caught.value.category, caught.value.provider, caught.value.model) == ("unknown", one.name, model)
    await provider.aclose()
    assert chat_server.requests == []
