"""Clients that break one sentence each. A change patches the reference client in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from xmcp.chat import arguments
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CallFailed
from xmcp.chat.events import ChatChunk, Done, LLMRetry, StopReason
from xmcp.client.calls import cache, content_blocks, context_budget, retry_policy, server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Retrying
from xmcp.client.calls.server_results import Reading
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import MAX_CALLS, ToolTurn
from xmcp.client.tools import dependencies
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.wire import XML_WHITE_SPACE, DecodeError, ErrorInfo, decode


def first_of_equal_members_inside() -> None:
    """Of members with the same name the first one counts, in an object within the arguments."""
    outermost: dict[str, Any] = {}

    def first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        outermost.clear()
        outermost.update(pairs)  # the outermost object is read last
        kept: dict[str, Any] = {}
        for name, value in pairs:
            kept.setdefault(name, value)
        return kept

    class Decoder(json.JSONDecoder):
        def decode(self, s: str, *others: Any) -> Any:
            value = super().decode(s, *others)
            return dict(outermost) if isinstance(value, dict) else value

    arguments._DECODER = Decoder(  # type: ignore[misc]
        parse_constant=arguments._refuse_constant, parse_float=arguments._finite, object_pairs_hook=first_wins
    )


def withheld_answer_loses_its_calls() -> None:
    """An answer that ended with `content_filter` is one without calls."""
    pieces = Chat._pieces

    async def without_calls(self: Chat, *given: Any) -> AsyncGenerator[str, None]:
        async with aclosing(pieces(self, *given)) as received:
            async for piece in received:
                yield piece
        if self._completion.finish_reason == "content_filter":
            self._completion = replace(self._completion, tool_calls=())

    Chat._pieces = without_calls  # type: ignore[assignment,method-assign]


def unreadable_call_is_no_predecessor() -> None:
    """A call whose arguments cannot be read counts as not called, for the calls that depend on its tool."""
    in_graph = ToolTurn._entries_in_graph

    def readable(self: ToolTurn) -> list[Entry | None]:
        parsed = [arguments.parse_arguments(call.arguments) for call in self._calls]
        return [
            None if isinstance(given, ErrorInfo) else entry for entry, given in zip(in_graph(self), parsed, strict=True)
        ]

    ToolTurn._entries_in_graph = readable  # type: ignore[method-assign]


def only_the_attempt_before_is_in_doubt() -> None:
    """Whether something can have changed is decided by the attempt before the last one, and not by all of them."""

    def stage(policy: retry_policy.RetryPolicy, sleep: Any = asyncio.sleep) -> Any:
        async def retry(call: ActiveCall, proceed: Next) -> Reading:
            now = asyncio.get_running_loop().time
            begun, failures, doubtful = now(), 0, False
            while True:
                last = None
                try:
                    reading = await proceed(call)
                except CallFailed as exc:
                    reading = server_results.failed(call.name, exc.error)
                    last = retry_policy._in_doubt(exc.error) if doubtful else None
                final = server_results.failed(call.name, last) if last else reading
                error = reading.response.error
                if error is None or not retry_policy.allowed(error, call.entry):
                    return final
                doubtful = (error.meta or {}).get("side_effects") != "none"
                failures += 1
                pause, until = retry_policy.wait(policy, failures, error), call.deadline()
                left = None if until is None else until - now()
                if retry_policy.ends(policy, failures, pause, now() - begun, left):
                    return final
                call.emit(Retrying(call.request.call, failures, round(pause * 1000), error))
                await sleep(pause)

        return retry

    retry_policy.stage = stage


def cached_by_words() -> None:
    """The key of a cached answer has each argument as a word, so that `7` and `"7"` are the same."""
    key = cache.key

    def in_words(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        def word(value: Any) -> Any:
            return value if isinstance(value, str | dict | list) else json.dumps(value)

        try:
            return key(tenant_id, entry, {name: word(value) for name, value in arguments.items()})
        except TypeError:
            return None

    cache.key = in_words


def passing_display_is_no_answer() -> None:
    """A display that disappears by itself does not count as one with which a call answered."""
    whole: Any = vars(ToolTurn)["shows_all"]

    def lasting(self: ToolTurn) -> bool:
        shown = [outcome.response.display if outcome else None for outcome in self.outcomes]
        stays = [display is not None and not (display.meta or {}).get("transient") for display in shown]
        return bool(whole.fget(self)) and dependencies.shows_all(self._predecessors, stays)

    ToolTurn.shows_all = property(lasting)  # type: ignore[assignment,method-assign]


def last_words_of_any_turn() -> None:
    """At the limit of turns the answer is the last text of the chat, also that of an earlier turn."""
    begin_turn, done = Chat._begin_turn, Chat._done
    said: WeakKeyDictionary[Chat, str] = WeakKeyDictionary()

    def note(self: Chat, catalogue: Catalogue, text: str, calls: Sequence[ToolCall]) -> ToolTurn:
        if text.strip(XML_WHITE_SPACE):
            said[self] = text
        return begin_turn(self, catalogue, text, calls)

    def with_last_words(self: Chat, stop_reason: StopReason, answer: str = "") -> Done:
        earlier = said.pop(self, "")
        if stop_reason == "max_turns" and not answer.strip(XML_WHITE_SPACE):
            answer = earlier
        return done(self, stop_reason, answer)

    Chat._begin_turn = note  # type: ignore[method-assign]
    Chat._done = with_last_words  # type: ignore[method-assign]


def own_tools_do_not_count() -> None:
    """The limit of calls in a turn counts calls of servers' tools only, and not those of the client's own."""
    init = ToolTurn.__init__

    def counting(
        self: ToolTurn, number: int, catalogue: Catalogue, text: str, calls: Sequence[ToolCall], **given: Any
    ) -> None:
        limit, own = given.get("max_calls", MAX_CALLS), given.get("meta_tools", ())
        counted = [place for place, call in enumerate(calls) if call.name not in own]
        given["max_calls"] = counted[limit] if len(counted) > limit else max(limit, len(calls))
        init(self, number, catalogue, text, calls, **given)

    ToolTurn.__init__ = counting  # type: ignore[method-assign]


def failed_requests_of_the_chat() -> None:
    """`attempt` of a `retry` without `call_id` counts the failed requests of the chat, and not those of its turn."""
    run = Chat.run

    async def counting(self: Chat) -> AsyncGenerator[ChatChunk, None]:
        failed = 0
        async with aclosing(run(self)) as events:
            async for event in events:
                if isinstance(event, LLMRetry):
                    failed += 1
                    yield replace(event, attempt=failed)
                else:
                    yield event

    Chat.run = counting  # type: ignore[method-assign]


def names_of_members_repeat_nothing() -> None:
    """Structured content repeats a block for the user alone by its values only, and not by the names of its members."""
    repeat = server_results._repeat_what_is_for_the_user

    def texts_in(data: Any) -> list[str]:
        if isinstance(data, Mapping | list):
            parts = data.values() if isinstance(data, Mapping) else data
            return [text for part in parts for text in texts_in(part)]
        return [data] if isinstance(data, str) else []

    def by_values(data: Any, blocks: Sequence[Any]) -> bool:
        if not repeat(data, blocks):
            return False
        alone = [content_blocks.held(block).strip() for block in blocks if content_blocks.is_for_user_alone(block)]
        texts = texts_in(data)
        return (
            len(alone) > content_blocks.MAX_SHOWN
            or any(said and said in text for said in alone for text in texts)
            or any(said.startswith(("{", "[")) for said in alone)
        )

    server_results._repeat_what_is_for_the_user = by_values


def parts_of_messages_stay_large() -> None:
    """In a history that the application passed in, a display is looked for only where the content is one text."""
    can_be_large = context_budget.can_be_large

    def only_texts(message: Mapping[str, Any], budget: int) -> bool:
        return isinstance(message.get("content"), str) and can_be_large(message, budget)

    context_budget.can_be_large = only_texts


def failure_without_words_succeeds() -> None:
    """A failed result whose document has no error and no words is read as one that succeeded."""
    read_document = server_results._read_document

    def read(result: Any, tool_name: str) -> Reading:
        first = result.content[0] if result.content else None
        if result.is_error and first is not None and first.type == "text":
            try:
                response = decode(first.text, bad_display="drop")
            except DecodeError:
                return read_document(result, tool_name)
            if response.error is None and not (response.llm_output or "").strip(XML_WHITE_SPACE):
                result = result.model_copy(update={"is_error": False})
        return read_document(result, tool_name)

    server_results._read_document = read
