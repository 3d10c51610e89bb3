"""What each model call received is in the database, byte for byte: 100 chats of every kind, on both databases."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.audited_runs import one, rows
from support.clock import never
from support.scripted_server import ScriptedServer

from xmcp.chat.completions import Completion, ToolCall, VendorState
from xmcp.chat.errors import ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.client import AIClient
from xmcp.gateway.audit import AuditLog, AuditMiddleware, RunStart, recording, uuid7
from xmcp.gateway.audit.database import address_of
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.audit.rebuild import ModelCall, model_calls
from xmcp.gateway.audit.record_queue import RecordQueue
from xmcp.gateway.audit.redaction import Redactor
from xmcp.providers import ScriptedProvider
from xmcp.providers.base import ModelRequest, Piece, Reasoning
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

CHATS = 100


@dataclass
class Received:
    """What a model call received: the JSON of each message, and of the tools."""

    messages: list[bytes]
    tools: bytes
    model: str | None


@dataclass
class Model:
    """Answers from a list of completions, failures and waits; notes what it receives."""

    name: str
    acts: list[Any]
    received: list[Received] = field(default_factory=list)
    supports_tools = True
    max_context_tokens: int | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        self.received.append(Received([encode_json(m) for m in request.messages], request.tools.json, request.model))
        act = self.acts.pop(0) if self.acts else Completion("done")
        yield Reasoning("hm")
        if act == "hang":
            yield "begun"
            await never()
        if isinstance(act, Exception):
            raise act
        for word in act.text.split(" "):
            yield word
        yield act

    async def aclose(self) -> None:
        pass


WORDS = (
    "a",
    "Öl für 3 €",
    "\x00\x07\x1b[31m",
    "𝒳\u2028",
    '"quoted" \\ {json}',
    "<a>&amp;</a>",
    "x" * 5000,
    "\ud800half",
)


def calls(*named: tuple[str, Any]) -> tuple[ToolCall, ...]:
    # The same ids in every turn, as some vendors do.
    return tuple(
        ToolCall(f"c{n}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for n, (name, arguments) in enumerate(named)
    )


def script(kind: int, rng: random.Random) -> list[Any]:
    """Return what the model does in one query of a chat of a kind."""
    text = rng.choice(WORDS)
    match kind:
        case 0:
            return [Completion(text)]
        case 1:
            return [Completion("", calls(("echo", {"text": text, "n": 1.0})), "tool_calls"), Completion(text)]
        case 2:
            many = calls(*(("echo", {"n": n, "text": text}) for n in range(4)), ("fails", {}), ("nope", {}))
            return [Completion("so", many, "tool_calls"), Completion("and", calls(("echo", {})), "tool_calls")]
        case 3:
            return [Completion("", calls(("chart", {})), "tool_calls")]
        case 4:
            return [
                Completion("", calls(("echo", {"text": text})), "tool_calls"),
                Completion("", calls(("__summarize__", {"summary": f"so far {text}"})), "tool_calls"),
                Completion("", calls(("echo", {})), "tool_calls"),
                Completion("short now"),
            ]
        case 5:
            return [Completion("", calls(("echo", {})), "tool_calls"), "hang"]
        case 6:
            return [Completion("", calls(("hangs", {}), ("echo", {})), "tool_calls")]
        case 7:
            # The second model must not get the state of the first.
            kept = VendorState("first", {"b": 1, "a": [2.0]})
            asked = Completion("", calls(("echo", {})), "tool_calls", vendor_state=kept)
            return [asked, ProviderError("it broke", provider="first")]
        case 8:
            return [
                Completion(
                    "",
                    calls(("echo", "{not json")),
                    "tool_calls",
                    vendor_state=VendorState("first", {"b": 1, "a": [2.0]}),
                )
            ]
        case _:
            return [Completion("", calls(("large", {}), ("echo", {"text": text})), "tool_calls"), Completion("ok")]


def server() -> ScriptedServer:
    async def hangs(_: Mapping[str, Any]) -> None:
        await never()

    return ScriptedServer(
        {
            "echo": lambda arguments: ToolResponse("echo", f"<you> said {arguments}"),
            "fails": ErrorInfo("INVALID_ARGUMENT", "no & never"),
            "chart": ToolResponse(
                "chart", "a table", DisplayEnvelope(type="table", payload=[{"région": "EMEA", "n": 42.0}])
            ),
            "large": ToolResponse("large", "Z" * 200_000),
            "hangs": hangs,
        },
        echo={"annotations": {"readOnlyHint": True}},
    )


async def record(log: AuditLog, number: int) -> tuple[str, list[Received]]:
    """Run one chat of one to three queries; return its conversation, and what its models received."""
    rng = random.Random(number)
    kind = number % 10
    received: list[Received] = []
    first, second = Model("first", [], received), Model("second", [], received)
    conversation = uuid7()
    history: list[dict[str, Any]] = [{"role": "system", "content": f"Be brief. {rng.choice(WORDS)}"}]
    history = history if number % 3 else []
    async with AIClient(
        [server()],
        llm_provider=first,
        fallback_models=[(second, "other")] if number % 20 == 7 else [],
        middleware=[AuditMiddleware(log)],
        meta_tools=kind == 4,
        display="continue" if number % 20 == 3 else "exit",
        tool_timeout=0.2 if number % 20 == 16 else 60,
    ) as client:

        async def chat(query: str) -> None:
            nonlocal history
            system = "Only now." if number % 4 == 1 else None
            options: Any = {} if system is None else {"system": system}
            with log.running(RunStart(id=uuid7(), conversation_id=conversation, tenant=f"t{number % 5}")):
                stream = client.stream_chat(query, history, **options)
                try:
                    async with aclosing(stream):
                        async for _ in stream:
                            pass
                finally:
                    history = stream.history

        for query in range(rng.randint(1, 3)):
            first.acts = script(kind, rng)
            task = asyncio.create_task(chat(f"{rng.choice(WORDS)} {query}"))
            await asyncio.wait([task], timeout=0.15 if kind in (5, 6) and number % 20 != 16 else 60)
            task.cancel()
            with suppress(ProviderError, asyncio.CancelledError):
                await task
    return conversation, received


def rebuilt(database: str, conversation: str) -> list[ModelCall]:
    with reading(address_of(database)) as connection:
        return [*model_calls(connection, conversation_id=conversation)]


async def test_100_chats_are_rebuilt_byte_for_byte(database: str) -> None:
    log = await AuditLog.open(database)
    recorded = [await record(log, number) for number in range(CHATS)]
    assert await log.aclose()
    assert log.statistics.dropped == {}
    total = 0
    for number, (conversation, received) in enumerate(recorded):
        found = rebuilt(database, conversation)
        assert len(found) == len(received) > 0, f"chat {number}"
        for call, told in zip(found, received, strict=True):
            assert [message.encode() for message in call.messages] == told.messages, f"chat {number}"
            assert call.tools is not None
            assert call.tools.encode() == told.tools, f"chat {number}"
            assert (call.model, call.complete, call.altered) == (told.model, True, False)
            total += 1
    assert total > 250
    kinds = dict(rows(database, "SELECT status, count(*) FROM runs GROUP BY status"))
    assert kinds.keys() == {"finished", "error", "cancelled"}, kinds
    outcomes = dict(rows(database, "SELECT status, count(*) FROM tool_invocations GROUP BY status"))
    assert outcomes.keys() == {"ok", "error", "cancelled"}, outcomes
    assert one(database, "SELECT count(*) FROM tool_lists") <= 4


async def test_a_turn_adds_only_its_new_messages_also_in_later_runs_of_the_conversation(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a busy machine: many records are there before the writer has connected.
    waited = RecordQueue.wait
    monkeypatch.setattr(RecordQueue, "wait", lambda self, _, idle: waited(self, 0.5, idle))
    log = await AuditLog.open(database)
    history: list[dict[str, Any]] = []
    model = Model("first", [], [])
    async with AIClient([server()], llm_provider=model, middleware=[AuditMiddleware(log)], max_turns=50) as client:
        for _ in range(3):
            model.acts = [Completion("", calls(("echo", {"text": "y" * 1000})), "tool_calls") for _ in range(20)]
            with log.running(RunStart(id=uuid7(), conversation_id="c")):
                history = (await client.chat("go on", history))["history"]
    await log.aclose()
    assert log.statistics.rows < 2 * len(history) + 5 * 63 + 60
    # Each message once, though 63 requests received up to 123 of them: but for the last answer, which nobody received.
    assert one(database, "SELECT count(*) FROM messages") == len(history) - 1
    size = one(database, "SELECT sum(length(content)) FROM contents")
    assert size <= sum(len(json.dumps(message)) for message in history)
    assert len(rebuilt(database, "c")) == 63


def test_a_message_that_a_model_has_received_before_is_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run = recording.OpenRun(RunStart(id="r"), "o", Redactor())
    history = [{"role": "user", "content": "x" * 20_000} for _ in range(200)]
    encoded, size, altered = run.encode(history)
    assert (len(encoded), size > 4_000_000, altered) == (200, True, False)
    written: list[Any] = []
    monkeypatch.setattr(recording, "encode_json", lambda value: (written.append(value), encode_json(value))[1])
    again, size, _ = run.encode([*(dict(message) for message in history), {"role": "user", "content": "new"}])
    assert written == [{"role": "user", "content": "new"}]
    assert size == len(again[-1])
    assert all(one_data is other for one_data, other in zip(encoded, again, strict=False))
    # Something within a message changed in place: it is not taken for the old one.
    history[7] = {"role": "user", "content": ["y"]}
    run.encode(history)
    history[7]["content"].append("z")  # type: ignore[attr-defined]
    assert b"z" in run.encode(history)[0][7]


async def test_a_message_that_has_no_json_is_recorded_as_the_nearest_and_marked(tmp_path: Any) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)

    class Adds:
        def before_llm(self, state: Any) -> None:
            state.messages[-1]["extra"] = {1, 2}

    async with AIClient([], llm_provider=ScriptedProvider(["ok"]), middleware=[Adds(), AuditMiddleware(log)]) as client:
        with log.running(RunStart(id="r")):
            await client.chat("hello", [])
    await log.aclose()
    (call,) = rebuilt(database, "r")
    assert call.altered
    assert call.complete
    assert json.loads(call.messages[0])["content"] == "hello"


async def test_what_another_hook_changes_is_recorded_as_the_model_gets_it(tmp_path: Any) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)

    class Changes:
        def before_llm(self, state: Any) -> None:
            state.messages = iter([{"role": "user", "content": "another question"}])

    model = Model("first", [], [])
    async with AIClient([], llm_provider=model, middleware=[Changes(), AuditMiddleware(log)]) as client:
        with log.running(RunStart(id="r")):
            await client.chat("hello", [])
    await log.aclose()
    (call,) = rebuilt(database, "r")
    assert [message.encode() for message in call.messages] == model.received[0].messages
    assert "another question" in call.messages[0]


async def test_a_request_whose_record_fails_takes_no_message_from_the_next(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = str(tmp_path / "audit.db")
    log = await AuditLog.open(database)
    made, failures = recording.RequestSent.rows, [ZeroDivisionError]

    def fails(self: Any, known: Any) -> Any:
        rows = made(self, known)
        if failures:
            raise failures.pop()
        return rows

    monkeypatch.setattr(recording.RequestSent, "rows", fails)
    model = Model("first", [Completion("", calls(("echo", {})), "tool_calls")], [])
    async with AIClient([server()], llm_provider=model, middleware=[AuditMiddleware(log)]) as client:
        with log.running(RunStart(id="r")):
            await client.chat("hello", [])
    await log.flush()
    # What was lost is written again.
    async with AIClient([server()], llm_provider=Model("first", [], []), middleware=[AuditMiddleware(log)]) as client:
        with log.running(RunStart(id="r2", conversation_id="r")):
            await client.chat("hello", [])
    await log.aclose()
    found = {(call.run_id, call.number): call.complete for call in rebuilt(database, "r")}
    assert found[("r2", 1)]
    assert not found[("r", 1)]
