"""The contract of model providers, as tests that anybody can run against a provider of their own, with pytest alone.

Write a stand-in for your vendor that answers what it is told (`Vendor`), and give it to a subclass:

```python
from xmcp.providers.contract import ProviderContract

class TestMyProvider(ProviderContract):
    def vendor(self):
        return my_stand_in()  # an async context manager that gives a `Vendor`
```

A test of something that a vendor does not have (`Vendor.lacks`) is skipped, and says so.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Final, Literal, Protocol, TypeAlias

import pytest

from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import Message, tool_message, turn_messages
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import VENDOR_STATE_KEY, for_vendor, with_vendor_state
from xmcp.providers.base import LLMProvider, ModelRequest, Piece, Reasoning

SECRET: Final = "no-form-of-4711-that-is-known"  # noqa: S105 - the key that no message may repeat
"""The key that a stand-in gives its provider, and quotes where it refuses it. Nothing in it looks like a key."""

Feature: TypeAlias = Literal[
    "cached_tokens",
    "content_filter",
    "ids",
    "images",
    "images_in_results",
    "length",
    "max_tokens",
    "models",
    "reasoning",
    "refusals",
    "sampling",
    "shown_reasoning",
    "stop",
    "streams",
    "tools",
]
"""What a vendor can lack.

`ids`: calls have ids of the vendor, by which results are found; `length`: it says that it cut an answer; `refusals`:
it answers over HTTP; `streams`: it answers piece by piece; `reasoning`: it wants something back with an earlier
answer, such as a signature; `shown_reasoning`: what its models think aloud comes as `Reasoning`; `sampling`: it takes
`temperature` and `top_p`; `max_tokens`, `stop`: it takes this option.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model is to answer."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    """In OpenAI's terms, as in a `Completion`."""
    usage: Usage = field(default_factory=lambda: Usage(10, 5, 2))
    reasoning: str = ""
    """What it thinks aloud before, with a signature where the vendor wants one back."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The vendor answers as it does in such a case: with its status, and its own words, which quote `SECRET`."""

    category: ErrorCategory


@dataclass(frozen=True, slots=True)
class BreaksOff:
    """The connection breaks after a piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Hangs:
    """After a piece of text nothing comes."""

    text: str


@dataclass(frozen=True, slots=True)
class Raw:
    """Something else in the place of an answer, such as a page. `why` is for the name of the test."""

    why: str
    body: bytes
    content_type: str = "application/json"
    status: int = 200


Scripted: TypeAlias = Answer | Refusal | BreaksOff | Hangs | Raw


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the model got it, read back from the vendor's format."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    images: tuple[tuple[str, str], ...] = ()
    """Media type and base64 of each."""
    calls: tuple[ToolCall, ...] = ()
    of: str = ""
    """Of a result: the id of its call, or the name of its tool where the vendor has no ids."""
    state: Any = None
    """What the vendor got back unchanged: the signature of `Answer.reasoning`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the vendor got it. Instructions that stand outside the messages come first, as a system message."""

    model: str
    messages: tuple[Said, ...]
    tools: Mapping[str, Any]
    """The JSON Schema of the arguments of each tool, by its name."""
    sampler: Mapping[str, Any]
    """The options that arrived, by the names of `SamplerConfig`."""


class Vendor(Protocol):
    """A stand-in for a vendor, with a provider that asks it."""

    provider: LLMProvider
    lacks: frozenset[Feature]
    asked: list[Asked]
    """The requests so far."""
    left: int
    """The number of requests whose connection the provider gave up before it had the whole answer."""
    models: tuple[str, ...]
    """The models that it lists."""
    malformed: tuple[Raw, ...]
    """Answers that have the form of the vendor's, with values of wrong types, as a defective proxy could send them."""

    def answers(self, *answers: Scripted) -> None:
        """Say these from now on, one for each request; the last one is repeated."""


_PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_HELLO: Final[list[Message]] = [{"role": "user", "content": "hello"}]
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "of": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}
_TOOLS: Final = ToolSchemas.of(
    [
        {"type": "function", "function": {"name": name, "description": f"{name} it", "parameters": _SCHEMA}}
        for name in ("add", "find")
    ]
)
_NO_TOOLS: Final = ToolSchemas()
_WORDS: Final = 'Grüße, 世界 👩‍👩‍👧: a < b & c \u2028 "quoted"\nnew line'
_SECONDS: Final = 30.0

