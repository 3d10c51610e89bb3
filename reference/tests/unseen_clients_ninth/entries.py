"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_ninth import odd, wrong

ENTRIES = (
    Entry(
        "empty-arguments-as-written",
        wrong.empty_arguments_as_written,
        ("XMCP-CLI-007",),
        "Arguments that are an empty text stay an empty text in the history, instead of becoming an empty object.",
    ),
    Entry(
        "nulls-left-out",
        wrong.nulls_left_out,
        ("XMCP-CLI-012",),
        "An argument that the model wrote as null is not sent to the server.",
    ),
    Entry(
        "calls-only-at-tool-calls",
        wrong.calls_only_at_tool_calls,
        ("XMCP-CLI-123", "XMCP-CLI-061", "XMCP-CLI-124", "XMCP-CLI-133"),
        "Calls in an answer that the vendor ended with the finish_reason stop are ignored.",
    ),
    Entry(
        "fit-by-type",
        wrong.fit_by_type,
        ("XMCP-CLI-036",),
        "A value that is handed on is checked against the type of its parameter alone, and not against an enum.",
    ),
    Entry(
        "cancelled-calls-are-failures",
        wrong.cancelled_calls_are_failures,
        ("XMCP-CLI-101", "XMCP-CLI-042"),
        "The circuit breaker counts each call that was cancelled with its chat as a failure of the server.",
    ),
    Entry(
        "not-found-is-cached",
        wrong.what_is_not_found_is_cached,
        ("XMCP-CLI-052",),
        "An error of the category not_found is kept in the cache, and answers the next equal call.",
    ),
    Entry(
        "display-budget-in-characters",
        wrong.display_budget_in_characters,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "The size of a display is counted in characters, so that one beyond ASCII goes to the model above the budget.",
    ),
    Entry(
        "words-beside-display-are-answer",
        wrong.words_beside_a_display_are_the_answer,
        ("XMCP-CLI-124",),
        "A chat that a display ended has as its answer what the model wrote beside its calls.",
    ),
    Entry(
        "approved-once-for-the-chat",
        wrong.approved_once_for_the_chat,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "After one approved call of a tool, later calls of it in the same chat are made without asking.",
    ),
    Entry(
        "cut-at-last-underscores",
        wrong.server_name_cut_at_the_last_underscores,
        ("XMCP-CLI-093",),
        "A tool of a named server whose own name has two underscores is called by the part after the last ones.",
    ),
    Entry(
        "unknown-cached-tokens-are-zero",
        wrong.unknown_cached_tokens_are_none_used,
        ("XMCP-REC-010", "XMCP-REC-006"),
        "A usage record says that no tokens were cached where the vendor said nothing of cached tokens.",
    ),
    Entry(
        "audience-of-texts-only",
        wrong.audience_of_texts_only,
        ("XMCP-MCP-045",),
        "The model gets the text of an embedded resource that is for the user alone.",
    ),
    Entry(
        "one-event-for-each-character",
        odd.one_event_for_each_character,
        (),
        "The text of the model comes in events of one character each.",
    ),
    Entry(
        "errors-in-german",
        odd.errors_in_german,
        (),
        "The errors that the client makes all have the same short message, in German.",
    ),
    Entry(
        "clashing-names-are-numbered",
        odd.clashing_names_are_numbered,
        (),
        "A tool whose name is taken is offered with a number before its own name, and not with the server's name.",
    ),
    Entry(
        "no-reference-to-words-for-person",
        odd.no_reference_to_words_for_the_person,
        (),
        "The model gets no reference in the place of a text for the user alone.",
    ),
)
