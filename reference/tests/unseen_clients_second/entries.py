"""The second set of clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_second import odd, wrong

ENTRIES = (
    Entry(
        "retry-forgets-what-was-handed-on",
        wrong.retry_forgets_what_was_handed_on,
        ("XMCP-CLI-030", "XMCP-CLI-033", "XMCP-CLI-031", "XMCP-CLI-120"),
        "The second attempt of a call has what the model wrote in the place of what an earlier call handed on.",
    ),
    Entry(
        "hands-on-converted-values",
        wrong.hands_on_converted_values,
        ("XMCP-CLI-036", "XMCP-CLI-030"),
        'A member that does not fit the parameter, such as "7" for an integer, is converted, and the call is made.',
    ),
    Entry(
        "summary-forgets-the-turns-of-the-chat",
        wrong.summary_forgets_the_turns_of_the_chat,
        ("XMCP-CLI-086",),
        "A summary that the model writes after the first turn also replaces the turns after the newest user message.",
    ),
    Entry(
        "cancelled-calls-count-as-answered",
        wrong.cancelled_calls_count_as_answered,
        ("XMCP-CLI-101", "XMCP-CLI-043", "XMCP-CLI-044"),
        "A call that ends because its chat was cancelled sets back the breaker's count, and closes it as the probe.",
    ),
    Entry(
        "cache-takes-texts-for-numbers",
        wrong.cache_takes_texts_for_numbers,
        ("XMCP-CLI-051",),
        'The cache answers a call with the argument "7" with what was answered to one with 7.',
    ),
    Entry(
        "budget-in-characters",
        wrong.budget_in_characters,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display is measured in characters, so that one in Cyrillic goes to the model at twice the budget.",
    ),
    Entry(
        "counts-attempts-of-each-model-anew",
        wrong.counts_attempts_of_each_model_anew,
        ("XMCP-REC-006",),
        "After a change of model, `attempt` in the events `retry` of the same turn begins with 1 again.",
    ),
    Entry(
        "takes-retryable-from-the-code",
        wrong.takes_retryable_from_the_code,
        ("XMCP-ERR-040", "XMCP-ERR-015", "XMCP-REC-006"),
        "An error in a document without `retryable` is retryable where the registry says so of its code.",
    ),
    Entry(
        "refreshed-lists-show-everything",
        wrong.refreshed_lists_show_everything,
        ("XMCP-CLI-082",),
        "The tools of a list that changed while the client runs show the parameters that the application fills in.",
    ),
    Entry(
        "white-space-between-words-is-lost",
        wrong.white_space_between_words_is_lost,
        ("XMCP-CLI-124", "XMCP-REC-006", "XMCP-CLI-006", "XMCP-CLI-116"),
        "A piece of the model's text that is only a space or a line feed is in no event and not in the answer.",
    ),
    Entry(
        "failures-tell-the-model-everything",
        wrong.failures_tell_the_model_everything,
        ("XMCP-MCP-045",),
        "The message of a failed result has the text of a block for the user alone, too.",
    ),
    Entry(
        "references-in-the-given-history",
        wrong.references_in_the_given_history,
        ("XMCP-CLI-001",),
        "The reference for a display above the budget also takes its place in the application's own list of messages.",
    ),
    Entry(
        "speaks-german",
        odd.speaks_german,
        (),
        "Words errors, warnings and the answers of its own tools in German, and has little in `meta`.",
    ),
    Entry(
        "tells-the-model-less",
        odd.tells_the_model_less,
        (),
        "Writes nothing in the place of a text for the user alone, and references with an id and without a note.",
    ),
    Entry(
        "back-to-the-first-model",
        odd.back_to_the_first_model,
        (),
        "Asks the first model again in each turn, also after another one had to answer in the turn before.",
    ),
    Entry(
        "asks-the-breaker-before-the-wait",
        odd.asks_the_breaker_before_the_wait,
        (),
        "Answers with CIRCUIT_OPEN at once where the breaker would hold back the next attempt, without an event retry.",
    ),
)
