"""`Conversation`: it keeps its history for every end of a chat, and a snapshot is enough to continue."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from xmcp import XMCP
from xmcp.chat.errors import QuotaExceeded
from xmcp.client import AIClient
from xmcp.client.conversation import Conversation, SnapshotError
from xmcp.providers import ProviderError, ScriptedProvider, Turn

SECONDS = 10.0
EXAMPLES = Path(__file__).parents[3] / "schemas" / "examples"
Valid = Callable[[list[dict[str, Any]]], None]


class Peer:
    """A server with `add`, `show`, `fail`, and `hang`, which says when it begins and when it was cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()
        self.server = mcp = XMCP("peer")

        @mcp.tool
        def add(a: int, b: int) -> int:
            return a + b

        @mcp.display_tool
        def show(show_user: bool = True) -> dict[str, Any]:
            return {"type": "text", "payload": "seen"}

        @mcp.tool
        def fail() -> str:
            raise ValueError("no")

        @mcp.tool
        async def hang() -> str:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "never"

        @mcp.tool
        def signed(
            text: str,
            key: Annotated[str, Field(json_schema_extra={"server_populated": True, "sensitive": True})] = "",
        ) -> str:
            return f"{text} signed"

        @mcp.param_provider("key")
        def secret() -> str:
            return "s3cret"


def script(*turns: Turn | str | Exception) -> ScriptedProvider:
    """One turn after the other, whatever the history is."""
    left = iter(turns)

    def next_turn(messages: Any, tools: Any) -> Turn | str:
        turn = next(left)
        if isinstance(turn, Exception):
            raise turn
        return turn

    return ScriptedProvider(next_turn)


@asynccontextmanager
async def client(*turns: Turn | str | Exception, peer: Peer | None = None, **options: Any) -> AsyncIterator[AIClient]:
    async with (
        asyncio.timeout(SECONDS),
        AIClient([(peer or Peer()).server], llm_provider=script(*turns), **options) as ai,
    ):
        yield ai


def roles(history: list[dict[str, Any]]) -> str:
    return " ".join(message["role"] for message in history)


CALL_ADD = Turn("", [("add", {"a": 1, "b": 2})])
CALL_HANG = Turn("", [("add", {"a": 1, "b": 2}), ("hang", {})])

# -- chats ------------------------------------------------------------------------------------------------------------


async def test_a_conversation_remembers_what_was_said() -> None:
    seen: list[str] = []

    def answer(messages: Any, tools: Any) -> str:
        seen.append(roles(messages))
        return "yes"

    async with AIClient([], llm_provider=ScriptedProvider(answer)) as ai:
        conversation = Conversation(ai, system="Be brief.")
        await conversation.chat("one")
        reply = await conversation.chat("two")
    assert seen == ["system user", "system user assistant user"]
    assert (reply.answer, reply["answer"], reply.stop_reason) == ("yes", "yes", "stop")
    assert conversation.history == reply["history"]
    assert conversation.usage["llm_calls"] == 2
    assert reply.usage["llm_calls"] == 1


async def test_a_tenant_is_a_text_a_uuid_or_a_number() -> None:
    tenant = UUID(int=7)
    async with AIClient([], llm_provider=ScriptedProvider(lambda *_: "yes")) as ai:
        conversation = Conversation(ai, tenant_id=tenant, session_id=5)
        await conversation.chat("one")
        assert json.loads(json.dumps(conversation.snapshot()))["tenant_id"] == str(tenant)
        assert conversation.session_id == "5"
        with pytest.raises(TypeError, match="tenant_id must be a string or a UUID, not bytes"):
            Conversation(ai, tenant_id=b"acme")  # type: ignore[arg-type]


