"""Tables that a person saves or copies from `<xmcp-display>`; in Node."""

from __future__ import annotations

from pathlib import Path

from tools import node_packages


def test_no_cell_of_a_saved_table_is_a_formula() -> None:
    done = node_packages.node("--test", "saved_tables.test.ts", cwd=Path(__file__).parent, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
