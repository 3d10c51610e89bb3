"""`Conversation`: chats with an `AIClient` that share a history, and its snapshots (spec section 10.5)."""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, Final, NoReturn, Self, Unpack

import jsonschema_rs

from xmcp.chat import messages
from xmcp.chat.audit_records import ToolCallRecord, Trace
from xmcp.chat.events import ChatChunk, ChatResult, Done, LLMUsage, StopReason
from xmcp.chat.json_schemas import validator
from xmcp.chat.json_values import as_json, pointed, refuser
from xmcp.chat.messages import Message, message_to_json
from xmcp.chat.usage import ChatUsage
from xmcp.chat.user_input import UserInput
from xmcp.client.ai_client import AIClient
from xmcp.client.chat_options import ChatOptions, check
from xmcp.client.chat_stream import ChatStream, EventStream
from xmcp.client.hooks.middleware import IdLike, named
from xmcp.client.loop import usage as accounting
from xmcp.option_names import checking_options
from xmcp.wire import DisplayEnvelope

FORMAT: Final = "xmcp-conversation"
VERSION: Final = 1
LEAVE_SECONDS: Final = 15.0
"""Maximum time that an abandoned chat may take to end; after it the next chat is refused."""


class SnapshotError(ValueError):
    """A snapshot that cannot be resumed; the message says what is wrong with it, where, and what to do."""


class ConversationReply(ChatResult):
    """The result of one chat: the dict that `AIClient.chat()` returns, and the records of how it was reached."""

    def __init__(self, result: ChatResult, trace: Trace) -> None:
        super().__init__(
            answer=result["answer"],
            display=result["display"],
            displays=result["displays"],
            history=result["history"],
            usage=result["usage"],
            stop_reason=result["stop_reason"],
            value=result.value,
            open_calls=result.open_calls,
        )
        self.result = result
        self.trace = trace
        """The records of this chat."""

    @property
    def answer(self) -> str | None:
        """The model's final text, `None` if there is none."""
        return self["answer"]

    @property
    def displays(self) -> list[DisplayEnvelope]:
        """All that was shown, by turn and in call order."""
        return self["displays"]

    @property
    def stop_reason(self) -> StopReason:
        """Why the chat ended."""
        return self["stop_reason"]

    @property
    def usage(self) -> ChatUsage:
        """What this chat used."""
        return self["usage"]

    @property
    def tool_calls(self) -> list[ToolCallRecord]:
        """Every call of a tool, by turn and in call order."""
        return self.trace.calls