async def test_a_reply_is_the_mapping_that_a_client_returns_and_tells_of_every_call(valid: Valid) -> None:
    calls = Turn("", [("add", {"a": 1, "b": 2}), ("fail", {}), ("nothing", "[")])
    async with client(calls, Turn("", [("show", {"show_user": True})])) as ai:
        reply = await Conversation(ai).chat("q")
    assert set(reply) == {"answer", "display", "displays", "history", "usage", "stop_reason"}
    assert dict(reply)["stop_reason"] == "display"
    assert json.loads(json.dumps(reply)) == reply.to_dict() == reply.result.to_dict()
    assert [display.payload for display in reply.displays] == ["seen"]
    assert [(c.tool_name, c.outcome, c.attempts, c.displayed) for c in reply.tool_calls] == [
        ("add", "ok", 1, False),
        ("fail", "error", 1, False),
        ("nothing", "error", 0, False),
        ("show", "ok", 1, True),
    ]
    added, _, nothing, _ = reply.tool_calls
    assert (added.server, added.arguments, added.error) == ("peer", {"a": 1, "b": 2}, None)
    assert added.duration_ms > 0
    assert (nothing.server, nothing.arguments) == (None, None)
    assert nothing.error is not None
    assert nothing.error.code == "UNKNOWN_TOOL"
    valid(reply["history"])


async def test_a_second_chat_at_the_same_time_is_refused_and_harms_nothing() -> None:
    peer = Peer()
    async with client(Turn("", [("hang", {})]), "done", peer=peer) as ai:
        conversation = Conversation(ai)
        first = asyncio.create_task(conversation.chat("q"))
        await peer.begun.wait()
        with pytest.raises(RuntimeError, match="A chat of this conversation is running"):
            await conversation.chat("q2")
        with pytest.raises(RuntimeError, match="A chat of this conversation is running"):
            conversation.clear()
        assert not first.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await conversation.chat("q2")).answer == "done"


# -- whatever ends a chat ---------------------------------------------------------------------------------------------


async def test_a_conversation_is_busy_while_its_chat_is_read() -> None:
    async with client("a", "b") as ai:
        conversation = Conversation(ai)
        stream = conversation.stream_chat("q")
        assert not conversation.busy, "nothing has begun"
        await anext(stream)
        assert conversation.busy
        await stream.aclose()
        assert not conversation.busy
        await conversation.chat("q")
        assert not conversation.busy


async def test_the_history_is_kept_when_the_model_fails_and_the_query_can_be_tried_again(valid: Valid) -> None:
    async with client(CALL_ADD, ProviderError("down"), "three") as ai:
        conversation = Conversation(ai)
        with pytest.raises(ProviderError) as caught:
            await conversation.chat("q")
        assert conversation.history == caught.value.history
        assert roles(conversation.history) == "user assistant tool"
        assert conversation.usage["llm_calls"] == 1
        assert (await conversation.chat("go on")).answer == "three"
        valid(conversation.history)


async def test_who_stops_at_the_event_of_a_failure_has_its_reason_in_the_records() -> None:
    async with client(ProviderError("down", category="network")) as ai:
        conversation = Conversation(ai)
        async with aclosing(conversation.stream_chat("q")) as chunks:
            async for chunk in chunks:
                if chunk.type == "failed":
                    break
        ended = conversation.traces[0].records[-1]
    assert (ended["kind"], ended["error"]["code"]) == ("chat_ended", "UPSTREAM_UNAVAILABLE")


async def test_a_query_that_came_to_nothing_is_not_repeated_when_it_is_tried_again() -> None:
    async with client(ProviderError("down"), "yes") as ai:
        conversation = Conversation(ai)
        with pytest.raises(ProviderError):
            await conversation.chat("q")
        await conversation.chat("q")
        assert roles(conversation.history) == "user assistant"


async def test_the_history_is_kept_when_a_quota_is_used_up(valid: Valid) -> None:
    class Strict:
        def before_tool(self, state: Any) -> None:
            raise QuotaExceeded(tenant_id=state.tenant_id, quota="calls")

    async with client(CALL_ADD, middleware=[Strict()]) as ai:
        conversation = Conversation(ai, tenant_id="acme")
        with pytest.raises(QuotaExceeded, match="acme") as caught:
            await conversation.chat("q")
    assert conversation.history == caught.value.history
    valid(conversation.history)
    (call,) = conversation.traces[0].calls
    assert (call.outcome, call.error and call.error.code) == ("error", "QUOTA_EXCEEDED")
    assert conversation.traces[0].records[-1]["error"]["code"] == "QUOTA_EXCEEDED"