_NOT_BY_CATEGORY: Final = (ErrorCategory.MODEL, ErrorCategory.TOO_LARGE, ErrorCategory.UNKNOWN)
"""No refusal, or, of a model, in a test of its own."""

_Test: TypeAlias = Callable[..., Awaitable[None]]


def _with_vendor(*needs: Feature) -> Callable[[_Test], Callable[..., None]]:
    """Run an async test with a vendor, unless that lacks what it needs; pytest needs no plug-in for it."""

    def decorated(test: _Test) -> Callable[..., None]:
        def run(self: ProviderContract, **parameters: Any) -> None:
            async def inside() -> None:
                async with asyncio.timeout(_SECONDS), self.vendor() as vendor:
                    if missing := [one for one in needs if one in vendor.lacks]:
                        pytest.skip(f"the vendor has no {', '.join(missing)}")
                    await test(self, vendor, **parameters)

            asyncio.run(inside())

        update_wrapper(run, test)
        del run.__wrapped__  # type: ignore[attr-defined]
        signature = inspect.signature(test)
        asked_for = [one for one in signature.parameters.values() if one.name != "vendor"]
        # pytest reads it.
        run.__signature__ = signature.replace(parameters=asked_for)  # type: ignore[attr-defined]
        return run

    return decorated


async def ask(
    vendor: Vendor, messages: Sequence[Message] = _HELLO, tools: ToolSchemas = _NO_TOOLS, **more: Any
) -> tuple[list[str], Completion]:
    """Ask the provider once; return the pieces of text and the completion."""
    pieces, completion = await all_of(vendor, messages, tools, **more)
    return [piece for piece in pieces if isinstance(piece, str)], completion


async def all_of(
    vendor: Vendor, messages: Sequence[Message] = _HELLO, tools: ToolSchemas = _NO_TOOLS, **more: Any
) -> tuple[list[Piece], Completion]:
    """Ask the provider once; return the pieces of text and of reasoning, and the completion."""
    request = ModelRequest(for_vendor(messages, vendor.provider.name), tools, **more)
    pieces: list[Piece] = []
    completion = None
    async with aclosing(vendor.provider.stream(request)) as stream:
        async for one in stream:
            assert completion is None, "the last thing that a provider yields is the completion, and there is one"
            if isinstance(one, Completion):
                completion = one
            else:
                pieces.append(one)
    assert completion is not None, "the last thing that a provider yields is the completion"
    assert all(piece if isinstance(piece, str) else piece.text for piece in pieces), "no piece is empty"
    return pieces, completion


async def _failure(vendor: Vendor, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(vendor, **more)
    error = caught.value
    assert error.message, "an error says what it is"
    assert SECRET not in str(error), "an error repeats no key"
    assert error.provider == vendor.provider.name
    return error


def _turn(completion: Completion, results: Sequence[Any]) -> list[Message]:
    """Return the messages of a turn: the answer of the model, and the results of its calls."""
    assistant, *_ = turn_messages(completion.text, completion.tool_calls, [""] * len(completion.tool_calls))
    told = [tool_message(call, result) for call, result in zip(completion.tool_calls, results, strict=True)]
    return [with_vendor_state(assistant, completion.vendor_state), *told]


def _loaded(calls: Sequence[ToolCall]) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments or "{}")) for call in calls]


