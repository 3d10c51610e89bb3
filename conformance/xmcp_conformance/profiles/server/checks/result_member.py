"""Check of the member of `_meta` that says which form a result has (section 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_models.registry import RESULT_META_KEY


@check("XMCP-MCP-042", profile="server")
def result_member(meta: Mapping[str, Any], form: str, versions: Sequence[str] | None) -> Observations:
    """Judge the member that says which form the result has; `versions` are those that it can have, if that is known."""
    member = meta.get(RESULT_META_KEY)
    said: Mapping[str, Any] = member if isinstance(member, dict) else {}
    version = said.get("version")
    known = isinstance(version, str) and (versions is None or version in versions)
    expected = f'"{RESULT_META_KEY}": {{"version": "{" or ".join(versions or ["1.0"])}", "form": "{form}"}}'
    seen = f"`{quoted(str(member))}`" if RESULT_META_KEY in meta else "no such member"
    yield either("XMCP-MCP-042", known and said.get("form") == form, seen, f"`{quoted(expected)}`")
