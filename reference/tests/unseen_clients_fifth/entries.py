"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_fifth import wrong

ENTRIES = (
    Entry(
        "once-safe-always-safe",
        wrong.once_safe_always_safe,
        ("XMCP-ERR-040",),
        "After an attempt that failed with `side_effects` `none`, a call of a tool that is neither read-only nor "
        "idempotent is also made again after a retryable error that does not say so.",
    ),
    Entry(
        "waits-from-the-beginning-of-the-attempt",
        wrong.waits_from_the_beginning_of_the_attempt,
        ("XMCP-ERR-041",),
        "The time that a slow server took to answer with its error is taken off the wait that the error asks for; "
        "`wait_ms` in the event is right.",
    ),
    Entry(
        "one-wrong-member-voids-all",
        wrong.one_wrong_member_voids_all,
        ("XMCP-TOL-003", "XMCP-TOL-012", "XMCP-CLI-030", "XMCP-CLI-031"),
        'Where one known member of a tool\'s metadata is of a wrong type, such as `cacheable` `"yes"`, the others, '
        "such as `depends_on`, are ignored too.",
    ),
    Entry(
        "looks-back-first",
        wrong.looks_back_first,
        ("XMCP-TOL-012", "XMCP-CLI-034"),
        "Where a needed tool is called both before and after a call in the model's order, the call does not wait for "
        "those after it.",
    ),
    Entry(
        "failures-of-others-as-documents",
        wrong.failures_of_others_as_documents,
        ("XMCP-MCP-010", "XMCP-MCP-011", "XMCP-MCP-040"),
        "The text of a failed result of a server that did not announce the extension is read as a document if it is "
        "one; that of a success is not.",
    ),
    Entry(
        "looks-for-the-document",
        wrong.looks_for_the_document,
        ("XMCP-MCP-012",),
        "Where the first block of an announced server's result is a picture or another block that is no text, the "
        "first text block is read as the document, and the call succeeds.",
    ),
    Entry(
        "errors-are-right-or-absent",
        wrong.errors_are_right_or_absent,
        ("XMCP-MCP-043", "XMCP-CLI-003"),
        "An error in `_meta` of a plain result with one member that is not valid, such as a negative "
        "`retry_after_ms`, is ignored as a whole: the code is lost, and without `isError` the call succeeds.",
    ),
    Entry(
        "names-of-members-tell-nothing",
        wrong.names_of_members_tell_nothing,
        ("XMCP-MCP-045",),
        "The model gets `structuredContent` in the place of a missing text also where the name of a member in it has "
        "the text of a block for the user alone.",
    ),
    Entry(
        "a-display-is-a-success",
        wrong.a_display_is_a_success,
        ("XMCP-MCP-052",),
        "A result with `isError` whose document has a display and no `error` is a success; without a display it is a "
        "failure.",
    ),
    Entry(
        "saves-what-was-cancelled",
        wrong.saves_what_was_cancelled,
        ("XMCP-CLI-001",),
        "When a chat is cancelled, its history is written into the application's own list of messages.",
    ),
    Entry(
        "callbacks-see-the-order-of-the-answers",
        wrong.callbacks_see_the_order_of_the_answers,
        ("XMCP-CLI-002",),
        "In the history that `on_display` and `on_error` get, the tool messages of the turn are in the order in which "
        "the calls ended.",
    ),
    Entry(
        "rewritten-documents-get-the-offered-name",
        wrong.rewritten_documents_get_the_offered_name,
        ("XMCP-CLI-003", "XMCP-DSP-041"),
        "A document that is written anew, because its display is too large, has the offered name (with the prefix) as "
        "`tool_name` and not the one that the server wrote.",
    ),
    Entry(
        "nobody-approved-it-in-time",
        wrong.nobody_approved_it_in_time,
        ("XMCP-CLI-004", "XMCP-CLI-081"),
        "A call that waits for an approval when the time of the chat is over is answered with `FORBIDDEN` and not with "
        "`TIMEOUT`.",
    ),
    Entry(
        "its-own-ids-come-again",
        wrong.its_own_ids_come_again,
        ("XMCP-CLI-005", "XMCP-CLI-002"),
        "A call without an id gets `call_0`, also where the history that the application passed in has a call with "
        "that id; other ids are compared with that history.",
    ),
    Entry(
        "text-before-half-a-call-is-lost",
        wrong.text_before_half_a_call_is_lost,
        ("XMCP-CLI-116", "XMCP-CLI-006"),
        "The text that had been received when the chat was cancelled is not in the history if the model had begun to "
        "write a call after it.",
    ),
    Entry(
        "reads-arguments-twice",
        wrong.reads_arguments_twice,
        ("XMCP-CLI-010", "XMCP-CLI-012"),
        "Arguments that are a JSON string in which an object is written are read as that object, and the server is "
        "called.",
    ),
    Entry(
        "once-offered-always-known",
        wrong.once_offered_always_known,
        ("XMCP-CLI-011", "XMCP-CLI-096"),
        "A tool that an earlier turn of the chat offered, and that the server does not list any more, is called in a "
        "later turn whose request did not offer it.",
    ),
    Entry(
        "filtered-answers-have-no-calls",
        wrong.filtered_answers_have_no_calls,
        ("XMCP-CLI-123", "XMCP-CLI-002"),
        "The calls in an answer that ends with `content_filter` are dropped, and the chat ends; those in one that ends "
        "with `length` are made.",
    ),
    Entry(
        "retries-take-no-slot",
        wrong.retries_take_no_slot,
        ("XMCP-CLI-021",),
        "The second and later attempts of a call are made beside the limit of calls at the same time.",
    ),
    Entry(
        "the-third-tenant-waits",
        wrong.the_third_tenant_waits,
        ("XMCP-CLI-117",),
        "Where calls of three tenants wait, two of them are served in turn until one has no more, and the third waits.",
    ),
    Entry(
        "json-before-text",
        wrong.json_before_text,
        ("XMCP-CLI-031", "XMCP-CLI-120"),
        "A text that fits the parameter and is JSON, such as `42` for one without `type`, is handed on as the JSON "
        "value.",
    ),
    Entry(
        "the-longest-way-counts",
        wrong.the_longest_way_counts,
        ("XMCP-CLI-032",),
        "A direct predecessor on which another direct one depends counts as farther away, so that the other one's "
        "value is taken although it is declared earlier.",
    ),
    Entry(
        "an-earlier-call-stands-in",
        wrong.an_earlier_call_stands_in,
        ("XMCP-CLI-034", "XMCP-CLI-012"),
        "Where the last successful call of a tool has no member for a parameter, that of an earlier call of the same "
        "tool is handed on.",
    ),
    Entry(
        "refused-calls-were-not-called",
        wrong.refused_calls_were_not_called,
        ("XMCP-CLI-035", "XMCP-CLI-105"),
        "A call within the limit of a turn is made although the only call of the tool on which it depends was refused "
        "because of that limit.",
    ),
    Entry(
        "gives-retries-up-silently",
        wrong.gives_retries_up_silently,
        ("XMCP-CLI-041",),
        "A time-out of the second or a later attempt of a call is not told to the server: the request stays open.",
    ),
    Entry(
        "reading-does-no-harm",
        wrong.reading_does_no_harm,
        ("XMCP-CLI-046",),
        "Calls of tools that say they are read-only go on at the server when the chat is cancelled or out of time.",
    ),
    Entry(
        "the-lease-of-a-probe-is-short",
        wrong.the_lease_of_a_probe_is_short,
        ("XMCP-CLI-044", "XMCP-CLI-043"),
        "While the probe is under way for longer than the breaker stays open, another call is let through.",
    ),
    Entry(
        "the-end-of-the-chat-is-a-time-out",
        wrong.the_end_of_the_chat_is_a_time_out,
        ("XMCP-CLI-101", "XMCP-CLI-042"),
        "A circuit breaker counts a call that the time limit of its chat ended as a failure; a cancelled one it does "
        "not count.",
    ),
    Entry(
        "what-the-server-said-last-counts",
        wrong.what_the_server_said_last_counts,
        ("XMCP-CLI-125", "XMCP-ERR-042"),
        "Where the last attempt lost its connection or did not reach the server, and the server answered an earlier "
        "one with an error, the model gets that error and not `CONNECTION_FAILED`.",
    ),
    Entry(
        "doubts-the-attempt-before-alone",
        wrong.doubts_the_attempt_before_alone,
        ("XMCP-CLI-132",),
        "After an attempt in doubt, one that failed with `side_effects` `none`, and a third that did not reach the "
        "server, the error says `none`.",
    ),
)
