"""What a run has to have seen: tools at work, answers, and what a person requires. Too little is never green."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest
from server_reports import report_on

from xmcp_conformance.core.events import CallMade, RunStarted, ToolListed
from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.reports.earlier_run import earlier_run
from xmcp_conformance.reports.required_coverage import Required
from xmcp_conformance.reports.server_json import to_dict
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.reports.unjudged import unjudged, why_not
from xmcp_conformance.wrong.servers.miniature import Miniature

NEWEST = Options(examples=1, eras=("newest",))
STARTED = RunStarted("stdio, e", "server.py", "stdio", "e", "declared", 3)
LISTED = [
    ToolListed("r", "read", called=True, displays=False),
    ToolListed("r", "chart", called=True, displays=True),
    ToolListed("r", "write", called=False, displays=False),
]


def made(tool: str, ending: str, **more: str | bool) -> CallMade:
    return CallMade("r", f"{tool}({{}})", tool, ending, **more)  # type: ignore[arg-type]


def report(*calls: CallMade, required: tuple[str, ...] = ()) -> ServerReport:
    return ServerReport.of([STARTED, *LISTED, *calls], tuple(map(Required, required)))


def test_a_tool_that_the_user_left_out_is_not_counted_in_a_share() -> None:
    without = ToolListed("r", "pay", called=False, displays=False, left_out=True)
    made_and_left_out = [STARTED, LISTED[0], without, made("read", "succeeded")]
    assert not ServerReport.of(made_and_left_out, (Required("100%"),)).shortcomings
    works = made("pay", "succeeded")  # such as the tool of the suite, which is called all the same
    assert ServerReport.of([STARTED, LISTED[0], without, works], (Required("100%"),)).shortcomings
    assert ServerReport.of([*made_and_left_out, LISTED[2]], (Required("100%"),)).shortcomings == [
        "required: 100% of the tools at work, and 1 of 2 were"
    ]


def test_a_tool_is_at_work_when_it_succeeded_and_showed_what_it_can_show() -> None:
    one = report(made("read", "succeeded"), made("chart", "succeeded", asked_to_show=True))
    assert (one.coverage.at_work, len(one.coverage.tools)) == (1, 3)
    assert one.gaps == ["Asked to show a display, and never did: `chart`."]
    failing = report(made("chart", "succeeded"), made("chart", "failed", asked_to_show=True, code="INVALID_PAYLOAD"))
    assert "Asked to show a display, and never did: `chart` (INVALID_PAYLOAD)." in failing.gaps
    silent = report(made("chart", "succeeded"), made("chart", "unanswered", asked_to_show=True))
    assert "Asked to show a display, and never did: `chart` (no answer)." in silent.gaps
    unasked = report(made("read", "succeeded"), made("chart", "succeeded"))
    assert unasked.gaps == ["Can show a display, and was not asked to: `chart`."]
    two = report(made("read", "failed", code="NOT_FOUND"), made("chart", "succeeded", display="chart"))
    assert two.coverage.at_work == 1
    assert two.gaps == [
        "Never succeeded: `read` (NOT_FOUND). At most their errors were judged. "
        "An `enum` or `examples` for the arguments would help, such as `Field(examples=[…])`."
    ]
    failing = report(
        made("read", "failed", code="INTERNAL", error_id="7f"), made("chart", "succeeded", display="chart")
    )
    assert failing.gaps[0].endswith(
        "judged. The server's log has the reason of `INTERNAL` by `error_id`, such as `7f`; "
        "`--log` keeps that of a command."
    )


@pytest.mark.parametrize(("type_", "known"), [("chart", True), ("x-acme-map", True), ("pie_chart", False)])
def test_a_type_of_display_that_nobody_defines_is_named(type_: str, known: bool) -> None:
    gaps = report(made("read", "succeeded"), made("chart", "succeeded", display=type_)).gaps
    assert [gap for gap in gaps if f"`{type_}` of `chart`" in gap] == gaps
    assert (gaps == []) is known


@pytest.mark.parametrize(
    ("required", "missed"),
    [
        ("read", None),
        ("chart", "required: the tool `chart`, which showed no display"),
        ("write", "required: the tool `write`, which was not called"),
        ("raed", "required: the tool `raed`, which is not listed; is it `read`?"),
        ("33%", None),
        ("34%", "required: 34% of the tools at work, and 1 of 3 were"),
        ("XMCP-RSP-001", "required: XMCP-RSP-001 judged, and nothing gave occasion"),
    ],
)
def test_what_is_required_and_was_not_seen_is_not_green(required: str, missed: str | None) -> None:
    one = report(made("read", "succeeded"), made("chart", "succeeded"), required=(required,))
    assert one.shortcomings == ([] if missed is None else [missed])
    assert one.exit_code is (ExitCode.CONFORMS if missed is None else ExitCode.DOES_NOT_CONFORM)


@pytest.mark.parametrize(
    ("required", "words"),
    [
        ("XMCP-RSP-999", "no sentence has the id `XMCP-RSP-999`; is it `XMCP-RSP-0"),
        ("XMCP-DSP-999", "is it `XMCP-DSP-0"),
        ("XMCP-CLI-001", "not judged by what a server answers"),
        ("101%", "at most 100%"),
        ("0%", "more than 0%"),
        ("80", "as in `80%`"),
        ("xmcp-rsp-020", "is it `XMCP-RSP-020`?"),
    ],
)
def test_what_no_run_can_show_is_refused(required: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Required(required)


async def test_an_id_that_was_judged_is_seen() -> None:
    one = await report_on(Miniature(), NEWEST)
    one.required = tuple(map(Required, ("XMCP-RSP-001", "echo", "50%")))
    assert one.exit_code is ExitCode.CONFORMS


class _Hangs(Miniature):
    """Has a tool that never answers."""

    async def pause(self, name):
        if name == "listing":
            await anyio.sleep_forever()


async def test_a_call_without_an_answer_is_not_green() -> None:
    one = await report_on(_Hangs(), replace(NEWEST, tool_timeouts=(("listing", 0.5),)))
    assert not one.fails
    assert one.exit_code is ExitCode.DOES_NOT_CONFORM
    (said,) = one.shortcomings
    assert said == "1 call was not answered: listing({})"
    assert one.coverage.tools["listing"].unanswered == 1
    assert to_dict(one)["runs"][0]["unanswered"] == 1


async def test_what_an_earlier_run_covered_and_this_one_does_not_is_named(tmp_path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(to_dict(await report_on(Miniature(), NEWEST))))
    same = await report_on(Miniature(), NEWEST)
    same.earlier = earlier_run(path)
    assert not [gap for gap in same.gaps if "earlier" in gap]
    less = report(made("read", "succeeded"))
    less.earlier = earlier_run(path)
    ids, tools = [gap for gap in less.gaps if "earlier" in gap]
    assert "XMCP-RSP-001" in ids
    assert "`echo`" in tools


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', "[" * 100_000])
def test_a_file_that_is_no_report_is_refused(tmp_path, text) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"xmcp check server --json"):
        earlier_run(path)


async def test_each_sentence_for_servers_is_judged_or_has_a_reason() -> None:
    one = await report_on(Miniature(), NEWEST)
    mine = {each.id for each in registry().requirements.values() if each.role in ("server", "emitter")}
    judged = {each.requirement.id for each in one.judgements if each.occasions}
    reasons = {each.id: why_not(each) for each in unjudged(one)}
    assert judged | reasons.keys() == mine
    assert not judged & reasons.keys()
    assert all(reasons.values())
    assert to_dict(one)["not_judged"] == reasons


class _OneTool(Miniature):
    """Has one tool, with nothing that the specification adds."""

    def tools(self):
        return {"echo": super().tools()["echo"]}

    def metadata(self, name):
        return {}


async def test_the_reason_names_what_would_give_occasion() -> None:
    one = await report_on(_OneTool(), NEWEST)
    without = [each for each in unjudged(one) if "server" in each.verified_by]
    assert len(without) > 30
    assert [each.id for each in without if "an answer that gives occasion" in why_not(each)] == []
