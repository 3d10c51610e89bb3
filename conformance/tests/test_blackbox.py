"""A run of the black-box profile against peers that misbehave around the document."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from xmcp_conformance import blackbox
from xmcp_conformance.blackbox import Options, Run, check
from xmcp_conformance.exchange import Call, Catalogue, Exchange, Tool
from xmcp_conformance.miniature import Failure, Miniature
from xmcp_conformance.peer import InMemoryPeer
from xmcp_conformance.report.terminal import show
from xmcp_conformance.server_checks import of_exchange

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
CATALOGUE = Catalogue("2025-11-25", {}, tuple(Tool(name, SCHEMA, {}, read_only=True) for name in ("slow", "quick")))


def red(report):
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


class _ShowsRefusals(Miniature):
    """Sends a display with an error, asked or not."""

    def error(self, failure: Failure) -> str:
        shown = failure.code == "VALIDATION_FAIL"
        return super().error(failure) + (self.display({"type": "text", "payload": "no"}) if shown else "")


async def test_a_display_that_nobody_asked_for_is_seen_on_a_refusal_too():
    assert red(await check([InMemoryPeer(_ShowsRefusals().server())], Options(examples=1))) == {"XMCP-DSP-021"}


class _NamesThatAct(Miniature):
    """Has a tool and a property whose names are terminal control sequences."""

    def tools(self):
        named = {"type": "object", "properties": {"\x1b[31m": {"type": "string"}}, "required": ["\x1b[31m"]}
        return {**super().tools(), "\x1b]0;owned\x07": named}

    def refuse(self, name, arguments):
        """Lets everything pass."""

    def metadata(self, name):
        return {"depends_on": {"\x1b[2J": 1}}


async def test_names_of_the_peer_cannot_act_on_the_terminal():
    report = await check([InMemoryPeer(_NamesThatAct().server())], Options(examples=1))
    out = io.StringIO()
    show(report, Console(file=out, width=200, force_terminal=False))
    assert "\x1b" not in out.getvalue()
    assert not any("\x1b" in evidence.call + evidence.observation.seen for evidence in report.evidence)
    assert "owned" in out.getvalue()


class _Session:
    """Answers as it is told, and keeps the calls."""

    def __init__(self, answer) -> None:
        self.calls = []
        self._answer = answer

    async def call(self, call: Call) -> Exchange:
        self.calls.append(call.name)
        return self._answer(call)


async def test_a_tool_that_does_not_answer_is_called_once():
    session = _Session(lambda call: Exchange(call, lost="no answer within 1 s" if call.name == "slow" else None))
    run = Run("peer", "memory", "2025-11-25")
    judged = [e.call.name async for e in blackbox._exchanges(session, CATALOGUE, Options(examples=3), run)]
    assert session.calls.count("slow") == 1
    assert session.calls.count("quick") == judged.count("quick") > 1
    assert "slow" not in judged
    assert any("not judged" in note for note in run.notes)


async def test_a_text_too_long_to_read_is_noted_and_not_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blackbox, "LONGEST", 10)
    session = _Session(lambda call: Exchange(call, result={"content": [{"type": "text", "text": "x" * 11}]}))
    run = Run("peer", "memory", "2025-11-25")
    assert [e async for e in blackbox._exchanges(session, CATALOGUE, Options(examples=1), run)] == []
    assert any("not judged" in note for note in run.notes)


def test_a_result_that_is_not_mcps_breaks_the_binding_and_nothing_else():
    exchange = Exchange(Call(None, "t", {}), malformed="a result that MCP does not allow")
    assert [o.requirement for o in of_exchange(exchange)] == ["XMCP-MCP-001"]