@dataclass(slots=True)
class _Running:
    """The running chat."""

    consumer: weakref.ref[EventStream] | None = None
    """The stream of the consumer; dead if it was dropped without `aclose()`. The event loop then ends the chat."""
    stream: ChatStream | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Conversation:
    """One conversation with an `AIClient`: it keeps the history, however a chat ends, and what was used.

    ```python
    conversation = Conversation(ai, system="Be brief.")
    reply = await conversation.chat("Show me sales for EMEA")
    print(reply.answer, reply.tool_calls)
    ```

    It runs one chat at a time; any number of conversations can share a client. After an exception, a cancellation or a
    stream that was not read to its end, the history has the query and every turn that was begun, and the next `chat()`
    continues from there. A query can be tried again: it is not repeated in the history if nothing came after it.

    Args:
        ai: The client, entered.
        history: Messages to continue from, in the OpenAI chat format.
        system: The system message, if the history does not begin with one.
        tenant_id: The tenant of every chat.
        session_id: Put into every usage record, log event and trace; default none.
        metadata: JSON values of the application, kept in snapshots; it may change the attribute `metadata`.
        keep_traces: Number of chats, the latest ones, whose records are kept in memory.

    Raises:
        ValueError: a history that no model would accept, or two system messages.
    """

    @checking_options()
    def __init__(
        self,
        ai: AIClient,
        *,
        history: Sequence[Message] = (),
        system: str | None = None,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        keep_traces: int = 100,
    ) -> None:
        self._ai = ai
        self._history = messages.copied(history)
        if wrong := messages.problem(self._history):
            raise ValueError(f"The history cannot be continued: {wrong}. Pass the history that chat() returned.")
        if system is not None:
            if self._history and self._history[0]["role"] in messages.INSTRUCTIONS:
                raise ValueError("The history begins with a system message already: leave out `system`, or that one.")
            self._history.insert(0, {"role": "system", "content": system})
        self.tenant_id, self.session_id = named("tenant_id", tenant_id), named("session_id", session_id)
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._usage = accounting.NOTHING
        self._traces: deque[Trace] = deque(maxlen=keep_traces)
        self._running: _Running | None = None

    @property
    def history(self) -> list[dict[str, Any]]:
        """The messages so far, valid for every vendor at any time, even while a chat runs.

        They are copies down to the last part, which the application may change; texts are shared, so that pictures and
        files cost nothing.
        """
        if self._running is not None and self._running.stream is not None:
            return self._running.stream.history
        return messages.copied(self._history)

    @property
    def busy(self) -> bool:
        """Whether a chat runs and is being read: until it has ended, another one is refused."""
        consumer = None if self._running is None else self._running.consumer
        return consumer is not None and consumer() is not None

    @property
    def usage(self) -> ChatUsage:
        """What all chats have used so far, failed ones included."""
        return self._usage.copy()

    @property
    def traces(self) -> list[Trace]:
        """The records of the latest chats, oldest first, the running one included."""
        return list(self._traces)

    def answer_calls(self, results: Mapping[str, str]) -> None:
        """Put the results of the last reply's `open_calls`, texts by `call_id`, into the history; then `chat(None)`.

        Raises:
            ValueError: the history has no such call.
            RuntimeError: a chat is running.
        """
        if self._running is not None:
            raise RuntimeError("A chat of this conversation is running: its open calls are known when it has ended.")
        self._history = messages.with_results(self._history, results)

    async def chat(self, query: UserInput | None, **options: Unpack[ChatOptions]) -> ConversationReply:
        """Ask, and return the answer. The options are those of `AIClient.chat`, for this chat alone.

        Raises:
            RuntimeError: a chat of this conversation is running, or the client is not entered.
            TypeError, ValueError: an option is not valid.
            ProviderError, QuotaExceeded: as `AIClient.chat` does; the history is kept.
        """
        check("chat()", options)
        trace = self._trace()
        result: ChatResult | None = None
        async with aclosing(self._stream(query, options, trace)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Done):
                    result = chunk.result
        if result is None:
            raise AssertionError("a chat ended without its last event")
        return ConversationReply(result, trace)

    def stream_chat(self, query: UserInput | None, **options: Unpack[ChatOptions]) -> EventStream:
        """Ask, and yield the events as they happen (`ChatChunk`). The chat begins with the first step of the iteration.

        `sse()` of the stream yields them for a web page instead. `aclose()` (or `contextlib.aclosing`) ends the chat
        early, and so does leaving a loop over it if there is no other reference to it. Raises what `chat` raises.
        """
        check("stream_chat()", options)
        return self._stream(query, options, self._trace())

    def clear(self) -> None:
        """Start again: forget history, usage and traces, but keep the system message and the metadata.

        Raises:
            RuntimeError: a chat is running.
        """
        if self._running is not None:
            raise RuntimeError("A chat of this conversation is running: clear it when that has ended.")
        asked = next(
            (n for n, one in enumerate(self._history) if one["role"] not in messages.INSTRUCTIONS), len(self._history)
        )
        del self._history[asked:]
        self._usage = accounting.NOTHING
        self._traces.clear()

    def snapshot(self) -> dict[str, Any]:
        """Return the conversation as JSON values (spec section 10.5): all that `resume` needs, in any process.

        While a chat runs it has the turns that have ended. Members of messages that are `None` are left out, and half
        of a surrogate pair becomes U+FFFD.

        Raises:
            TypeError: the history or the metadata contain something that is not JSON; the message says where.
            ValueError: the history has a message that the format does not know.
        """
        written: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "created_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "session_id": self.session_id,
            "tenant_id": self.tenant_id,
            "history": [message_to_json(one, refuser(f"history/{place}")) for place, one in enumerate(self.history)],
            "usage": dict(self._usage),
            "metadata": as_json(self.metadata, refuser("metadata")),
        }
        _check(written)
        return written

    @classmethod
    def resume(cls, ai: AIClient, snapshot: Mapping[str, Any] | str | bytes, *, keep_traces: int = 100) -> Self:
        """Return the conversation in a snapshot, ready to continue.

        A snapshot names its tenant: load it only from where users cannot change it.

        Args:
            ai: The client; it may have other models and tools than before.
            snapshot: What `snapshot()` returned, or its JSON text.
            keep_traces: As for `Conversation`; a snapshot has no traces.

        Raises:
            SnapshotError: it is not a snapshot, it is of a version that this release does not know, or its history is
                not one that a model would accept.
        """
        read = _read(snapshot)
        conversation = cls(
            ai,
            history=read["history"],
            tenant_id=read.get("tenant_id"),
            session_id=read.get("session_id"),
            metadata=read.get("metadata"),
            keep_traces=keep_traces,
        )
        used = read.get("usage") or {}
        conversation._usage = accounting.NOTHING | {name: used[name] for name in accounting.NOTHING if name in used}  # type: ignore[assignment]
        return conversation

    def export_traces(self, target: str | os.PathLike[str] | IO[str]) -> None:
        """Write the records of the latest chats as JSON Lines (spec section 10.4) to an open file or to a new one.

        It blocks while it writes.
        """
        if isinstance(target, str | os.PathLike):
            with open(target, "w", encoding="ascii", newline="\n") as file:
                self.export_traces(file)
            return
        for trace in self.traces:
            target.write(trace.to_jsonl())

    def _trace(self) -> Trace:
        return Trace(session_id=self.session_id, tenant_id=self.tenant_id)

    def _stream(self, query: UserInput | None, options: ChatOptions, trace: Trace) -> EventStream:
        running, stream = _Running(), EventStream()
        running.consumer = weakref.ref(stream)
        stream.attach(self._events(query, options, trace, running))
        return stream

    async def _events(
        self, query: UserInput | None, options: ChatOptions, trace: Trace, running: _Running
    ) -> AsyncGenerator[ChatChunk, None]:
        await self._wait_for_its_turn()
        self._running = running
        failure: BaseException | None = None
        try:
            running.stream = self._ai.stream_chat(
                query, self._history, tenant_id=self.tenant_id, session_id=self.session_id, **options
            )
            trace.chat_id = running.stream.chat_id  # as in the log
            self._traces.append(trace)
            async with aclosing(running.stream) as chunks:
                async for chunk in chunks:
                    trace.take(chunk)
                    if isinstance(chunk, LLMUsage):
                        self._usage = accounting.add(self._usage, chunk.usage)
                    yield chunk
        except BaseException as exc:
            failure = exc
            raise
        finally:
            if running.stream is not None:
                self._history = running.stream.history
                for chunk in running.stream.unreported():
                    trace.take(chunk)
                    self._usage = accounting.add(self._usage, chunk.usage)
            trace.end(self._history, failure)
            self._running = None
            running.over.set()

    async def _wait_for_its_turn(self) -> None:
        """Return when no chat runs.

        Raises:
            RuntimeError: a chat runs and is being read; or one was abandoned and does not end.
        """
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                while (other := self._running) is not None and not self.busy:
                    await other.over.wait()
        except TimeoutError:
            pass
        if self._running is not None:
            raise RuntimeError(
                "A chat of this conversation is running: wait for its end, or leave its stream with aclose(). For "
                "chats at the same time make a Conversation each; they can share the AIClient."
            )


