"""What a client gets that declared the smallest `maxBytes`, beside what it got without that."""

from __future__ import annotations

from typing import Any

import pytest
from server_reports import report_on

from xmcp_conformance.profiles.server.checks.declared_limit import LEAST, answer_that_fits
from xmcp_conformance.profiles.server.exchange import Twin
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.reader import read
from xmcp_conformance.wrong.servers.miniature import Failure, Miniature

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


class FailsOnceForEachCall(Miniature):
    """Its tools fail now and then, here the first time that a call comes from a client that reads small documents."""

    always = False

    def __init__(self) -> None:
        super().__init__()
        self.failed: set[str] = set()

    def fitted(self, name: str, arguments: Any, result: Any, most: int) -> Any:
        asked = f"{name} {arguments}"
        if most > LEAST or (asked in self.failed and not self.always):
            return super().fitted(name, arguments, result, most)
        self.failed.add(asked)
        return self.result(self.document(name, self.error(Failure("INTERNAL", "It failed."))), failed=True)


class FailsEachTime(FailsOnceForEachCall):
    always = True


@pytest.mark.parametrize(("server", "broken"), [(FailsOnceForEachCall, False), (FailsEachTime, True)])
async def test_a_tool_that_fails_now_and_then_is_asked_again_before_it_is_blamed(server: Any, broken: bool) -> None:
    report = await report_on(server(), Options(examples=2, eras=("newest",)))
    (judged,) = [one for one in report.judgements if one.requirement.id == "XMCP-MCP-051"]
    assert (judged.broken > 0) == broken