class ProviderContract:
    """What every provider does. Override `vendor`."""

    def vendor(self) -> AbstractAsyncContextManager[Vendor]:
        """Return a new stand-in and its provider, which has the key `SECRET`; both are closed at its end."""
        raise NotImplementedError

    # ---- answers

    @_with_vendor()
    async def test_a_text_comes_in_pieces_and_then_as_a_completion(self, vendor: Vendor) -> None:
        vendor.answers(Answer(_WORDS))
        pieces, completion = await ask(vendor)
        assert "".join(pieces) == completion.text == _WORDS
        assert len(pieces) > 1 or "streams" in vendor.lacks
        assert (completion.tool_calls, completion.finish_reason) == ((), "stop")

    @_with_vendor()
    async def test_tokens_are_what_the_vendor_counted(self, vendor: Vendor) -> None:
        cached = None if "cached_tokens" in vendor.lacks else 4
        vendor.answers(Answer("ok", usage=Usage(100, 7, cached)))
        _, completion = await ask(vendor)
        usage = completion.usage
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (100, 7, cached)
        assert completion.model

    @_with_vendor()
    async def test_an_empty_answer_is_one(self, vendor: Vendor) -> None:
        vendor.answers(Answer())
        pieces, completion = await ask(vendor)
        assert (pieces, completion.text, completion.tool_calls) == ([], "", ())

    @_with_vendor("length")
    async def test_an_answer_that_is_cut_says_so(self, vendor: Vendor) -> None:
        vendor.answers(Answer("half an ans", finish_reason="length"))
        _, completion = await ask(vendor)
        assert (completion.text, completion.finish_reason) == ("half an ans", "length")

    @_with_vendor("content_filter")
    async def test_an_answer_that_is_filtered_says_so(self, vendor: Vendor) -> None:
        vendor.answers(Answer("I can", finish_reason="content_filter"))
        _, completion = await ask(vendor)
        assert completion.finish_reason == "content_filter"

    @_with_vendor("shown_reasoning")
    async def test_reasoning_comes_before_the_text_and_is_no_part_of_it(self, vendor: Vendor) -> None:
        vendor.answers(Answer("I look.", reasoning=_WORDS))
        pieces, completion = await all_of(vendor)
        thoughts = [piece for piece in pieces if isinstance(piece, Reasoning)]
        assert "".join(thought.text for thought in thoughts) == _WORDS
        assert pieces[: len(thoughts)] == thoughts
        assert len(thoughts) > 1 or "streams" in vendor.lacks
        texts = [piece for piece in pieces if isinstance(piece, str)]
        assert "".join(texts) == completion.text == "I look."

    # ---- tools

    @_with_vendor("tools")
    async def test_one_call(self, vendor: Vendor) -> None:
        call = ToolCall("c1", "add", '{"a": 1, "of": ["é", "<b>"]}')
        vendor.answers(Answer("Let me see.", (call,), "tool_calls"))
        pieces, completion = await ask(vendor, tools=_TOOLS)
        assert "".join(pieces) == completion.text == "Let me see."
        assert _loaded(completion.tool_calls) == _loaded([call])
        assert completion.finish_reason == "tool_calls"
        assert completion.tool_calls[0].id
        assert vendor.asked[0].tools == {"add": _SCHEMA, "find": _SCHEMA}

    @_with_vendor("tools")
    async def test_parallel_calls_keep_their_order_and_have_ids_of_their_own(self, vendor: Vendor) -> None:
        calls = tuple(ToolCall(f"c{n}", "add" if n % 2 else "find", f'{{"a": {n}}}') for n in range(5))
        vendor.answers(Answer("", calls, "tool_calls"))
        pieces, completion = await ask(vendor, tools=_TOOLS)
        assert pieces == []
        assert _loaded(completion.tool_calls) == _loaded(calls)
        assert len({call.id for call in completion.tool_calls}) == len(calls)

    @_with_vendor("tools")
    async def test_a_call_without_arguments(self, vendor: Vendor) -> None:
        vendor.answers(Answer("", (ToolCall("c1", "add", "{}"),), "tool_calls"))
        _, completion = await ask(vendor, tools=_TOOLS)
        assert _loaded(completion.tool_calls) == [("add", {})]

    @_with_vendor("tools")
    async def test_the_model_gets_its_calls_back_with_their_results(self, vendor: Vendor) -> None:
        calls = (ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "find", '{"a": 2}'))
        vendor.answers(Answer("I look.", calls, "tool_calls"), Answer("done"))
        _, first = await ask(vendor, tools=_TOOLS)
        results = ['<tool_response tool_name="add"/>', _WORDS]
        await ask(vendor, [*_HELLO, *_turn(first, results)], _TOOLS)
        user, assistant, *told = vendor.asked[1].messages
        assert (user.role, user.text) == ("user", "hello")
        assert (assistant.role, assistant.text) == ("assistant", "I look.")
        assert _loaded(assistant.calls) == _loaded(calls)
        assert [(one.role, one.text) for one in told] == [("tool", result) for result in results]
        if "ids" not in vendor.lacks:
            assert [one.of for one in told] == [call.id for call in assistant.calls]

    @_with_vendor("tools")
    async def test_the_person_can_go_on_after_results(self, vendor: Vendor) -> None:
        """As after a chat that ended with a display: the model was not asked what it says to the results."""
        vendor.answers(Answer("", (ToolCall("c1", "add", '{"a": 1}'),), "tool_calls"), Answer("done"))
        _, first = await ask(vendor, tools=_TOOLS)
        await ask(vendor, [*_HELLO, *_turn(first, ["7"]), {"role": "user", "content": "and now?"}], _TOOLS)
        said = vendor.asked[1].messages
        assert [one.text for one in said if one.role == "tool"] == ["7"]
        assert (said[-1].role, said[-1].text) == ("user", "and now?")

    # ---- histories

    @_with_vendor()
    async def test_instructions_and_turns_arrive_in_order(self, vendor: Vendor) -> None:
        history: list[Message] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "two"},
        ]
        before = json.dumps(history)
        vendor.answers(Answer("2"))
        await ask(vendor, history)
        assert [(one.role, one.text) for one in vendor.asked[0].messages] == [
            (message["role"], message["content"]) for message in history
        ]
        assert json.dumps(history) == before, "a provider changes no message"

    @_with_vendor()
    async def test_equal_roles_in_a_row_lose_nothing(self, vendor: Vendor) -> None:
        history = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
        vendor.answers(Answer("ok"))
        await ask(vendor, history)
        told = "\n".join(one.text for one in vendor.asked[0].messages)
        assert told.index("one") < told.index("two")

    @_with_vendor("images")
    async def test_a_picture_of_the_person_is_seen(self, vendor: Vendor) -> None:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}
        message = {"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]}
        vendor.answers(Answer("a dot"))
        await ask(vendor, [message])
        (said,) = vendor.asked[0].messages
        assert (said.text, said.images) == ("what is this?", (("image/png", _PNG),))

    @_with_vendor("tools", "images_in_results")
    async def test_a_picture_in_a_result_is_seen(self, vendor: Vendor) -> None:
        vendor.answers(Answer("", (ToolCall("c1", "add", '{"a": 1}'),), "tool_calls"), Answer("a dot"))
        _, first = await ask(vendor, tools=_TOOLS)
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}
        await ask(vendor, [*_HELLO, *_turn(first, [[{"type": "text", "text": "here"}, picture]])], _TOOLS)
        *_, told = vendor.asked[1].messages
        assert (told.text, told.images) == ("here", (("image/png", _PNG),))

    @_with_vendor("tools", "reasoning")
    async def test_what_the_vendor_wants_back_comes_back_unchanged(self, vendor: Vendor) -> None:
        vendor.answers(
            Answer("I look.", (ToolCall("c1", "add", '{"a": 1}'),), "tool_calls", reasoning="Hm."), Answer("done")
        )
        pieces, first = await ask(vendor, tools=_TOOLS)
        assert "".join(pieces) == "I look.", "what a model thinks is no text of its answer"
        assert first.vendor_state is not None
        kept = json.loads(json.dumps(_turn(first, ["7"])))
        await ask(vendor, [*_HELLO, *kept], _TOOLS)
        (assistant,) = [one for one in vendor.asked[1].messages if one.role == "assistant"]
        assert assistant.state
        assert _loaded(assistant.calls) == [("add", {"a": 1})]
        assert assistant.text == "I look."

    @_with_vendor("tools", "reasoning")
    async def test_the_state_of_another_vendor_is_not_sent(self, vendor: Vendor) -> None:
        turn = turn_messages("I look.", [ToolCall("c1", "add", '{"a": 1}')], ["7"])
        kept = [{**turn[0], VENDOR_STATE_KEY: {"vendor": "another", "value": {"signature": "of another"}}}, *turn[1:]]
        vendor.answers(Answer("done"))
        await ask(vendor, [*_HELLO, *kept], _TOOLS)
        assert "of another" not in str(vendor.asked[0])
        (assistant,) = [one for one in vendor.asked[0].messages if one.role == "assistant"]
        assert not assistant.state
        assert _loaded(assistant.calls) == [("add", {"a": 1})]

    # ---- options

    @_with_vendor()
    async def test_the_model_of_a_request_goes_before_that_of_the_provider(self, vendor: Vendor) -> None:
        vendor.answers(Answer("ok"))
        await ask(vendor, model="another-model")
        assert vendor.asked[0].model == "another-model"

    @_with_vendor()
    async def test_options_arrive_unless_the_vendor_has_no_such_option(self, vendor: Vendor) -> None:
        vendor.answers(Answer("ok"))
        sampler = SamplerConfig(temperature=0.5, top_p=0.25, max_tokens=100, stop=["END"])
        await ask(vendor, sampler=sampler)
        lacks = {*vendor.lacks, *(("temperature", "top_p") if "sampling" in vendor.lacks else ())}
        expected = {name: value for name, value in sampler.to_dict().items() if name not in lacks}
        assert dict(vendor.asked[0].sampler) == expected

    @_with_vendor("tools")
    @pytest.mark.parametrize("choice", ["none", "required", "find"])
    async def test_the_choice_of_tools_arrives(self, vendor: Vendor, choice: str) -> None:
        vendor.answers(Answer("ok"))
        await ask(vendor, tools=_TOOLS, sampler=SamplerConfig(tool_choice=choice))
        assert vendor.asked[0].sampler["tool_choice"] == choice

    @_with_vendor("models")
    async def test_models_are_listed(self, vendor: Vendor) -> None:
        assert await vendor.provider.list_models() == sorted(vendor.models)  # type: ignore[attr-defined]

    # ---- failures

    @_with_vendor("refusals")
    @pytest.mark.parametrize("category", [one for one in ErrorCategory if one not in _NOT_BY_CATEGORY])
    async def test_a_refusal_has_its_category(self, vendor: Vendor, category: ErrorCategory) -> None:
        vendor.answers(Refusal(category))
        assert (await _failure(vendor)).category is category

    @_with_vendor("refusals")
    async def test_an_unknown_model_is_named(self, vendor: Vendor) -> None:
        vendor.answers(Refusal(ErrorCategory.MODEL))
        error = await _failure(vendor, model="no-such-model")
        assert "no-such-model" in error.message
        assert error.category is ErrorCategory.MODEL

    @_with_vendor("streams")
    async def test_an_answer_that_breaks_off_is_a_failure_of_the_network(self, vendor: Vendor) -> None:
        vendor.answers(BreaksOff("half an ans"))
        error = await _failure(vendor)
        assert (error.category, error.began) == (ErrorCategory.NETWORK, True)

    @_with_vendor("refusals")
    async def test_a_page_is_no_answer(self, vendor: Vendor) -> None:
        vendor.answers(Raw("a page", b"<html><body>Sign in, please</body></html>", "text/html"))
        error = await _failure(vendor)
        assert "Sign in" not in error.message
        assert "<" not in error.message

    @_with_vendor("refusals")
    async def test_what_is_no_json_is_no_answer(self, vendor: Vendor) -> None:
        vendor.answers(Raw("no JSON", b"upstream is busy"))
        await _failure(vendor)

    @_with_vendor("refusals")
    async def test_malformed_answers_are_failures_of_the_provider(self, vendor: Vendor) -> None:
        """A `ProviderError`, never a `TypeError` or a `KeyError` (which `_failure` would let through)."""
        for raw in vendor.malformed:
            vendor.answers(raw)
            try:
                await _failure(vendor, tools=_TOOLS)
            except Exception as exc:
                raise AssertionError(f"{raw.why}: {type(exc).__name__}: {exc}") from exc

    # ---- the loop

    @_with_vendor("streams")
    async def test_a_stream_that_is_closed_gives_up_its_connection(self, vendor: Vendor) -> None:
        vendor.answers(Hangs("half an ans"))
        stream = vendor.provider.stream(ModelRequest(_HELLO))
        assert await anext(stream)
        await stream.aclose()
        async with asyncio.timeout(5):
            while not vendor.left:
                await asyncio.sleep(0.01)

    @_with_vendor("streams")
    async def test_a_request_that_is_cancelled_gives_up_its_connection(self, vendor: Vendor) -> None:
        vendor.answers(Hangs("half an ans"))
        task = asyncio.create_task(ask(vendor))
        while not vendor.asked:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            while not vendor.left:
                await asyncio.sleep(0.01)

    @_with_vendor()
    async def test_many_requests_at_the_same_time_do_not_mix(self, vendor: Vendor) -> None:
        vendor.answers(*(Answer(f"answer {n} " * 20) for n in range(16)))
        answers = await asyncio.gather(*(ask(vendor) for _ in range(16)))
        assert sorted(completion.text for _, completion in answers) == sorted(f"answer {n} " * 20 for n in range(16))
        assert all("".join(pieces) == completion.text for pieces, completion in answers)
