"""The clients as data: what each is called, how it comes about, and which sentence it breaks."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_seventh import odd, wrong

ENTRIES = (
    Entry(
        "the-summary-is-answered-first",
        wrong.the_summary_is_answered_first,
        ("XMCP-CLI-002",),
        "In a turn with a successful `__summarize__` that is not its first call, the tool messages of the client's own "
        "tools come before those of the servers' tools, and not in the order of the calls.",
    ),
    Entry(
        "the-first-failure-is-what-is-known",
        wrong.the_first_failure_is_what_is_known,
        ("XMCP-CLI-004",),
        "When the time of the chat is over during the second or a later attempt of a call, the call is answered with "
        "the error of the attempt before, and not with `TIMEOUT`.",
    ),
    Entry(
        "each-tool-has-ids-of-its-own",
        wrong.each_tool_has_ids_of_its_own,
        ("XMCP-CLI-005", "XMCP-CLI-002"),
        "Two calls of different tools in one answer that have the same id both keep it; two of the same tool do not.",
    ),
    Entry(
        "what-is-json-stays",
        wrong.what_is_json_stays,
        ("XMCP-CLI-007",),
        "Arguments that are JSON, but no object, such as a list or a text, are in the history as the model wrote them.",
    ),
    Entry(
        "null-means-not-shown",
        wrong.null_means_not_shown,
        ("XMCP-CLI-012",),
        "Where the model wrote `null` for `show_user`, the server does not get that argument.",
    ),
    Entry(
        "tells-where-it-lost-the-connection",
        wrong.tells_where_it_lost_the_connection,
        ("XMCP-CLI-014",),
        "The error of a call whose connection was lost after it was sent has a stack trace of the client; that of a "
        "server that could not be reached has none.",
    ),
    Entry(
        "each-tenant-has-the-whole-limit",
        wrong.each_tenant_has_the_whole_limit,
        ("XMCP-CLI-021", "XMCP-CLI-117"),
        "The limit for calls at the same time is applied to each tenant by itself, so that two tenants together make "
        "twice as many.",
    ),
    Entry(
        "a-server-that-failed-is-not-asked-again",
        wrong.a_server_that_failed_is_not_asked_again,
        ("XMCP-CLI-022",),
        "When a call lost its connection or did not reach its server, the other calls of the turn at that server that "
        "still wait for a slot fail with `CONNECTION_FAILED` and are not sent.",
    ),
    Entry(
        "waits-for-the-one-that-hands-on",
        wrong.waits_for_the_one_that_hands_on,
        ("XMCP-TOL-012", "XMCP-CLI-034", "XMCP-CLI-035"),
        "A call that depends on a tool with several calls in the turn waits only for the last of these in call order, "
        "and starts while an earlier one still runs.",
    ),
    Entry(
        "objects-are-merged",
        wrong.objects_are_merged,
        ("XMCP-CLI-033", "XMCP-CLI-030", "XMCP-CLI-031"),
        "Where the value that is handed on and the one that the model wrote are both objects, the server gets one with "
        "the members of both, the model's first.",
    ),
    Entry(
        "one-of-them-is-enough",
        wrong.one_of_them_is_enough,
        ("XMCP-CLI-035",),
        "A call that depends on two tools is made where one of them succeeded and all calls of the other failed.",
    ),
    Entry(
        "counts-what-the-application-fills-in",
        wrong.counts_what_the_application_fills_in,
        ("XMCP-CLI-120",),
        "Where a tool also requires a parameter that the application fills in, the only other required one does not "
        "get the whole result of the only predecessor.",
    ),
    Entry(
        "too-many-requests-is-a-failure",
        wrong.too_many_requests_is_a_failure,
        ("XMCP-CLI-042", "XMCP-CLI-102"),
        "A circuit breaker counts the HTTP status 429 in answer to a call as a failure.",
    ),
    Entry(
        "nobody-knows-how-long-a-probe-takes",
        wrong.nobody_knows_how_long_a_probe_takes,
        ("XMCP-CLI-043", "XMCP-CLI-044"),
        "`CIRCUIT_OPEN` has no `retry_after_ms` while the probe is under way; before the probe it has one.",
    ),
    Entry(
        "a-refused-probe-proves-nothing",
        wrong.a_refused_probe_proves_nothing,
        ("XMCP-CLI-045", "XMCP-CLI-102", "XMCP-CLI-042", "XMCP-CLI-043"),
        "A circuit breaker stays open for its whole time again when the probe is answered with a protocol error; a "
        "result closes it.",
    ),
    Entry(
        "remembers-what-is-not-there",
        wrong.remembers_what_is_not_there,
        ("XMCP-CLI-052",),
        "An error of the category `not_found` goes into the cache; other errors do not.",
    ),
    Entry(
        "tells-the-model-that-a-callback-failed",
        wrong.tells_the_model_that_a_callback_failed,
        ("XMCP-CLI-064", "XMCP-REC-006", "XMCP-ERR-042"),
        "Where the callback `on_error` fails, the error in the tool message has a further sentence.",
    ),
    Entry(
        "the-last-turn-ends-with-max-turns",
        wrong.the_last_turn_ends_with_max_turns,
        ("XMCP-CLI-071", "XMCP-CLI-124", "XMCP-CLI-133"),
        "Where the time of the chat is over during the calls of the last turn that the limit allows, the "
        "`stop_reason` is `max_turns` and not `timeout`.",
    ),
    Entry(
        "nothing-to-take-back",
        wrong.nothing_to_take_back,
        ("XMCP-CLI-075", "XMCP-REC-006"),
        "There is no event `retry` where an answer broke off of which a part of its calls had come, but no text.",
    ),
    Entry(
        "a-summary-keeps-one-system-message",
        wrong.a_summary_keeps_one_system_message,
        ("XMCP-CLI-086",),
        "Of several leading system messages only the first is still there after a summary.",
    ),
    Entry(
        "retries-under-the-offered-name",
        wrong.retries_under_the_offered_name,
        ("XMCP-CLI-093",),
        "The second and later attempts of a call have the prefixed name of the tool in the request to the server.",
    ),
    Entry(
        "one-tool-is-not-worth-a-warning",
        wrong.one_tool_is_not_worth_a_warning,
        ("XMCP-CLI-106", "XMCP-CLI-090"),
        "Where a limit of the client leaves out exactly one tool of a server, there is no `warning`.",
    ),
    Entry(
        "quotes-what-failed",
        wrong.quotes_what_failed,
        ("XMCP-MCP-013", "XMCP-MCP-012"),
        "Where a result has `isError` and its document cannot be read, the model gets the beginning of its raw text in "
        "the message of `INVALID_XML`.",
    ),
    Entry(
        "nothing-said-is-nothing-cached",
        wrong.nothing_said_is_nothing_cached,
        ("XMCP-REC-010",),
        "A usage record has 0 and not `null` for `cached_tokens` where the vendor gave only the other counts.",
    ),
    Entry(
        "a-summary-speaks-for-itself",
        odd.a_summary_speaks_for_itself,
        (),
        "The message of a summary has the model's text alone (section 11.11, row `texts`).",
    ),
    Entry(
        "takes-false-for-a-no",
        odd.takes_false_for_a_no,
        (),
        "A read-only tool with `cacheable` `false` is never answered from the cache (section 11.11).",
    ),
    Entry(
        "reads-the-beginning",
        odd.reads_the_beginning,
        (),
        "The model reads 16,384 characters of a text, marked as `truncated` (section 11.11, row `a long text`).",
    ),
    Entry(
        "offers-the-last-tool-first",
        odd.offers_the_last_tool_first,
        (),
        "The tools are offered in the opposite order, for which there is no sentence.",
    ),
    Entry(
        "calls-models-by-other-names",
        odd.calls_models_by_other_names,
        (),
        "Usage records have other names for the provider and the model (section 11.11, row `a usage record`).",
    ),
    Entry(
        "waits-for-no-callback",
        odd.waits_for_no_callback,
        (),
        "The chat does not wait for callbacks that only report (section 11.11, row `callbacks`).",
    ),
)
