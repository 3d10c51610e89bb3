"""Which model is asked next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.mcp_servers import plain
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import CONSEQUENCES
from xmcp.client import AIClient
from xmcp.client.loop import fallback
from xmcp.client.loop.fallback import Model
from xmcp.providers import ErrorCategory, OpenAIProvider, ProviderError, ScriptedProvider

FIRST, OTHER = ScriptedProvider([]), ScriptedProvider([])


def test_the_chain_is_made_of_names_providers_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    chain = fallback.chain(FIRST, "a", ["b", (OTHER, "c"), (OTHER, None), ("OpenAIProvider", "d")], fallback.made)
    assert chain[:4] == (Model(FIRST, "a"), Model(FIRST, "b"), Model(OTHER, "c"), Model(OTHER, None))
    assert isinstance(chain[4].provider, OpenAIProvider)
    assert chain[4].name == "d"


@pytest.mark.parametrize(
    ("fallbacks", "error", "said"),
    [
        ("gpt-4o-mini", TypeError, r"\['gpt-4o-mini'\]"),
        ([3], TypeError, "names of models, or pairs"),
        ([("gpt",)], TypeError, "pairs"),
        ([(3, "m")], TypeError, "The provider in fallback_models must be a provider"),
        ([(OpenAIProvider, "m")], TypeError, r"pass OpenAIProvider\(...\)"),
        ([("Gpt", "m")], ValueError, "there are .*OpenAIProvider"),
        (["a", " "], ValueError, "fallback_models has an empty text as the name of a model: leave it out"),
        ([(OTHER, "")], ValueError, "fallback_models has an empty text"),
        ([(OTHER, 7)], TypeError, "fallback_models has 7 as the name of a model: give a text"),
    ],
)
def test_what_is_no_model_is_refused_in_words(fallbacks: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        fallback.chain(FIRST, None, fallbacks, fallback.made)


@pytest.mark.parametrize(("name", "error"), [("", ValueError), (7, TypeError)])
async def test_an_empty_name_is_refused_wherever_a_model_is_named(name: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"llm_model has .* as the name of a model"):
        AIClient([], llm_provider=FIRST, llm_model=name)
    async with AIClient([], llm_provider=FIRST) as ai:
        for model in (name, (OTHER, name)) if name == "" else ((OTHER, name),):
            with pytest.raises(error, match=r"model has .* as the name of a model"):
                ai.stream_chat("q", [], model=model)


class OneMethod:
    model = "m-1"

    async def chat_complete(self, **_: Any) -> Any:
        raise AssertionError("it is not asked")


def test_a_model_that_is_there_twice_is_asked_once() -> None:
    asked = OneMethod()
    others: list[Any] = [(asked, None), (asked, "m-1"), (asked, "m-2"), "m-2", (OneMethod(), "m-1")]
    chain = fallback.chain(asked, None, others, fallback.made)
    assert [one.name for one in chain] == [None, "m-2", "m-1"]
    assert [one.name for one in fallback.first(chain, (asked, "m-2"), fallback.made)] == ["m-2", "m-1"]
    assert fallback.chain(FIRST, "a", ["b", "a", (FIRST, "b"), (OTHER, "a")], fallback.made) == (
        Model(FIRST, "a"),
        Model(FIRST, "b"),
        Model(OTHER, "a"),
    )


async def test_a_class_that_is_named_twice_is_one_provider_and_may_be_the_built_in_one(
    monkeypatch: pytest.MonkeyPatch, chat_server: Any
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    names: list[Any] = [("AnthropicProvider", "m"), ("AnthropicProvider", "m"), ("OpenAIProvider", "a"), "a"]
    options: Any = {"openai_api_key": "k", "openai_base_url": chat_server.url, "llm_model": "a"}
    async with AIClient([], fallback_models=names, **options) as ai:
        first, other = ai._settings.models
        assert (first.provider.name, first.name) == ("openai", "a")
        assert (other.provider.name, other.name) == ("anthropic", "m")
        assert ai._own_providers == [first.provider, other.provider]
        chat_server.replies = [chat_server.reply.streamed("ok")]
        assert (await ai.chat("q", [], model=("OpenAIProvider", "b")))["answer"] == "ok"
        assert ai._own_providers == [first.provider, other.provider]


@pytest.mark.parametrize("category", list(ErrorCategory))
@pytest.mark.parametrize("began", [True, False])
@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("more", [True, False])
def test_a_broken_answer_is_asked_for_once_more_and_then_the_next_model(
    category: ErrorCategory, began: bool, repeated: bool, more: bool
) -> None:
    step = fallback.next_step(ProviderError("m", category=category, began=began), repeated=repeated, more=more)
    if category is ErrorCategory.NETWORK and began and not repeated:
        assert step == "repeat"
    elif category is ErrorCategory.CONTENT or not more:
        assert step == "raise"
    else:
        assert step == "next"


def test_the_guide_shows_the_table_that_decides() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "models.md").read_text(encoding="utf-8")
    rows = []
    for category, one in CONSEQUENCES.items():
        told = ProviderError("m", category=category).to_error_info()
        cells = [f"`{cell}`" for cell in (category, told.code, told.category, one.then)]
        rows.append(f"| {' | '.join(cells)} | {one.ui_message} |")
    head = ("| category | code | category of the code | then | `ui_message()` |", "|---|---|---|---|---|")
    assert "\n".join((*head, *rows, "")) in guide


def test_only_content_that_was_refused_stops_the_chat_and_only_a_broken_answer_is_asked_for_again() -> None:
    assert [one for one, follows in CONSEQUENCES.items() if follows.then == "stop"] == [ErrorCategory.CONTENT]
    assert [one for one, follows in CONSEQUENCES.items() if follows.repeats] == [ErrorCategory.NETWORK]


def sized(name: str, tokens: int | None, *answers: Any) -> ScriptedModel:
    model = ScriptedModel(*answers, name=name)
    model.max_context_tokens = tokens
    return model


async def told_by(first: ScriptedModel, *others: ScriptedModel, query: str) -> list[Any]:
    pairs = [(other, None) for other in others]
    async with AIClient([], llm_provider=first, fallback_models=pairs) as ai:
        return [chunk async for chunk in ai.stream_chat(query, [])]


async def test_a_model_that_reads_too_little_is_skipped_and_the_stream_says_why() -> None:
    small, smaller, large = sized("small", 100), sized("smaller", 50), sized("large", 1000, "read")
    told = await told_by(small, smaller, large, query="x" * 2000)
    assert (small.requests, smaller.requests, len(large.requests)) == ([], [], 1)
    (retry,) = [chunk for chunk in told if chunk.type == "retry"]
    assert (retry.attempt, retry.error.code) == (1, "CONTEXT_TOO_LARGE")
    assert retry.error.message == (
        "The conversation and the tools have about 505 tokens, and the model of provider 'small' reads 100."
    )
    assert told[-1].result["answer"] == "read"
    assert told[-1].result["usage"]["llm_calls"] == 1


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [((100, 50), 0), ((100,), 0), ((1000, 5000), 0), ((None, 5000), 0), ((100, None), 1), ((505, 5000), 0)],
)
async def test_where_no_other_model_reads_more_it_is_asked_anyhow(sizes: Any, asked: int) -> None:
    models = [sized(f"m{place}", size, "ok") for place, size in enumerate(sizes)]
    await told_by(*models, query="x" * 2000)
    assert [len(model.requests) for model in models] == [int(place == asked) for place in range(len(sizes))]


async def test_the_chat_stays_with_the_larger_model() -> None:
    small = sized("small", 100)
    large = sized("large", None, asks("add", "add"), "done")
    async with AIClient([plain()], llm_provider=small, fallback_models=[(large, None)]) as ai:
        told = [chunk async for chunk in ai.stream_chat("x" * 2000, [])]
    assert [chunk.turn for chunk in told if chunk.type == "retry"] == [1]
    assert (len(small.requests), len(large.requests)) == (0, 2)
