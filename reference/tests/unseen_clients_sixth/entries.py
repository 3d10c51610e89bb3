"""Thirty further clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_sixth import wrong

ENTRIES = (
    Entry(
        "keeps-what-can-be-repeated",
        wrong.keeps_what_can_be_repeated,
        ("XMCP-CLI-050",),
        "With the cache for read-only tools allowed, an idempotent tool that is neither read-only nor "
        "`cacheable` is answered from it, too.",
    ),
    Entry(
        "null-is-left-out",
        wrong.null_is_left_out,
        ("XMCP-CLI-051",),
        'The cache answers a call with `{"a": 1, "b": null}` with what was answered to one with `{"a": 1}`.',
    ),
    Entry(
        "waits-for-any-tenant",
        wrong.waits_for_any_tenant,
        ("XMCP-CLI-051", "XMCP-CLI-076", "XMCP-CLI-054"),
        "A call waits for an equal call of another tenant that is under way, and gets its answer; what "
        "is stored is kept by tenant.",
    ),
    Entry(
        "transient-in-documents-only",
        wrong.transient_in_documents_only,
        ("XMCP-CLI-053",),
        "A plain result whose display is `transient` goes into the cache; a document with such a display does not.",
    ),
    Entry(
        "a-time-out-takes-the-others-along",
        wrong.a_time_out_takes_the_others_along,
        ("XMCP-CLI-055", "XMCP-CLI-046"),
        "When the chat that made a call is out of time, a call of another chat that waits for the "
        "answer gets `CANCELLED`.",
    ),
    Entry(
        "a-display-from-the-cache-is-old-news",
        wrong.a_display_from_the_cache_is_old_news,
        ("XMCP-CLI-060", "XMCP-CLI-061"),
        "A turn in which a display came from the cache, or from an equal call, does not end the chat.",
    ),
    Entry(
        "a-second-try-makes-it-good",
        wrong.a_second_try_makes_it_good,
        ("XMCP-CLI-061", "XMCP-CLI-060"),
        "A turn with a failed call ends the chat, where a later call of the same tool in that turn has a display.",
    ),
    Entry(
        "continues-once",
        wrong.continues_once,
        ("XMCP-CLI-062", "XMCP-CLI-061", "XMCP-CLI-133"),
        "Told to continue, the client ends the chat after the second turn in a row in which everything was shown.",
    ),
    Entry(
        "lists-displays-up-to-the-first-gap",
        wrong.lists_displays_up_to_the_first_gap,
        ("XMCP-CLI-063", "XMCP-DSP-042", "XMCP-REC-006"),
        "At a time-out, `displays` lacks those of calls that stand behind a call that was cut off in the same turn.",
    ),
    Entry(
        "what-a-callback-did-not-show-was-not-shown",
        wrong.what_a_callback_did_not_show_was_not_shown,
        ("XMCP-CLI-064", "XMCP-CLI-060"),
        "Where `on_display` fails, the model is asked again after a turn that should have ended the chat.",
    ),
    Entry(
        "an-unreadable-turn-is-free",
        wrong.an_unreadable_turn_is_free,
        ("XMCP-CLI-070", "XMCP-CLI-071"),
        "A turn in which the arguments of each call were unreadable does not count for the limit of turns.",
    ),
    Entry(
        "answers-with-the-text-beside-the-calls",
        wrong.answers_with_the_text_beside_the_calls,
        ("XMCP-CLI-124",),
        "At a time-out during calls, the `answer` is the text beside these calls and not `null`.",
    ),
    Entry(
        "the-first-failure-names-the-chat",
        wrong.the_first_failure_names_the_chat,
        ("XMCP-CLI-133", "XMCP-REC-006"),
        "Where several models fail for different reasons, the chat fails with the code of the first "
        "one, not of the last one.",
    ),
    Entry(
        "too-long-a-history-loses-its-last-turn",
        wrong.too_long_a_history_loses_its_last_turn,
        ("XMCP-CLI-073", "XMCP-CLI-002", "XMCP-REC-006"),
        "At `CONTEXT_TOO_LARGE`, the history of the failure lacks the last turn with its calls; at "
        "other failures it is whole.",
    ),
    Entry(
        "a-turn-is-paid-once",
        wrong.a_turn_is_paid_once,
        ("XMCP-CLI-074", "XMCP-CLI-115"),
        "Where an answer that broke off used up the quota, the same turn's next request is sent all the same.",
    ),
    Entry(
        "broken-calls-cost-nothing",
        wrong.broken_calls_cost_nothing,
        ("XMCP-CLI-115", "XMCP-REC-011", "XMCP-CLI-074", "XMCP-REC-006"),
        "An answer that broke off within the arguments of a call, without any text, does not count and "
        "has no usage record.",
    ),
    Entry(
        "usage-is-of-the-chat-that-asked-last",
        wrong.usage_is_of_the_chat_that_asked_last,
        ("XMCP-CLI-076", "XMCP-REC-006"),
        "While two requests run, the usage record of the earlier one has the tenant and the session of the later one.",
    ),
    Entry(
        "the-cache-needs-no-approval",
        wrong.the_cache_needs_no_approval,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "A call that the cache answers, or that waits for an equal call, is answered without an approval.",
    ),
    Entry(
        "definitions-stay",
        wrong.definitions_stay,
        ("XMCP-CLI-082",),
        "A parameter of the application that the schema has under `$defs`, behind a reference, is shown to the model.",
    ),
    Entry(
        "false-is-no-value",
        wrong.false_is_no_value,
        ("XMCP-CLI-083",),
        "Where the application's value is `false`, 0 or an empty text, the server gets the model's value.",
    ),
    Entry(
        "asks-only-when-all-went-well",
        wrong.asks_only_when_all_went_well,
        ("XMCP-CLI-085", "XMCP-CLI-061", "XMCP-CLI-124"),
        "A successful `__clarify__` does not end the chat where another call of its turn failed.",
    ),
    Entry(
        "calls-with-the-newest-list",
        wrong.calls_with_the_newest_list,
        ("XMCP-CLI-096", "XMCP-CLI-011"),
        "A tool that is removed by a refresh while the model writes its answer is `UNKNOWN_TOOL`; the "
        "model was offered it.",
    ),
    Entry(
        "starts-under-the-id-of-the-model",
        wrong.starts_under_the_id_of_the_model,
        ("XMCP-REC-002", "XMCP-CLI-005", "XMCP-REC-006"),
        "Where an id occurs again in a later turn and was replaced, `tool_started` alone has the id "
        "that the model wrote.",
    ),
    Entry(
        "the-bill-comes-last",
        wrong.the_bill_comes_last,
        ("XMCP-REC-003", "XMCP-REC-006"),
        "At a time-out while the model answers, the event `usage` comes after `done`.",
    ),
    Entry(
        "what-the-cache-answers-has-started",
        wrong.what_the_cache_answers_has_started,
        ("XMCP-REC-006", "XMCP-REC-002"),
        "A call that is answered from the cache, or by an equal call, has a `tool_started`.",
    ),
    Entry(
        "no-answer-no-record",
        wrong.no_answer_no_record,
        ("XMCP-REC-011", "XMCP-CLI-115", "XMCP-REC-006"),
        "A request of which nothing had come when the time of the chat was over has no usage record, "
        "and `llm_calls` lacks it.",
    ),
    Entry(
        "reads-no-parts",
        wrong.reads_no_parts,
        ("XMCP-DSP-040",),
        "A large display in the application's history goes to the model whole, where the tool message's "
        "content is a list of parts.",
    ),
    Entry(
        "an-error-explains-itself-at-length",
        wrong.an_error_explains_itself_at_length,
        ("XMCP-DSP-040",),
        "A display above the budget goes to the model whole where it comes with an error.",
    ),
    Entry(
        "a-plain-failure-shows-nothing",
        wrong.a_plain_failure_shows_nothing,
        ("XMCP-DSP-042", "XMCP-CLI-063", "XMCP-CLI-003", "XMCP-REC-006"),
        "The display that a plain result has beside its error is neither an event nor in `displays`.",
    ),
    Entry(
        "names-of-members-say-nothing",
        wrong.names_of_members_say_nothing,
        ("XMCP-MCP-045",),
        "Structured content in which a member's name has the text of a block for the user alone is given to the model.",
    ),
)
