"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_sixteenth import odd, wrong

ENTRIES = (
    Entry(
        "first-of-equal-members-inside",
        wrong.first_of_equal_members_inside,
        ("XMCP-CLI-012", "XMCP-REC-006"),
        "Of members with the same name in an object within the arguments, the first one counts, and not the last.",
    ),
    Entry(
        "withheld-answer-loses-its-calls",
        wrong.withheld_answer_loses_its_calls,
        ("XMCP-CLI-123", "XMCP-CLI-061", "XMCP-CLI-124"),
        "The calls of an answer that ended with `content_filter` are not made, and the chat ends; with `length` they "
        "are made.",
    ),
    Entry(
        "unreadable-call-is-no-predecessor",
        wrong.unreadable_call_is_no_predecessor,
        ("XMCP-CLI-035", "XMCP-TOL-012"),
        "A call is made although the only call of the tool on which it depends had arguments that cannot be read.",
    ),
    Entry(
        "only-the-attempt-before-is-in-doubt",
        wrong.only_the_attempt_before_is_in_doubt,
        ("XMCP-CLI-132",),
        "After an attempt in doubt and then one with `side_effects` `none`, the error of a third attempt that did not "
        "reach the server says `none`.",
    ),
    Entry(
        "cached-by-words",
        wrong.cached_by_words,
        ("XMCP-CLI-051",),
        'A call with the argument `7` is answered from the cache with what was answered to `"7"` (so `true`, `null`).',
    ),
    Entry(
        "passing-display-is-no-answer",
        wrong.passing_display_is_no_answer,
        ("XMCP-CLI-060",),
        "A turn that was answered with a display whose `transient` is `true` does not end the chat.",
    ),
    Entry(
        "last-words-of-any-turn",
        wrong.last_words_of_any_turn,
        ("XMCP-CLI-124", "XMCP-CLI-072"),
        "At `max_turns`, where the last turn has no text, the answer is the text of an earlier turn.",
    ),
    Entry(
        "own-tools-do-not-count",
        wrong.own_tools_do_not_count,
        ("XMCP-CLI-105",),
        "Calls of `__think__` and the like do not count for the limit of calls in a turn.",
    ),
    Entry(
        "failed-requests-of-the-chat",
        wrong.failed_requests_of_the_chat,
        ("XMCP-REC-006", "XMCP-CLI-075"),
        "The `attempt` of a `retry` of the model counts on from that of an earlier turn.",
    ),
    Entry(
        "names-of-members-repeat-nothing",
        wrong.names_of_members_repeat_nothing,
        ("XMCP-MCP-045",),
        "Structured content without a text goes to the model although the name of a member has the text of a block for "
        "the user alone.",
    ),
    Entry(
        "parts-of-messages-stay-large",
        wrong.parts_of_messages_stay_large,
        ("XMCP-DSP-040",),
        "A large display in a tool message of the application's history stays where the content is a list of parts.",
    ),
    Entry(
        "failure-without-words-succeeds",
        wrong.failure_without_words_succeeds,
        ("XMCP-MCP-052",),
        "A result with `isError`, whose document has neither an error nor a text that says something, is a success.",
    ),
    Entry(
        "repeats-the-marks",
        odd.repeats_the_marks,
        (),
        "The document that stands for a plain result repeats its `format`, `truncated` and `lossy`.",
    ),
    Entry(
        "one-name-for-all-that-is-unknown",
        odd.one_name_for_all_that_is_unknown,
        (),
        "Every tool name that the model made up becomes `no_such_tool` in events, documents and the history.",
    ),
    Entry(
        "reference-with-more-and-less",
        odd.reference_with_more_and_less,
        (),
        "A reference to a large display has its `id`, `alt` and `meta`, and no `note`.",
    ),
    Entry(
        "events-of-its-own",
        odd.events_of_its_own,
        (),
        "After each `usage` comes an event `answer_received`, with members that the specification does not know.",
    ),
)