def _read(snapshot: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """Return the snapshot as a JSON object, checked against its schema and the invariant of histories.

    Raises:
        SnapshotError: it is not valid.
    """
    value: Any = snapshot
    if isinstance(snapshot, str | bytes):
        try:
            value = json.loads(snapshot, parse_constant=_no_constant)
        except (ValueError, RecursionError) as exc:
            raise SnapshotError(f"The snapshot is not JSON: {exc}. Pass the text as it was written.") from None
    if not isinstance(value, Mapping):
        raise SnapshotError(f"The snapshot must be a JSON object, not a value of type {type(value).__name__}.")
    if value.get("format") != FORMAT:
        raise SnapshotError(f"This is not a snapshot of a conversation: its member `format` is not {FORMAT!r}.")
    version = value.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise SnapshotError(
            f"The snapshot is of version {version}, and this release knows version {VERSION} only: use a newer release."
        )
    try:
        read: dict[str, Any] = as_json(dict(value), refuser("the snapshot"))
        _check(read)
    except (TypeError, ValueError) as exc:
        raise SnapshotError(f"The snapshot cannot be used: {exc}") from None
    if wrong := messages.problem(read["history"]):
        raise SnapshotError(f"The snapshot's history cannot be continued: {wrong}. Drop that turn from it.")
    return read


def _check(snapshot: Mapping[str, Any]) -> None:
    """Raise a ValueError with the first place where `schemas/snapshot.schema.json` is violated."""
    try:
        validator("snapshot").validate(snapshot)
    except jsonschema_rs.ValidationError as fault:
        raise ValueError(f"at {pointed(fault.instance_path)}: {fault.message}.") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
