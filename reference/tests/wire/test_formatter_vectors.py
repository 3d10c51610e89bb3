"""The vectors of conformance/vectors/wire.json for formatters, run against the default one."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmcp.xml_formatters import default_formatter
from xmcp_conformance.profiles.codec.vector_judge import judge_formatter
from xmcp_conformance.profiles.codec.vectors import Vector, load

ALL = load(Path(__file__).resolve().parents[3] / "conformance" / "vectors" / "wire.json")


@pytest.mark.parametrize("vector", [v for v in ALL if v.direction == "format"], ids=lambda vector: vector.id)
def test_the_default_formatter_writes_what_the_vector_says(vector: Vector) -> None:
    judgement = judge_formatter(vector, default_formatter)
    assert judgement.ok, f"{judgement.seen}; expected: {judgement.expected}"
