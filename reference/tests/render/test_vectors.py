"""The vectors of conformance/vectors/wire.json for renderers, run against the one of the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xmcp.render import to_text
from xmcp_conformance.profiles.codec.vector_checks import check_renderer
from xmcp_conformance.profiles.codec.vectors import Vector, load

ALL = load(Path(__file__).resolve().parents[3] / "conformance" / "vectors" / "wire.json")


def shown(envelope: dict[str, Any]) -> tuple[str, bool]:
    text = to_text(envelope)
    return text, "unsupported display type" in text


@pytest.mark.parametrize("vector", [v for v in ALL if v.direction == "render"], ids=lambda vector: vector.id)
def test_the_terminal_shows_what_the_vector_says(vector: Vector) -> None:
    assert [str(one) for one in check_renderer(vector, shown) if not one.ok] == []
