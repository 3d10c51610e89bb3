"""Mutants of what the client declares to servers and asks of their answers; only a server over HTTP sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp.client
import pytest
from mcp.client.session import ClientSession
from mutants import breaks

from xmcp import http_bodies


def declare(patch: pytest.MonkeyPatch, changed: Callable[[Any], Any]) -> None:
    """Let the client declare what `changed` returns in the place of what it declares of an extension."""
    advertise = mcp.client.advertise
    patch.setattr(mcp.client, "advertise", lambda id_, value: advertise(*changed((id_, value))))


@breaks("XMCP-MCP-006")
def declares_another_extension(patch: pytest.MonkeyPatch) -> None:
    """Declares an extension of another name."""
    declare(patch, lambda declared: (f"{declared[0]}-2", declared[1]))


@breaks("XMCP-MCP-007")
def names_one_version_as_a_text(patch: pytest.MonkeyPatch) -> None:
    """Declares the versions that it reads as a text."""
    declare(patch, lambda declared: (declared[0], {"versions": declared[1]["versions"][0]}))


@breaks("XMCP-MCP-009")
def declares_under_experimental(patch: pytest.MonkeyPatch) -> None:
    """Declares the extension where a handshake has it, in every era."""
    build = ClientSession._build_capabilities

    def misplaced(session: ClientSession, *args: Any, **named: Any) -> Any:
        built = build(session, *args, **named)
        return built.model_copy(update={"experimental": built.extensions, "extensions": None})

    patch.setattr(ClientSession, "_build_capabilities", misplaced)


@breaks("XMCP-CLI-111")
def takes_compressed_answers(patch: pytest.MonkeyPatch) -> None:
    """Leaves the header of its HTTP library as it is."""

    async def leaving(_: Any) -> None:
        return None

    patch.setattr(http_bodies, "ask_uncompressed", leaving)
