"""The checks of gateways are tested: what conforms passes, and each wrong gateway breaks its own sentence alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from xmcp_conformance.core.events import Event, Noted, NotReached, Observed, Shortcoming
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.gateway import cancelled_chats
from xmcp_conformance.profiles.gateway.options import Options, Paths, Prompts
from xmcp_conformance.profiles.gateway.scripted_model import PROMPTS, ScriptedModel
from xmcp_conformance.profiles.gateway.visit import check
from xmcp_conformance.reports.case_report import CHATS, CaseReport
from xmcp_conformance.wrong.gateways.miniature import TEXT, Miniature
from xmcp_conformance.wrong.registry import registered

WRONG = registered("gateway")
OPTIONS = Options("", PROMPTS, (("Authorization", "Bearer key-of-the-caller"),), seconds=20, cancel_seconds=0.2)


async def judged(
    gateway: Callable[[ScriptedModel | None], Any] = Miniature, options: Options = OPTIONS, *, with_model: bool = True
) -> tuple[CaseReport, list[Event]]:
    """Return the report on a gateway that is served on a port of this machine, and the events."""
    model = ScriptedModel(lambda _: None) if with_model else None
    report, events = CaseReport(CHATS), list[Event]()
    host = Host()
    await host.serve(gateway(model).app)

    def add(event: Event) -> None:
        events.append(event)
        report.add(event)

    try:
        await check(replace(options, url=host.url), add, "miniature", model)
    finally:
        await host.close()
    return report, events


def broken(events: list[Event]) -> dict[str, str]:
    return {
        event.observation.requirement: f"{event.call}: {event.observation}"
        for event in events
        if isinstance(event, Observed) and not event.observation.ok
    }


async def test_the_miniature_conforms_and_gives_occasion_for_every_check():
    report, events = await judged()
    assert broken(events) == {}
    assert [one.requirement.id for one in report.judgements if one.status is not Status.PASS] == []
    assert [event for event in events if isinstance(event, NotReached | Noted | Shortcoming)] == []
    assert report.exit_code is ExitCode.CONFORMS


async def test_without_the_suites_own_model_only_its_arguments_are_not_judged():
    report, _ = await judged(with_model=False)
    assert {one.requirement.id for one in report.judgements if one.status is not Status.PASS} == {"XMCP-REC-046"}
    assert report.exit_code is ExitCode.CONFORMS


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: one.implementation.__name__)
async def test_a_wrong_gateway_breaks_its_own_sentence_and_no_other(wrong):
    _, events = await judged(wrong.implementation)
    assert set(broken(events)) == set(wrong.requirements), broken(events)
    assert [event for event in events if isinstance(event, NotReached)] == []


def test_every_requirement_that_checks_of_gateways_verify_has_a_wrong_gateway():
    found = {id_ for one in WRONG for id_ in one.requirements}
    assert found == {requirement.id for requirement in registry().verified_by("gateway")}
    assert all(one.implementation.__doc__ != Miniature.__doc__ for one in WRONG)


async def test_what_was_not_seen_is_said_and_is_not_green():
    report, events = await judged(
        options=replace(OPTIONS, prompts=Prompts(("hello",))), gateway=_CallsNothing, with_model=False
    )
    assert report.exit_code is ExitCode.DOES_NOT_CONFORM
    assert ["no tool was called" in one for one in report.shortcomings] == [True]
    assert len([event for event in events if isinstance(event, Noted)]) == 2
    assert broken(events) == {}


class _CallsNothing(Miniature):
    def call(self):
        return [("usage", self.usage_record(1))]

    def whole(self, run):
        return {**super().whole(run), "tools_used": []}


class _SendsMore(Miniature):
    """Has comments, fields, types and members of its own, line ends of another system, and data in two lines."""

    def begin(self):
        return ": hello\r\rretry: 5\r\r"

    def drafts(self, prompt, run):
        first, *rest = super().drafts(prompt, run)
        more = [("x_acme.mood", {"mood": "good"}), ("notice", {"kind": "x_acme", "step": 9, "unit": "EUR"})]
        return [first, *more, *((type_, {**data, "x_acme": 1}) for type_, data in rest)]

    def sent(self, run, seq):
        lines = super().sent(run, seq).replace("data: {", "data:{\ndata:")
        return f": more\n{lines}".replace("\n", "\r\n")

    def whole(self, run):
        return {**super().whole(run), "latency_ms": 5}

    def choice(self, delta, finish=None):
        return {**super().choice(delta, finish), "logprobs": None}

    def beside(self, chunk, event):
        return {**super().beside(chunk, event), "usage": None, "event": {"type": "status"}}

    def message(self):
        return {**super().message(), "tool_calls": None, "refusal": None}

    def done(self):
        yield ": bye\n\n"
        yield from super().done()


class _KeepsNoEvents(Miniature):
    """Keeps of a run only what it came to, and the last event."""

    def stand_in(self, run, after):
        until = len(run.events) - 1
        if after >= until:
            return "", after
        data = json.dumps({"status": "running", "segments": [{"text": TEXT}], "tools_used": []})
        gap = f"event: stream.gap\ndata: {{}}\n\nid: {self.id_of(run, until)}\nevent: snapshot\ndata: {data}\n\n"
        return ("", after) if not after and not run.ended else (gap if after else "", until if after else 0)


class _BeginsAgain(Miniature):
    """Begins a run again, as after the death of its process."""

    def id_of(self, run, seq):
        return f"{run.id}:1:{seq}" if seq < 3 else f"{run.id}:2:{seq - 2}"


class _SaysNothingBesideText(Miniature):
    """Has no events beside its chunks."""

    def beside(self, chunk, event):
        return {**chunk, "event": {"type": "status", "data": {"description": event["type"]}}}


@pytest.mark.parametrize("odd", [_SendsMore, _KeepsNoEvents, _BeginsAgain, _SaysNothingBesideText])
async def test_what_is_odd_and_right_is_right(odd):
    report, events = await judged(odd)
    assert broken(events) == {}
    assert report.exit_code is ExitCode.CONFORMS


async def test_addresses_at_which_there_is_nothing_are_named_and_judge_nothing():
    paths = Paths(resume="/nothing/RUN", cancel="/nothing/RUN")
    report, events = await judged(options=replace(OPTIONS, paths=paths))
    assert broken(events) == {}
    assert any("--resume-path" in event.reason for event in events if isinstance(event, NotReached))
    assert any("--cancel-path" in one for one in report.shortcomings)
    unseen = {one.requirement.id for one in report.judgements if one.status is Status.NOT_OBSERVED}
    assert unseen == {"XMCP-STR-023", "XMCP-STR-024", "XMCP-STR-025", "XMCP-REC-044"}
    assert report.exit_code is ExitCode.SUITE_FAILED


async def test_a_gateway_without_streams_of_its_own_is_judged_by_its_chunks():
    report, events = await judged(options=replace(OPTIONS, paths=Paths(chat="")))
    assert broken(events) == {}
    assert {one.call for one in events if isinstance(one, Observed)} >= {"a wrong request for a completion"}
    assert not any(one.occasions for one in report.judgements if one.requirement.id == "XMCP-STR-022")
    assert report.exit_code is ExitCode.CONFORMS


class _Endless(Miniature):
    """Goes on for ever after it was cancelled."""

    async def stop(self, run):
        pass

    async def write(self, run):
        while True:
            run.add(("text.delta", {"step": 1, "text": "more "}))
            await asyncio.sleep(0.01)


async def test_a_run_that_never_ends_is_left():
    with patch.object(cancelled_chats, "_STUCK_SECONDS", 0.3):
        _, events = await judged(_Endless)
    assert set(broken(events)) == {"XMCP-STR-025"}


class _NamesAPath(Miniature):
    """Has ids of runs that lead to another address."""

    def whole(self, run):
        return {**super().whole(run), "run_id": "../../admin"}


async def test_an_id_that_is_a_path_is_not_followed():
    _, events = await judged(_NamesAPath)
    reasons = [event.reason for event in events if isinstance(event, NotReached)]
    assert reasons == ["The gateway has a run with the id `../../admin`, which is none."] * 2
