"""Scenarios about what servers answer: displays, plain results, failures, documents, texts and blocks in many forms.

What stands in `sent` is the result as a server wrote it, and the other members of the act say how it has to be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from xmcp_models.registry import ERROR_META_KEY, RESULT_META_KEY

from .scenario import Act, Ask, Change, Conversation, Says, Scenario
from .sent_displays import LARGE, DisplayKind
from .server_messages import PICTURE
from .short_forms import LATE, chat, setup, takes, tool
from .trace import Server

_PLAIN: Final = (Server(plain=True),)
_OTHER: Final = (Server(xmcp=False),)
_EACH_FORM: Final = (Server(), Server(plain=True), Server(xmcp=False))
_FOR_USER: Final[dict[str, Any]] = {"annotations": {"audience": ["user"]}}
_IMAGE: Final = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
_SOUND: Final = {"type": "audio", "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEA", "mimeType": "audio/wav"}


def _text(text: str, **members: Any) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": text, **members}


def _blocks(*blocks: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """Return what is sent with these blocks."""
    return {"content": [*blocks], **members}


def _document(children: str, before: str = "", **block: Any) -> dict[str, Any]:
    """Return what is sent with a document of the tool `a`."""
    return _blocks(_text(f'{before}<tool_response tool_name="a">{children}</tool_response>', **block))


def _of_version(version: str, attribute: str) -> dict[str, Any]:
    """Return what is sent with a document of a version, whose root has another attribute."""
    root = f'<tool_response tool_name="a" version="{version}" {attribute}>'
    return _blocks(_text(f"{root}<llm_output>It is 23.</llm_output></tool_response>"))


def _of_form(form: str | None) -> dict[str, Any]:
    """Return what `_meta` says of the form of a result."""
    return {RESULT_META_KEY: {"form": form}}


def _in_meta(error: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """Return what is sent with an error in the `_meta` of a plain result."""
    return {"_meta": {ERROR_META_KEY: {**error}}, **members}


def _each_act(
    acts: Sequence[Act], servers: Sequence[Server] = (Server(),), *, turns: int | None = None, **fields: Any
) -> Scenario:
    """Return a scenario in which the model gets the answers of a tool in turn, and has nothing else to do."""
    options = {name: fields.pop(name) for name in ("display", "display_budget", "max_attempts") if name in fields}
    of_tool = {name: fields.pop(name) for name in ("read_only", "annotations") if name in fields}
    says = [Says("", [Ask(0)])] * (len(acts) if turns is None else turns)
    return Scenario(
        setup(tool("a", **of_tool), servers=servers, max_turns=20, **options),
        {0: [*acts]},
        chat(*says, Says("done"), **fields),
    )


def _each_display(kinds: Iterable[DisplayKind], servers: Sequence[Server]) -> Scenario:
    return _each_act([Act(display=kind) for kind in kinds], servers, display="continue")


def _of_two_servers(acts: Sequence[Act]) -> Scenario:
    """Return a scenario in which a plain result, and one of another server, are the same."""
    return Scenario(
        setup(tool("a", server=0), tool("b", server=1), servers=_EACH_FORM[1:]),
        {0: [*acts], 1: [*acts]},
        chat(*[Says("", [Ask(0), Ask(1)])] * len(acts), Says("done")),
    )


_DISPLAYS: Final[tuple[DisplayKind, ...]] = ("table", "sourced", "escaped", "untitled", "accented", "nulls")
_CLOSED: Final = "The order is closed."
_MARKED: Final = "It is <b> & 18."
_BOOM: Final = "Boom."
_AT_LENGTH: Final = f"The argument 'q' is missing: {'it names the order, ' * 20}and no order has none."
_BUSY: Final = {"code": "RATE_LIMIT", "retryable": True}
_OF_OTHERS: Final = (
    Act("error", code="CONFLICT", text=_BOOM, error_data={"error": "boom", "code": "CONFLICT", "retryable": False}),
    Act("error", code="CONFLICT", text=_BOOM, error_data={"error": {"message": "m"}, "code": "CONFLICT"}),
    Act("error", text=_BOOM, error_data={"error": {"code": 404, "message": "m"}}),
    Act("error", code="NOT_FOUND", text=_BOOM, error_data={"error": {"code": 404}, "code": "not_found"}),
    Act(
        "error",
        text=_BOOM,
        retryable=True,
        error_data={"error": {"code": "404", "retryable": True}, "code": "CONFLICT"},
    ),
    Act("error", code="GR__E_1", text=_BOOM, error_data={"code": "Größe-1", "retryable": False}),
    Act("error", code="NOT_FOUND", text=_BOOM, error_data={"code": "NOT_FOUND", "retryable": "false"}),
    Act("error", text=_BOOM, error_data={"error": [{"code": "CONFLICT"}], "status": 409}),
)
"""Failures of other servers, each with the error that section 6.4 makes of it."""

_SAID: Final = "Thank you, Ada."


def _repeated(name: str) -> Iterator[tuple[str, Any]]:
    """Yield what a block for the user alone says, and data that repeat it: of no two results the same words."""
    yield f"Thank you, {name}.", {"a": [{"b": f"Thank you, {name}."}]}
    yield f"Dear {name}, it is closed.", {"say": f"Order 1. Dear {name}, it is closed. Bye."}
    yield f"{name}'s card.", {f"{name}'s card.": 1}
    yield f'{{"name":"{name}","card":"4711"}}', {"customer": {"card": "4711", "name": name}, "n": 1}


_NUMBERS: Final = ("For you: 4711.", "And this: 0815.")
_BOTH: Final = [_text(one, **_FOR_USER) for one in _NUMBERS]


def _large(letter: str, number: int, id_: str) -> list[dict[str, Any]]:
    """Return two messages of a history: a call, and its document with a large display."""
    shown = f'<display>{{"type":"text","payload":"{letter * number}","title":"Shown with {letter}."}}</display>'
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": id_, "type": "function", "function": {"name": "old", "arguments": "{}"}}],
        },
        {
            "role": "tool",
            "tool_call_id": id_,
            "content": f'<tool_response tool_name="old"><llm_output>a</llm_output>{shown}</tool_response>',
        },
    ]


_TWO_LARGE: Final = [
    {"role": "user", "content": "earlier"},
    *_large("ж", LARGE // 2, "before-1"),
    *_large("x", LARGE, "before-2"),
    *_large("é", LARGE // 2, "before-3"),
    {"role": "assistant", "content": "said earlier"},
]

_TO_BE_REPEATED: Final = (
    '<tool_response tool_name="write"><error code="DB_TIMEOUT" retryable="true">late'
    '<meta>{"recovery":"retry"}</meta></error></tool_response>'
)
_ELSEWHERE: Final = {"code": "CONFLICT", "message": "Something else.", "retryable": True}
_AUDIENCES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"audience": ["user", "user"]},
    {"priority": 1.0, "lastModified": "2026-01-02T03:04:05Z"},
    {"priority": 0},
)
"""What the annotations of a block for the user alone have, or have besides."""
_OK_AND_FAILED: Final[tuple[Literal["ok", "error"], ...]] = ("ok", "error")
_NO_DISPLAYS: Final[tuple[DisplayKind, ...]] = ("bad", "no_payload")
_EFFECTS: Final[tuple[tuple[str, DisplayKind], ...]] = (("partial", "large"), ("unknown", "none"), ("none", "large"))
_DEEP: Final[Any] = json.loads("[" * 80 + "]" * 80)
_ODD: Final[dict[str, Any]] = {
    "code": "X_ODD",
    "message": "odd",
    "retryable": False,
    "category": "x_weather",
    "meta": {"side_effects": "none"},
}
_WAITS: Final = [
    Act(
        "error",
        code="RATE_LIMIT",
        text=_BOOM,
        retryable=True,
        retry_after_ms=wait,
        error_data={"error": {**_BUSY, **said}},
    )
    for wait, said in (
        (0, {"retry_after_ms": 0, "retry_after": 2}),
        (1000, {"retry_after_ms": -1, "retry_after_seconds": 1, "retry_after": 2}),
        (2000, {"retry_after_ms": "7", "retry_after_seconds": None, "retry_after": 2}),
        (500, {"retry_after_ms": True, "retry_after_seconds": 0.5}),
        (8, {"retry_after_ms": 7.25}),
        (None, {"retry_after_ms": "7", "retry_after": [2]}),
        (0, {"retry_after": 0}),
    )
]
"""Failures of other servers, each with the wait for which it asks (section 6.4)."""

ANSWERS: Final[dict[str, Scenario]] = {
    "an error says that the same call helps, of a tool that changes something": Scenario(
        setup(tool("write")),
        {0: [Act("error", **LATE, text="late", sent=_blocks(_text(_TO_BE_REPEATED))), Act()]},
        chat(Says("", [Ask(0)]), Says("sorry"), events=True),
    ),
    "a failed document, with an error in the structured content": Scenario(
        setup(tool("a")),
        {0: [Act("flagged", text="Only five are left.", sent={"structuredContent": {"error": _ELSEWHERE}})]},
        chat(Says("", [Ask(0)]), Says("sorry"), events=True),
    ),
    # Displays
    "displays that are large in one part each": _each_display(_DISPLAYS, (Server(),)),
    "displays that are large in one part each, in plain results": _each_display(_DISPLAYS, _PLAIN),
    "large displays in a given history": Scenario(
        setup(tool("a")), {}, chat(Says("", [Ask(0)]), Says("done"), history=_TWO_LARGE)
    ),
    # Plain results
    "an error of a plain result, and what its blocks say": _each_act(
        [
            Act("error", code="CONFLICT", text=_CLOSED),
            Act("error", code="CONFLICT", text=_CLOSED, sent=_blocks(_text("Sorry!"), _text("It did not work."))),
            Act("error", code="CONFLICT", text=_CLOSED, sent={"isError": None}),
            Act("error", code="CONFLICT", text=_CLOSED, sent={"isError": False}),
        ],
        _PLAIN,
    ),
    "an error of a plain result that does not say whether a retry helps": _each_act(
        [
            Act("error", code="DB_TIMEOUT", text="late", sent=_in_meta({"code": "DB_TIMEOUT", "message": "late"})),
            Act(
                "error",
                code="X_ODD",
                text="odd",
                sent=_in_meta({"code": "X_ODD", "message": "odd", "retryable": "false", "category": "internal"}),
            ),
            Act(),
        ],
        _PLAIN,
        turns=2,
        read_only=True,
    ),
    "a plain result whose text is data": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x")), servers=_PLAIN),
        {0: [Act(text='{"x":1}', sent={"_meta": {RESULT_META_KEY: {"format": "application/json"}}})]},
        chat(Says("", [Ask(0), Ask(1, {"x": "mine"})]), Says("done")),
    ),
    "a plain result with a display that is none": _each_act(
        [Act(display="no_payload"), Act(display="bad"), Act("error", code="CONFLICT", display="no_payload")], _PLAIN
    ),
    "what a plain result says of values is handed on to nobody": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], input_schema=takes("x", required=["x"])), servers=_PLAIN),
        {0: [Act(text="It is 18.", all_parts=True)]},
        chat(Says("", [Ask(0), Ask(1)]), Says("done")),
    ),
    # Retries, and what a tool says of itself
    "a retry that the server says in words for no": _each_act(
        [
            Act(
                "error", code="DB_TIMEOUT", text="late", sent=_document(f'<error code="DB_TIMEOUT" {said}>late</error>')
            )
            for said in ('retryable="false"', 'retryable="0"')
        ],
        read_only=True,
    ),
    "a failure that has changed a part": _each_act(
        [Act("error", side_effects="partial", **LATE)], (Server(),), turns=1
    ),
    "a failure that has changed a part, of a plain result": _each_act(
        [Act("error", side_effects="partial", **LATE)], _PLAIN, turns=1
    ),
    "a long wait, and a server that is down after it": _each_act(  # so not over HTTP, where it would take a minute
        [Act("error", retry_after_ms=60_000, **LATE), Act("down"), Act()], turns=1, read_only=True
    ),
    "a long wait in which the chat is cancelled": _each_act(
        [Act("error", retry_after_ms=60_000, **LATE), Act()], turns=1, read_only=True, cancelled=4.3, events=True
    ),
    "a tool that does not destroy": _each_act(
        [Act("error", **LATE), Act()], turns=1, annotations={"destructiveHint": False, "openWorldHint": False}
    ),
    "a tool without annotations": _each_act([Act("error", **LATE), Act()], turns=1, annotations={}),
    "a tool is not read-only any more": Scenario(
        setup(tool("a", read_only=True)),
        {0: [Act(), Act("error", **LATE), Act()]},
        [
            Conversation([Says("", [Ask(0)]), Says("done")]),
            Conversation([Says("", [Ask(0)]), Says("done")], begins=8),
        ],
        changes=[Change(5, 0, [tool("a")])],
    ),
    "a tool depends on another one from now on": Scenario(
        setup(tool("a"), tool("b")),
        {0: [Act(), Act(delay=2)]},
        [
            Conversation([Says("", [Ask(0), Ask(1)]), Says("done")]),
            Conversation([Says("", [Ask(0), Ask(1)]), Says("done")], begins=8),
        ],
        changes=[Change(5, 0, [tool("a"), tool("b", depends_on=["a"])])],
    ),
    # Documents
    "displays of documents that are none": _each_act(
        [
            Act(display="no_payload"),
            Act("only_bad_display", display="no_payload"),
            Act("error", code="CONFLICT", display="no_payload"),
            Act("flagged", text="Only five bolts.", display="bad"),
            Act("flagged", text="Only five nuts.", display="no_payload"),
        ]
    ),
    "documents that are written in other ways": _each_act(
        [
            Act(text=text, sent=sent)
            for text, sent in (
                (
                    "It is 18.",
                    _document("<llm_output>It is 18.</llm_output>", '<?xml version="1.0" encoding="utf-8"?>'),
                ),
                ("It is 19.", _document("<llm_output>It is 19.</llm_output>", "\ufeff<?xml version='1.0'?>\n")),
                ("a <b> & c", _document("<llm_output>a <![CDATA[<b> & ]]>c</llm_output>")),
                ("It is 20.", _document("<llm_output>It &#105;s<!-- no --> 20.</llm_output>", "<!-- a --><?a b?>")),
                ("It is 21.", _document('\n <llm_output colour="3">It is 21.</llm_output>\n')),
                (
                    "It is 22.",
                    _document(
                        '<a:b xmlns:a="urn:a"><c/></a:b><llm_output a:n="1" xmlns:a="urn:a">It is 22.</llm_output>'
                    ),
                ),
                ("It is 23.", _of_version("1.7", 'sender="x"')),
                ("It is 23.", _of_version("1.0", "xmlns:a='urn:a' a:b='c'")),
            )
        ]
    ),
    "one server sends results of both forms": Scenario(
        setup(tool("a"), tool("b", server=1), servers=_EACH_FORM[:2], display="continue"),
        {
            0: [
                Act(text=_MARKED),
                Act(text=_MARKED, sent=_blocks(_text(_MARKED), _meta=_of_form("plain"))),
                Act(text=_MARKED, sent={"_meta": _of_form("text/plain")}),
                Act(text=_MARKED, sent={"_meta": _of_form(None)}),
                Act("garbled", sent=_blocks(_text(_MARKED), _meta=_of_form(None))),
            ],
            1: [Act(text=_MARKED), Act(text=_MARKED, display="small"), Act(text=_MARKED, all_parts=True)] * 2,
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * 5, Says("done"), events=True),
    ),
    "the data of a plain result are its text, in a wrapper": Scenario(
        setup(
            tool("a", provides="x", wrapped_in="value"),
            tool("b", depends_on=["a"], input_schema=takes("x", "value")),
            servers=_PLAIN,
        ),
        {
            0: [
                Act(text=text, sent={"_meta": {RESULT_META_KEY: {"format": "application/json"}}})
                for text in ('{"value":[1]}', '{"value":null}', '{"value":1,"more":2}', "[1]")
            ]
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * 4, Says("done")),
    ),
    "documents that cannot be read": _each_act(
        [
            Act("garbled", sent=sent)
            for sent in (
                _document("<llm_output>It is 4711.</llm_output><server_populated>{oops</server_populated>"),
                _document("<llm_output>It is 4712.</llm_output><server_populated>[]</server_populated>"),
                _document("<llm_output>It is 4713.</llm_output>", **_FOR_USER),
                _document("<llm_output>&b; is 4714.</llm_output>", '<!DOCTYPE a [<!ENTITY b "It">]>'),
                _document("<llm_output>It is <b>4715</b>.</llm_output>"),
                _document("<llm_output>It is 4716.</llm_output>", "Here it is: "),
                _document("<llm_output>It is 4717.</llm_output><llm_output>And more.</llm_output>"),
                _blocks(),
            )
        ]
    ),
    "failures that only the flag names": _each_act(
        [
            Act("flagged", text="", display="small"),
            Act("flagged", text="Only five bolts.\nAsk for less."),
            Act("flagged", text="  Only five nuts. <b>\r\n"),
        ]
    ),
    "what the server filled in, beside a display that is none": _each_act(
        [Act(all_parts=True, display=kind) for kind in _NO_DISPLAYS], events=True
    ),
    "members of an error beside one that is wrong": _each_act(
        [
            Act(
                "error",
                code="X_ODD",
                text="odd",
                category="x_weather",
                side_effects="none",
                sent=_in_meta({**_ODD, "meta": {**_ODD["meta"], **wrong}}),
            )
            for wrong in ({}, {"x_acme": 1}, {"cause": 7}, {"fields": "none"}, {"acme/deep": _DEEP}, {"error_id": None})
        ],
        _PLAIN,
        max_attempts=1,
        events=True,
    ),
    "errors of documents with every hint": _each_act(
        [
            Act("error", side_effects=effects, retry_after_ms=700, display=kind, **{**LATE, "code": code})
            for effects, kind in _EFFECTS
            for code in ("DB_TIMEOUT", "X_ODD")
        ],
        max_attempts=1,
        events=True,
    ),
    "errors without the flag": _each_act(
        [Act("error", code="NOT_FOUND", sent={"isError": flag}) for flag in (None, False)]
    ),
    # Texts
    "data without a text": Scenario(
        setup(
            *(tool("a", server=1), tool("b", server=2), tool("c", server=1), tool("d", server=2)),
            servers=_EACH_FORM,
        ),
        {
            0: [Act(structured={"rows": [1, None, "é"]}, text="")],
            1: [Act(structured={"rows": [1, None, "é"]}, text="")],
            2: [Act(structured={"of": {"rows": []}}, text="", sent=_blocks())],
            3: [Act(structured={"of": {"rows": []}}, text="", sent=_blocks())],
        },
        chat(Says("", [Ask(0), Ask(1), Ask(2), Ask(3)]), Says("done")),
    ),
    "texts that a document has to write with care": Scenario(
        setup(*(tool(f"tool{place}", server=place % 2) for place in range(6)), servers=_EACH_FORM[1:]),
        {
            place: [Act(text=text)]
            for place, text in enumerate(
                [one for one in ("\x1b[31mred\x1b[0m", "a\r\nb\rc\n", "]]> <b> &amp; &") for _ in range(2)]
            )
        },
        chat(Says("", [Ask(place) for place in range(6)]), Says("done")),
    ),
    "long texts": Scenario(
        setup(*(tool(f"tool{place}", server=place) for place in range(3)), servers=_EACH_FORM),
        {place: [Act(text="A line of it, & more.\n" * 1200)] for place in range(3)},
        chat(Says("", [Ask(place) for place in range(3)]), Says("done")),
    ),
    # Blocks
    "blocks for the user in other places": _of_two_servers(
        [
            Act(text="Placed.", for_user=_SAID, sent=_blocks(_text(_SAID, **_FOR_USER), _text("Placed."))),
            *(Act(text="Done.", for_user=one, sent=_blocks(_text("Done."), *_BOTH)) for one in _NUMBERS),
            Act(text="Done.", for_user="Thank you.\nYour bolts arrive on Friday.\n\nBye."),
            Act(text="Done.", for_user=PICTURE, sent=_blocks(_text("Done."), {**_IMAGE, **_FOR_USER})),
        ]
    ),
    "blocks whose audience is written in other ways": _of_two_servers(
        [
            Act(
                text="Done.",
                for_user=f"For you: {number}.",
                sent=_blocks(_text("Done."), _text(f"For you: {number}.", annotations={"audience": ["user"], **more})),
            )
            for number, more in enumerate(_AUDIENCES, 4711)
        ]
    ),
    "displays of tools beside blocks for the person": Scenario(
        setup(*(tool(f"tool{place}", server=place // 2) for place in range(4)), servers=_EACH_FORM[:2]),
        {
            place: [Act(kind, code="CONFLICT", display="small", for_user=f"For you: {place}.")]
            for place, kind in enumerate(_OK_AND_FAILED * 2)
        },
        chat(Says("", [Ask(place) for place in range(4)]), Says("done"), events=True),
    ),
    "sounds and pictures among texts": _of_two_servers(
        [
            Act(text="Listen:", sent=_blocks(_text("Listen:"), one))
            for one in (_SOUND, _IMAGE, {"type": "resource", "resource": {"uri": "file:///a", "blob": "AAEC"}})
        ]
    ),
    "data that repeat what is for the user alone": Scenario(
        setup(tool("a"), tool("b", server=1), servers=_EACH_FORM[1:]),
        {
            place: [Act(text="", for_user=said, structured=data) for said, data in _repeated(name)]
            for place, name in enumerate(("Ada", "Bob"))
        },
        chat(*[Says("", [Ask(0), Ask(1)])] * 4, Says("done")),
    ),
    "failures of other servers whose data repeat what is for the user alone": _each_act(
        [
            Act("error", code="CONFLICT", text="", for_user=said, error_data={"code": "CONFLICT", "detail": data})
            for said, data in _repeated("Cy")
        ],
        _OTHER,
    ),
    # Failures of other servers
    "failures of other servers whose code is somewhere else": _each_act(_OF_OTHERS, _OTHER),
    "waits that failures of other servers ask for": _each_act(_WAITS, _OTHER, max_attempts=1, read_only=True),
    # Protocol errors
    "protocol errors in the words of other servers": Scenario(
        setup(*(tool(f"tool{place}", server=place) for place in range(3)), servers=_EACH_FORM, max_attempts=1),
        {
            place: [
                *(Act("invalid_params", text=text) for text in ("Unknown tool: a", "Tool not found", _AT_LENGTH)),
                *(
                    Act("internal_error", text=text)
                    for text in ("Unknown tool: a", "Session expired for user 7", _AT_LENGTH)
                ),
            ]
            for place in range(3)
        },
        chat(*[Says("", [Ask(place) for place in range(3)])] * 6, Says("sorry"), events=True),
    ),
    # Metadata
    "metadata with lists and objects that nobody knows": Scenario(
        setup(tool("a"), tool("b", depends_on=["a"], unknown={"owner": {"team": ["x", None]}, "tags": [1, {}]})),
        {0: [Act(delay=2)]},
        chat(Says("", [Ask(1), Ask(0)]), Says("done")),
    ),
}
