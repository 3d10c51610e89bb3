"""Streams of every format, spoilt at random: what a defective proxy or a hostile server sends is a `ProviderError`."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pytest
from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.chat_completions import ChatCompletions
from support.vendors.gemini import Gemini
from support.vendors.mistral import Mistral
from support.vendors.presets import DeepSeek, MiniMax
from support.vendors.responses import Responses
from support.vendors.stand_in import StandIn

from xmcp.chat.completions import fault
from xmcp.chat.messages import copied
from xmcp.chat.vendor_state import with_vendor_state
from xmcp.providers import ProviderError, ToolCall
from xmcp.providers.base import Piece, Received
from xmcp.providers.contract import Answer
from xmcp.providers.formats import (
    anthropic_messages,
    chat_completions,
    deepseek,
    gemini,
    minimax,
    mistral,
    responses,
)
from xmcp.providers.formats.sse import EventReader
from xmcp.providers.streamed_answers import Assembly

STREAMS: Final = 1000
"""For each format."""

ANSWERS: Final = (
    Answer("hello there"),
    Answer("I look.", (ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "find", "{}")), "tool_calls", reasoning="Hm."),
    Answer("It is 3.", reasoning="One and two."),
)
NAMES: Final = re.findall(
    r"\w+",
    "choices content content_block data delta detail encrypted_content error function id index input item message name "
    "output_index partial_json phase reasoning_details signature text thinking tool_calls type usage "
    "args candidates finishReason functionCall parts promptFeedback thought thoughtSignature usageMetadata",
)
VALUES: Final = [
    *("null", "true", "7", "-1", "3.5", "1e999", "NaN", "18446744073709551616"),
    *('""', '"x"', '"\\ud800"', '"tool_use"', "[]", "[1]", "[[]]", "[{}]", "[null]"),
    *("{}", '{"a":1}', '{"name":7}', '{"type":"text","text":7}', '{"type":"tool_use","partial_json":7}'),
    *('[{"type":"thinking","thinking":"q"}]', '{"type":"reasoning","encrypted_content":"x"}'),
    *("$100", "$400", "$980"),  # as many levels deep
]


class Format(NamedTuple):
    """A format, and a vendor that speaks it."""

    vendor: type[StandIn]
    parse: Callable[[bytes, str], Mapping[str, Any]]
    assembly: Callable[[], Assembly]


FORMATS: Final = {
    "anthropic": Format(
        AnthropicMessages, anthropic_messages.parse, lambda: anthropic_messages.Assembly("vendor", Received())
    ),
    "chat": Format(ChatCompletions, chat_completions.parse, lambda: chat_completions.Assembly("vendor", Received())),
    "deepseek": Format(DeepSeek, chat_completions.parse, lambda: deepseek.Assembly("vendor", Received())),
    "gemini": Format(Gemini, gemini.parse, lambda: gemini.Assembly("vendor", Received())),
    "minimax": Format(MiniMax, chat_completions.parse, lambda: minimax.Assembly("vendor", Received())),
    "mistral": Format(Mistral, mistral.parse, lambda: mistral.Assembly("vendor", Received())),
    "responses": Format(Responses, responses.parse, lambda: responses.Assembly("vendor", Received())),
}


class Spoiler:
    """Changes events at random, always in the same way."""

    def __init__(self) -> None:
        self._random = random.Random(1)

    def spoilt(self, events: list[Any]) -> list[bytes]:
        """Return events with one to three faults, as bytes."""
        spoilt = json.loads(json.dumps(events))
        for _ in range(self._random.randint(1, 3)):
            place, what = self._random.randrange(len(spoilt)), self._random.random()
            if what < 0.1 and len(spoilt) > 1:
                del spoilt[place]
            elif what < 0.2:
                spoilt.insert(place, spoilt[place])
            else:
                self._spoil(spoilt[place])
        return [self._written(event) for event in spoilt]

    def _spoil(self, event: Any) -> None:
        parent, key = self._random.choice([*_members(event), ({"": 1}, "")])
        what = self._random.random()
        if what < 0.2:
            del parent[key]
        elif what < 0.7 or isinstance(parent, list):
            parent[key] = f"${self._random.choice(VALUES)}$"
        else:
            parent[self._random.choice(NAMES)] = self._random.choice([f"${self._random.choice(VALUES)}$", parent[key]])

    @staticmethod
    def _written(event: Any) -> bytes:
        text = json.dumps(event)
        for value in VALUES:
            marked = json.dumps(f"${value}$")
            levels = int(value[1:]) // 2 if value.startswith("$") else 0
            text = text.replace(marked, '{"a":[' * levels + "1" + "]}" * levels if levels else value)
        return text.encode()


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each member in a value, as what it is in and its key."""
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(member, dict | list):
            yield from _members(member)


def _events(vendor: StandIn, answer: Answer) -> list[Any]:
    read = EventReader().feed(vendor.streamed(answer))
    return [json.loads(event.data) for event in read if event.data != b"[DONE]"]


def said(pieces: Sequence[Piece]) -> str:
    assert all(piece if isinstance(piece, str) else isinstance(piece.text, str) for piece in pieces)
    return "".join(piece for piece in pieces if isinstance(piece, str))


@pytest.mark.parametrize("name", FORMATS)
def test_a_spoilt_stream_is_an_answer_or_a_provider_error(name: str) -> None:
    vendor, parse, assembly = FORMATS[name]
    good = [_events(vendor(), answer) for answer in ANSWERS]
    spoiler, answers, refused = Spoiler(), 0, 0
    for number in range(STREAMS):
        reading, text = assembly(), ""
        try:
            for data in spoiler.spoilt(good[number % len(good)]):
                text += said(reading.take(parse(data, "vendor")))
            text += said(reading.rest())
            completion = reading.finish(done=True)
        except ProviderError:
            refused += 1
            continue
        answers += 1
        assert fault(completion) is None
        assert completion.text == text
        message = with_vendor_state({"role": "assistant", "content": completion.text}, completion.vendor_state)
        json.dumps(copied([message]), ensure_ascii=False).encode()  # a history keeps it, and is written
    assert min(answers, refused) > STREAMS / 10
