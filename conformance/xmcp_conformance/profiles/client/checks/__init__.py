"""The checks of a client, one subject a module. Importing this package registers all of them."""

from __future__ import annotations

from . import (
    approvals,
    arguments,
    breaker,
    cache,
    declarations,
    dependencies,
    displays,
    documents,
    error_messages,
    events,
    history,
    injected_values,
    interruptions,
    retries,
    stop_reasons,
    tenants,
    tool_lists,
    tool_names,
    usage,
)

__all__ = [
    "approvals",
    "arguments",
    "breaker",
    "cache",
    "declarations",
    "dependencies",
    "displays",
    "documents",
    "error_messages",
    "events",
    "history",
    "injected_values",
    "interruptions",
    "retries",
    "stop_reasons",
    "tenants",
    "tool_lists",
    "tool_names",
    "usage",
]
