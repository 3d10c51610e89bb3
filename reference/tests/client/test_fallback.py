"""Which model is asked next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xmcp.chat.errors import CONSEQUENCES
from xmcp.client.loop import fallback
from xmcp.client.loop.fallback import Model
from xmcp.providers import ErrorCategory, OpenAIProvider, ProviderError, ScriptedProvider

FIRST, OTHER = ScriptedProvider([]), ScriptedProvider([])


def test_the_chain_is_made_of_names_providers_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    chain = fallback.chain(FIRST, "a", ["b", (OTHER, "c"), (OTHER, None), ("OpenAIProvider", "d")])
    assert chain[:4] == (Model(FIRST, "a"), Model(FIRST, "b"), Model(OTHER, "c"), Model(OTHER, None))
    assert isinstance(chain[4].provider, OpenAIProvider)
    assert chain[4].name == "d"


@pytest.mark.parametrize(
    ("fallbacks", "error", "said"),
    [
        ("gpt-4o-mini", TypeError, r"\['gpt-4o-mini'\]"),
        ([3], TypeError, "names of models, or pairs"),
        ([("gpt",)], TypeError, "pairs"),
        ([(3, "m")], TypeError, "as a provider"),
        ([("Gpt", "m")], ValueError, "there are .*OpenAIProvider"),
    ],
)
def test_what_is_no_model_is_refused_in_words(fallbacks: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        fallback.chain(FIRST, None, fallbacks)


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
    rows = [f"| `{category}` | `{one.then}` | {one.ui_message} |" for category, one in CONSEQUENCES.items()]
    assert "\n".join(("| category | then | `ui_message()` |", "|---|---|---|", *rows, "")) in guide


def test_only_content_that_was_refused_stops_the_chat_and_only_a_broken_answer_is_asked_for_again() -> None:
    assert [one for one, follows in CONSEQUENCES.items() if follows.then == "stop"] == [ErrorCategory.CONTENT]
    assert [one for one, follows in CONSEQUENCES.items() if follows.repeats] == [ErrorCategory.NETWORK]