async def test_a_cancelled_chat_leaves_a_valid_history_and_a_whole_trace(valid: Valid) -> None:
    peer = Peer()
    async with client(CALL_HANG, peer=peer) as ai:
        conversation = Conversation(ai)
        task = asyncio.create_task(conversation.chat("q"))
        await peer.begun.wait()
        valid(conversation.history)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await peer.cancelled.wait()
    valid(conversation.history)
    assert roles(conversation.history) == "user assistant tool tool"
    trace = conversation.traces[0]
    assert [(call.tool_name, call.outcome) for call in trace.calls][1] == ("hang", "cancelled")
    assert trace.records[-1]["error"]["code"] == "CANCELLED"


@pytest.mark.parametrize("how", ["closed", "left"])
async def test_a_stream_that_is_left_early_leaves_a_valid_history_and_the_next_chat_goes_on(
    how: str, valid: Valid
) -> None:
    peer = Peer()
    async with client(CALL_HANG, "on", peer=peer) as ai:
        conversation = Conversation(ai)
        if how == "closed":
            async with aclosing(conversation.stream_chat("q")) as chunks:
                async for chunk in chunks:
                    if chunk.type == "tool_started":
                        break
        else:
            async for chunk in conversation.stream_chat("q"):
                if chunk.type == "tool_started":
                    break
        valid(conversation.history)
        reply = await conversation.chat("next")
        assert reply.answer == "on"
        assert roles(reply["history"]) == "user assistant tool tool user assistant"
        valid(reply["history"])


async def test_a_stream_that_nobody_began_to_read_is_no_chat() -> None:
    async with client("yes") as ai:
        conversation = Conversation(ai)
        unused = conversation.stream_chat("q")
        assert (await conversation.chat("q")).answer == "yes"
        assert roles(conversation.history) == "user assistant"
        await unused.aclose()
        assert len(conversation.traces) == 1


async def test_what_was_used_is_summed_over_chats_that_failed_too() -> None:
    costs = iter([1.0, 2.0])
    async with client(CALL_ADD, ProviderError("down"), "yes", price=lambda *_: next(costs)) as ai:
        conversation = Conversation(ai)
        with pytest.raises(ProviderError):
            await conversation.chat("q")
        await conversation.chat("q")
    assert (conversation.usage["llm_calls"], conversation.usage["cost_usd"]) == (2, 3.0)


async def test_clear_begins_anew_with_the_system_message() -> None:
    async with client("yes", "again") as ai:
        conversation = Conversation(ai, system="s", metadata={"a": 1})
        await conversation.chat("q")
        conversation.clear()
        assert conversation.history == [{"role": "system", "content": "s"}]
        assert (conversation.traces, conversation.usage["llm_calls"]) == ([], 0)
        assert conversation.metadata == {"a": 1}
        assert (await conversation.chat("q")).answer == "again"


async def test_the_history_belongs_to_the_conversation() -> None:
    given_history = [{"role": "user", "content": "before"}]
    async with client("yes") as ai:
        conversation = Conversation(ai, history=given_history)
        conversation.history.append({"role": "user", "content": "mine"})
        conversation.history[0]["content"] = "changed"
        reply = await conversation.chat("q")
        reply["history"].clear()
    assert given_history == [{"role": "user", "content": "before"}]
    assert [message["content"] for message in conversation.history] == ["before", "q", "yes"]


