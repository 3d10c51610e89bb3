"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unseen_clients import odd, wrong


@dataclass(frozen=True, slots=True)
class Entry:
    """One client."""

    name: str
    change: Callable[[], None]
    """Changes the reference client in this process, before one is started."""
    expected: tuple[str, ...]
    """The broken sentence, then those that a fair judge might name in its place; empty for a client that is right."""
    description: str


ENTRIES = (
    Entry(
        "last-to-finish-hands-on",
        wrong.last_to_finish_hands_on,
        ("XMCP-CLI-034",),
        "Of several calls of one tool, the one that ended last hands on, and not the last one in call order.",
    ),
    Entry(
        "handed-on-beats-the-application",
        wrong.handed_on_beats_the_application,
        ("XMCP-CLI-083",),
        "A parameter of the application gets the value of an earlier call of the turn, where that has one.",
    ),
    Entry(
        "retry-ignores-the-breaker",
        wrong.retry_ignores_the_breaker,
        ("XMCP-CLI-043", "XMCP-CLI-044"),
        "The circuit breaker is asked before the first attempt of a call, and does not hold back the later ones.",
    ),
    Entry(
        "approved-once-approved-always",
        wrong.approved_once_approved_always,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "A tool whose call was approved is called again in the same chat without asking.",
    ),
    Entry(
        "cache-keeps-the-reference",
        wrong.cache_keeps_the_reference,
        ("XMCP-DSP-042", "XMCP-CLI-063"),
        "The cache keeps what the model got, so that a large display is a reference for the person, too.",
    ),
    Entry(
        "note-for-the-person-ends-the-chat",
        wrong.note_for_the_person_ends_the_chat,
        ("XMCP-CLI-061", "XMCP-CLI-060"),
        "A block for the user alone counts as the display that ends the chat.",
    ),
    Entry(
        "text-lost-with-a-cancelled-turn",
        wrong.text_lost_with_a_cancelled_turn,
        ("XMCP-CLI-006",),
        "The text beside the calls is not in the history when the chat is cancelled while the calls run.",
    ),
    Entry(
        "mends-cut-arguments",
        wrong.mends_cut_arguments,
        ("XMCP-CLI-010", "XMCP-CLI-012"),
        "Of arguments that are cut, or have words behind them, the object that can be read is sent to the server.",
    ),
    Entry(
        "unknown-tools-are-not-counted",
        wrong.unknown_tools_are_not_counted,
        ("XMCP-CLI-105",),
        "Calls of tools that the client does not offer do not count for the limit of calls in a turn.",
    ),
    Entry(
        "no-tenant-is-a-tenant-each",
        wrong.no_tenant_is_a_tenant_each,
        ("XMCP-CLI-117",),
        "Each chat without a tenant waits in turn as a tenant of its own.",
    ),
    Entry(
        "silent-change-of-model",
        wrong.silent_change_of_model,
        ("XMCP-CLI-075",),
        "There is no event `retry` where an answer broke off and another model is asked.",
    ),
    Entry(
        "display-before-the-error",
        wrong.display_before_the_error,
        ("XMCP-REC-002",),
        "The display of a call that failed comes before its `tool_error`.",
    ),
    Entry(
        "whole-answers",
        odd.whole_answers,
        (),
        "Asks the model for whole answers, not for streams.",
    ),
    Entry(
        "last-call-first",
        odd.last_call_first,
        (),
        "Begins the calls of a turn with the last one.",
    ),
    Entry(
        "retries-when-told-when",
        odd.retries_when_told_when,
        (),
        "Makes a second attempt only where the error says how long to wait, and never a third one.",
    ),
    Entry(
        "chatty-events",
        odd.chatty_events,
        (),
        "Adds members and a type of its own to the events, and cuts the text into single characters.",
    ),
)
