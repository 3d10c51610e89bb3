"""The parts of the view for hosts of MCP Apps that need no page, in Node."""

from __future__ import annotations

from pathlib import Path

from tools import ROOT, node_packages
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY

APPS = ROOT / "reference" / "web" / "src" / "apps"


def test_the_parts_work() -> None:
    done = node_packages.node("--test", "apps.test.ts", cwd=Path(__file__).parent, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_view_reads_the_members_that_servers_write() -> None:
    names = (APPS / "names.ts").read_text(encoding="utf-8")
    assert f'DISPLAY_META_KEY = "{DISPLAY_META_KEY}"' in names
    assert f'ERROR_META_KEY = "{ERROR_META_KEY}"' in names
