"""Write the requirement registry in the form of MCP's own requirement files (SEP-2484), as its extensions have them.

Each sentence is a row: `check` with the name of the check, where a check verifies it, else `excluded` with the reason.
Sentences that nothing implements yet are left out: such a file lists what an implementation is measured by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tools import ROOT

REGISTRY: Final = ROOT / "spec" / "requirements.yaml"
NAME: Final = "sep-xmcp.yaml"
_HEAD: Final = """# Generated from spec/requirements.yaml; not edited by hand.
# The requirements of XMCP in the form of the files of MCP's conformance suite: src/seps/sep-NNNN.yaml.
"""


def rows(registry: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows, in the order of the text."""
    return [_row(one) for one in registry["requirements"] if one.get("status") != "pending"]


def _row(requirement: dict[str, Any]) -> dict[str, str]:
    if "excluded" in requirement:
        return {"text": requirement["quote"], "excluded": requirement["excluded"]}
    return {"check": requirement["id"].lower(), "text": requirement["quote"]}


def write(out: Path) -> None:
    """Write the file to the folder `out`, which must not exist."""
    registry = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))
    content = {"sep": "xmcp", "spec_url": "spec/index.md", "requirements": rows(registry)}
    out.mkdir(parents=True)
    written = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)
    (out / NAME).write_text(_HEAD + written, encoding="utf-8")
