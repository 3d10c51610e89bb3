"""Six unusual clients that obey every sentence: each uses a freedom that the specification leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.client.calls import cache, context_budget
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.hooks import callbacks
from xmcp.client.loop import chat as chats
from xmcp.client.loop import turn as turns
from xmcp.client.loop import usage as accounting
from xmcp.client.tools import catalogue, meta_tools
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ToolResponse

LONGEST = 16 * 1024
"""Characters of a text that the odd client gives its model."""

_BUDGETS = Budgets()


def a_summary_speaks_for_itself() -> None:
    """Put a summary into the history without a word of the client's own (11.11, row "texts": words around it)."""
    right = meta_tools.summarized

    def summarized(history: Sequence[Message], summary: str) -> list[dict[str, Any]]:
        given = [dict(message) for message in history]
        made = right(history, summary)
        if made == given:
            return made
        place = next(place for place, message in enumerate(made) if message["role"] not in ("system", "developer"))
        made[place] = {"role": "user", "content": summary}
        return made

    meta_tools.summarized = summarized


def takes_false_for_a_no() -> None:
    """Do not answer a read-only tool that says `cacheable` `false` from the cache, also where the application allows
    read-only tools (11.11, row "a read-only tool that says `cacheable` `false`").
    """
    right_of, right_can = Entry.of.__func__, cache.can_be_cached
    refused: set[str] = set()

    def of(cls: type[Entry], name: str, server: Any, tool: Any, known: Any) -> Entry:
        entry: Entry = right_of(cls, name, server, tool, known)
        if catalogue.metadata(tool).get("cacheable") is False:
            refused.add(entry.fingerprint)
        return entry

    def can_be_cached(entry: Entry, *, read_only_too: bool) -> bool:
        return entry.fingerprint not in refused and right_can(entry, read_only_too=read_only_too)

    Entry.of = classmethod(of)
    cache.can_be_cached = can_be_cached


def reads_the_beginning() -> None:
    """Give the model only the first 16,384 characters of a text, in a document that is written anew and marked as cut;
    events and other calls get all of it (11.11, row "a long text").
    """
    right = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = _BUDGETS) -> str:
        text = response.llm_output
        if text is None or len(text) <= LONGEST:
            return right(response, document, budgets)
        return right(replace(response, llm_output=text[:LONGEST], truncated=True), None, budgets)

    context_budget.for_model = for_model


def offers_the_last_tool_first() -> None:
    """Offer the tools in the opposite order: no sentence has one."""
    right = ToolSchemas.of.__func__

    def of(cls: type[ToolSchemas], tools: Iterable[Any], *rest: Any, **options: Any) -> ToolSchemas:
        made: ToolSchemas = right(cls, [*tools][::-1], *rest, **options)
        return made

    ToolSchemas.of = classmethod(of)


def calls_models_by_other_names() -> None:
    """Write names of its own for the provider and the model into usage records (11.11, row "a usage record")."""
    right = accounting.record

    def record(*args: Any, **options: Any) -> Any:
        made = right(*args, **options)
        made["provider"], made["model"] = "in-house gateway", f"contract 7 / {made['model'].upper()}"
        return made

    accounting.record = record


def waits_for_no_callback() -> None:
    """Call the application's callbacks that only report without waiting for them (11.11, row "callbacks")."""
    right = callbacks.notify
    running: set[asyncio.Task[None]] = set()

    async def notify(name: str, hook: Any, log: Any, *args: Any, deadline: float | None = None) -> None:
        if hook is None:
            return
        task = asyncio.create_task(right(name, hook, log, *args), name=f"odd callback {name}")
        running.add(task)
        task.add_done_callback(running.discard)

    chats.notify = notify
    turns.notify = notify
