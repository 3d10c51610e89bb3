"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_thirteenth import odd, wrong

ENTRIES = (
    Entry(
        "stopped-answer-is-thrown-away",
        wrong.stopped_answer_is_thrown_away,
        ("XMCP-CLI-116",),
        "The history of a chat that was cancelled while the model wrote has nothing of the text that had come.",
    ),
    Entry(
        "null-arguments-are-none",
        wrong.null_arguments_are_none,
        ("XMCP-CLI-010",),
        "A call whose arguments are `null`, an empty list or another empty value is made with an empty object.",
    ),
    Entry(
        "depends-on-offered-names",
        wrong.depends_on_offered_names,
        ("XMCP-TOL-012", "XMCP-CLI-030", "XMCP-CLI-031", "XMCP-CLI-120", "XMCP-CLI-035", "XMCP-CLI-060"),
        "Tools of a named server have no dependencies, because `depends_on` is compared with the offered names.",
    ),
    Entry(
        "waits-only-at-rate-limits",
        wrong.waits_only_at_rate_limits,
        ("XMCP-ERR-041", "XMCP-CLI-040"),
        "The wait that an error asks for is obeyed only if its code is RATE_LIMIT.",
    ),
    Entry(
        "probe-has-to-succeed",
        wrong.probe_has_to_succeed,
        ("XMCP-CLI-045", "XMCP-CLI-042"),
        "An open circuit breaker whose probe was answered with a tool's error stays open for its whole time again.",
    ),
    Entry(
        "cache-key-like-a-query-string",
        wrong.cache_key_like_a_query_string,
        ("XMCP-CLI-051",),
        'A call with the text "1" is answered from the cache with what the number 1 was answered with.',
    ),
    Entry(
        "display-budget-in-characters",
        wrong.display_budget_in_characters,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display is within the budget if its characters are, so that one with text in Japanese is sent too large.",
    ),
    Entry(
        "length-ends-even-with-calls",
        wrong.length_ends_even_with_calls,
        ("XMCP-CLI-123", "XMCP-CLI-124", "XMCP-CLI-010"),
        "An answer with the finish reason `length` ends the chat, and the calls in it are neither made nor answered.",
    ),
    Entry(
        "approval-lasts-for-the-chat",
        wrong.approval_lasts_for_the_chat,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "After one approved call of a tool, later calls of it in the same chat are made without an approval.",
    ),
    Entry(
        "own-name-after-the-last-underscores",
        wrong.own_name_after_the_last_underscores,
        ("XMCP-CLI-093",),
        "A tool of a named server whose own name has two underscores is called by the last part of that name.",
    ),
    Entry(
        "audit-of-new-messages-only",
        wrong.audit_of_new_messages_only,
        ("XMCP-REC-020",),
        "The audit records leave out the messages that the application passed in.",
    ),
    Entry(
        "embedded-text-is-only-named",
        wrong.embedded_text_is_only_named,
        ("XMCP-MCP-011", "XMCP-MCP-043"),
        "The model gets the address of an embedded resource in the place of its text.",
    ),
    Entry(
        "tool-messages-without-name",
        odd.tool_messages_without_name,
        (),
        "Tool messages have no member `name`.",
    ),
    Entry(
        "text-word-by-word",
        odd.text_word_by_word,
        (),
        "The model's text comes in events of one word each.",
    ),
    Entry(
        "says-nothing-of-texts-for-the-person",
        odd.says_nothing_of_texts_for_the_person,
        (),
        "The document for the model has no reference in the place of a text block for the user alone.",
    ),
    Entry(
        "document-repeats-the-marks",
        odd.document_repeats_the_marks,
        (),
        "The document that the client writes for a plain result repeats its format and that it was cut or is lossy.",
    ),
)
