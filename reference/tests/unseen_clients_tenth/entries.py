"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_tenth import odd, wrong

ENTRIES = (
    Entry(
        "forgets-ids-of-earlier-chats",
        wrong.forgets_ids_of_earlier_chats,
        ("XMCP-CLI-005",),
        "A call keeps an id that a call in the history of the application has already.",
    ),
    Entry(
        "sends-the-defaults-of-the-schema",
        wrong.sends_the_defaults_of_the_schema,
        ("XMCP-CLI-012",),
        "A property that the model left out is sent with the default that the input schema has for it.",
    ),
    Entry(
        "merges-the-results-of-one-tool",
        wrong.merges_the_results_of_one_tool,
        ("XMCP-CLI-034", "XMCP-CLI-032", "XMCP-CLI-030", "XMCP-CLI-012"),
        "Where the last call of a tool has no value for a parameter, an earlier call of that tool gives it.",
    ),
    Entry(
        "trusts-the-attempt-before",
        wrong.trusts_the_attempt_before,
        ("XMCP-CLI-132",),
        "After a lost attempt and one that did not reach the server, the third error says that nothing changed.",
    ),
    Entry(
        "takes-cancelled-for-answered",
        wrong.takes_cancelled_for_answered,
        ("XMCP-CLI-101", "XMCP-CLI-043", "XMCP-CLI-045", "XMCP-CLI-044"),
        "A call that was cancelled with its chat sets the failures of the circuit breaker back, or closes it.",
    ),
    Entry(
        "caches-by-what-the-model-wrote",
        wrong.caches_by_what_the_model_wrote,
        ("XMCP-CLI-051", "XMCP-CLI-083"),
        "The cache does not see what the application fills in, so a call for one person gets the answer of another.",
    ),
    Entry(
        "measures-displays-in-characters",
        wrong.measures_displays_in_characters,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display in a script that is not Latin goes to the model whole, up to three times the budget.",
    ),
    Entry(
        "drops-what-a-filter-left",
        wrong.drops_what_a_filter_left,
        ("XMCP-CLI-124", "XMCP-REC-006"),
        "The answer of a chat that the content filter ended is null, although a part of the text came.",
    ),
    Entry(
        "remembers-an-approval",
        wrong.remembers_an_approval,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "The second of two equal calls of a chat is made without asking, once the first was approved.",
    ),
    Entry(
        "leaves-out-names-that-models-refuse",
        wrong.leaves_out_names_that_models_refuse,
        ("XMCP-CLI-090", "XMCP-CLI-092"),
        "A tool with a dot in its name, or a name that is too long, is not offered at all.",
    ),
    Entry(
        "reports-the-text-for-the-model",
        wrong.reports_the_text_for_the_model,
        ("XMCP-REC-006",),
        "The text of `tool_result` is cut, and has the notes about blocks for the person, as the model reads it.",
    ),
    Entry(
        "takes-silence-for-not-retryable",
        wrong.takes_silence_for_not_retryable,
        ("XMCP-MCP-040",),
        "A failure of a plain server that has a registered code, and no `retryable`, is never retryable.",
    ),
    Entry(
        "says-nothing-of-texts-for-the-person",
        odd.says_nothing_of_texts_for_the_person,
        (),
        "The model gets no reference in the place of a text for the user alone.",
    ),
    Entry(
        "repeats-the-marks-of-plain-results",
        odd.repeats_the_marks_of_plain_results,
        (),
        "The document for the model has the format, and says that the text was cut or lossy, where a plain result did.",
    ),
    Entry(
        "mends-histories",
        odd.mends_histories,
        (),
        "A history whose calls have no answers, or whose answers have no calls, is mended in a copy and sent.",
    ),
    Entry(
        "tells-calls-last-first",
        odd.tells_calls_last_first,
        (),
        "The events `tool_call` of a turn come from the last call to the first.",
    ),
)
