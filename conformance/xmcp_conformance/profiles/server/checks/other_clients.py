"""Checks of what clients get that read no documents of this version, or none at all (sections 6.1 and 9.1)."""

from __future__ import annotations

from dataclasses import dataclass

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_models.registry import PREFIX

from .plain_results import begins_a_document


@dataclass(frozen=True, slots=True)
class Shape:
    """What a result has, whatever it says."""

    is_document: bool
    """Whether its text begins as a document does: that of a plain result can, where the tool gave such a text."""
    is_error: bool
    has_data: bool
    meta: tuple[str, ...]
    """The names of the members of `_meta` that are of this specification."""

    def __str__(self) -> str:
        names = [*(("`structuredContent`",) if self.has_data else ()), *(f"`{quoted(name)}`" for name in self.meta)]
        return ", ".join(names) or "neither structured content nor members of this specification in `_meta`"


def shape(exchange: Exchange) -> Shape:
    """Return the shape of the result of an exchange."""
    result = exchange.result or {}
    meta = result.get("_meta")
    names = sorted(name for name in meta if name.startswith(PREFIX)) if isinstance(meta, dict) else ()
    is_document, is_error = begins_a_document(exchange.text), result.get("isError") is True
    return Shape(is_document, is_error, "structuredContent" in result, tuple(names))


@check("XMCP-VER-001", "XMCP-VER-002", profile="server")
def other_version(exchange: Exchange, plain: Shape | None) -> Observations:
    """Judge the answer to a client that declared another version alone, beside that to a client that declared nothing.

    A tool that fails in one of two equal calls shows nothing of the client; nor does an answer beside which there is
    no other one.
    """
    seen = shape(exchange)
    if plain is not None and plain.is_document:
        return
    if seen.is_document:
        expected = "a plain result, for the client declared another major version"
        yield broken("XMCP-VER-001", exchange.first_block, expected)
        return
    yield obeyed("XMCP-VER-001")
    if plain is not None and seen.is_error == plain.is_error:
        yield either(
            "XMCP-VER-002", seen == plain, f"a result with {seen}", f"{plain}, as a client that declared nothing"
        )


@check("XMCP-MCP-050", profile="server")
def no_documents(exchange: Exchange, plain: Shape) -> Observations:
    """Judge the answer to a client that set `documents` to `false`, beside that to a client that declared nothing."""
    if not plain.is_document:
        expected = "a plain result, for the client set `documents` to `false`"
        yield either("XMCP-MCP-050", not shape(exchange).is_document, exchange.first_block, expected)
