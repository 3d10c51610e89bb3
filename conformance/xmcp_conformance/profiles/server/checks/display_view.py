"""Checks of the view that a server offers to hosts of MCP Apps (section 6.7)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import broken, either, obeyed
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.clients import MCP_APPS, VIEW_TYPE
from xmcp_conformance.profiles.server.exchange import ReadView
from xmcp_models.registry import VIEW_URI

_BEGINS_HTML: Final = re.compile(r"\ufeff?\s*(?:<!--(?:(?!-->).)*-->\s*)*(?:<!doctype\s+html|<html)\b", re.I | re.S)


def names_view(tool: ListedTool) -> bool:
    """Return whether a tool names the view."""
    ui = tool.meta.get("ui")
    return isinstance(ui, dict) and ui.get("resourceUri") == VIEW_URI


@check("XMCP-MCP-061", profile="server")
def named_unasked(tool: ListedTool) -> Observations:
    """Judge whether a tool names the view to a client that did not announce MCP Apps, as the server knows."""
    if names_view(tool):
        seen = f"tool `{quoted(tool.name)}` names `{VIEW_URI}` to a client that did not announce MCP Apps"
        yield broken("XMCP-MCP-061", seen, f"`_meta.ui` for clients that announce `{MCP_APPS}` alone")


@check("XMCP-MCP-061", "XMCP-MCP-062", "XMCP-MCP-063", profile="server")
def view(read: ReadView, *, known: bool) -> Observations:
    """Judge the view of a server that names one to a client which announced MCP Apps.

    Args:
        read: what it answered when the view was read.
        known: whether it has to know what its clients announced; their lists were judged by `named_unasked`.
    """
    if known:
        yield obeyed("XMCP-MCP-061")
    fault = read.failure or _fault(read.result)
    yield either("XMCP-MCP-062", not fault, fault, f"one HTML document of the type `{VIEW_TYPE}`")
    if not fault:
        asked = ", ".join(f"`{quoted(name)}`" for name in _asked(read.result["contents"][0]))
        yield either("XMCP-MCP-063", not asked, f"`_meta.ui` that asks for {asked}", "an empty one, or none")


def _fault(result: dict[str, Any]) -> str:
    """Return how a result is not one HTML document of MCP Apps; empty if it is one."""
    contents = result.get("contents")
    if not (isinstance(contents, list) and len(contents) == 1 and isinstance(contents[0], dict)):
        return f"`contents` is `{quoted(str(contents))}`"
    found = contents[0].get("mimeType")
    if found != VIEW_TYPE:
        return f"the type `{quoted(str(found))}`"
    page = _page(contents[0])
    return "" if _BEGINS_HTML.match(page) else f"a page that begins with `{quoted(page[:80])}`"


def _page(content: dict[str, Any]) -> str:
    if isinstance(text := content.get("text"), str):
        return text
    try:
        return base64.b64decode(str(content.get("blob", "")), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _asked(content: dict[str, Any]) -> list[str]:
    """Return the names of what the metadata of a page ask the host for."""
    meta = content.get("_meta")
    ui = meta.get("ui") if isinstance(meta, dict) else None
    if not isinstance(ui, dict):
        return []
    csp, permissions = ui.get("csp") or {}, ui.get("permissions") or {}
    domains = [name for name, listed in csp.items() if listed] if isinstance(csp, dict) else ["csp"]
    return [*domains, *(permissions if isinstance(permissions, dict) else ["permissions"])]
