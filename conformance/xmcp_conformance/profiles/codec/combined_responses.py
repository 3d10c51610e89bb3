"""Vectors of responses in which two things meet: a text that needs care, in each place, with each mark and policy.

What is drawn has such pairs too, but a short run has few of them: here each comes in its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count, product, zip_longest
from random import Random
from typing import Any, Final

from .document_tree import Response
from .generated import written_vector
from .vectors import Vector


def combined_responses(seed: int) -> Iterator[Vector]:
    """Yield vectors of the direction encode without end, the same for the same seed."""
    random = Random(f"combined {seed}")  # noqa: S311 - no secret
    tables = [
        [*table] for table in (_tags(), _replaced_texts(), _marked_texts(), _halves(), _lossy_together(), _many())
    ]
    for table in tables:
        random.shuffle(table)
    rows = (row for rows in zip_longest(*tables) for row in rows if row)
    every = chain(rows, (random.choice(random.choice(tables)) for _ in count()))
    for number, (requirement, response, illegal) in enumerate(every, 1):
        yield written_vector(f"combined-{number}", requirement, response, illegal)


_Row = tuple[str, Response, str]
_NAMES: Final = ("tool_response", "llm_output", "display", "error", "meta", "server_populated")
_SPACES: Final = ("", " ", "\n", "\t")


def _error(message: str) -> Response:
    return {"code": "X", "message": message, "retryable": False}


def _tags() -> Iterator[_Row]:
    """Yield texts with a tag that looks like one of the document's, in each of its forms, among much markup."""
    forms = ("<{}{}>", "<{}{}/>", "</{}{}>", '<{}{}a=""/>', "<{}{}a='>'>")
    for at, (name, form, space) in enumerate(product(_NAMES, forms, _SPACES)):
        name = (name, name.upper(), name.title(), name)[at % 4]
        tag = form.format(name, space or (" " if "=" in form else ""))
        text = ("<i> & {} &amp; </i>" + "<b/>&" * 20, "{}", "<a>{}", "\n&&&&&& {}")[at // 4 % 4].format(tag)
        yield "XMCP-RSP-027", {"tool_name": "t", "llm_output": text}, "replace"
        if at % 4 == 0:
            yield "XMCP-RSP-027", {"tool_name": "t", "error": _error(f"{text}.")}, "replace"


_ILLEGAL: Final = ("\0", "\x1b", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff", "\x08\x08")
_AROUND: Final = ("a{}b", "{}", "{}a", "a{}", "\ufffd{}", "a{}\ufffd\n", "<{}>&")


def _placed(text: str) -> Iterator[Response]:
    """Yield a response for each place that has a text."""
    yield {"tool_name": text, "llm_output": "a"}
    yield {"tool_name": "t", "call_id": text, "error": _error("m")}
    yield {"tool_name": "t", "llm_output": text, "truncated": True}
    yield {"tool_name": "t", "error": _error(f"a{text}b")}
    yield {"tool_name": "t", "llm_output": text, "lossy": True, "display": {"type": "text", "payload": "\u0000"}}
    yield {"tool_name": "t", "lossy": True, "error": _error(f"{text}a") | {"meta": {"params": {"a": "b"}}}}
    yield {"tool_name": "t", "llm_output": text, "format": "text/markdown", "server_populated": {"values": {"a": "b"}}}


def _replaced_texts() -> Iterator[_Row]:
    """Yield a code point that XML does not allow in each place, to be replaced, or refused."""
    for at, (illegal, around) in enumerate(product(_ILLEGAL, _AROUND)):
        for place, response in enumerate(_placed(around.format(illegal))):
            if (place + at) % 3 == 0:
                yield "XMCP-RSP-026", response, "error" if at % 2 else "replace"


_CARE: Final = (
    *("", " ", "\n", "\ufeffa", "a\ufeff", "\r\n", "a\r\rb", "]]]>", "]]]]>]", "]]&gt;", "a]]", "&#x41;", "&amp;"),
    *(
        "\u00a0a\u00a0",
        "\u2028",
        "e\u0301",
        "\U0001f600",
        "\ufffd",
        "a\tb\tc",
        "a\nb\nc",
        "'\"'\"",
        "<![CDATA[",
        "&&lt;",
    ),
)
"""Texts that XML can carry, if they are written with care."""


def _marked_texts() -> Iterator[_Row]:
    """Yield texts in each place, with each mark beside them."""
    for text in _CARE:
        for response in _placed(text or " "):
            yield "XMCP-RSP-020", response, "replace"
        for marks in ({"truncated": True}, {"lossy": True}, {"truncated": True, "lossy": True, "format": "a/b"}):
            yield "XMCP-RSP-020", {"tool_name": "t", "llm_output": text} | marks, "replace"


def _halves() -> Iterator[_Row]:
    """Yield JSON with half of a surrogate pair in a name or a value of each element, to be replaced, or refused."""
    values: tuple[Any, ...] = (
        *({"\ud800": 1}, {"a": [{"b\udfff": None}]}, {"a": "\udc00b"}, ["a\ud83d"], [{"a": {"\udead": []}}]),
    )
    for value in values:
        places: tuple[Response, ...] = (
            {"llm_output": "a", "display": {"type": "json", "payload": value}},
            {"error": _error("m") | {"meta": {"params": {"a": value}}}},
            {"llm_output": "a", "server_populated": {"values": {"a": value}}},
            {"error": _error("m"), "display": {"type": "text", "payload": "a", "later": value}},
        )
        for response in places:
            for illegal in ("replace", "error"):
                yield "XMCP-RSP-053", {"tool_name": "t"} | response, illegal


def _lossy_together() -> Iterator[_Row]:
    """Yield responses in which several elements lose something, of which each is marked."""
    half: Any = {"a": ["\ud800"]}
    shown = {"type": "json", "payload": half}
    error = {**_error("a\0b"), "meta": {"params": half}}
    for response in (
        {"error": error},
        {"error": error, "display": shown},
        {"llm_output": "\ufffe", "display": shown},
        {"llm_output": "\ufffe", "display": shown, "server_populated": {"values": half}},
        {"call_id": "\x1b", "llm_output": "a\x1b", "server_populated": {"values": half}},
        {"error": {**error, "message": "m"}, "server_populated": {"values": half}},
    ):
        for name in ("t", "\x1bt"):
            for lossy in (False, True):
                yield "XMCP-RSP-026", {"tool_name": name, "lossy": lossy, **response}, "replace"


_MANY_ITEMS: Final = 2_000


def _many() -> Iterator[_Row]:
    """Yield JSON with more items or members than a program expects."""
    values: tuple[Any, ...] = (
        [*range(_MANY_ITEMS)],
        {f"a{number}": number for number in range(_MANY_ITEMS)},
        {"": 1, "a": {"": []}},
    )
    for value in values:
        yield "XMCP-RSP-054", {"tool_name": "t", "display": {"type": "json", "payload": value}}, "replace"
        yield "XMCP-RSP-054", {"tool_name": "t", "error": _error("m") | {"meta": {"params": {"a": value}}}}, "replace"
    for name, empty in (("title", ""), ("alt", ""), ("meta", {}), ("later", []), ("later", None)):
        shown: dict[str, Any] = {"type": "text", "payload": "a", name: empty}
        yield "XMCP-RSP-054", {"tool_name": "t", "llm_output": "a", "display": shown}, "replace"
