"""Checks of the elements of a document: the root, its children, the text between them, and the attributes."""

from __future__ import annotations

import re

from lxml import etree

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import NUMBERED, TAGS, Kind, Token, attributes, code_point

VERSION = re.compile(r"(?:0|[1-9][0-9]{0,3})\.(?:0|[1-9][0-9]{0,3})")
SPACE = " \t\r\n"
_CHANNELS = (("llm_output",), ("llm_output", "display"), ("display",), ("error",), ("error", "display"))
_FORMS = (*_CHANNELS, *((*form, "server_populated") for form in _CHANNELS))
_ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
    "meta": {"lossy"},
    "server_populated": {"lossy"},
}


def own_children(element: etree._Element) -> list[etree._Element]:
    """Return the child elements without a namespace; comments and processing instructions are left out."""
    return [child for child in element if isinstance(child.tag, str) and not child.tag.startswith("{")]


def attributes_of(element: etree._Element) -> dict[str, str]:
    """Return the attributes as plain strings."""
    return {str(name): str(value) for name, value in element.attrib.items()}


@check("XMCP-RSP-005", profile=OF_DOCUMENTS)
def root_name(root: etree._Element, source: Source) -> Observations:
    """Judge the name of the root element."""
    seen = f"the root element `{quoted(str(root.tag))}`"
    named = root.tag == "tool_response"
    yield either("XMCP-RSP-005", named, seen, "`tool_response`, in no namespace", where=source.of(root))


@check("XMCP-RSP-009", profile=OF_DOCUMENTS)
def children_of_root(root: etree._Element, children: list[etree._Element], source: Source) -> Observations:
    """Judge which children the root has, and their order."""
    names = tuple(str(child.tag) for child in children)
    odd = next((i for i in range(len(names)) if not any(form[: i + 1] == names[: i + 1] for form in _FORMS)), None)
    yield either(
        "XMCP-RSP-009",
        names in _FORMS,
        f"the children {quoted(', '.join(names)) or '(none)'}",
        f"{' | '.join(' '.join(form) for form in _CHANNELS)}, then at most `server_populated`",
        where=source.of(root if odd is None else children[odd]),
    )


@check("XMCP-RSP-010", profile=OF_DOCUMENTS)
def text_between(root: etree._Element, source: Source) -> Observations:
    """Judge the text between the children of the root."""
    between = "".join([root.text or "", *[child.tail or "" for child in root]])
    stray = between.lstrip(SPACE)
    yield either(
        "XMCP-RSP-010",
        not stray,
        f"the text `{quoted(stray.rstrip(SPACE))}`",
        "white space only",
        where=source.place(source.content(root).offset(len(between) - len(stray))) if stray else None,
    )


@check("XMCP-RSP-011", profile=OF_DOCUMENTS)
def known_attributes(element: etree._Element, source: Source) -> Observations:
    """Judge the names of the attributes of an element."""
    known = _ATTRIBUTES.get(str(element.tag), set())
    unknown = [str(name) for name in element.attrib if not str(name).startswith("{") and name not in known]
    yield either(
        "XMCP-RSP-011",
        not unknown,
        f"`{element.tag}` has the attribute `{quoted(unknown[0]) if unknown else ''}`",
        f"only {', '.join(sorted(known))}, or names in a namespace",
        where=source.of_attribute(element, unknown[0]) if unknown else None,
    )


@check("XMCP-RSP-007", profile=OF_DOCUMENTS)
def tool_name(name: str, root: etree._Element, source: Source) -> Observations:
    """Judge `tool_name`, which is empty where there is none."""
    if not name:
        seen, expected = "no `tool_name`, or an empty one", "the name by which the tool was called"
        yield broken("XMCP-RSP-007", seen, expected, where=source.of_attribute(root, "tool_name"))


@check("XMCP-RSP-008", profile=OF_DOCUMENTS)
def version(version: str, root: etree._Element, source: Source) -> Observations:
    """Judge the attribute `version` as it is written."""
    legal = bool(VERSION.fullmatch(version))
    place = source.of_attribute(root, "version")
    yield either("XMCP-RSP-008", legal, f"`{quoted(version)}`", "such as `1.0`", where=place)


@check("XMCP-ERR-008", profile=OF_DOCUMENTS)
def text_after_meta(error: etree._Element, source: Source) -> Observations:
    """Judge the text of an error that follows its `meta`."""
    for meta in own_children(error):
        after = (meta.tail or "").strip(SPACE)
        if not after:
            yield obeyed("XMCP-ERR-008")
            continue
        text = source.content(error)
        place = source.place(text.offset(text.text.rfind(after)))
        yield broken("XMCP-ERR-008", f"`{quoted(after)}` after `meta`", "the message before it", where=place)


@check("XMCP-RSP-021", profile=OF_DOCUMENTS)
def element_in_text(token: Token, source: Source) -> Observations:
    """Judge one token of the text for the model: it must not begin an element."""
    if token.inside == "llm_output" and token.kind in TAGS:
        seen = f"`{quoted(token.text)}` inside `llm_output`"
        yield broken("XMCP-RSP-021", seen, "character data only", where=source.place(token.offset))
    if token.kind is Kind.END and token.name == "llm_output":
        yield obeyed("XMCP-RSP-021")


@check("XMCP-RSP-028", profile=OF_DOCUMENTS)
def attribute_space(source: Source) -> Observations:
    """Judge white space in attributes that a parser would change."""
    for token in source.tokens:
        if token.kind not in TAGS:
            continue
        for attribute in attributes(token):
            if raw := re.search("[\t\n\r]", attribute.raw):
                seen = f"the attribute `{quoted(attribute.name)}` has {raw.group()!r} as it is"
                yield broken("XMCP-RSP-028", seen, f"`&#{ord(raw.group())};`", where=source.place(attribute.offset))
            elif any(code_point(match) in (9, 10, 13) for match in NUMBERED.finditer(attribute.raw)):
                yield obeyed("XMCP-RSP-028")
