"""What the encoder writes is the same for every parser: lxml, xml.etree, expat and the generated dataclasses."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from xsdata.formats.dataclass.parsers import XmlParser

from xmcp.wire import ErrorInfo, ToolResponse, decode, encode
from xmcp_models.tool_response import ToolResponse as Generated

Reading = dict[str, str]
"""Text of an element by its name, value of an attribute by `element@name`."""

NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TEXT = st.text(
    st.characters() | st.sampled_from("\r\n\t\x00\x1b\u2028\ufffe\ud800&<>\"']\u0085 "), max_size=40
) | st.sampled_from(
    ["]]>", "<![CDATA[", "</llm_output>", "&amp;", "\r\n", "<!--", "-->", "<?xml?>", "<display>{}</display>", "{{x}}"]
)
NAME = TEXT.filter(lambda text: 1 <= len(text) <= 128)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
ENVELOPE = st.fixed_dictionaries(
    {"type": st.just("json"), "payload": OBJECT | st.lists(JSON, max_size=3) | TEXT},
    optional={"title": TEXT, "alt": TEXT},
)
ERROR = st.builds(
    ErrorInfo,
    code=st.just("X_ACME"),
    message=TEXT.filter(lambda text: text.strip(" \t\r\n")),
    retryable=st.just(True),
    retry_after_ms=st.none() | st.integers(0, 2**53 - 1),
    category=st.just("timeout"),
    meta=st.none() | st.fixed_dictionaries({"params": OBJECT}),
)
POPULATED = st.none() | st.fixed_dictionaries({"values": OBJECT})
RESPONSES = st.builds(
    ToolResponse,
    NAME,
    TEXT,
    st.none() | ENVELOPE,
    call_id=st.none() | NAME,
    format=st.none() | st.just("text/markdown"),
    truncated=st.booleans(),
    server_populated=POPULATED,
) | st.builds(ToolResponse, NAME, error=ERROR, display=st.none() | ENVELOPE, server_populated=POPULATED)


def by_lxml(text: str) -> Reading:
    return of_tree(etree.fromstring(text.encode()))


def by_etree(text: str) -> Reading:
    return of_tree(ElementTree.fromstring(text))


def of_tree(root: Any) -> Reading:
    found: Reading = {}
    for node in root.iter():
        found |= {f"{node.tag}@{name}": value for name, value in node.attrib.items()}
        found[node.tag] = node.text or ""
    return found


def by_expat(text: str) -> Reading:
    found: Reading = {}
    open_elements: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        open_elements.append(name)
        found[name] = ""
        found.update({f"{name}@{key}": value for key, value in attributes.items()})

    def data(piece: str) -> None:
        found[open_elements[-1]] += piece

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = data
    parser.Parse(text.encode(), True)
    return found


def by_dataclasses(text: str) -> Reading:
    """What the generated classes have: attributes that are absent are their defaults here, and booleans are values."""
    response = XmlParser().from_string(text, Generated)
    found = {"tool_response@tool_name": response.tool_name}
    if response.call_id is not None:
        found["tool_response@call_id"] = response.call_id
    for name in ("llm_output", "display", "server_populated"):
        if (part := getattr(response, name)) is not None:
            found[name] = part.value
    if response.error is not None:
        content = list(response.error.content)
        meta = content.pop().value if content and not isinstance(content[-1], str) else None
        found |= {"error": "".join(content)} | ({"meta": meta} if meta is not None else {})
    return found


def values(reading: Reading) -> dict[str, Any]:
    """Texts as they are, JSON as what it means."""
    return {
        name: json.loads(text) if name in ("display", "meta", "server_populated") else text
        for name, text in reading.items()
    }


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(RESPONSES)
def test_every_parser_reads_what_was_encoded(response: ToolResponse) -> None:
    document = encode(response)
    reading = values(by_lxml(document))
    assert values(by_etree(document)) == values(by_expat(document)) == reading
    generated = values(by_dataclasses(document))
    assert generated == {name: reading.get(name) for name in generated}
    assert reading["tool_response@tool_name"] == NOT_XML.sub("\ufffd", response.tool_name)
    if response.llm_output is not None:
        assert reading["llm_output"] == NOT_XML.sub("\ufffd", response.llm_output)
    decoded = decode(document)
    assert decoded.llm_output == reading.get("llm_output")
    assert (decoded.display.to_dict() if decoded.display else None) == reading.get("display")
    assert decoded.server_populated == reading.get("server_populated")
    assert (decoded.error.meta if decoded.error else None) == reading.get("meta")
    assert decode(encode(decoded)) == decoded
