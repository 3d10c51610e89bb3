"""The check that a document is valid against schemas/tool_response.xsd."""

from __future__ import annotations

import re
from functools import cache

from lxml import etree

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import broken, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.source import Source
from xmcp_models import DATA


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(DATA / "tool_response.xsd")))


@check("XMCP-RSP-006", profile=OF_DOCUMENTS)
def validity(root: etree._Element, source: Source) -> Observations:
    """Judge by the XSD, for faults that no more specific requirement covers: ask only where there is no other fault."""
    schema = _schema()
    if schema.validate(root):
        yield obeyed("XMCP-RSP-006")
        return
    fault = next(iter(schema.error_log))  # type: ignore[call-overload] # the stubs do not know that it can be iterated
    path_of = root.getroottree().getpath
    element = next((item for item in root.iter() if path_of(item) == fault.path), root)
    attribute = re.search(r"attribute '([^']+)'", fault.message)
    place = source.of_attribute(element, attribute[1]) if attribute else source.of(element)
    yield broken("XMCP-RSP-006", quoted(fault.message), "a document that the XSD accepts", where=place)
