"""The checks of gateways are tested: what conforms passes, and each wrong gateway breaks its own sentence alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from xmcp_conformance.core.events import Event, Noted, NotReached, Observed, Shortcoming
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.gateway.options import Options, Prompts
from xmcp_conformance.profiles.gateway.scripted_model import PROMPTS, ScriptedModel
from xmcp_conformance.profiles.gateway.visit import check
from xmcp_conformance.reports.case_report import CHATS, CaseReport
from xmcp_conformance.wrong.gateways.miniature import Miniature
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
