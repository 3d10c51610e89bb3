"""How the view for hosts of MCP Apps is judged (section 6.7): its page, who is told of it, and a server without one."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from server_reports import report_on

from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.profiles.server.catalogue import ListedTool
from xmcp_conformance.profiles.server.checks.display_view import names_view, view
from xmcp_conformance.profiles.server.exchange import ReadView
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.wrong.servers.miniature import Miniature
from xmcp_models.registry import VIEW_URI

FEW = Options(examples=2, calls=24)
OF_THE_VIEW = {f"XMCP-MCP-{number:03}" for number in (61, 62, 63)}
TYPE = "text/html;profile=mcp-app"
PAGE = "<!doctype html><title>A display</title>"


class _HasNoView(Miniature):
    """Names no view, and has no resource to read."""

    def names_view(self, *, apps: bool) -> bool:
        return False

    def view(self, *, handshake: bool) -> Any:
        raise AssertionError("nobody reads a view that no tool names")


async def test_a_server_without_a_view_is_right_and_is_not_judged_by_it() -> None:
    report = await report_on(_HasNoView(), FEW)
    assert report.exit_code is ExitCode.CONFORMS
    assert {j.status for j in report.judgements if j.requirement.id in OF_THE_VIEW} == {Status.NOT_OBSERVED}
    assert not [run for run in report.runs if "MCP Apps" in str(run)]


class _CannotBeRead(Miniature):
    """Names a view that nobody can read."""

    def server(self) -> Any:
        server = super().server()
        del server._request_handlers["resources/read"]
        return server


async def test_a_view_that_cannot_be_read_is_none() -> None:
    report = await report_on(_CannotBeRead(), FEW)
    broken = {j.requirement.id: j.first.observation.seen for j in report.judgements if j.broken}
    assert broken.keys() == {"XMCP-MCP-062"}
    assert "-32601" in broken["XMCP-MCP-062"]


def read(**content: Any) -> ReadView:
    return ReadView({"contents": [{"uri": VIEW_URI, "mimeType": TYPE, "text": PAGE, **content}]})


def broken_by(answered: ReadView) -> set[str]:
    return {seen.requirement for seen in view(answered, known=True) if not seen.ok}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"text": None, "blob": base64.b64encode(PAGE.encode()).decode()},
        {"text": "\ufeff\n<!-- a page -->\n<HTML><body></body></HTML>"},
        {"_meta": {"ui": {"prefersBorder": True, "domain": "a.example"}}},
        {"_meta": {"ui": {"csp": {"connectDomains": [], "frameDomains": None}, "permissions": {}}}},
        {"_meta": {"ui": {"csp": None, "permissions": None}}},
        {"_meta": {"ui": None}},
        {"_meta": None},
    ],
)
def test_pages_that_are_right(content: dict[str, Any]) -> None:
    assert broken_by(read(**content)) == set()


@pytest.mark.parametrize(
    "answered",
    [
        ReadView(failure="the JSON-RPC error -32002: not found"),
        ReadView({}),
        ReadView({"contents": None}),
        ReadView({"contents": []}),
        ReadView({"contents": [7]}),
        ReadView({"contents": [*read().result["contents"], *read().result["contents"]]}),
        read(mimeType="text/html"),
        read(mimeType=None),
        read(text=""),
        read(text="A display"),
        read(text="<htmlx>"),
        read(text=None),
        read(text=None, blob="<!doctype html>"),
        read(text=None, blob=base64.b64encode(b"<html>\xff").decode()),
    ],
)
def test_pages_that_hosts_do_not_run(answered: ReadView) -> None:
    assert broken_by(answered) == {"XMCP-MCP-062"}


@pytest.mark.parametrize(
    "wishes",
    [
        {"csp": {"connectDomains": ["https://a.example"]}},
        {"csp": {"resourceDomains": ["https://a.example"]}},
        {"csp": "none"},
        {"permissions": {"camera": {}}},
        {"permissions": ["camera"]},
    ],
)
def test_pages_that_ask_for_something(wishes: dict[str, Any]) -> None:
    assert broken_by(read(_meta={"ui": wishes})) == {"XMCP-MCP-063"}


@pytest.mark.parametrize(
    ("meta", "names"),
    [
        ({"ui": {"resourceUri": VIEW_URI}}, True),
        ({"ui": {"resourceUri": "ui://acme/own"}}, False),
        ({"ui": VIEW_URI}, False),
        ({}, False),
    ],
)
def test_which_tools_name_the_view(meta: dict[str, Any], names: bool) -> None:
    assert names_view(ListedTool("t", {}, meta, read_only=True)) is names


def test_where_no_server_can_know_its_client_nothing_is_said_of_who_is_told() -> None:
    assert {seen.requirement for seen in view(read(), known=False)} == OF_THE_VIEW - {"XMCP-MCP-061"}
