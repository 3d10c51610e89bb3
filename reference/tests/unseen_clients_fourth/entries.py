"""The fourth set of clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_fourth import odd, wrong

ENTRIES = (
    Entry(
        "retries-what-was-limited",
        wrong.retries_what_was_limited,
        ("XMCP-ERR-040",),
        "A call of a tool that is neither read-only nor idempotent is made again after an error such as `RATE_LIMIT`.",
    ),
    Entry(
        "takes-the-end-of-the-chat-for-a-failure",
        wrong.takes_the_end_of_the_chat_for_a_failure,
        ("XMCP-CLI-035", "XMCP-CLI-004"),
        "At a time-out of the chat, a call that waited for one under way gets `DEPENDENCY_FAILED` and not `TIMEOUT`.",
    ),
    Entry(
        "a-cancelled-probe-has-failed",
        wrong.a_cancelled_probe_has_failed,
        ("XMCP-CLI-101", "XMCP-CLI-045", "XMCP-CLI-044"),
        "After a probe whose chat was cancelled the breaker is open for its whole time; the next call is no probe.",
    ),
    Entry(
        "asks-the-cache-before-the-application",
        wrong.asks_the_cache_before_the_application,
        ("XMCP-CLI-051", "XMCP-CLI-083"),
        "Two calls that differ only in what the application filled in get the same cached answer.",
    ),
    Entry(
        "the-last-to-end-hands-on",
        wrong.the_last_to_end_hands_on,
        ("XMCP-CLI-034",),
        "Of two calls of one tool, the first in call order hands its result on if it takes longer than the second.",
    ),
    Entry(
        "writes-the-main-parts-anew",
        wrong.writes_the_main_parts_anew,
        ("XMCP-CLI-003", "XMCP-DSP-041", "XMCP-RSP-082"),
        "Beside a reference, `server_populated`, `format`, `truncated`, `version` and `call_id` are missing.",
    ),
    Entry(
        "half-an-audience-is-alone",
        wrong.half_an_audience_is_alone,
        ("XMCP-MCP-011", "XMCP-MCP-045", "XMCP-MCP-046"),
        "The text of a block for the user and the assistant is shown to the person, and the model does not get it.",
    ),
    Entry(
        "approves-a-tool-once",
        wrong.approves_a_tool_once,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "The second call of a tool in a chat is made without an approval, because the first one had one.",
    ),
    Entry(
        "out-of-time-costs-nothing",
        wrong.out_of_time_costs_nothing,
        ("XMCP-CLI-115", "XMCP-CLI-074"),
        "An answer that the time limit of the chat ended does not count against the tenant's quota.",
    ),
    Entry(
        "counts-calls-of-servers-only",
        wrong.counts_calls_of_servers_only,
        ("XMCP-CLI-105",),
        "Calls of the client's own tools, and of unknown ones, do not count for the limit of calls in a turn.",
    ),
    Entry(
        "frees-the-name-of-a-tool-that-went-away",
        wrong.frees_the_name_of_a_tool_that_went_away,
        ("XMCP-CLI-091",),
        "A tool that one server does not list any more leaves its name to a new tool of another server.",
    ),
    Entry(
        "keeps-the-text-that-is-void",
        wrong.keeps_the_text_that_is_void,
        ("XMCP-CLI-116", "XMCP-CLI-124", "XMCP-CLI-075"),
        "The text of an answer that broke off comes back into the history when the next answer is ended by the client.",
    ),
    Entry(
        "spells-the-text",
        odd.spells_the_text,
        (),
        "Each `llm_delta` has one letter (section 11.11, row `order`).",
    ),
    Entry(
        "signs-its-documents",
        odd.signs_its_documents,
        (),
        "The client's own documents have `version` and an element in a namespace (XMCP-RSP-012, section 11.1).",
    ),
    Entry(
        "knows-what-it-did-not-send",
        odd.knows_what_it_did_not_send,
        (),
        "A call that was not sent when the chat's time was over has `side_effects` `none` (section 11.11).",
    ),
    Entry(
        "says-nothing-of-blocks",
        odd.says_nothing_of_blocks,
        (),
        "The model reads no reference in the place of a text for the user alone (section 6.4).",
    ),
)
