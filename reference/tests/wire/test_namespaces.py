"""Our namespace rules are those of expat's own namespace mode, which is not safe to use on a stranger's document."""

from __future__ import annotations

from xml.parsers import expat

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xmcp.wire import DecodeError, decode
from xmcp.wire.namespaces import OUTERMOST, NamespaceError, Scope, resolve

XML = "http://www.w3.org/XML/1998/namespace"
XMLNS = "http://www.w3.org/2000/xmlns/"

NAMES = ["a", "x:a", "y:a", "z:a", "xml:a", "xmlns:a", "x:y:a", ":a", "x:", "x:1", "x:-a", "é:é", "xmlns", "xml"]
DECLARATIONS = ["xmlns", "xmlns:x", "xmlns:y", "xmlns:é", "xmlns:xml", "xmlns:xmlns", "xmlns:", "xmlns:x:y"]
URIS = ["urn:x", "urn:x", "urn:y", "", XML, XMLNS]

tags = st.tuples(
    st.sampled_from(NAMES),
    st.dictionaries(
        st.sampled_from(NAMES) | st.sampled_from(DECLARATIONS) | st.sampled_from(["xmlns:x", "xmlns:y", "xmlns"]),
        st.sampled_from(URIS),
        max_size=4,
    ),
)
Tag = tuple[str, dict[str, str]]
Found = list[tuple[bool, dict[str, str]]] | None


def written(tree: list[Tag]) -> str:
    start = "".join(f"<{name}{''.join(f' {key}={value!r}' for key, value in keys.items())}>" for name, keys in tree)
    return start + "".join(f"</{name}>" for name, _ in reversed(tree))


def by_expat(document: str) -> Found:
    found: list[tuple[bool, dict[str, str]]] = []
    parser = expat.ParserCreate("utf-8", " ")
    parser.StartElementHandler = lambda name, attributes: found.append(
        (" " not in name, {key: value for key, value in attributes.items() if " " not in key})
    )
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return None
    return found


def by_us(tree: list[Tag]) -> Found:
    found: list[tuple[bool, dict[str, str]]] = []
    scope: Scope = OUTERMOST
    try:
        for name, attributes in tree:
            scope, plain, kept = resolve(scope, name, attributes)
            found.append((plain, kept))
    except NamespaceError:
        return None
    return found


@pytest.mark.slow
@settings(max_examples=500)
@given(st.lists(tags, min_size=1, max_size=3))
@example([("a", {"xmlns:x": "urn:x", "xmlns:y": "urn:x", "x:a": "", "y:a": ""})])
@example([("a", {"xmlns": "urn:x"}), ("a", {"xmlns": ""})])
def test_names_mean_what_they_mean_to_expat(tree: list[Tag]) -> None:
    assert by_us(tree) == by_expat(written(tree))


def test_a_long_namespace_is_kept_once() -> None:
    # expat would make 20 000 names of 100 kB each from this.
    attributes = {f"x:a{number}": "" for number in range(20_000)}
    scope, plain, kept = resolve(OUTERMOST, "a", {"xmlns:x": "u" * 100_000, **attributes})
    assert (plain, kept, len(scope["x"])) == (True, {}, 100_000)


def test_the_name_of_a_processing_instruction_has_no_colon() -> None:
    document = '<tool_response tool_name="t"><llm_output><?a{}?></llm_output></tool_response>'
    assert decode(document.format(" b:c")).llm_output == ""
    with pytest.raises(DecodeError, match="colon"):
        decode(document.format(":b"))
