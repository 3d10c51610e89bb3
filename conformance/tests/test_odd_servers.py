"""What is right and odd is not blamed, and a suite that were too strict would blame it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import pytest
from odd_servers import ODD

from xmcp_conformance.core.observation import broken
from xmcp_conformance.profiles.server import blackbox, run
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.wrong.kill_matrix import reported

FEW = Options(examples=2, calls=24)
TWO_FIT = {"size": "small", "count": "7"}


def _code(exchange: Exchange) -> str | None:
    document = exchange.reading.document
    return document.error.code if document and document.error else None


def _text(exchange: Exchange) -> str:
    return exchange.text or ""


def _said(exchange: Exchange) -> str:
    document = exchange.reading.document
    return (document and document.llm_output) or ""


def _two_answers_differ() -> Callable[[Exchange], bool]:
    known: dict[str, str] = {}
    return lambda exchange: known.setdefault(exchange.call.key, _said(exchange)) != _said(exchange)


@dataclass(frozen=True, slots=True)
class OverStrict:
    """A check that is too strict, the odd server that it blames, and the call of its own that it makes, if any."""

    odd: str
    blames: Callable[[Exchange], bool]
    call: ToolCall | None = None


OVER_STRICT = {
    "wants references and no CDATA": OverStrict("WritesCdata", lambda x: "<llm_output><![CDATA[xmcp[" in _text(x)),
    "wants &lt;": OverStrict(
        "WritesNumbersForCharacters", lambda x: "<" in "".join(x.call.traps) and "&lt;" not in _text(x)
    ),
    "wants the tool name first": OverStrict(
        "WritesAttributesBackwards", lambda x: not _text(x).startswith("<tool_response tool_name=")
    ),
    "wants a version": OverStrict("LeavesTheVersionOut", lambda x: 'version="1.0"' not in _text(x)),
    "wants a call id": OverStrict("LeavesTheVersionOut", lambda x: "call_id=" not in _text(x)),
    "wants no space between children": OverStrict("IndentsTheChildren", lambda x: ">\n" in _text(x)),
    "knows each element": OverStrict("AddsElementsOfItsOwn", lambda x: "<a:cost" in _text(x)),
    "knows each attribute": OverStrict("AddsElementsOfItsOwn", lambda x: " a:trace=" in _text(x)),
    "wants the word true": OverStrict("SaysOneForTrue", lambda x: re.search('retryable="(?!true|false)', _text(x))),
    "wants compact JSON": OverStrict("WritesPrettyJson", lambda x: "<display>\n" in _text(x)),
    "wants the trap echoed": OverStrict(
        "TellsOnlyHowLongTheTextWas",
        lambda x: x.call.name == "echo" and any(trap not in _said(x) for trap in x.call.traps),
    ),
    "wants the same answer twice": OverStrict("SaysSomethingElseEachTime", _two_answers_differ()),
    "wants an error for a text that is a number": OverStrict(
        "TakesTextsForNumbers",
        lambda x: x.call.arguments == TWO_FIT and _code(x) is None,
        ToolCall(None, "limits", TWO_FIT, Intent.VALID),
    ),
    "wants a document about an unknown tool": OverStrict("HasNoSuchTool", lambda x: x.rpc_error is not None),
    "wants each argument named once": OverStrict(
        "NamesArgumentsTwice", lambda x: _text(x).count('"pointer"') != len(x.call.refused) > 0
    ),
    "wants forged values ignored": OverStrict("ForbidsOverrides", lambda x: x.call.forged and _code(x) is not None),
    "takes each path for a leak": OverStrict("NamesARoute", lambda x: re.search(r"/\w+/\w+/", _text(x))),
    "knows each member of meta": OverStrict("AddsMembersOfItsOwn", lambda x: '"acme/rule"' in _text(x)),
    "wants one block": OverStrict("SendsMoreBlocks", lambda x: len((x.result or {}).get("content", ())) > 2),
    "does not wait": OverStrict("IsBusyAtTimes", lambda x: x.call.name == "echo" and _code(x) == "RATE_LIMIT"),
}


@pytest.mark.parametrize("name", ODD)
async def test_what_is_right_and_odd_is_not_blamed(name):
    assert await reported(ODD[name](), FEW) == ()


@pytest.mark.parametrize("name", OVER_STRICT)
async def test_a_check_that_is_too_strict_blames_an_odd_server(name):
    strict = OVER_STRICT[name]
    judge, plan = run.exchange_observations, blackbox.plan

    def too_strict(exchange, *arguments, **named):
        yield from judge(exchange, *arguments, **named)
        if strict.blames(exchange):
            yield broken("XMCP-RSP-001", "too strict", json.dumps(exchange.call.arguments))

    def with_one_more(*arguments, **named):
        yield from plan(*arguments, **named)
        if strict.call is not None:
            yield (strict.call,)

    with (
        patch.object(run, "exchange_observations", too_strict),
        patch.object(blackbox, "plan", with_one_more),
    ):
        assert "XMCP-RSP-001" in await reported(ODD[strict.odd](), Options(examples=1, eras=("newest",)))


def test_each_odd_server_is_there_for_a_check_that_would_be_too_strict():
    assert {strict.odd for strict in OVER_STRICT.values()} == ODD.keys()
