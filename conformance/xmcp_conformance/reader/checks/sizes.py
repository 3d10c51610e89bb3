"""The check of the sizes of a document (section 2.6), but for the depth of its JSON: `json_text` measures that."""

from __future__ import annotations

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_conformance.reader.xml_tokens import (
    TAGS,
    Kind,
    attributes,
)

MOST_BYTES = 8 * 1024 * 1024
MOST_ELEMENTS = 256
DEEPEST_ELEMENT = 64
MOST_ATTRIBUTES = 256
LONGEST_ATTRIBUTE = 4096
LONGEST_TAG = 65_536
"""The sizes of section 2.6; those of an attribute and a tag are in bytes of UTF-8."""


@check("XMCP-RSP-081", profile=OF_DOCUMENTS)
def sizes(source: Source) -> Observations:
    """Judge the sizes of section 2.6, but for the depth of the JSON, which is measured where the JSON is read."""
    expected = "a document within the sizes of section 2.6"
    if source.size > MOST_BYTES:
        offset = len(source.text.encode("utf-8", "surrogatepass")[:MOST_BYTES].decode("utf-8", "ignore"))
        seen = f"a document of {source.size:,} bytes"
        yield broken("XMCP-RSP-081", seen, f"at most {MOST_BYTES:,}", where=source.place(offset))
    count = depth = written = 0
    for token in source.tokens:
        if token.kind is Kind.END:
            depth -= 1
        size = len(token.text.encode("utf-8", "surrogatepass")) if token.kind in (Kind.END, *TAGS) else 0
        if size > LONGEST_TAG:
            seen = f"a tag of {size:,} bytes"
            yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_TAG:,}", where=source.place(token.offset))
        if token.kind not in TAGS:
            continue
        count += 1
        if count > MOST_ELEMENTS:
            seen = f"an element more than {MOST_ELEMENTS}"
            yield broken("XMCP-RSP-081", seen, expected, where=source.place(token.offset))
        if depth + 1 > DEEPEST_ELEMENT:
            seen = f"elements nested {depth + 1} deep"
            yield broken("XMCP-RSP-081", seen, f"at most {DEEPEST_ELEMENT}", where=source.place(token.offset))
        depth += token.kind is Kind.START
        for attribute in attributes(token):
            written += 1
            if written > MOST_ATTRIBUTES:
                seen, place = f"an attribute more than {MOST_ATTRIBUTES}", source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, expected, where=place)
            if (size := len(attribute.value.encode("utf-8", "surrogatepass"))) > LONGEST_ATTRIBUTE:
                seen = f"the attribute `{quoted(attribute.name)}` with {size:,} bytes"
                place = source.place(attribute.offset)
                yield broken("XMCP-RSP-081", seen, f"at most {LONGEST_ATTRIBUTE:,}", where=place)
    yield obeyed("XMCP-RSP-081")
