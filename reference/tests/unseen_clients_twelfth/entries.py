"""The clients as data."""

from __future__ import annotations

from unseen_clients.entries import Entry

from unseen_clients_twelfth import odd, wrong

ENTRIES = (
    Entry(
        "ids-of-earlier-chats-forgotten",
        wrong.forgets_the_ids_of_earlier_chats,
        ("XMCP-CLI-005",),
        "A call whose id is already in the history that the application passed in keeps that id.",
    ),
    Entry(
        "null-arguments-left-out",
        wrong.leaves_out_what_is_null,
        ("XMCP-CLI-012",),
        "An argument that the model wrote as null is not sent to the server.",
    ),
    Entry(
        "earlier-call-fills-the-gap",
        wrong.looks_in_earlier_calls_of_the_tool,
        ("XMCP-CLI-034", "XMCP-CLI-032", "XMCP-CLI-030", "XMCP-CLI-031"),
        "Where the last successful call of a tool has no value for a parameter, an earlier call of it gives one.",
    ),
    Entry(
        "server-error-before-lost-connection",
        wrong.prefers_what_the_server_said,
        ("XMCP-CLI-125", "XMCP-ERR-042"),
        "A call whose last attempt lost the connection is answered with the error of the attempt before.",
    ),
    Entry(
        "breaker-wants-a-success",
        wrong.closes_only_after_a_success,
        ("XMCP-CLI-045", "XMCP-CLI-042"),
        "A circuit breaker stays open where the tool answered the probe with an error.",
    ),
    Entry(
        "cache-sorts-lists",
        wrong.takes_lists_for_sets,
        ("XMCP-CLI-051",),
        "A call is answered from the cache with what was answered to one whose lists are in another order.",
    ),
    Entry(
        "no-display-beside-an-error",
        wrong.shows_no_display_beside_an_error,
        ("XMCP-DSP-042", "XMCP-CLI-063", "XMCP-REC-006"),
        "The display that a tool sent together with its error is not shown to the person.",
    ),
    Entry(
        "cut-answer-without-text-is-empty",
        wrong.calls_a_cut_answer_empty,
        ("XMCP-CLI-133", "XMCP-CLI-071", "XMCP-CLI-124"),
        "A chat whose answer the vendor cut or withheld before any text came ends with empty.",
    ),
    Entry(
        "zero-and-false-count-as-missing",
        wrong.takes_zero_and_false_for_no_value,
        ("XMCP-CLI-083",),
        "A value of the application that is 0, false or empty is not sent, as if the application had none.",
    ),
    Entry(
        "no-second-prefix",
        wrong.puts_no_prefix_before_a_prefix,
        ("XMCP-CLI-092",),
        "A tool whose own name begins with the name of its server is offered without the server's name before it.",
    ),
    Entry(
        "event-has-the-text-of-the-document",
        wrong.tells_what_the_model_reads,
        ("XMCP-REC-006",),
        "The event tool_result has the text that the model gets, and not that of the result.",
    ),
    Entry(
        "audience-of-texts-only",
        wrong.reads_the_audience_of_texts_only,
        ("XMCP-MCP-045",),
        "The model is told of links and embedded resources that are for the user alone.",
    ),
    Entry(
        "history-mended",
        odd.mends_a_history,
        (),
        "A history in which calls and their answers do not match is mended in a copy and not refused.",
    ),
    Entry(
        "errors-in-german",
        odd.words_its_errors_in_german,
        (),
        "The messages of the errors that the client makes are short German sentences.",
    ),
    Entry(
        "text-letter-by-letter",
        odd.tells_the_text_letter_by_letter,
        (),
        "Each letter of the model's text is an event of its own.",
    ),
    Entry(
        "link-shown-as-a-file",
        odd.shows_a_link_as_a_file,
        (),
        "A link for the user alone is shown as a display of the type file.",
    ),
)
