"""How each vendor's counts are read: the sums are all tokens, and those of cache and reasoning are among them."""

from __future__ import annotations

from typing import Any

import pytest

from xmcp.chat.usage import Usage
from xmcp.providers.base import Received
from xmcp.providers.formats import anthropic_messages, chat_completions, gemini, mistral, responses

OPENAI = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 30},
}
RESPONSES = {
    "input_tokens": 100,
    "output_tokens": 50,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
    "output_tokens_details": {"reasoning_tokens": 30},
}
DEEPSEEK = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "prompt_cache_hit_tokens": 60,
    "prompt_cache_miss_tokens": 40,
    "completion_tokens_details": {"reasoning_tokens": 30},
}
ANTHROPIC = {
    "input_tokens": 20,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 60,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 30},
}
GEMINI = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 30,
    "totalTokenCount": 150,
}


def of_anthropic(said: Any) -> Usage:
    """Return the usage of an answer in one piece."""
    received = Received()
    answer = {"content": [], "stop_reason": "end_turn", "usage": said}
    anthropic_messages.Assembly("anthropic", received, "anthropic").take_whole(answer)
    return received.usage


@pytest.mark.parametrize(
    ("read", "said", "written_to_cache"),
    [
        (chat_completions.usage, OPENAI, 20),
        (responses.usage, RESPONSES, 20),
        (chat_completions.usage, DEEPSEEK, None),
        (mistral.usage, OPENAI, 20),
        (of_anthropic, ANTHROPIC, 20),
        (gemini.usage, GEMINI, None),
    ],
    ids=["openai", "responses", "deepseek", "mistral", "anthropic", "gemini"],
)
def test_all_tokens_are_counted_once(read: Any, said: Any, written_to_cache: int | None) -> None:
    assert read(said) == Usage(100, 50, 60, written_to_cache, 30)


@pytest.mark.parametrize("odd", [None, 7, "9", [], {"reasoning_tokens": -1}, {"reasoning_tokens": "3"}, {}])
def test_details_that_are_none_leave_the_rest(odd: Any) -> None:
    details = {"prompt_tokens_details": odd, "completion_tokens_details": odd}
    assert chat_completions.usage({"prompt_tokens": 10, "completion_tokens": 5, **details}) == Usage(10, 5)
    details = {"input_tokens_details": odd, "output_tokens_details": odd}
    assert responses.usage({"input_tokens": 10, "output_tokens": 5, **details}) == Usage(10, 5)
    assert of_anthropic({"input_tokens": 10, "output_tokens": 5, **details}) == Usage(10, 5)