async def test_no_part_of_the_history_is_shared_with_the_application() -> None:
    given_history: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "before"}]}]
    async with client(CALL_ADD, peer=Peer()) as ai:
        conversation = Conversation(ai, history=given_history)
        unread = ai.stream_chat("q", given_history)
        for shown in (conversation.history, unread.history):
            shown[0]["content"][0]["text"] = "changed"
        assert given_history[0]["content"][0]["text"] == "before"
        given_history[0]["content"][0]["text"] = "changed"
        reply = await conversation.chat("q", max_turns=1)
        for shown in (reply["history"], conversation.history):
            shown[2]["tool_calls"][0]["function"]["name"] = "changed"
    first, _, call, _ = conversation.history
    assert first["content"][0]["text"] == "before"
    assert call["tool_calls"][0]["function"]["name"] == "add"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"history": [{"role": "tool", "tool_call_id": "x", "content": ""}]}, r"history\[0\] answers the call 'x'"),
        ({"history": [{"role": "developer", "content": "d"}], "system": "s"}, "system message already"),
    ],
)
def test_a_conversation_that_cannot_begin_says_why(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Conversation(None, **options)  # type: ignore[arg-type]


# -- traces -----------------------------------------------------------------------------------------------------------


async def test_traces_are_exported_as_json_lines(tmp_path: Path) -> None:
    async with client("one\u2028", "two", "three") as ai:
        conversation = Conversation(ai, session_id="s", tenant_id="t", keep_traces=2)
        for query in "abc":
            await conversation.chat(query)
    conversation.export_traces(tmp_path / "traces.jsonl")
    text = (tmp_path / "traces.jsonl").read_text()
    into = io.StringIO()
    conversation.export_traces(into)
    assert text == into.getvalue()
    read = [json.loads(line) for line in text.splitlines()]
    chats = list(dict.fromkeys(record["chat_id"] for record in read))
    assert chats == [trace.chat_id for trace in conversation.traces]
    assert len(chats) == 2
    assert {(record["session_id"], record["tenant_id"]) for record in read} == {("s", "t")}
    last = [record["message"] for record in read if record["chat_id"] == chats[-1] and record["kind"] == "message"]
    assert last == conversation.history


async def test_no_record_has_the_value_of_a_redacted_parameter() -> None:
    async with client(Turn("", [("signed", {"text": "t", "key": "guess"})]), "done") as ai:
        conversation = Conversation(ai)
        reply = await conversation.chat("q")
        assert "signed" in str(reply["history"])
        assert "redacted" in str(reply["history"])
    assert "s3cret" not in reply.trace.to_jsonl()
    assert "s3cret" not in json.dumps(conversation.snapshot())


# -- snapshots --------------------------------------------------------------------------------------------------------


async def test_a_snapshot_taken_while_a_chat_runs_can_be_gone_on_with(valid: Valid) -> None:
    peer = Peer()
    async with client(CALL_ADD, Turn("", [("hang", {})]), "on", peer=peer) as ai:
        conversation = Conversation(ai, session_id="s")
        task = asyncio.create_task(conversation.chat("q"))
        await peer.begun.wait()
        snapshot = json.loads(json.dumps(conversation.snapshot()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        valid(snapshot["history"])
        assert roles(snapshot["history"]) == "user assistant tool assistant tool"
        assert "CANCELLED" in snapshot["history"][-1]["content"]
        assert snapshot["usage"]["llm_calls"] == 2
        assert (await Conversation.resume(ai, snapshot).chat("next")).answer == "on"


def told(conversation: Conversation) -> tuple[Any, ...]:
    return (
        conversation.history,
        conversation.usage,
        conversation.metadata,
        conversation.tenant_id,
        conversation.session_id,
    )


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    # Of text, what JSON can carry.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(), plain, max_size=3),
    st.lists(st.text(), max_size=4),
    st.none() | st.text(),
)
def test_what_was_snapshot_is_what_is_resumed(metadata: dict[str, Any], said: list[str], tenant: str | None) -> None:
    history = [{"role": "user", "content": text} for text in said]
    before = Conversation(None, history=history, metadata=metadata, tenant_id=tenant)  # type: ignore[arg-type]
    snapshot = before.snapshot()
    for form in (snapshot, json.dumps(snapshot), json.dumps(snapshot).encode()):
        assert told(Conversation.resume(None, form)) == told(before)  # type: ignore[arg-type]


PROGRAM = """
import asyncio, json, sys
from xmcp import XMCP
from xmcp.client import AIClient
from xmcp.client.conversation import Conversation
from xmcp.providers import ScriptedProvider
async def main():
    heard = []
    def answer(messages, tools):
        heard.append(messages)
        return "on"
    async with AIClient([], llm_provider=ScriptedProvider(answer)) as ai:
        conversation = Conversation.resume(ai, sys.stdin.buffer.read())
        resumed = conversation.snapshot()
        await conversation.chat("next")
        print(json.dumps([resumed, heard[0], conversation.snapshot()]))
asyncio.run(main())
"""


@pytest.mark.slow
async def test_another_process_goes_on_from_a_snapshot() -> None:
    async with client(CALL_ADD, "three \u2028\x00 🦀") as ai:
        conversation = Conversation(ai, system="s", tenant_id="t", session_id="x", metadata={"n": 2**70, "e": "é"})
        await conversation.chat("q")
    snapshot = conversation.snapshot()
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(snapshot, ensure_ascii=False).encode(),
        capture_output=True,
        timeout=300,
        check=True,
    )
    resumed, heard, later = json.loads(ran.stdout)
    assert resumed | {"created_at": ""} == snapshot | {"created_at": ""}
    assert heard == [*snapshot["history"], {"role": "user", "content": "next"}]
    assert later["history"] == [*heard, {"role": "assistant", "content": "on"}]
    assert later["usage"]["llm_calls"] == 3


@pytest.mark.parametrize("path", sorted((EXAMPLES / "valid" / "snapshot").iterdir()), ids=lambda path: path.stem)
def test_every_valid_example_is_resumed(path: Path) -> None:
    conversation = Conversation.resume(None, path.read_bytes())  # type: ignore[arg-type]
    assert conversation.history == json.loads(path.read_text())["history"]


@pytest.mark.parametrize("path", sorted((EXAMPLES / "invalid" / "snapshot").iterdir()), ids=lambda path: path.stem)
def test_every_invalid_example_is_refused(path: Path) -> None:
    with pytest.raises(SnapshotError):
        Conversation.resume(None, path.read_bytes())  # type: ignore[arg-type]


def good(**members: Any) -> dict[str, Any]:
    return {
        "format": "xmcp-conversation",
        "version": 1,
        "created_at": "2026-11-22T09:30:00Z",
        "history": [{"role": "user", "content": "q"}],
    } | members


CALLED = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}],
}


