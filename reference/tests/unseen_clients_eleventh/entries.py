"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_eleventh import odd, wrong

ENTRIES = (
    Entry(
        "ids-unique-in-one-chat-only",
        wrong.ids_unique_in_one_chat_only,
        ("XMCP-CLI-005", "XMCP-CLI-002"),
        "A call keeps an id that a call in the history of the application has already.",
    ),
    Entry(
        "null-arguments-left-out",
        wrong.null_arguments_left_out,
        ("XMCP-CLI-012",),
        "Arguments that the model wrote as null are not sent to the server.",
    ),
    Entry(
        "later-call-goes-first",
        wrong.later_call_goes_first,
        ("XMCP-CLI-032",),
        "Of two equally near predecessors, the one called later gives the value, and not the one declared later.",
    ),
    Entry(
        "waits-whole-seconds",
        wrong.waits_whole_seconds,
        ("XMCP-ERR-041",),
        "A wait of 1,500 ms that a server asks for is cut to one second.",
    ),
    Entry(
        "cancelled-calls-are-failures",
        wrong.cancelled_calls_are_failures,
        ("XMCP-CLI-101", "XMCP-CLI-042"),
        "Calls that end because their chats are cancelled open the circuit breaker of a server that works.",
    ),
    Entry(
        "cache-key-of-texts",
        wrong.cache_key_of_texts,
        ("XMCP-CLI-051",),
        "A call with the number 7 is answered from the cache with what a call with the text 7 got.",
    ),
    Entry(
        "display-budget-in-characters",
        wrong.display_budget_in_characters,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display of letters beyond ASCII goes to the model whole, although it has more bytes than the budget.",
    ),
    Entry(
        "time-over-answers-with-the-last-text",
        wrong.time_over_answers_with_the_last_text,
        ("XMCP-CLI-124", "XMCP-CLI-072"),
        "A chat whose time is over while calls run has as its answer what the model wrote beside these calls.",
    ),
    Entry(
        "false-is-no-value",
        wrong.false_is_no_value,
        ("XMCP-CLI-083",),
        "A parameter for which the application gives false, 0 or an empty text is treated as one without a value.",
    ),
    Entry(
        "last-part-of-a-prefixed-name",
        wrong.last_part_of_a_prefixed_name,
        ("XMCP-CLI-093",),
        "A tool of a named server with two underscores in its own name is called by the last part of that name.",
    ),
    Entry(
        "outcome-named-by-the-document",
        wrong.outcome_named_by_the_document,
        ("XMCP-REC-006",),
        "The events of a call's outcome name the tool as the server's document does, without the server's prefix.",
    ),
    Entry(
        "for-both-is-for-the-user",
        wrong.for_both_is_for_the_user,
        ("XMCP-MCP-011", "XMCP-MCP-043", "XMCP-MCP-046"),
        "A text for the user and the assistant is shown to the person and kept from the model.",
    ),
    Entry(
        "text-letter-by-letter",
        odd.text_letter_by_letter,
        (),
        "The model's text comes in events of one character each.",
    ),
    Entry(
        "nothing-sent-changed-nothing",
        odd.nothing_sent_changed_nothing,
        (),
        "A call that the end of the chat's time met before an attempt was sent says that nothing changed.",
    ),
    Entry(
        "only-named-tools-make-optional",
        odd.only_named_tools_make_optional,
        (),
        "A parameter that only a predecessor's predecessor can provide stays under required.",
    ),
    Entry(
        "no-summary-of-a-cut-turn",
        odd.no_summary_of_a_cut_turn,
        (),
        "A summary in a turn that the end of the chat cut off leaves the history as it was.",
    ),
)
