"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_nineteenth import odd, wrong

ENTRIES = (
    Entry(
        "late-reads-run-on",
        wrong.late_reads_run_on,
        ("XMCP-CLI-041",),
        "A call of a read-only tool that is not answered in time gets TIMEOUT, but is not cancelled at the server.",
    ),
    Entry(
        "idempotent-counts-as-read-only",
        wrong.idempotent_counts_as_read_only,
        ("XMCP-CLI-050",),
        "Where the application allows a cache for read-only tools, idempotent ones are answered from it too.",
    ),
    Entry(
        "alone-without-prefix",
        wrong.alone_without_prefix,
        ("XMCP-CLI-092",),
        "The tools of a named server have no prefix where it is the only server of the client.",
    ),
    Entry(
        "shown-before-it-failed",
        wrong.shown_before_it_failed,
        ("XMCP-REC-002",),
        "The tool_display of a call that failed comes before its tool_error.",
    ),
    Entry(
        "experimental-in-both-eras",
        wrong.experimental_in_both_eras,
        ("XMCP-MCP-009", "XMCP-MCP-006", "XMCP-MCP-007"),
        "In the stateless era the extension is declared under experimental, and not under extensions.",
    ),
    Entry(
        "probe-needs-a-result",
        wrong.probe_needs_a_result,
        ("XMCP-CLI-045", "XMCP-CLI-042", "XMCP-CLI-102"),
        "A circuit breaker does not close when its probe is answered with a protocol error.",
    ),
    Entry(
        "called-as-the-model-can-write-it",
        wrong.called_as_the_model_can_write_it,
        ("XMCP-CLI-093",),
        "A tool whose own name has characters that models cannot write is called without them at its server.",
    ),
    Entry(
        "late-chats-leave-their-calls",
        wrong.late_chats_leave_their_calls,
        ("XMCP-CLI-046", "XMCP-CLI-041"),
        "When the time of a chat is over, its calls are not cancelled at the servers; when it is cancelled, they are.",
    ),
    Entry(
        "shown-is-answered",
        wrong.shown_is_answered,
        ("XMCP-CLI-061", "XMCP-CLI-060"),
        "A turn in which a call failed with a display ends the chat as one whose displays answer the query.",
    ),
    Entry(
        "each-chat-a-tenant",
        wrong.each_chat_a_tenant,
        ("XMCP-CLI-117",),
        "Each chat without a tenant waits for a slot as a tenant of its own.",
    ),
    Entry(
        "the-servers-last-word",
        wrong.the_servers_last_word,
        ("XMCP-CLI-125", "XMCP-ERR-042"),
        "A call whose last attempt lost its connection is answered with the server's error of an earlier one.",
    ),
    Entry(
        "refused-for-its-rate-is-safe",
        wrong.refused_for_its_rate_is_safe,
        ("XMCP-ERR-040",),
        "An error of the category rate_limited is retried also for a tool that is neither read-only nor idempotent.",
    ),
    Entry(
        "letter-by-letter",
        odd.letter_by_letter,
        (),
        "Each llm_delta has one character.",
    ),
    Entry(
        "first-model-first",
        odd.first_model_first,
        (),
        "Each turn begins with the first model again, also after another one had to answer.",
    ),
    Entry(
        "says-less-of-what-is-shown",
        odd.says_less_of_what_is_shown,
        (),
        "References have an alt, the id and no note; nothing stands in the place of a block for the user alone.",
    ),
    Entry(
        "another-tongue",
        odd.another_tongue,
        (),
        "The errors of the client are in another language, with a vendor's member in meta and without params.",
    ),
)
