"""Four clients that are unusual and right: each uses a freedom that the specification leaves."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from copy import copy
from typing import Any, Final

from unseen_clients_thirteenth.wrong import put
from xmcp.chat import messages
from xmcp.chat.completions import ToolCall
from xmcp.client.calls import context_budget, server_results
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.hooks.middleware import LLMState
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.fallback import Model
from xmcp.wire import ToolResponse, encode
from xmcp_models.registry import RESULT_META_KEY

LONG: Final = 10_000
"""Characters of a piece of text above which it is passed on as it is."""


def tool_messages_without_name() -> None:
    """A tool message has no member `name`, which section 11.1 only allows."""

    def tool_message(call: ToolCall, content: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call.id, "content": content}

    put(messages, "tool_message", tool_message)


def text_word_by_word() -> None:
    """Each word of the model is an event `llm_delta` of its own; section 11.11 leaves the cutting open."""
    original = Chat._pieces

    async def pieces(self: Any, model: Model, state: LLMState) -> AsyncGenerator[str, None]:
        async with aclosing(original(self, model, state)) as received:
            async for piece in received:
                is_short = isinstance(piece, str) and len(piece) <= LONG
                for word in re.findall(r"\s*\S+|\s+", piece) if is_short else [piece]:
                    yield word

    put(Chat, "_pieces", pieces)


def says_nothing_of_texts_for_the_person() -> None:
    """The model is not told that a text was shown to the person: the reference of section 6.4 is a freedom.

    Of a picture it is told, as the table of that section says.
    """
    original = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets | None = None) -> str:
        seen = copy(response)
        seen.for_person = tuple(shown for shown in response.for_person if shown.type == "image")
        return original(seen, document, budgets or Budgets())

    put(context_budget, "for_model", for_model)


def document_repeats_the_marks() -> None:
    """The document for a plain result has its `format`, `truncated` and `lossy`, which section 11.11 leaves open."""
    original = server_results._read_members

    def read_members(result: Any, tool_name: str, text: str, meta: Mapping[str, Any]) -> ToolResponse:
        response = original(result, tool_name, text, meta)
        mark = meta.get(RESULT_META_KEY)
        if not text or response.llm_output is None or not isinstance(mark, Mapping):
            return response
        response.truncated, response.lossy = mark.get("truncated") is True, mark.get("lossy") is True
        given = mark.get("format")
        response.format = given if isinstance(given, str) else None
        try:
            encode(response, check=False)
        except (TypeError, ValueError):
            response.format = None
        return response

    put(server_results, "_read_members", read_members)
