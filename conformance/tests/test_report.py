"""Reports: what they contain, for programs and for people."""

from __future__ import annotations

import io
import json

import jsonschema_rs
import pytest
from rich.console import Console
from server_reports import report_on

from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.reports.earlier_run import SCHEMA
from xmcp_conformance.reports.server_json import to_dict
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.server_terminal import show
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.miniature import Miniature, Negotiated, Plain


async def report_of(miniature):
    return await report_on(miniature, Options(examples=1))


def printed(report, width=100) -> str:
    out = io.StringIO()
    show(report, Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


@pytest.mark.parametrize(
    "miniature", [Miniature, Negotiated, server_mutants()["XMCP-RSP-023"], server_mutants()["XMCP-MCP-001"]]
)
async def test_the_json_report_fits_its_schema(miniature):
    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), to_dict(await report_of(miniature())))


async def test_a_broken_requirement_is_told_with_its_sentence_what_was_seen_and_what_was_expected():
    text = printed(await report_of(server_mutants()["XMCP-MCP-002"]()), width=200)
    assert "XMCP-MCP-002 (section 6.2)" in text
    assert "`isError` MUST be `true` when the document has `error`" in text
    assert "isError=False with `error` in the document" in text
    assert "isError=True" in text
    assert text.rstrip().endswith("DOES NOT CONFORM")


async def test_a_conforming_server_is_told_so():
    assert printed(await report_of(Miniature())).rstrip().endswith("\nCONFORMS (10 of 14 tools seen at work)")


@pytest.mark.parametrize(
    ("server", "first", "second"),
    [
        (Miniature, "holds", "holds"),
        (Plain, "holds", "not claimed"),
        (server_mutants()["XMCP-RSP-023"], "holds", "does not hold"),
        (server_mutants()["XMCP-MCP-042"], "does not hold", "does not hold"),
    ],
)
async def test_the_levels_that_hold_are_named(server, first, second):
    report = await report_of(server())
    assert to_dict(report)["levels"] == {"1": first, "2": second}
    assert f"Level 1: {first}. Level 2: {second}." in printed(report)


async def test_no_level_holds_of_a_server_that_was_not_seen_to_answer():
    report = ServerReport()
    assert to_dict(report)["levels"] == {}
    assert "Level" not in printed(report)


async def test_a_run_as_a_plain_client_is_told_apart_from_the_other():
    report = await report_of(server_mutants()["XMCP-MCP-042"]())
    assert [run["client"] for run in to_dict(report)["runs"]] == [
        *("declared", "limited", "plain", "other_version", "no_documents", "apps", "declared", "plain", "apps"),
    ]
    text = printed(report, width=200)
    assert "2026-07-28: 14 tools" in text
    assert "2026-07-28, plain client: 14 tools" in text
    assert "over memory, 2026-07-28, plain client" in text


class _Hostile(Miniature):
    """Answers with terminal control sequences and markup of the terminal library."""

    def document(self, name: str, body: str) -> str:
        return "\x1b]0;owned\x07\x1b[2J[bold red]no document[/bold red]"


async def test_text_of_the_peer_cannot_act_on_the_terminal():
    text = printed(await report_of(_Hostile()))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold red]" in text
