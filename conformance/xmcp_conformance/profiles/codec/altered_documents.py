"""Documents that are drawn and then altered: by what readers ignore, or by one fault.

A table of alterations (`@alters`) says which sentence each is about, and what a reader delivers or the one class with
which it refuses. Beside the alteration whose turn it is there are up to two that are no faults; a document never has
two faults, so that no reader can rightly name another one (XMCP-RSP-074).
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, TypeVar

from xmcp_conformance.core.error_categories import CATEGORY_OF

from .altered_values import BAD_JSON, altered_value, envelope_is_valid, with_raw
from .document_tree import JSON_ELEMENTS, Element, Response, attribute, data, foreign, json_text, written
from .generated import delivered_responses
from .pieces_of_documents import in_pieces
from .schema_borders import allowed, broken
from .vectors import Vector

T = TypeVar("T")


@dataclass(slots=True)
class Document:
    """A document on its way to be altered, and what a reader makes of it."""

    random: Random
    root: Element
    response: Response
    """What a reader delivers."""
    error: str = ""
    """The class with which a reader refuses, if it does."""
    in_display: bool = False
    """Whether the fault is in the JSON of the display, without which a client takes the document (XMCP-RSP-072)."""
    turn: int = 0
    """How often the alteration was used before."""
    before: str = ""
    after: str = ""
    """What is outside the root element."""
    rewrite: Callable[[str], str | bytes] = str
    """Changes the text in the end."""

    def in_turn(self, choices: Sequence[T]) -> T:
        """Return the choice whose turn it is, so that a short run has all of them."""
        return choices[self.turn % len(choices)]

    def any(self, *names: str) -> Element:
        """Return an element of the response that has one of the names, or of all of them.

        Raises:
            NotHere: there is none.
        """
        own = [one for one in self.own() if not names or one.name in names]
        if not own:
            raise NotHere
        return self.random.choice(own)

    def own(self) -> list[Element]:
        """Return the elements of the response, without those that a reader ignores."""
        inner = (one for child in self.children() for one in (child, *child.content) if isinstance(one, Element))
        return [self.root, *inner]

    def children(self) -> list[Element]:
        """Return the children of the root element that are in no namespace."""
        some = [child for child in self.root.content if isinstance(child, Element) and ":" not in child.name]
        return [child for child in some if all(name != "xmlns" or not value for name, value in child.attributes)]

    def value(self, name: str) -> Any:
        """Return the JSON value in an element of this name."""
        return self.response["error"]["meta"] if name == "meta" else self.response[name]

    def set_value(self, name: str, value: Any, text: str = "") -> None:
        """Give an element another JSON value, written as `text` where that is given."""
        value = copy.deepcopy(value)  # others change it further
        (self.response["error"] if name == "meta" else self.response)[name] = value
        self.any(name).content = [data(text or json_text(value, self.random), self.random)]


class NotHere(Exception):
    """An alteration has no place in this document, and has changed nothing."""


Alter = Callable[[Document], None]
_ALTERATIONS: Final[list[tuple[str, Alter]]] = []


def alters(requirement: str) -> Callable[[Alter], Alter]:
    """Register an alteration under the sentence that a reader breaks that reads it wrongly."""

    def register(alter: Alter) -> Alter:
        _ALTERATIONS.append((requirement, alter))
        return alter

    return register


def altered(seed: int) -> Iterator[Vector]:
    """Yield vectors of documents that are drawn and altered, without end.

    It is the turn of the alteration that was used least of all that have a place in the document.
    """
    random = Random(f"altered {seed}")  # noqa: S311 - no secret
    uses: Counter[Alter] = Counter()
    short = (response for response in delivered_responses(seed) if len(json.dumps(response)) <= _LONGEST)
    for number, response in enumerate(short, 1):
        document = Document(random, written(response, random), copy.deepcopy(response), turn=random.randrange(1_000))
        with suppress(NotHere):
            for _ in range(random.randrange(3)):
                _ALTERATIONS[random.randrange(_HARMLESS)][1](document)
        for requirement, alter in sorted(_ALTERATIONS, key=lambda one: uses[one[1]]):
            document.turn = uses[alter]
            with suppress(NotHere):
                alter(document)
                uses[alter] += 1
                yield _vector(number, requirement, document)
                break


_LONGEST: Final = 1_500
"""Maximum number of characters of a response as JSON: what is wrong shall be seen."""


def _vector(number: int, requirement: str, document: Document) -> Vector:
    text = document.rewrite(f"{document.before}{document.root}{document.after}")
    case: dict[str, Any] = {"expect": {"response": document.response}}
    if document.error:
        case["expect"] = {"error": document.error}
    if document.random.random() < (0.5 if document.in_display else 0.2):
        case["bad_display"] = "drop"
        if document.in_display:
            rest = {name: value for name, value in document.response.items() if name != "display"}
            case["expect"] = {"response": rest, "warnings": 1}
    if document.turn % _TURNS in _IN_PIECES:
        case |= {**in_pieces(text, document.random), "of_the_whole": requirement}
        return Vector(f"altered-{number}", 0, "stream", ("XMCP-RSP-071",), case)
    case["document"] = text if isinstance(text, str) else {"$base64": base64.b64encode(text).decode()}
    return Vector(f"altered-{number}", 0, "decode", (requirement,), case)


_TURNS: Final = 7
_IN_PIECES: Final = (1, 4)
"""Which of seven documents with the same alteration arrive in pieces. Few tables have a multiple of seven rows."""


# What a reader ignores, or reads in another form


_OF_OTHERS: Final = {
    "format": "no media type",
    "truncated": "true",
    "code": "lower",
    "retryable": "true",
    "retry_after_ms": "5",
    "category": "timeout",
    "tool_name": "u",
    "call_id": "c9",
    "version": "9.9",
}
"""Attributes that one element has, with values that would change a response there."""
_OWN: Final = {
    "tool_response": {"tool_name", "version", "call_id"},
    "llm_output": {"format", "truncated"},
    "error": {"code", "retryable", "retry_after_ms", "category"},
}


@alters("XMCP-RSP-079")
def _attribute_of_another_element(document: Document) -> None:
    element = document.any()
    name = document.random.choice(sorted(_OF_OTHERS.keys() - _OWN.get(element.name, set())))
    element.set(name, _OF_OTHERS[name])


@alters("XMCP-RSP-079")
def _unknown_attribute(document: Document) -> None:
    names = ("later", "Retryable", "LOSSY", "Truncated", "toolName", "retry-after-ms", "id", "data-x", "constructor")
    document.any().set(document.in_turn(names), document.random.choice(("true", "1", "", "x &lt; y", "é")))


@alters("XMCP-RSP-066")
def _attribute_in_a_namespace(document: Document) -> None:
    element = document.any()
    name = document.random.choice(("lossy", *_OF_OTHERS))
    element.set(f"v:{name}", document.random.choice(("true", "1.5", "no value for it")))
    document.any("tool_response").set("xmlns:v", "urn:v")


@alters("XMCP-RSP-066")
def _attribute_of_xml_itself(document: Document) -> None:
    some = (("xml:lang", "fr"), ("xml:space", "preserve"), ("xml:space", "default"))
    document.any().set(*document.in_turn(some))


@alters("XMCP-RSP-066")
def _attribute_of_xml_schema(document: Document) -> None:
    some = (("type", "int"), ("nil", "true"), ("schemaLocation", "a b"), ("noNamespaceSchemaLocation", "a.xsd"))
    name, value = document.in_turn(some)
    document.any().set(f"i:{name}", value)
    document.any("tool_response").set("xmlns:i", "http://www.w3.org/2001/XMLSchema-instance")


@alters("XMCP-RSP-066")
def _element_in_a_namespace(document: Document) -> None:
    name = document.in_turn(("llm_output", "display", "error", "server_populated", "meta", "more"))
    text = document.random.choice(('{"type":"text","payload":"p"}', "&lt;b&gt;", "not JSON", ""))
    other = Element(name, [("xmlns", "urn:v"), ("code", "x")], [text])
    if document.random.random() < 0.5:
        other = Element(f"v:{name}", [("xmlns:v", "urn:v")], [text, Element("v:x"), "tail"])
    content = document.root.content
    content.insert(document.random.randrange(len(content) + 1), other)


@alters("XMCP-RSP-067")
def _comment_or_instruction(document: Document) -> None:
    element = document.any()
    some = ("<!-- a -->", "<!---->", "<!--<display>{}</display>-->", "<!-- ]]> & < -->", "<?p?>", "<?p a < & ]]> b?>")
    _insert(document, element, document.in_turn(some))


def _insert(document: Document, element: Element, piece: str) -> None:
    """Put something into an element, between two characters of its data or two children."""
    texts = [place for place, part in enumerate(element.content) if isinstance(part, str)]
    if not texts:
        element.content.append(piece)
        return
    place = document.random.choice(texts)
    text = str(element.content[place])
    if "<![CDATA[" in text:  # nothing is markup in there
        at = document.random.choice((0, len(text)))
    else:
        units = [found.start() for found in re.finditer(r"<!--.*?-->|<\?.*?\?>|&[^;]+;|\r\n|.", text, re.DOTALL)]
        at = document.random.choice([*units, len(text)])
    element.content[place] = text[:at] + piece + text[at:]


@alters("XMCP-RSP-067")
def _comment_outside(document: Document) -> None:
    some = (
        *("<!-- a -->", "<?p a?>", "\n<!--<tool_response/>-->\n", "<!-- <!DOCTYPE a> -->", "  \n", "<!--a--><!--b-->"),
        *("<?xml-a version='1.1' encoding='latin-1'?>", "<?xmlb?>", "<?p <!DOCTYPE a>?>", "\r\n"),
    )
    mark = document.random.choice(("", "", "\ufeff"))
    document.before, document.after = mark + document.in_turn(some), document.random.choice(("", *some))


@alters("XMCP-RSP-066")
def _namespace_that_changes_nothing(document: Document) -> None:
    xml = "http://www.w3.org/XML/1998/namespace"
    name, value = document.in_turn((("xmlns", ""), ("xmlns:xml", xml), ("xmlns:v2", "urn:v"), ("xmlns:display", "a")))
    for element in document.own():
        element.set(name, value)


@alters("XMCP-RSP-070")
def _declaration(document: Document) -> None:
    encoding = document.random.choice(("", ' encoding="utf-8"', " encoding='UTF-8'", ' encoding = "Utf-8"'))
    alone = document.random.choice(("", ' standalone="yes"', " standalone='no'"))
    mark, end = document.random.choice(("", "\ufeff")), document.random.choice(("", "\n", "<!-- a -->\n"))
    space = document.in_turn((" ", "\n", "\t", "\r\n "))
    document.before = f"{mark}<?xml{space}version='1.0'{encoding}{alone} ?>{end}".replace(" enc", f"{space}enc")


@alters("XMCP-RSP-067")
def _tags_in_another_form(document: Document) -> None:
    element = document.any()
    document.random.shuffle(element.attributes)
    element.attributes = [(name, value.replace("'", "&apos;")) for name, value in element.attributes]
    element.space, element.quote = document.in_turn((" ", "\n", "\t", "\r\n  ")), "'"
    element.end_space = document.random.choice(("", element.space))


@alters("XMCP-RSP-067")
def _element_without_an_end_tag(document: Document) -> None:
    """An element that has nothing in it, and says so in its start tag."""
    element = document.any("llm_output", "error")
    element.content = []
    element.closed = True
    if element.name == "llm_output":
        document.response["llm_output"] = ""
    else:
        document.response["error"]["message"] = ""
        document.response["error"].pop("meta", None)


@alters("XMCP-RSP-065")
def _later_minor_version(document: Document) -> None:
    version = document.in_turn(("1.1", "1.2", "1.9", "1.10", "1.99", "1.9999", "1.1000"))
    document.root.set("version", version)
    document.response["version"] = version


@alters("XMCP-RSP-063")
def _marked_as_lossy(document: Document) -> None:
    document.any().set("lossy", document.random.choice(("true", "1", " true ", "\n1\t")))
    document.response["lossy"] = True


@alters("XMCP-RSP-063")
def _marked_as_not_lossy(document: Document) -> None:
    element = document.any()
    if any(name == "lossy" for name, _ in element.attributes):
        raise NotHere
    element.set("lossy", document.random.choice(("false", "0", " false ")))


@alters("XMCP-RSP-063")
def _wait_in_another_form(document: Document) -> None:
    wait = document.random.choice((0, 1, 250, 2**53 - 1))
    form = document.in_turn(("{}", " {} ", "+{}", "000{}", "-0"))
    document.any("error").set("retry_after_ms", form.format(wait))
    document.response["error"]["retry_after_ms"] = 0 if form == "-0" else wait


_BOOLEANS: Final = (
    *(("true", True), ("1", True), (" true", True), ("1&#10;", True), ("\ttrue ", True)),
    *(("false", False), ("0", False), ("\tfalse ", False), ("0 ", False), ("&#10;false", False)),
)
"""Forms of a boolean of XML Schema, and what it is."""


@alters("XMCP-RSP-063")
def _boolean_in_another_form(document: Document) -> None:
    element = document.any("error")
    form, document.response["error"]["retryable"] = document.in_turn(_BOOLEANS)
    element.set("retryable", form)


@alters("XMCP-RSP-063")
def _truncated_in_another_form(document: Document) -> None:
    element = document.any("llm_output")
    form, document.response["truncated"] = document.in_turn(_BOOLEANS)
    element.set("truncated", form)


@alters("XMCP-RSP-063")
def _format_of_any_kind(document: Document) -> None:
    some = ("image/svg+xml", "a/b&c", "a!#$&^_.+-/b!#$&^_.+-", "a/" + "b" * 125, "1/2", "A/B")
    media_type = document.in_turn(some)
    document.any("llm_output").set("format", attribute(media_type, document.random))
    document.response["format"] = media_type


@alters("XMCP-ERR-014")
def _message_with_space_around(document: Document) -> None:
    element = document.any("error")
    around = document.in_turn((" ", "\n\t", "&#32;", "&#10;&#9;", "<![CDATA[ ]]>", "&#13;", "<!-- a --> "))
    element.content = [around, *element.content]
    metas = [place for place, part in enumerate(element.content) if isinstance(part, Element)]
    element.content.insert(metas[0] if metas else len(element.content), around)
    if metas:
        element.content.append(document.random.choice(("", " ", "&#10;", "\n<!-- a -->")))


@alters("XMCP-ERR-014")
def _message_with_other_space_around(document: Document) -> None:
    element = document.any("error")
    around = document.in_turn(("\u00a0", "\u2028", "\u3000", "\ufeff", "\u0085", "\u200b"))
    message = f"{around}{document.response['error']['message']}{around}"
    metas = [part for part in element.content if isinstance(part, Element)]
    element.content = [data(message, document.random), *metas]
    document.response["error"]["message"] = message


@alters("XMCP-ERR-014")
def _message_that_is_empty(document: Document) -> None:
    element = document.any("error")
    document.response["error"]["message"] = ""
    blanks = document.in_turn(("", "", " \n", "&#32;", "<![CDATA[]]>", "<!-- a -->"))
    element.content = [blanks, *(part for part in element.content if isinstance(part, Element))]


@alters("XMCP-ERR-013")
def _code_without_category(document: Document) -> None:
    codes = ("X_ACME_TIMEOUT", "ACME_RATE_LIMITED", "NOT_FOUND_HERE", "X_" + "A" * 61, *CATEGORY_OF)
    code = document.in_turn(codes)
    element = document.any("error")
    element.set("code", code)
    element.remove("category")
    document.response["error"] |= {"code": code, "category": CATEGORY_OF.get(code, "internal")}


@alters("XMCP-ERR-013")
def _category_of_its_own(document: Document) -> None:
    category = document.in_turn(("timeout", "not_found", "rate_limited", "later_category", "a", "a_1" + "b" * 60))
    document.any("error").set("category", category)
    document.response["error"]["category"] = category


@alters("XMCP-ERR-015")
def _retryable_that_is_not_said(document: Document) -> None:
    element = document.any("error")
    element.remove("retryable")
    document.response["error"]["retryable"] = False


@alters("XMCP-RSP-086")
def _another_value(document: Document) -> None:
    """A value that a schema does not allow, of `meta` or `server_populated`, or that the one of envelopes allows."""
    name = document.any(*JSON_ELEMENTS).name
    value = altered_value(document.value(name), document.random)
    if not isinstance(value, dict) or (name == "display" and not envelope_is_valid(value)):
        raise NotHere
    document.set_value(name, value)


@alters("XMCP-ERR-009")
def _unknown_member_of_meta(document: Document) -> None:
    meta = document.value(document.any("meta").name)
    _add_unknown(document, meta)
    document.set_value("meta", meta)


@alters("XMCP-RSP-086")
def _unknown_member_of_server_populated(document: Document) -> None:
    value = document.value(document.any("server_populated").name)
    _add_unknown(document, value)
    document.set_value("server_populated", value)


def _add_unknown(document: Document, value: dict[str, Any]) -> None:
    """Add a member that no schema has."""
    later: Any = document.random.choice((None, [1, [None]], {"type": None}, "", 0, False, {"": {}}, "x" * 300))
    names = (
        "later",
        "Payload",
        "Type",
        "payload2",
        "constructor",
        "a b",
        "",
        "error-id",
        "Title",
        "Error_id",
        "Values",
    )
    value[document.in_turn(names)] = later


@alters("XMCP-DSP-007")
def _unknown_member_of_an_envelope(document: Document) -> None:
    envelope = document.value(document.any("display").name)
    while document.random.random() < 0.5 and isinstance(envelope.get("fallback"), dict):
        envelope = envelope["fallback"]
    _add_unknown(document, envelope)
    document.set_value("display", document.response["display"])


@alters("XMCP-RSP-067")
def _json_in_another_form(document: Document) -> None:
    name = document.any(*JSON_ELEMENTS).name
    value = document.value(name)
    raw, said = document.in_turn(
        (
            ('"\\u0061\\/\\b\\f"', "a/\b\f"),
            ('"\\ud83d\\ude00\\uD83D\\uDE00"', "\U0001f600\U0001f600"),
            ("1e2", 100),
            ("1.50E+1", 15),
            ("-0.0", -0.0),
            ("2.5e-3", 0.0025),
            ("[ ]", []),
            ("{\n}", {}),
            ('"&lt;\\u0026amp;"', "&lt;&amp;"),
            ('"\\u0000\\u001f\\u007f"', "\x00\x1f\x7f"),
            ('"[[[{{{\\"]"', '[[[{{{"]'),
            ('"\\\\\\u005c\\\\u0041"', "\\\\\\u0041"),
            ('{"\u00e9":1,"e\u0301":2,"E\u0301":3}', {"\u00e9": 1, "e\u0301": 2, "E\u0301": 3}),
        )
    )
    value["acme/later"] = said
    document.set_value(name, value, with_raw(value, ("acme/later",), raw))


_HARMLESS: Final = len(_ALTERATIONS)
"""The number of alterations that can stand beside another: they come first, are no faults, and change no depth."""


# JSON at the border of what is read, and beyond it


_DEPTH: Final = 64
"""How deep arrays and objects can be nested (section 2.6)."""


@alters("XMCP-RSP-080")
def _json_as_deep_as_it_can_be(document: Document) -> None:
    document.any(*JSON_ELEMENTS)
    deep = json.loads(document.in_turn(_DEEP)(_DEPTH - 1))
    # In each element that has JSON, because each is a value of its own.
    for name in [one.name for one in document.own() if one.name in JSON_ELEMENTS]:
        value = document.value(name)
        value["acme/later"] = deep
        document.set_value(name, value)


def _objects(levels: int) -> str:
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


def _arrays(levels: int) -> str:
    return "[" * levels + "]" * levels


def _arrays_beside_a_backslash(levels: int) -> str:
    return '["\\\\",' + _arrays(levels - 1) + ',"\\""]'


def _in_turns(levels: int) -> str:
    return '[{"]":' * (levels // 2) + "[]" * (levels % 2) + "0" * (1 - levels % 2) + "}]" * (levels // 2)


_DEEP: Final = (_objects, _arrays, _arrays_beside_a_backslash, _in_turns)


_UNITS: Final = {"x": 1, "&amp;": 1, "\u00e9": 2, "&#120;": 1, "\u6771": 3, "&#233;": 2, "\U0001f600": 4}
"""What a long value is made of, and how many bytes of UTF-8 that is."""
_LONGEST_VALUE: Final = 4_096
"""How many bytes of UTF-8 the value of an attribute has at most (section 2.6)."""


def _set_a_long_value(document: Document, size: int) -> None:
    """Give an element an attribute that a reader ignores, or the declaration of a namespace."""
    unit, start = document.in_turn([*_UNITS]), "urn:"
    count, rest = divmod(size - len(start), _UNITS[unit])
    # The name of a namespace is a URI, which has no other characters than those of ASCII.
    names = ("later", "xmlns:long") if _UNITS[unit] == 1 else ("later", "v:later")
    element = document.any()
    name = document.random.choice(names)
    if name.startswith("v:"):
        element.set("xmlns:v", "urn:v")
    element.set(name, start + "y" * rest + unit * count)


@alters("XMCP-RSP-080")
def _attribute_as_long_as_it_can_be(document: Document) -> None:
    _set_a_long_value(document, _LONGEST_VALUE)


@alters("XMCP-RSP-068")
def _attribute_that_is_too_long(document: Document) -> None:
    _set_a_long_value(document, _LONGEST_VALUE + 1)
    document.error = "LIMIT"


# Faults


def _bad_json(some: Sequence[str], document: Document) -> None:
    name = document.any(*JSON_ELEMENTS).name
    value = document.value(name)
    value["acme/later"] = document.random.choice((0, [0], {"a": [0]}))
    path: tuple[str | int, ...] = ("acme/later",)
    while isinstance(inner := _at(value, path), dict | list):
        path = (*path, next(iter(inner)) if isinstance(inner, dict) else 0)
    _refused_json(document, name, with_raw(value, path, document.in_turn(some)))


for _some in BAD_JSON:
    alters("XMCP-RSP-069")(partial(_bad_json, _some))


@alters("XMCP-RSP-077")
def _json_too_deep(document: Document) -> None:
    name = document.any(*JSON_ELEMENTS).name
    value = document.value(name)
    value["acme/later"] = 0
    deep = document.in_turn(_DEEP)(_DEPTH)
    before, after = with_raw(value, ("acme/later",), deep).split(deep)
    opened = deep[: 1 + max(deep.rfind("["), deep.rfind("{"))]
    text = document.in_turn((before + deep + after, before + opened, f"{before}{opened}nope{after}"))
    document.any(name).content = [data(text, document.random)]
    document.error = "LIMIT"


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _refused_json(document: Document, name: str, text: str) -> None:
    element = document.any(name)
    element.content = [data(text, document.random)]
    document.error = "BAD_JSON"
    document.in_display = name == "display"


@alters("XMCP-RSP-069")
def _json_with_more_around_it(document: Document) -> None:
    name = document.any(*JSON_ELEMENTS).name
    text = json.dumps(document.value(name))
    forms = (
        "{}{}",
        "{},",
        "\ufeff{}",
        "\u00a0{}",
        "{}\u2003",
        "{};",
        "// a\n{}",
        "{}/* a */",
        "[{}",
        "({})",
        "{} null",
    )
    form = document.in_turn(forms)
    _refused_json(document, name, form.replace("{}", text))


@alters("XMCP-RSP-069")
def _json_that_is_cut(document: Document) -> None:
    name = document.any(*JSON_ELEMENTS).name
    text = json.dumps(document.value(name))
    _refused_json(document, name, text[: document.random.randrange(len(text))])


@alters("XMCP-RSP-069")
def _json_that_is_no_object(document: Document) -> None:
    name = document.any("meta", "server_populated").name
    _refused_json(document, name, document.in_turn(("null", "[]", "[{}]", "1", "true", '""', '"{}"', "-0")))


@alters("XMCP-RSP-069")
def _json_that_is_bad_twice(document: Document) -> None:
    """Not in the display alone: no policy makes this document one that is read."""
    names = [one.name for one in document.own() if one.name in JSON_ELEMENTS]
    if len(names) < 2:
        raise NotHere
    for name in names:
        document.any(name).content = [document.in_turn(("{", "", "{}}", "{'a':1}", '{"a":1,"a":1}'))]
    document.error = "BAD_JSON"


_SHOWN: Final = {"type": "text", "payload": "a"}
_AROUND: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda inner: {"type": "group", "payload": [_SHOWN, inner]},
    lambda inner: {**_SHOWN, "fallback": inner},
    lambda inner: {**_SHOWN, "fallback": {"type": "group", "payload": [inner, _SHOWN]}},
    lambda inner: {"type": "group", "payload": [_SHOWN, _SHOWN, {**_SHOWN, "fallback": inner}]},
    lambda inner: {**_SHOWN, "fallback": {**_SHOWN, "fallback": inner}},
    lambda inner: {"type": "group", "payload": [{"type": "group", "payload": [_SHOWN, inner]}]},
)
"""Envelopes that have another one in them."""


def _envelope_within_another(some: Sequence[Any], document: Document) -> None:
    document.any("display")
    value = _AROUND[document.turn % len(_AROUND)](document.random.choice(some))
    document.set_value("display", value)
    if not envelope_is_valid(value):
        document.error = "BAD_ENVELOPE"
        document.in_display = True


for _some_envelopes in (broken("display_envelope")[::2], broken("display_envelope")[1::2], allowed("display_envelope")):
    alters("XMCP-DSP-008")(partial(_envelope_within_another, _some_envelopes))


@alters("XMCP-DSP-008")
def _bad_envelope(document: Document) -> None:
    value = altered_value(document.value(document.any("display").name), document.random)
    if envelope_is_valid(value):
        raise NotHere
    document.set_value("display", value)
    document.error = "BAD_ENVELOPE"
    document.in_display = True


_BAD_BOOLEANS: Final = ("", "yes", "no", "True", "TRUE", "t", "01", "2", "true false", "on", "null", "\u00a0true")
_BAD_VALUES: Final = (
    (("tool_response",), "tool_name", ("", "x" * 129, "\U0001f600" * 129)),
    (("tool_response",), "call_id", ("", "x" * 257, "é" * 257)),
    (
        ("tool_response",),
        "version",
        (
            *("", "1", "1.", ".1", "1.0.0", "01.0", "1.00", "1.10000", "v1.0", "1,0", "1.x", "-1.0", "1.0 ", "1.0\n"),
            *(" 1.0", "1.\u0663", "\uff11.0", "1.0\u00a0"),
        ),
    ),
    (
        ("llm_output",),
        "format",
        (
            *("", "text", "text/", "/plain", "a/b; c=d", "text/plain ", "é/a", "text/plain\n", "a/" + "b" * 126),
            *("a/b/c", "+a/b", "a/\u0663", "a b/c"),
        ),
    ),
    (("error",), "code", ("", "a", "aB", "1A", "_A", "A-B", "A B", " A", "A\n", "A" * 64, "É", "A\u0663", "A ")),
    (("error",), "category", ("", "A", "1a", "_a", "a-b", "a b", "a\n", "a" * 64, "aB", "é", "a\u0663", " a")),
    (
        ("error",),
        "retry_after_ms",
        (*("", "-1", "1.5", "1e3", "0x1", "1 0", "1_000", str(2**53), "\u0663", "NaN", "1.0", "--0", "\u00a01", "-"),),
    ),
    (("error",), "retryable", _BAD_BOOLEANS),
    (("llm_output",), "truncated", _BAD_BOOLEANS),
    (("tool_response", "llm_output", "error", *JSON_ELEMENTS), "lossy", _BAD_BOOLEANS),
)
"""Attributes, the elements that have them, and values that the XSD does not allow there."""


def _attribute_with_a_bad_value(elements: Sequence[str], name: str, values: Sequence[str], document: Document) -> None:
    document.any(*elements).set(name, attribute(document.in_turn(values), document.random))
    document.error = "SCHEMA"


for _row in _BAD_VALUES:
    alters("XMCP-RSP-063")(partial(_attribute_with_a_bad_value, *_row))


@alters("XMCP-RSP-063")
def _attribute_that_is_missing(document: Document) -> None:
    element = document.any("tool_response", "error")
    element.remove("tool_name" if element.name == "tool_response" else "code")
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _element_where_none_can_be(document: Document) -> None:
    element = document.any()
    names = (
        "b",
        "more",
        "Display",
        "LLM_OUTPUT",
        "tool_response",
        "item",
        *(("meta",) if element.name != "error" else ()),
    )
    name = document.in_turn(names)
    other = Element(name, [], [document.random.choice(("", "x", "{}"))])
    if element is not document.root and document.random.random() < 0.4:
        other = foreign()
    element.content.insert(document.random.randrange(len(element.content) + 1), other)
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _child_that_is_there_twice(document: Document) -> None:
    child = document.any("llm_output", "display", "error", "server_populated", "meta")
    parent = next(one for one in document.root.all() if any(part is child for part in one.content))
    place = next(place for place, part in enumerate(parent.content) if part is child)
    parent.content.insert(place, copy.deepcopy(child))
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _children_in_another_order(document: Document) -> None:
    own = document.children()
    places = [place for place, part in enumerate(document.root.content) if any(part is child for child in own)]
    if len(places) < 2:
        raise NotHere
    one = document.random.randrange(len(places) - 1)
    first, second = places[one], places[one + 1]
    content = document.root.content
    content[first], content[second] = content[second], content[first]
    document.error = "SCHEMA"


_TEXTS: Final = ("x", "&#160;", "\u2003", "<![CDATA[a]]>", ".", "&lt;", "\ufeff", "\u200b", "{}")


@alters("XMCP-RSP-063")
def _text_between_children(document: Document) -> None:
    content = document.root.content
    content.insert(document.random.randrange(len(content) + 1), document.in_turn(_TEXTS))
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _text_after_meta(document: Document) -> None:
    meta = document.any("meta")
    error = document.any("error")
    error.content.insert(error.content.index(meta) + 1, document.in_turn(_TEXTS))
    error.content.append(document.random.choice(("", " ", "<!-- a -->", "<?p?>", "\n<!-- a -->")))
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _another_root(document: Document) -> None:
    document.root.name = document.in_turn(("Tool_Response", "tool-response", "response", "llm_output", "html"))
    document.root.remove("version")
    document.error = "SCHEMA"


@alters("XMCP-RSP-063")
def _root_in_a_namespace(document: Document) -> None:
    if document.random.random() < 0.5:
        document.root.set("xmlns", "urn:v")
    else:
        document.root.name = "v:tool_response"
        document.root.set("xmlns:v", "urn:v")
    document.root.remove("version")
    document.error = "SCHEMA"


@alters("XMCP-RSP-064")
def _another_major_version(document: Document) -> None:
    document.root.set("version", document.in_turn(("0.0", "0.9", "2.0", "2.1", "10.0", "11.0", "9999.9999")))
    document.error = "VERSION"


@alters("XMCP-RSP-075")
def _another_major_version_with_a_fault(document: Document) -> None:
    """A fault of a class that a reader names after the version only."""
    root, faults = document.root, ("text", "element", "empty", "long", "unnamed", "lossy", "twice", "json")
    match document.in_turn(faults):
        case "text":
            root.content.insert(0, "x")
        case "element":
            root.content.append(Element("more"))
        case "empty":
            root.content = []
        case "long":
            root.set("tool_name", "x" * 129)
        case "unnamed":
            root.remove("tool_name")
        case "lossy":
            root.set("lossy", "maybe")
        case "twice":
            root.content += root.content
        case "json":
            root.content.append(Element("server_populated", [], ["{"]))
    _another_major_version(document)


_DOCUMENT_TYPES: Final = (
    "<!DOCTYPE tool_response>",
    '<!DOCTYPE tool_response SYSTEM "a.dtd">',
    "<!DOCTYPE a [<!ENTITY b 'c'>]>",
    '<!DOCTYPE tool_response [<!ATTLIST error code CDATA "X">]>',
    "<!DOCTYPE a [<!ELEMENT a ANY>\n<!-- b -->]>",
    '<!DOCTYPE a PUBLIC "-//A//B" "c">',
)


@alters("XMCP-RSP-060")
def _document_type(document: Document) -> None:
    around = ("", "\n", "<!-- a -->", "<?p?>", f"<!--{'a' * 1_100}-->")
    start = document.random.choice(("", "<?xml version='1.0'?>", "\ufeff"))
    document.before = f"{start}{document.in_turn(around)}{document.random.choice(_DOCUMENT_TYPES)}"
    document.before += document.random.choice(around)
    document.error = "DTD"


@alters("XMCP-RSP-076")
def _document_type_before_another_fault(document: Document) -> None:
    # No fault comes before the declaration, however far from the beginning it is.
    document.before = document.random.choice(("", f"<!--{'a' * 1_100}-->")) + document.random.choice(_DOCUMENT_TYPES)
    fault = document.in_turn((b"\x01", b"\xff", b"<", b"&a;", b"\xed\xa0\x80", b"</b>"))
    document.rewrite = lambda text: text.encode().replace(b"</tool_response>", fault + b"</tool_response>")
    document.error = "DTD"


_NOT_WELL_FORMED: Final = (
    (
        *("& ", "a & b", "&nbsp;", "&a;", "&#x;", "&#;", "&#X41;", "&#65 ", "&#0;", "&#x1F;", "&#xFFFF;", "&#xD800;"),
        *("&#x110000;", "&amp", "&AMP;", "&lt ;", "&#-1;", "&;"),
    ),
    (
        *("\x01", "\x1f", "\ufffe", "\uffff", "<!-- \x01 -->", "<![CDATA[\x01]]>", "<?p \x01?>", "<!-- \ufffe -->"),
        *("<![CDATA[\uffff]]>", "<![CDATA[&]]>\x0b", "<?p \x1f?>"),
    ),
    (
        *(
            "<",
            "a < b",
            "]]>",
            "<!-- a -- b -->",
            "<!- a -->",
            "<![cdata[a]]>",
            "<?xml version='1.0'?>",
            "</b>",
            "< b/>",
        ),
        *("<!-- a --->", "<?a:b c?>", "<! a>", "<?>", "<? p?>"),
    ),
)
"""What cannot stand in character data: references, characters, and markup."""


def _text_that_is_not_well_formed(some: Sequence[str], document: Document) -> None:
    _insert(document, document.any("llm_output", "error", *JSON_ELEMENTS), document.in_turn(some))
    document.error = "NOT_WELL_FORMED"


for _pieces in _NOT_WELL_FORMED:
    alters("XMCP-RSP-061")(partial(_text_that_is_not_well_formed, _pieces))


@alters("XMCP-RSP-061")
def _tag_that_is_not_well_formed(document: Document) -> None:
    some = (
        *("a=1", "a", "a='1' a='2'", "a='1'c='2'", "a='<'", "a='&'", "a='&nbsp;'", "a='1\"", "w:a='1'", "1='a'", "=''"),
        *("xmlns:v=''", "xmlns:a='urn:a' xmlns:c='urn:a' a:b='' c:b=''", "a='\x01'", "a='&#0;'", "a:b:c=''"),
        *("xmlns:xml='urn:v'", "xmlns:xmlns='urn:v'", "xmlns:v='http://www.w3.org/XML/1998/namespace'"),
    )
    element = document.any()
    # libxml2 does not see that this is there twice, nor a name with two colons beside an instruction named `xml…`.
    element.remove("xmlns:xml")
    document.before = document.after = ""
    element.more = f" {document.in_turn(some)}"
    document.error = "NOT_WELL_FORMED"


_HERE: Final = "\U0010abcd"
"""Stands in a text where something is put that is no text."""


@alters("XMCP-RSP-062")
def _bytes_that_are_no_utf8(document: Document) -> None:
    some = (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xe9 ")
    place = document.random.choice((_HERE, f"<!-- {_HERE} -->", f"<?p {_HERE}?>", f"<![CDATA[{_HERE}]]>"))
    _insert(document, document.any("llm_output", "error", *JSON_ELEMENTS), place)
    bad = document.in_turn(some)
    document.rewrite = lambda text: text.encode().replace(_HERE.encode(), bad)
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-062")
def _another_encoding(document: Document) -> None:
    encoding = document.in_turn(("utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be", "utf-32"))
    document.before = document.random.choice(("", "", "\n", " "))
    document.rewrite = lambda text: text.encode(encoding)
    document.error = "ENCODING"


@alters("XMCP-RSP-078")
def _zero_among_characters(document: Document) -> None:
    at = document.in_turn((1, 0, 2))
    document.before = ""
    document.rewrite = lambda text: f"{text[:at]}\0{text[at:]}"
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-061")
def _end_tag_of_another_element(document: Document) -> None:
    element = document.any()
    name = element.name
    others = (name.upper(), name.title(), f"{name} a=''", "b", f"{name}s", f"v:{name}", f" {name}", f"{name}/")
    element.end, element.closed = document.in_turn(others), False
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-061")
def _document_that_is_cut(document: Document) -> None:
    def cut(text: str) -> str:
        end = text.rindex(f"</{document.root.name}")  # behind it can be a comment
        after_tags = [found.end() for found in re.finditer(">", text[:end])]
        return text[: document.random.choice((document.random.randrange(1, end), *after_tags[-2:]))]

    document.rewrite = cut
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-061")
def _more_outside_the_root(document: Document) -> None:
    more = document.in_turn(("x", "<a/>", "\u00a0", "&#32;", "<![CDATA[ ]]>", "</tool_response>", "\x00", "```"))
    if more == "<a/>" or document.random.random() < 0.5:  # as the first it would be the root
        document.after = f"\n{more}"
    else:
        document.before = f"{more}\n"
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-061")
def _declaration_that_is_not_first(document: Document) -> None:
    document.before = document.in_turn((" ", "\n", "<!-- a -->", "\ufeff\ufeff")) + "<?xml version='1.0'?>"
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-061")
def _declaration_that_is_not_well_formed(document: Document) -> None:
    some = (
        *("<?xml encoding='UTF-8'?>", "<?xml version='1.0' standalone='maybe'?>", "<?xml?>", "<?xml version=1.0?>"),
        *("<?xml version='1.0' standalone='yes' encoding='utf-8'?>", "<?xml version='1.0' a='b'?>"),
        *("<?xml version='1.0'encoding='utf-8'?>", "<?xml version='1.0'>", "<?xml version='1.0' standalone='YES'?>"),
    )
    document.before = document.random.choice(("", "\ufeff")) + document.in_turn(some)
    document.error = "NOT_WELL_FORMED"


@alters("XMCP-RSP-062")
def _declaration_of_something_else(document: Document) -> None:
    said = ("1.1", ""), ("1.0", "utf-16"), ("1.0", "ISO-8859-1"), ("1.0", "utf8"), ("1.0", "ASCII"), ("1.0", "x-none")
    version, encoding = document.in_turn(said)
    space = document.random.choice((" ", "\n", "\t", "\r\n "))
    encoding = encoding and f"{space}encoding='{encoding}'"
    document.before = f"<?xml{space}version='{version}'{encoding}?>"
    document.error = "ENCODING"
