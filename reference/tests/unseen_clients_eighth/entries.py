"""The eighth set of clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_eighth import odd, wrong

ENTRIES = (
    Entry(
        "mends-the-order-in-place",
        wrong.mends_the_order_in_place,
        ("XMCP-CLI-001",),
        "Where the application's list has the tool messages of a turn in another order than the calls, they are put in "
        "order in that list, too.",
    ),
    Entry(
        "a-failure-keeps-what-was-filled-in",
        wrong.a_failure_keeps_what_was_filled_in,
        ("XMCP-CLI-003", "XMCP-MCP-052"),
        "Where a result has `isError` and its document no `error`, the tool message has the `server_populated` of that "
        "document beside the error.",
    ),
    Entry(
        "no-slot-is-a-limit",
        wrong.no_slot_is_a_limit,
        ("XMCP-CLI-004",),
        "A call that waits for a slot when the time of the chat is over is answered with `RATE_LIMIT` and not with "
        "`TIMEOUT`.",
    ),
    Entry(
        "knows-the-first-id-of-each-message",
        wrong.knows_the_first_id_of_each_message,
        ("XMCP-CLI-005", "XMCP-CLI-002"),
        "A new call keeps the id of a call in the application's history where that is the second or a later one of its "
        "assistant message.",
    ),
    Entry(
        "a-text-that-stops-is-the-answer",
        wrong.a_text_that_stops_is_the_answer,
        ("XMCP-CLI-123", "XMCP-CLI-061", "XMCP-CLI-002"),
        "An answer with text and calls whose `finish_reason` is `stop` ends the chat, and its calls are not made; "
        "without text they are.",
    ),
    Entry(
        "a-refused-question-is-asked",
        wrong.a_refused_question_is_asked,
        ("XMCP-CLI-061", "XMCP-CLI-105", "XMCP-CLI-085", "XMCP-CLI-133", "XMCP-CLI-124"),
        "A `__clarify__` above the limit of calls in a turn is answered with `RATE_LIMIT`, and ends the chat with its "
        "question all the same.",
    ),
    Entry(
        "an-empty-text-beside-a-display-is-a-value",
        wrong.an_empty_text_beside_a_display_is_a_value,
        ("XMCP-CLI-031", "XMCP-CLI-012", "XMCP-CLI-120", "XMCP-CLI-036", "XMCP-CLI-035"),
        "The empty `llm_output` of a document with a display is handed on as the whole result, in the place of what "
        "the model wrote.",
    ),
    Entry(
        "what-does-not-fit-is-not-handed-on",
        wrong.what_does_not_fit_is_not_handed_on,
        ("XMCP-CLI-036", "XMCP-CLI-033"),
        "A call for which the value of a predecessor does not fit is made with what the model wrote, if it wrote "
        "anything for that parameter.",
    ),
    Entry(
        "the-code-tells-the-breaker",
        wrong.the_code_tells_the_breaker,
        ("XMCP-CLI-042", "XMCP-CLI-043", "XMCP-CLI-045"),
        "A circuit breaker counts a result in which the server itself says `TIMEOUT` as a failure.",
    ),
    Entry(
        "asks-the-breaker-before-the-slot",
        wrong.asks_the_breaker_before_the_slot,
        ("XMCP-CLI-043", "XMCP-CLI-044"),
        "Calls that waited for a slot when the circuit breaker opened are sent while it is open.",
    ),
    Entry(
        "what-comes-back-does-not-matter",
        wrong.what_comes_back_does_not_matter,
        ("XMCP-CLI-051",),
        "After a refresh in which only the `outputSchema` of a tool changed, its calls are answered from the cache with "  # noqa: E501
        "what was answered before.",
    ),
    Entry(
        "blocks-come-last",
        wrong.blocks_come_last,
        ("XMCP-CLI-063", "XMCP-REC-006"),
        "In `displays`, what an earlier call had for the person as a block stands after the display of a later call of "
        "the same turn.",
    ),
    Entry(
        "thinking-is-no-turn",
        wrong.thinking_is_no_turn,
        ("XMCP-CLI-070", "XMCP-CLI-071"),
        "A turn in which the model only calls `__think__` does not count for the limit of turns.",
    ),
    Entry(
        "answers-for-a-silent-model",
        wrong.answers_for_a_silent_model,
        ("XMCP-CLI-072", "XMCP-CLI-124"),
        "Where the model writes nothing after a turn of calls, the `answer` is the text of the last call's result.",
    ),
    Entry(
        "what-is-not-declared-is-the-model-s",
        wrong.what_is_not_declared_is_the_model_s,
        ("XMCP-CLI-083", "XMCP-CLI-012"),
        "A tool whose schema does not name a parameter of the application gets what the model wrote for it.",
    ),
    Entry(
        "says-the-name-of-a-server-once",
        wrong.says_the_name_of_a_server_once,
        ("XMCP-CLI-092",),
        "A tool `crm_find` of the server that the application named `crm` is offered as `crm_find` and not as "
        "`crm__crm_find`.",
    ),
    Entry(
        "a-reference-is-always-small",
        wrong.a_reference_is_always_small,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "The reference for a large display has its title also where that alone is longer than the display budget.",
    ),
    Entry(
        "the-event-says-what-the-model-reads",
        wrong.the_event_says_what_the_model_reads,
        ("XMCP-REC-006",),
        "The `text` of `tool_result` has the client's lines about blocks for the person at its end.",
    ),
    Entry(
        "looks-like-a-document",
        wrong.looks_like_a_document,
        ("XMCP-MCP-043", "XMCP-MCP-011", "XMCP-CLI-003"),
        "A plain result whose first text is a whole document, such as of a tool that returns one, is read as that "
        "document.",
    ),
    Entry(
        "an-error-is-warning-enough",
        wrong.an_error_is_warning_enough,
        ("XMCP-RSP-072",),
        "Where the display of a document cannot be read and the document has an `error`, there is no `warning`.",
    ),
    Entry(
        "mends-what-was-given",
        odd.mends_what_was_given,
        (),
        "A history that breaks XMCP-CLI-002 is mended in a copy, and the chat goes on (section 11.11).",
    ),
    Entry(
        "numbers-what-clashes",
        odd.numbers_what_clashes,
        (),
        "A tool whose name is taken is offered as `no2_name`, without its server's name (section 11.11, row `names`).",
    ),
    Entry(
        "remembers-nothing",
        odd.remembers_nothing,
        (),
        "Entries of the cache are too old at once; equal calls under way share an answer (11.11, `limits`).",
    ),
    Entry(
        "ids-by-chance",
        odd.ids_by_chance,
        (),
        "An id of the client's own is 32 random digits, with nothing of the model's id in it.",
    ),
)
