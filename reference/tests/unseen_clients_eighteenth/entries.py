"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_eighteenth import odd, wrong

ENTRIES = (
    Entry(
        "mark-lost-with-a-text-of-its-own",
        wrong.mark_lost_with_a_text_of_its_own,
        ("XMCP-RSP-029", "XMCP-CLI-003"),
        "A document that was marked as lossy loses the mark where the client adds a reference to its text, or cuts it.",
    ),
    Entry(
        "displays-in-parts-are-not-measured",
        wrong.displays_in_parts_are_not_measured,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A large display in a tool message of the application whose content is a list of parts is sent to the model.",
    ),
    Entry(
        "recovery-makes-a-retry-safe",
        wrong.recovery_makes_a_retry_safe,
        ("XMCP-ERR-040",),
        "A retryable error whose `meta` has `recovery` `retry` is retried, whatever the tool says of itself.",
    ),
    Entry(
        "unknown-metadata-are-a-mistake",
        wrong.unknown_metadata_are_a_mistake,
        ("XMCP-TOL-003", "XMCP-TOL-012", "XMCP-CLI-030", "XMCP-CLI-031", "XMCP-CLI-037"),
        "A tool whose metadata have an unknown member without a vendor prefix is taken for one without metadata.",
    ),
    Entry(
        "structured-code-of-a-failed-document",
        wrong.structured_code_of_a_failed_document,
        ("XMCP-MCP-052", "XMCP-MCP-040"),
        "A document without `error` in a failed result gets the code that its structured content has, if there is one.",
    ),
    Entry(
        "each-model-counts-from-one",
        wrong.each_model_counts_from_one,
        ("XMCP-REC-006", "XMCP-CLI-075"),
        "After another model took over, `attempt` of a `retry` without `call_id` begins at 1 again in that turn.",
    ),
    Entry(
        "begun-text-is-kept-in-the-first-turn-only",
        wrong.begun_text_is_kept_in_the_first_turn_only,
        ("XMCP-CLI-116",),
        "The text that had come when the time was over, or the chat was cancelled, is lost in turns after the first.",
    ),
    Entry(
        "filtered-answers-have-no-calls",
        wrong.filtered_answers_have_no_calls,
        ("XMCP-CLI-123", "XMCP-CLI-061", "XMCP-CLI-133", "XMCP-CLI-124"),
        "The calls of an answer that ended with `content_filter` are not made, and the chat ends with it.",
    ),
    Entry(
        "wrapper-counts-as-the-result",
        wrong.wrapper_counts_as_the_result,
        ("XMCP-CLI-037",),
        "A parameter that a wrapped value can fill stays under `required`: the wrapper's schema is looked at.",
    ),
    Entry(
        "whole-seconds-until-the-probe",
        wrong.whole_seconds_until_the_probe,
        ("XMCP-CLI-043",),
        "`CIRCUIT_OPEN` has no `retry_after_ms` where less than a second is left until the probe.",
    ),
    Entry(
        "null-arguments-count-as-left-out",
        wrong.null_arguments_count_as_left_out,
        ("XMCP-CLI-051", "XMCP-CLI-054", "XMCP-CLI-012"),
        "A call with an argument that is `null` is answered with what was cached for the call without that argument.",
    ),
    Entry(
        "failures-go-before-the-question",
        wrong.failures_go_before_the_question,
        ("XMCP-CLI-085", "XMCP-CLI-133", "XMCP-CLI-124"),
        "A turn with a question and a call that failed does not end the chat: the model is asked again.",
    ),
    Entry(
        "texts-for-the-person-leave-no-trace",
        odd.texts_for_the_person_leave_no_trace,
        (),
        "The model gets no reference in the place of a text for the user alone.",
    ),
    Entry(
        "documents-in-ascii",
        odd.documents_in_ascii,
        (),
        "Documents that the client writes have character references for all that is no ASCII.",
    ),
    Entry(
        "letter-by-letter-and-warnings-last",
        odd.letter_by_letter_and_warnings_last,
        (),
        "Each `llm_delta` has one character, and warnings of a call come after its displays.",
    ),
    Entry(
        "terse-errors-and-nameless-messages",
        odd.terse_errors_and_nameless_messages,
        (),
        "Errors that the client makes have other words and a vendor's member in `meta`; tool messages have no `name`.",
    ),
)
