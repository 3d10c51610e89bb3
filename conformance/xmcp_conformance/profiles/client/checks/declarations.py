"""Checks of what a client declares to servers (section 6.1), and of what it asks of their answers (section 11.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.trace import Declared
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.reader.schemas import faults
from xmcp_models.registry import EXTENSION_ID

_UNCOMPRESSED: Final = re.compile(r"(?:identity(?:[ \t]*;.*)?|[^;]*;[ \t]*q=0(?:\.0*)?)?", re.IGNORECASE)
"""One coding in `Accept-Encoding` that asks for no compression."""


def _declared(trace: TraceIndex) -> Iterator[tuple[int, Declared]]:
    return ((at, record) for at, record in enumerate(trace.records) if isinstance(record, Declared))


@check("XMCP-MCP-006", "XMCP-MCP-007", "XMCP-MCP-009", profile="client")
def _declares_the_extension(trace: TraceIndex) -> Observations:
    for at, one in _declared(trace):
        value = one.experimental if one.extensions is None else one.extensions
        if value is None and trace.setup.level == 1:
            continue  # a client that reads plain results alone need not declare anything (section 1.6)
        seen = f"the client declares no `{EXTENSION_ID}` to server {one.server}"
        expected = "a declaration among its capabilities, of a client that does not claim Level 1 (`level`)"
        yield either("XMCP-MCP-006", value is not None, seen, expected, where=at)
        if value is None:
            continue
        found = next(faults("declaration", value), None)
        yield either("XMCP-MCP-007", found is None, str(found), "as schemas/declaration.schema.json says", where=at)
        seen = f"declared to server {one.server} under `experimental` alone"
        expected = "`extensions`: the client speaks MCP 2026-07-28 or later"
        yield either("XMCP-MCP-009", one.extensions is not None or not one.stateless, seen, expected, where=at)


@check("XMCP-CLI-111", profile="client")
def _asks_for_no_compression(trace: TraceIndex) -> Observations:
    for at, one in _declared(trace):
        codings = (one.accept_encoding or "").split(",")
        ok = all(_UNCOMPRESSED.fullmatch(coding.strip()) for coding in codings)
        seen = f"a request to server {one.server} has `Accept-Encoding: {quoted(one.accept_encoding or '')}`"
        yield either("XMCP-CLI-111", ok, seen, "no header of this name, or `identity`", where=at)
