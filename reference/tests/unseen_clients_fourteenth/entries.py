"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_fourteenth import odd, wrong

ENTRIES = (
    Entry(
        "bad-display-spoils-an-error",
        wrong.bad_display_spoils_an_error,
        ("XMCP-RSP-072", "XMCP-ERR-042", "XMCP-CLI-003"),
        "A document with an error and a display that cannot be read is refused with INVALID_XML; beside a text, such a "
        "display is dropped as it should be.",
    ),
    Entry(
        "fallback-is-not-measured",
        wrong.fallback_is_not_measured,
        ("XMCP-DSP-040", "XMCP-DSP-041"),
        "A display whose fallback makes it larger than the display budget goes to the model whole, because the "
        "fallback is not measured.",
    ),
    Entry(
        "category-of-an-alias-is-internal",
        wrong.category_of_an_alias_is_internal,
        ("XMCP-ERR-013", "XMCP-REC-006"),
        "An error in a document whose code is an alias, such as RATE_LIMITED, and that has no category, is reported "
        "with the category `internal`.",
    ),
    Entry(
        "message-of-a-failure-repeats-the-person",
        wrong.message_of_a_failure_repeats_the_person,
        ("XMCP-MCP-045", "XMCP-MCP-040"),
        "A failed result of another server without a text for the model: the `message` in its structured content goes "
        "to the model, although it repeats a block for the user alone.",
    ),
    Entry(
        "predecessors-depth-first",
        wrong.predecessors_depth_first,
        ("XMCP-CLI-032", "XMCP-CLI-030", "XMCP-CLI-031"),
        "A value comes from what the later declared tool depends on, and not from the nearer tool that is declared "
        "earlier and has one too: the predecessors are gone through depth first.",
    ),
    Entry(
        "true-is-one-in-the-cache",
        wrong.true_is_one_in_the_cache,
        ("XMCP-CLI-051",),
        "A call with `true` in its arguments is answered from the cache with what was answered to the call with 1 in "
        "its place, and `false` likewise with 0.",
    ),
    Entry(
        "reopened-from-the-start-of-the-probe",
        wrong.reopened_from_the_start_of_the_probe,
        ("XMCP-CLI-045", "XMCP-CLI-043", "XMCP-CLI-044"),
        "After a probe that was not answered in time, the breaker is open for its time less the time that the probe "
        "took, so that it lets the next call through too early.",
    ),
    Entry(
        "nothing-shown-nothing-void",
        wrong.nothing_shown_nothing_void,
        ("XMCP-CLI-075", "XMCP-REC-006"),
        "An answer of the model that breaks off after parts of a call, and before any text, is asked for again without "
        "an event `retry`.",
    ),
    Entry(
        "approvals-are-remembered",
        wrong.approvals_are_remembered,
        ("XMCP-CLI-080", "XMCP-CLI-081"),
        "A later call of a chat with the tool and the arguments of one that was approved is made without asking for "
        "its approval.",
    ),
    Entry(
        "arguments-in-a-string",
        wrong.arguments_in_a_string,
        ("XMCP-CLI-010", "XMCP-CLI-007"),
        "Arguments that are a JSON string in which an object is written are unpacked, and the server is called with "
        "the object.",
    ),
    Entry(
        "failed-requests-of-the-chat",
        wrong.failed_requests_of_the_chat,
        ("XMCP-REC-006", "XMCP-CLI-075"),
        "The `attempt` of the first `retry` of the model in a turn is 2 or more where a request of an earlier turn "
        "failed: it counts those of the whole chat.",
    ),
    Entry(
        "each-chat-without-a-tenant-is-one",
        wrong.each_chat_without_a_tenant_is_one,
        ("XMCP-CLI-117",),
        "While calls wait for a slot, each of several chats without a tenant gets a turn before a tenant gets its "
        "second one, as if it were a tenant of its own.",
    ),
    Entry(
        "documents-with-a-vendor-s-element",
        odd.documents_with_a_vendor_s_element,
        (),
        "The documents that the client writes have an element and an attribute in a namespace of its own.",
    ),
    Entry(
        "one-delta-for-each-character",
        odd.one_delta_for_each_character,
        (),
        "Each character of the model's text comes in an event `llm_delta` of its own.",
    ),
    Entry(
        "lists-the-tools-for-each-chat",
        odd.lists_the_tools_for_each_chat,
        (),
        "Whenever a chat begins, the client lists the tools of all its servers again.",
    ),
    Entry(
        "warns-between-result-and-display",
        odd.warns_between_result_and_display,
        (),
        "Before each event `tool_display` the client warns of how large the display is, after the result of the call.",
    ),
)
