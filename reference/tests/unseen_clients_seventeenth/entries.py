"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_seventeenth import odd, wrong

ENTRIES = (
    Entry(
        "no-warning-beside-an-error",
        wrong.no_warning_beside_an_error,
        ("XMCP-RSP-072",),
        "A broken display of a document with an error, or of a failed result, is dropped without a warning.",
    ),
    Entry(
        "fallback-not-measured",
        wrong.fallback_not_measured,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display that is within the budget but for its `fallback` is sent to the model with all of it.",
    ),
    Entry(
        "first-hint-only",
        wrong.first_hint_only,
        ("XMCP-ERR-041",),
        "The first retry of a call waits for `retry_after_ms`; the second one is made at once.",
    ),
    Entry(
        "waits-for-the-one-that-hands-on",
        wrong.waits_for_the_one_that_hands_on,
        ("XMCP-TOL-012",),
        "Of several calls of one tool, a dependent call waits for the last one alone, where that succeeds.",
    ),
    Entry(
        "failure-with-a-display-alone-succeeds",
        wrong.failure_with_a_display_alone_succeeds,
        ("XMCP-MCP-052",),
        "A result with `isError` whose document has only a display is read as a success.",
    ),
    Entry(
        "nothing-cached-is-zero",
        wrong.nothing_cached_is_zero,
        ("XMCP-REC-010",),
        "Where the vendor counts the input and says nothing of a cache, `cached_tokens` is 0 and not `null`.",
    ),
    Entry(
        "calls-of-a-filtered-answer-are-dropped",
        wrong.calls_of_a_filtered_answer_are_dropped,
        ("XMCP-CLI-123", "XMCP-CLI-061"),
        "The calls of an answer that ends with `content_filter` are dropped, and the chat ends.",
    ),
    Entry(
        "only-the-last-attempt-is-in-doubt",
        wrong.only_the_last_attempt_is_in_doubt,
        ("XMCP-CLI-132",),
        "After a lost attempt and one that did not reach the server, the error of the third says that nothing changed.",
    ),
    Entry(
        "queue-of-an-ended-chat-is-cleared",
        wrong.queue_of_an_ended_chat_is_cleared,
        ("XMCP-CLI-055",),
        "A call that waits for a slot is cancelled with its chat, and so are equal calls of others that wait for it.",
    ),
    Entry(
        "blocks-for-the-person-come-last",
        wrong.blocks_for_the_person_come_last,
        ("XMCP-CLI-063",),
        "In the displays of a chat, those of blocks for the person come after the displays of all tools of the turn.",
    ),
    Entry(
        "false-and-zero-are-no-values",
        wrong.false_and_zero_are_no_values,
        ("XMCP-CLI-083",),
        "Where the application gives `false`, 0 or an empty text for a parameter, what the model wrote holds.",
    ),
    Entry(
        "prefix-not-written-twice",
        wrong.prefix_not_written_twice,
        ("XMCP-CLI-092",),
        "The tool `crm_search` of the server that the application named `crm` is offered as `crm_search`.",
    ),
    Entry(
        "mends-a-broken-history",
        odd.mends_a_broken_history,
        (),
        "A history of the application with missing or misplaced answers is mended, and not refused.",
    ),
    Entry(
        "repeats-the-marks-of-a-plain-result",
        odd.repeats_the_marks_of_a_plain_result,
        (),
        "The document for the model has the `format`, `truncated` and `lossy` of a plain result.",
    ),
    Entry(
        "shows-texts-as-markdown",
        odd.shows_texts_as_markdown,
        (),
        "Texts and links for the person are shown as `markdown`, also those that repeat an `alt`.",
    ),
    Entry(
        "single-letters-and-late-warnings",
        odd.single_letters_and_late_warnings,
        (),
        "Each `llm_delta` has one character, and the warnings of a call come after all its other events.",
    ),
)
