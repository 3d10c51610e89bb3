"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_fifteenth import odd, wrong

ENTRIES = (
    Entry(
        "a-begun-call-takes-the-text-along",
        wrong.a_begun_call_takes_the_text_along,
        ("XMCP-CLI-116", "XMCP-CLI-124"),
        "Of an answer that the end of the chat met, the text is lost if the model had begun to write a call after it.",
    ),
    Entry(
        "the-first-of-far-calls-hands-on",
        wrong.the_first_of_far_calls_hands_on,
        ("XMCP-CLI-034", "XMCP-CLI-032", "XMCP-CLI-030"),
        "Of several calls of a tool that is a predecessor only through others, the first that succeeded hands on.",
    ),
    Entry(
        "once-harmless-always-harmless",
        wrong.once_harmless_always_harmless,
        ("XMCP-ERR-040",),
        "After an attempt whose error had `side_effects` that are `none`, each retryable error of the call is retried.",
    ),
    Entry(
        "a-probe-has-to-succeed",
        wrong.a_probe_has_to_succeed,
        ("XMCP-CLI-045", "XMCP-CLI-042", "XMCP-CLI-102"),
        "A probe that is answered with a protocol error leaves the circuit breaker open for its whole time again.",
    ),
    Entry(
        "caches-what-the-model-saw",
        wrong.caches_what_the_model_saw,
        ("XMCP-DSP-042",),
        "The second, cached answer of a tool shows the person the reference in the place of a large display.",
    ),
    Entry(
        "own-tools-are-free",
        wrong.own_tools_are_free,
        ("XMCP-CLI-105",),
        "Calls of the client's own tools do not count for its limit of calls in a turn.",
    ),
    Entry(
        "without-a-value-the-models-counts",
        wrong.without_a_value_the_models_counts,
        ("XMCP-CLI-083", "XMCP-CLI-012", "XMCP-CLI-082"),
        "Where the application has no value, or `null`, for a parameter that it fills in, the model's value is sent.",
    ),
    Entry(
        "an-empty-announcement-is-none",
        wrong.an_empty_announcement_is_none,
        ("XMCP-MCP-010", "XMCP-MCP-043"),
        "A server that announces the extension with an empty object counts as a server of another kind.",
    ),
    Entry(
        "a-message-of-an-error-is-always-told",
        wrong.a_message_of_an_error_is_always_told,
        ("XMCP-MCP-045", "XMCP-MCP-040"),
        "Of a failed result without a text, the model gets the `message` beside the code that a user's block repeats.",
    ),
    Entry(
        "a-reference-makes-it-whole",
        wrong.a_reference_makes_it_whole,
        ("XMCP-RSP-029", "XMCP-CLI-003"),
        "A document marked as lossy is written anew without any mark where its display is too large for the model.",
    ),
    Entry(
        "failures-of-all-turns-add-up",
        wrong.failures_of_all_turns_add_up,
        ("XMCP-REC-006", "XMCP-CLI-075"),
        "The `attempt` of a `retry` of the model goes on counting from the failed requests of earlier turns.",
    ),
    Entry(
        "time-over-in-a-call-answers-with-its-words",
        wrong.time_over_in_a_call_answers_with_its_words,
        ("XMCP-CLI-124",),
        "If the time of the chat is over while calls run, what the model wrote beside them is the `answer`.",
    ),
    Entry(
        "mends-histories",
        odd.mends_histories,
        (),
        "A history of the application without an answer to a call, or with one to no call, is mended in a copy.",
    ),
    Entry(
        "tells-more-than-it-has-to",
        odd.tells_more_than_it_has_to,
        (),
        "Events of a type of the client's own stand among the others, and each event has a member of its own.",
    ),
    Entry(
        "writes-documents-at-length",
        odd.writes_documents_at_length,
        (),
        "Documents that the client writes have defaults, numeric references and white space between the elements.",
    ),
    Entry(
        "spells-names-out",
        odd.spells_names_out,
        (),
        "A name that models do not take is offered with the numbers of the characters, or without its middle.",
    ),
)
