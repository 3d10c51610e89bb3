"""The vectors of conformance/vectors/wire.json for formatters, run against the default one."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmcp.xml_formatters import default_formatter
from xmcp_conformance.profiles.codec.vector_checks import check_formatter
from xmcp_conformance.profiles.codec.vectors import Vector, load

ALL = load(Path(__file__).resolve().parents[3] / "conformance" / "vectors" / "wire.json")


@pytest.mark.parametrize("vector", [v for v in ALL if v.direction == "format"], ids=lambda vector: vector.id)
def test_the_default_formatter_writes_what_the_vector_says(vector: Vector) -> None:
    assert [str(one) for one in check_formatter(vector, default_formatter) if not one.ok] == []
