"""Tables of `<xmcp-display>`: what is read of them, and what a person saves or copies; in Node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import node_packages


@pytest.mark.parametrize("file", ["read_rows.test.ts", "saved_tables.test.ts"])
def test_tables_are_read_and_saved_as_they_should(file: str) -> None:
    done = node_packages.node("--test", file, cwd=Path(__file__).parent, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
