"""Faults of what a client declares to its servers, and of what it asks of their answers (sections 6.1 and 11.4)."""

from __future__ import annotations

from typing import Any, Final

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .trace_builder import TraceBuilder

DECLARATION: Final = {"versions": ["1.0"]}


def _declares(**declared: Any) -> Trace:
    """Return the trace of a chat of a client that declares this."""
    s = TraceBuilder()
    s.declare(**{"stateless": True, **declared})
    s.begin()
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-MCP-006", profile="client")
def it_declares_nothing(wrong: bool) -> Trace:
    return _declares(extensions=None if wrong else DECLARATION)


@breaks("XMCP-MCP-006", profile="client")
def it_declares_nothing_in_a_handshake(wrong: bool) -> Trace:
    return _declares(stateless=False, experimental=None if wrong else DECLARATION)


@breaks("XMCP-MCP-007", profile="client")
def it_names_no_version(wrong: bool) -> Trace:
    return _declares(extensions={} if wrong else DECLARATION)


@breaks("XMCP-MCP-007", profile="client")
def its_versions_are_a_text(wrong: bool) -> Trace:
    return _declares(stateless=False, extensions={"versions": "1.0"} if wrong else DECLARATION)


@breaks("XMCP-MCP-009", profile="client")
def it_declares_in_the_place_of_the_handshake(wrong: bool) -> Trace:
    return _declares(**{"experimental" if wrong else "extensions": DECLARATION})


@breaks("XMCP-CLI-111", profile="client")
def it_takes_compressed_answers(wrong: bool) -> Trace:
    return _declares(extensions=DECLARATION, accept_encoding="gzip, deflate" if wrong else "identity")


@breaks("XMCP-CLI-111", profile="client")
def it_takes_any_coding(wrong: bool) -> Trace:
    return _declares(extensions=DECLARATION, accept_encoding="identity, *" if wrong else "identity, *;q=0")