@pytest.mark.parametrize(
    ("snapshot", "why"),
    [
        (good(version=2), "version 2.*version 1 only: use a newer release"),
        (good(format="other"), "`format` is not 'xmcp-conversation'"),
        (good(history=[CALLED]), "the call 'c1' at its end has no answer. Drop that turn"),
        (good(history=[{"role": "tool", "tool_call_id": "c", "content": ""}]), r"history\[0\] answers the call 'c'"),
        (good(history=[{"role": "user", "content": 7}]), "at history/0/content"),
        (good(metadata={"a": [b"x"]}), "the snapshot/metadata/a/0: .* type bytes"),
        (good(usage={"llm_calls": "many"}), "at usage"),
        ("{", "not JSON: Expecting property name"),
        (b"\xff", "not JSON"),
        ('{"version": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "not JSON"),
        ([], "must be a JSON object, not a value of type list"),
        (None, "must be a JSON object, not a value of type NoneType"),
    ],
)
def test_a_snapshot_that_cannot_be_gone_on_from_says_what_is_wrong_and_where(snapshot: Any, why: str) -> None:
    with pytest.raises(SnapshotError, match=why):
        Conversation.resume(None, snapshot)  # type: ignore[arg-type]


def test_an_error_about_a_snapshot_does_not_repeat_what_was_said() -> None:
    with pytest.raises(SnapshotError) as caught:
        Conversation.resume(None, good(history=[{"role": "user", "content": {"my": "secret"}}]))  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_members_of_a_snapshot_that_nobody_knows_are_ignored() -> None:
    message = {"role": "user", "content": "q", "later": {"x": 1}}
    conversation = Conversation.resume(None, good(later=[1], history=[message]))  # type: ignore[arg-type]
    assert conversation.history == [message]
    assert "later" not in conversation.snapshot()


@pytest.mark.parametrize(
    ("history", "metadata", "why"),
    [
        ([{"role": "user", "content": [{"data": b"x"}]}], {}, "history/0/content/0/data: .* type bytes is not JSON"),
        ([], {"when": object()}, "metadata/when: .* type object is not JSON"),
        ([], {"a": {1: 2}}, "metadata/a: .* type int"),
        ([], {"a": [float("nan")]}, "metadata/a/0: .* use null or text"),
        ([], {"a": 10**5000}, "metadata/a: .* use null or text"),
    ],
)
def test_a_snapshot_of_what_is_not_json_is_refused_with_the_place(history: Any, metadata: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Conversation(None, history=history, metadata=metadata).snapshot()  # type: ignore[arg-type]


def test_a_snapshot_that_could_not_be_resumed_is_not_made() -> None:
    with pytest.raises(ValueError, match="history/0/content"):
        Conversation(None, history=[{"role": "user", "content": 7}]).snapshot()  # type: ignore[arg-type]
