"""The third set of clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_third import odd, wrong

ENTRIES = (
    Entry(
        "measures-the-payload-alone",
        wrong.measures_the_payload_alone,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display whose `alt`, title or fallback makes it larger than the budget goes to the model whole.",
    ),
    Entry(
        "caps-every-wait",
        wrong.caps_every_wait,
        ("XMCP-ERR-041",),
        "A wait of more than 30 seconds that a server asks for is cut to 30 seconds.",
    ),
    Entry(
        "any-truth-is-cacheable",
        wrong.any_truth_is_cacheable,
        ("XMCP-TOL-003", "XMCP-CLI-050"),
        'A tool whose metadata have `cacheable` as "yes" or as 1 is answered from the cache.',
    ),
    Entry(
        "names-links-of-the-person",
        wrong.names_links_of_the_person,
        ("XMCP-MCP-045",),
        "A link to a resource that is for the user alone is named to the model, with its address.",
    ),
    Entry(
        "counts-a-turn-when-it-is-sent",
        wrong.counts_a_turn_when_it_is_sent,
        ("XMCP-REC-006",),
        "Where a quota refuses a request, `failed` has the turn before that request.",
    ),
    Entry(
        "rewritten-documents-lose-nothing",
        wrong.rewritten_documents_lose_nothing,
        ("XMCP-RSP-029", "XMCP-CLI-003"),
        "A document that is marked as lossy and has a large display is written anew without the mark.",
    ),
    Entry(
        "true-is-a-number",
        wrong.true_is_a_number,
        ("XMCP-CLI-036", "XMCP-CLI-030"),
        "A member that is `true` or `false` is handed on to a parameter that takes an integer or a number.",
    ),
    Entry(
        "doubts-lost-connections-alone",
        wrong.doubts_lost_connections_alone,
        ("XMCP-CLI-132",),
        "After an attempt in doubt, `AUTH_REQUIRED` at the next one says that nothing changed.",
    ),
    Entry(
        "each-chat-without-a-tenant-is-one",
        wrong.each_chat_without_a_tenant_is_one,
        ("XMCP-CLI-117",),
        "Each chat without a tenant waits for slots as a tenant of its own, and holds up the named ones.",
    ),
    Entry(
        "second-level-in-written-order",
        wrong.second_level_in_written_order,
        ("XMCP-CLI-032",),
        "Of equally near predecessors that are not direct ones, the one that is named first gives the value.",
    ),
    Entry(
        "unpacks-json-in-texts",
        wrong.unpacks_json_in_texts,
        ("XMCP-CLI-012",),
        "A text of the model that is JSON is sent as the list or the object that the schema asks for.",
    ),
    Entry(
        "time-left-when-the-call-began",
        wrong.time_left_when_the_call_began,
        ("XMCP-CLI-040",),
        "The wait for another attempt can be longer than the chat has left, by the time that the call has taken.",
    ),
    Entry(
        "letter-by-letter",
        odd.letter_by_letter,
        (),
        "Tells the model's text one character at a time, and has a warning for each call.",
    ),
    Entry(
        "bare-messages",
        odd.bare_messages,
        (),
        "Writes tool messages without `name`, and an empty text instead of `null` beside calls.",
    ),
    Entry(
        "hurried-and-even",
        odd.hurried_and_even,
        (),
        "Retries without a wait of its own, and its cache takes `1` and `1.0` for equal.",
    ),
    Entry(
        "repeats-the-marks-of-plain-results",
        odd.repeats_the_marks_of_plain_results,
        (),
        "Writes a plain result's `format`, `truncated` and `lossy` into the document, and shows empty blocks.",
    ),
)
