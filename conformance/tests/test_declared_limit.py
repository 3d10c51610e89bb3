"""What a client gets that declared the smallest `maxBytes`, beside what it got without that."""

from __future__ import annotations

import pytest

from xmcp_conformance.profiles.server.checks.declared_limit import answer_that_fits
from xmcp_conformance.profiles.server.exchange import Twin
from xmcp_conformance.reader import read

BEFORE = {"echoes": (), "populates": False, "failed": False, "size": 9_000}
DISPLAY = '<display>{"type":"text","payload":"a"}</display>'


@pytest.mark.parametrize(
    ("text", "had", "answer", "right"),
    [
        ("a", True, "<llm_output>a</llm_output>", False),
        ("a", False, "<llm_output>a</llm_output>", True),
        ("b", True, "<llm_output>a</llm_output>", True),  # it says less today
        ("a", True, f"<llm_output>a</llm_output>{DISPLAY}", True),
        ("a", True, '<error code="RESULT_TOO_LARGE">It is too large.</error>', True),
        ("a", True, '<error code="INTERNAL">It failed.</error>', False),
    ],
)
def test_a_display_is_not_left_out_to_make_a_document_fit(text: str, had: bool, answer: str, right: bool) -> None:
    written = f'<tool_response tool_name="t">{answer}</tool_response>'
    document = read(written).document
    assert document is not None
    twin = Twin(**BEFORE, text=text, has_display=had)
    assert all(one.ok for one in answer_that_fits(document, twin)) is right
