"""The registry in the form of MCP's requirement files."""

from __future__ import annotations

import yaml

from tools import ROOT
from tools.generate.mcp_requirements import NAME, REGISTRY, rows


def test_each_sentence_is_a_check_or_says_why_not_and_what_is_pending_is_left_out() -> None:
    registry = yaml.safe_load(REGISTRY.read_text("utf-8"))["requirements"]
    written = yaml.safe_load((ROOT / "generated" / "requirements" / NAME).read_text("utf-8"))
    assert written["requirements"] == rows({"requirements": registry})
    checked = [row["check"].upper() for row in written["requirements"] if "check" in row]
    assert checked == [one["id"] for one in registry if one.get("verified_by")]
    reasons = [row["excluded"] for row in written["requirements"] if "excluded" in row]
    assert len(checked) + len(reasons) + sum(one.get("status") == "pending" for one in registry) == len(registry)
    assert all(reasons)
    assert all(row.keys() in ({"check", "text"}, {"text", "excluded"}) for row in written["requirements"])
