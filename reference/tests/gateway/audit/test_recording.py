"""What the hooks and the events of a chat become: requests, calls with their intents, usage; and no secret."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from support.audited_runs import Told, one, rows
from support.clock import never
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer

from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.errors import ProviderError
from xmcp.chat.usage import Usage
from xmcp.client import AIClient
from xmcp.gateway.audit import AuditLog, AuditMiddleware, RunOutcome, RunStart
from xmcp.gateway.audit.redaction import Redactor
from xmcp.providers import ScriptedProvider
from xmcp.providers.scripted import Turn
from xmcp.storage import MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

READ_ONLY = {"annotations": {"readOnlyHint": True}}


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "audit.db")


def asked(*calls: tuple[str, str]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"c{n}", *call) for n, call in enumerate(calls))


async def test_requests_calls_and_usage_of_a_run_are_recorded(database: str) -> None:
    used = Usage(100, 20, 30, None, 5)
    model = ScriptedModel(
        Completion("so", asked(("read", '{"q": 1}'), ("write", "{}"), ("nope", "{}")), "tool_calls", used, "gpt-4o"),
        ProviderError("it is down", category="network", provider="counting"),
        name="counting",
    )
    table = DisplayEnvelope(type="table", payload=[{"a": 1}])
    server = ScriptedServer(
        {"read": ToolResponse("read", "12345", table), "write": ErrorInfo("CONFLICT", "it is there already")},
        "crm",
        read=READ_ONLY,
    )
    log = await AuditLog.open(database)
    async with AIClient(
        [server], llm_provider=model, middleware=[AuditMiddleware(log)], price=lambda *_: 0.0125, display="continue"
    ) as client:
        with pytest.raises(ProviderError), log.running(RunStart(id="r", tenant="t")):
            await client.chat("hello", [])
    await log.aclose()
    assert rows(
        database, "SELECT number, turn, provider, finish_reason, error_code FROM model_requests ORDER BY 1"
    ) == [
        (1, 1, "counting", "tool_calls", None),
        (2, 2, "counting", None, "UPSTREAM_UNAVAILABLE"),
    ]
    answer = json.loads(one(database, "SELECT answer FROM model_requests WHERE number = 1"))
    assert answer["text"] == "so"
    assert answer["tool_calls"][0] == {"id": "c0", "name": "read", "arguments": '{"q": 1}'}
    names = "call_id, tool, server, arguments, read_only, status, error_code, result_size, displays"
    assert rows(database, f"SELECT {names} FROM tool_invocations ORDER BY call_id") == [
        ("c0", "read", "crm", '{"q":1}', 1, "ok", None, 5, 1),
        ("c1", "write", "crm", "{}", 0, "error", "CONFLICT", 0, 0),
    ]
    assert one(database, "SELECT count(*) FROM tool_invocations WHERE intent_at <= finished_at AND attempts = 1") == 2
    columns = "number, model, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_micros, estimated"
    assert rows(database, f"SELECT {columns} FROM usage") == [(1, "gpt-4o", 100, 20, 30, 5, 12_500, 0)]
    assert rows(database, "SELECT status, error_code FROM runs") == [("error", "UPSTREAM_UNAVAILABLE")]


async def test_a_call_from_the_cache_and_one_that_was_cancelled_say_so(database: str) -> None:
    async def hangs(_: Any) -> None:
        started.set()
        await never()

    started = asyncio.Event()
    server = ScriptedServer({"read": ToolResponse("read", "1"), "hangs": hangs}, read=READ_ONLY)
    log = await AuditLog.open(database)
    model = ScriptedProvider([Turn("", [("read", {})]), Turn("", [("read", {})]), Turn("", [("hangs", {})])])
    async with AIClient(
        [server], llm_provider=model, middleware=[AuditMiddleware(log)], cache=MemoryCache(), cache_read_only=True
    ) as client:

        async def chat() -> None:
            with log.running(RunStart(id="r")):
                await client.chat("hello", [])

        task = asyncio.create_task(chat())
        await started.wait()
        # The record of a call is there before the call has ended.
        assert await log.flush() == "committed"
        assert rows(database, "SELECT status, finished_at FROM tool_invocations WHERE tool = 'hangs'") == [
            ("intent", None)
        ]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await log.aclose()
    found = rows(database, "SELECT tool, status, cached FROM tool_invocations ORDER BY call_id")
    assert found == [("read", "ok", 0), ("read", "ok", 1), ("hangs", "cancelled", 0)]
    assert rows(database, "SELECT status, error_code FROM runs") == [("cancelled", "CANCELLED")]


async def test_a_call_that_was_never_made_is_known_from_its_event(database: str) -> None:
    log = await AuditLog.open(database)
    log.begin(RunStart(id="r"))
    error = {"code": "UNKNOWN_TOOL", "message": "there is no tool nope"}
    data = {
        "step": 1,
        "call_id": "c9",
        "tool": "nope",
        "status": "error",
        "attempts": 0,
        "cached": False,
        "error": error,
    }
    log.take("r", Told("tool.finished", 4, data))
    await log.aclose()
    assert rows(database, "SELECT tool, status, error_code, attempts FROM tool_invocations") == [
        ("nope", "error", "UNKNOWN_TOOL", 0)
    ]


async def test_in_the_mode_outbox_a_call_that_changes_something_is_made_only_once_its_record_is_committed(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.database.STATEMENT_SECONDS", 0.1)
    seen: list[Any] = []

    def write(_: Any) -> ToolResponse:
        seen.append(rows(database, "SELECT status FROM tool_invocations WHERE tool = 'write'"))
        return ToolResponse("write", "done")

    server = ScriptedServer({"read": ToolResponse("read", "1"), "write": write}, read=READ_ONLY)
    model = ScriptedProvider([Turn("", [("read", {}), ("write", {})]), "fine"])
    log = await AuditLog.open(database)
    async with AIClient([server], llm_provider=model, middleware=[AuditMiddleware(log, outbox=True)]) as client:
        with log.running(RunStart(id="r")):
            await client.chat("hello", [])
        assert seen == [[("intent",)]]
        with sqlite3.connect(database, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            with log.running(RunStart(id="r2")):
                result = await client.chat("again", [])
            other.execute("COMMIT")
        other.close()
        assert server.count("write") == 1
        assert server.count("read") == 2
        refused = [message["content"] for message in result["history"] if message.get("name") == "write"]
        assert "UPSTREAM_UNAVAILABLE" in refused[0]
        assert "was not made" in refused[0]
    await log.aclose()
    status = "SELECT tool, status FROM tool_invocations WHERE run_id = 'r2' ORDER BY tool"
    assert rows(database, status) == [("read", "ok"), ("write", "error")]


async def test_in_the_mode_outbox_a_call_whose_record_has_no_room_is_not_made(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ScriptedServer({"write": ToolResponse("write", "done")})
    model = ScriptedProvider([Turn("", [("write", {})]), "fine"])
    log = await AuditLog.open(database)
    put = log.put
    monkeypatch.setattr(log, "put", lambda record, size: type(record).__name__ != "CallIntended" and put(record, size))
    async with AIClient([server], llm_provider=model, middleware=[AuditMiddleware(log, outbox=True)]) as client:
        with log.running(RunStart(id="r")):
            result = await client.chat("hello", [])
    await log.aclose()
    assert server.count("write") == 0
    assert "was not made" in next(message["content"] for message in result["history"] if message.get("name") == "write")


async def test_a_chat_that_is_no_run_of_the_log_is_not_recorded(database: str) -> None:
    log = await AuditLog.open(database)
    async with AIClient([], llm_provider=ScriptedProvider(["ok"]), middleware=[AuditMiddleware(log)]) as client:
        await client.chat("hello", [])
        with log.running(RunStart(id="r")):
            pass
        await client.chat("hello", [])
        log.begin(RunStart(id="r2"))
        log.end("r2", RunOutcome("finished"))
        await client.chat("hello", [])
        # What a caller sends with a chat does not choose the run.
        await client.chat("hello", [], metadata={"run_id": "r2"})
    await log.aclose()
    assert one(database, "SELECT count(*) FROM model_requests") == 0


async def test_runs_at_the_same_time_keep_their_own(database: str) -> None:
    log = await AuditLog.open(database)
    model = ScriptedProvider(lambda messages, _: f"to {messages[-1]['content']}")
    async with AIClient([], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:

        async def chat(number: int) -> None:
            with log.running(RunStart(id=f"r{number}", tenant=f"t{number}", session="same")):
                await asyncio.sleep(number % 3 / 1000)
                await client.chat(f"question {number}", [])

        await asyncio.gather(*(chat(number) for number in range(50)))
    await log.aclose()
    found = rows(
        database,
        "SELECT runs.id, runs.tenant, contents.content, model_requests.answer FROM model_requests "
        "JOIN runs ON runs.id = run_id JOIN messages ON messages.hash = messages_hash "
        "JOIN contents ON contents.hash = content_hash AND contents.conversation_id = runs.conversation_id",
    )
    assert len(found) == 50
    for run, tenant, content, answer in found:
        number = run.removeprefix("r")
        assert tenant == f"t{number}"
        assert json.loads(content)["content"] == f"question {number}"
        assert json.loads(answer)["text"] == f"to question {number}"
    assert one(database, "SELECT count(*) FROM conversations") == 50, "the same session of two tenants is two"


def _bytes_of(path: str) -> bytes:
    return Path(path).read_bytes()


SECRET = 'pa"ss<w>ö/rd&1'


async def test_no_secret_of_the_gateway_or_of_the_run_is_in_any_row(tmp_path: Path) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database, secrets=["sk-gateway-key", {"pin": 987654}])
    leaks = f"sk-gateway-key {SECRET} 987654"
    server = ScriptedServer(
        {"leak": ToolResponse("leak", leaks), "fails": ErrorInfo("CONFLICT", f"no {leaks}")}, leak=READ_ONLY
    )
    model = ScriptedProvider(
        [Turn("", [("leak", {"q": leaks, "n": 987654}), ("fails", {"deep": json.dumps({"in": leaks})})]), f"so {leaks}"]
    )
    async with AIClient([server], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:
        with log.running(RunStart(id="r", secrets=[SECRET])):
            log.take("r", Told("text.delta", 1, {"step": 1, "text": leaks[:10]}))
            log.take("r", Told("text.delta", 2, {"step": 1, "text": leaks[10:]}))
            log.take("r", Told("notice", 3, {"text": leaks}))
            await client.chat(f"hello {leaks}", [])
    await log.aclose()
    written = b"".join(map(_bytes_of, glob(f"{database}*")))
    assert b"hello" in written
    assert b"[redacted]" in written
    for form in (b"sk-gateway", b"987654", b"ss<w>", b"ss&lt;w&gt;", b"\\u00f6/rd", "ö/rd".encode(), b"rd&amp;1"):
        assert form not in written, form
    assert one(database, "SELECT min(altered) FROM model_requests") == 1


async def test_a_text_that_was_cut_in_a_secret_is_left_out_of_the_event(database: str) -> None:
    secret = "sk-live-0123456789abcdef"
    told = {"step": 1, "call_id": "c", "tool": "t", "status": "ok", "ms": 1.0}
    log = await AuditLog.open(database, secrets=[secret])
    log.begin(RunStart(id="r"))
    log.take("r", Told("tool.finished", 1, {**told, "text": "p" * 1980 + secret[:20], "truncated": True}))
    log.take("r", Told("tool.finished", 2, {**told, "text": "whole"}))
    await log.aclose()
    cut, whole = (json.loads(payload) for (payload,) in rows(database, "SELECT payload FROM events ORDER BY seq"))
    assert cut == {**told, "truncated": True}
    assert whole == {**told, "text": "whole"}


async def test_no_column_has_a_secret(database: str) -> None:
    secret = "sk-live-0123456789"
    start = RunStart(
        **dict.fromkeys(("id", "tenant", "session", "api_key", "surface", "model", "trace_id"), f"a {secret}"),
        secrets=[secret],
    )
    assert secret not in repr(RunStart(id="r", secrets=[secret]))
    model = ScriptedModel(
        Completion("so", asked((f"t{secret}", "{}")), secret, Usage(1, 1, None, None), f"gpt {secret}"),
        ProviderError("it is down", category="network", provider="counting"),
        name="counting",
    )
    log = await AuditLog.open(database)
    async with AIClient([], llm_provider=model, llm_model=f"m{secret}", middleware=[AuditMiddleware(log)]) as client:
        log.begin(start)
        told = {"call_id": f"c{secret}", "tool": secret, "server": secret, "status": "error"}
        log.take(start.id, Told("tool.finished", 1, {**told, "error": {"code": f"E{secret}", "message": secret}}))
        with pytest.raises(ProviderError):
            await client.chat("hello", [])
        log.end(start.id, RunOutcome("error", secret, secret, secret))
    await log.aclose()
    with sqlite3.connect(database) as connection:
        dump = "\n".join(connection.iterdump())
    assert "gpt [redacted]" in dump
    assert "c[redacted]" in dump
    assert secret not in dump


@pytest.mark.parametrize("written", ["sk-live-0123456789", "sk&#45;live-01234567\\u00389"], ids=["plain", "escaped"])
@pytest.mark.parametrize("at", [1, 2, 3, 10, 12, 17])
async def test_a_secret_that_comes_in_two_segments_of_text_is_found(written: str, at: int, database: str) -> None:
    log = await AuditLog.open(database, secrets=["sk-live-0123456789"])
    log.begin(RunStart(id="r"))
    for seq, text in enumerate(["It is ", f"so: {written[:at]}", f"{written[at:]} and", " more"]):
        log.take("r", Told("text.delta", seq, {"step": 1, "text": text}))
        assert await log.flush() == "committed"
    found = rows(database, "SELECT seq, last_seq, payload FROM events ORDER BY seq")
    assert [(first, last) for first, last, _ in found] == [(0, 0), (1, 2), (3, 3)]
    assert "".join(json.loads(payload)["text"] for _, _, payload in found) == "It is so: [redacted] and more"
    await log.aclose()


async def test_what_is_held_back_as_the_begin_of_a_secret_is_recorded_with_the_end_of_the_run(database: str) -> None:
    log = await AuditLog.open(database, secrets=["sk-live-0123456789"])
    log.begin(RunStart(id="r"))
    log.take("r", Told("text.delta", 1, {"step": 1, "text": "yes"}))
    assert await log.flush() == "committed"
    assert rows(database, "SELECT seq FROM events") == []
    log.end("r", RunOutcome("finished"))
    assert await log.flush() == "committed"
    assert rows(database, "SELECT payload FROM events") == [('{"step":1,"text":"yes"}',)]
    await log.aclose()


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("none", 4),
        ("an ab", 3),
        ("no abcdef.", 10),
        ("abcdefabcd", 6),
        ("no abcdef gh", 3),  # what could begin is a part of what is there
        ("no &#97;b&#", 3),
        ("no \\u00", 3),
    ],
)
def test_the_beginning_of_a_secret_at_the_end_of_a_text_is_found(text: str, settled: int) -> None:
    assert Redactor(["abcdef", "f ghij"]).settled(text) == settled


async def test_a_text_of_nothing_but_secrets_is_not_held_back_for_ever(database: str) -> None:
    log = await AuditLog.open(database, secrets=["abcd"])
    log.begin(RunStart(id="r"))
    for seq in range(10):
        log.take("r", Told("text.delta", seq, {"step": 1, "text": "cdab" if seq else "ab"}))
        assert await log.flush() == "committed"
    found = rows(database, "SELECT payload FROM events ORDER BY seq")
    assert len(found) >= 8
    assert {json.loads(payload)["text"] for (payload,) in found} == {"[redacted]"}
    await log.aclose()


@pytest.mark.parametrize(
    ("secret", "text", "clean"),
    [
        ("s3cret", '{"a":"my s3cret!"}', '{"a":"my [redacted]!"}'),
        ("s3cret", '{"s3cret":1}', '{"[redacted]":1}'),
        ("abc", '{"a":"abc"}', '{"a":"abc"}'),
        (1234, '{"a":1234,"b":12345,"c":"no. 1234"}', '{"a":"[redacted]","b":12345,"c":"no. [redacted]"}'),
        (True, '{"a":true}', '{"a":true}'),
        (None, '{"a":null}', '{"a":null}'),
        ("tail", '{"a":"tail', '{"a":"[redacted]'),
        ({"k": ["deep-secret", {"x": "more-secret"}]}, '["deep-secret","more-secret"]', '["[redacted]","[redacted]"]'),
        ("  padded-secret\n", '{"a":"padded-secret"}', '{"a":"[redacted]"}'),
        ("a<b>&c", '{"a":"a&lt;b&gt;&amp;c"}', '{"a":"[redacted]"}'),
        ("a\nb\"cd", json.dumps({"a": json.dumps({"b": 'a\nb"cd'})}), '{"a":"{\\"b\\": \\"[redacted]\\"}"}'),
        ("größe", '{"a":"gr\\u00f6\\u00dfe"}', '{"a":"[redacted]"}'),
        (["secret", "secretly"], '"secretly"', '"[redacted]"'),
        ("abcd", '"&#97;&#x62;c\\u0064 &amp;#97;bcd"', '"[redacted] [redacted]"'),
        ("C:\\\\dir", json.dumps(json.dumps({"a": "C:\\\\dir"})), '"{\\"a\\": \\"[redacted]\\"}"'),
        ('a","b', '["a","b"]', '["a","b"]'),
        ("𝒳𝒴𝒵𝒳", json.dumps("𝒳𝒴𝒵𝒳"), '"[redacted]"'),
    ],
)  # fmt: skip
def test_a_value_is_found_in_the_forms_in_which_it_can_be_written(secret: Any, text: str, clean: str) -> None:
    assert Redactor([secret]).out_of_json(text) == clean


@pytest.mark.parametrize(
    "text", ["\\\\" * 200_000, "&" * 400_000, "&amp;" * 80_000, "\\\\u00" * 80_000, '\\"' * 200_000]
)
def test_a_hostile_text_is_searched_in_linear_time(text: str) -> None:
    redactor = Redactor(['p"a\\ss & "w"', "\\\\\\\\\\n&&&", "sk-gateway"])

    def seconds(length: int) -> float:
        begun = time.thread_time()  # of this thread alone, whatever else runs
        redactor.out_of_json(f'"{text[:length]}\\u0020"')
        return time.thread_time() - begun

    half = min(seconds(len(text) // 2) for _ in range(3))
    assert min(seconds(len(text)) for _ in range(3)) < 4 * half + 0.05


def test_json_without_a_secret_is_the_same_text_and_not_a_copy() -> None:
    text = json.dumps({"a": "x" * 1000})
    assert Redactor(["s3cret"]).out_of_json(text) is text
    assert Redactor().out_of_json(text) is text


async def test_a_hook_never_raises_into_a_chat(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = await AuditLog.open(database)

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(log, "put", broken)
    server = ScriptedServer({"write": ToolResponse("write", "1")})
    model = ScriptedProvider([Turn("", [("write", {})]), "fine"])
    async with AIClient([server], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:
        monkeypatch.setattr(log, "begin", lambda _: None)
        monkeypatch.setattr(log, "current_run", broken)
        with log.running(RunStart(id="r")):
            assert (await client.chat("hello", []))["answer"] == "fine"
    await log.aclose()
