"""The suite is tested: what conforms passes, and each mutant breaks its own requirement and no other."""

from __future__ import annotations

from dataclasses import replace

import mcp_types
import pytest
from server_reports import report_on

from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.server.call_plan import NO_SUCH_TOOLS
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.miniature import Failure, Miniature, Negotiated, Plain

MUTANTS = server_mutants()
FEW = Options(examples=2, calls=24)


async def judged(miniature: Miniature, options: Options = FEW) -> ServerReport:
    return await report_on(miniature, options)


ONLY_NEGOTIATED = {f"XMCP-MCP-{number:03}" for number in [15, *range(20, 26), 44, 47, 48, 50]} | {
    "XMCP-VER-001",
    "XMCP-VER-002",
}


async def test_the_miniature_conforms_in_both_eras_and_gives_occasion_for_every_check_of_its_wire():
    report = await judged(Miniature())
    runs = [str(run) for run in report.runs]
    newest = "memory, 2026-07-28"
    handshake = "memory, 2025-11-25"
    as_others = [f"{newest}, maxBytes 4096", f"{newest}, plain client", f"{newest}, client with MCP Apps"]
    assert runs == [newest, *as_others, handshake, f"{handshake}, client with MCP Apps"]
    # One of each of three tools and of one that fills parameters in, and for the display of each of three.
    assert report.runs[2].calls == report.runs[2].answers == 13
    unseen = {j.requirement.id: j.status for j in report.judgements if j.status is not Status.PASS}
    assert unseen == dict.fromkeys(ONLY_NEGOTIATED, Status.NOT_OBSERVED)
    assert report.exit_code is ExitCode.CONFORMS


async def test_a_miniature_that_negotiates_conforms_and_gives_occasion_for_every_check():
    report = await judged(Negotiated())
    eras = ("memory, 2026-07-28", "memory, 2025-11-25")
    runs = [str(run) for run in report.runs]
    assert [run for run in runs if run.partition(", plain")[0] in eras] == [
        run for era in eras for run in (era, f"{era}, plain client")
    ]
    assert runs[3:5] == [f"{eras[0]}, client of version 99.0", f"{eras[0]}, client without documents"]
    assert {j.requirement.id: j.status for j in report.judgements if j.status is not Status.PASS} == {}
    declared, limited, plain = report.runs[:3]
    assert limited.calls == limited.answers > 0
    assert (plain.calls, plain.answers) == (declared.calls, declared.answers)


def test_every_requirement_that_server_checks_verify_has_a_mutant():
    assert set(MUTANTS) == {requirement.id for requirement in registry().verified_by("server")}


@pytest.mark.slow
@pytest.mark.parametrize("requirement", MUTANTS)
async def test_a_mutant_breaks_its_own_sentence_and_no_other(requirement):
    report = await report_on(MUTANTS[requirement](), FEW, direct=True)
    red = {j.requirement.id: j.first for j in report.judgements if j.status in (Status.FAIL, Status.WARN)}
    assert set(red) == {requirement}, {id_: first.observation for id_, first in red.items()}
    assert red[requirement].observation.seen
    assert red[requirement].observation.expected


@pytest.mark.parametrize("requirement", MUTANTS)
def test_a_mutant_says_what_it_does_wrong(requirement):
    assert MUTANTS[requirement].__doc__ != Miniature.__doc__
    assert MUTANTS[requirement].__doc__.strip().endswith(".")


async def test_a_broken_should_warns_and_fails_only_when_strict():
    mutant = MUTANTS["XMCP-DSP-012"]
    assert (await judged(mutant())).exit_code is ExitCode.CONFORMS
    assert (await judged(mutant(), Options(examples=2, strict=True))).exit_code is ExitCode.DOES_NOT_CONFORM


async def test_the_same_seed_makes_the_same_calls():
    first, second = await judged(Miniature()), await judged(Miniature())
    assert [e.call for e in first.observed] == [e.call for e in second.observed]
    assert first.runs[0].calls > 40


class _Writes(Miniature):
    """Has no tool that is marked read-only, nor any that is cacheable."""

    def metadata(self, name):
        metadata = super().metadata(name)
        return {**metadata, "cacheable": False} if name == "listing" else metadata

    def listed(self, name):
        return super().listed(name).model_copy(update={"annotations": None})


async def test_tools_that_may_write_are_not_called_and_what_was_not_seen_is_not_green():
    report = await judged(_Writes())
    # Only the calls of tools that do not exist were made, and they were answered as they have to be.
    of_calls = [run for run in report.runs if run.started.client != "apps"]
    assert [(run.calls, run.answers) for run in of_calls] == [(len(NO_SUCH_TOOLS), 0)] * 2
    assert not any(j.broken for j in report.judgements)
    assert report.exit_code is ExitCode.DOES_NOT_CONFORM
    assert any("not marked read-only" in note for note in report.runs[0].notes)
    assert Status.NOT_OBSERVED in {j.status for j in report.judgements}


async def test_tools_that_may_write_are_called_when_that_is_allowed():
    report = await judged(_Writes(), Options(examples=2, allow_writes=True))
    assert report.exit_code is ExitCode.CONFORMS
    assert report.runs[0].calls > 40


class _NamesOnlyTheFirst(Miniature):
    """Names one of the arguments that it refuses."""

    def refused(self, fields):
        return super().refused(fields[:1])


class _AnnouncesAnotherVersion(Miniature):
    """Announces a version that it does not emit."""

    def extensions(self):
        return {name: {**entry, "versions": ["9.9"]} for name, entry in super().extensions().items()}


class _NamesOnlyWhatItTells(Miniature):
    """Names one of the two parameters that it filled in."""

    def filled_in(self, name, forged):
        return {"values": {"user_id": "u-17"}} if name == "orders" else None


@pytest.mark.parametrize(
    ("miniature", "requirement"),
    [
        (_NamesOnlyTheFirst, "XMCP-ERR-021"),
        (_AnnouncesAnotherVersion, "XMCP-CNF-003"),
        (_NamesOnlyWhatItTells, "XMCP-TOL-021"),
    ],
)
async def test_half_a_truth_breaks_the_sentence_too(miniature, requirement):
    report = await judged(miniature())
    assert {j.requirement.id for j in report.judgements if j.first is not None} == {requirement}


class _Jams(Miniature):
    """Has a tool that fails with many words, every time."""

    def tools(self):
        return {**super().tools(), "jam": super().tools()["busy"]}

    def run(self, name, arguments):
        if name == "jam":
            raise Failure("X_ACME_JAM", "Paper is in the way. " * 300, {"category": "unavailable"})
        return super().run(name, arguments)


class _CallsALargeFailureTooLarge(_Jams):
    """Forgets why a call failed where the words are too many."""

    def shortened(self, failure):
        return self.too_large()


class _CutsALargeResult(Miniature):
    """Sends the beginning of a text that is too long."""

    def fitted(self, name, arguments, result, most):
        fitted = super().fitted(name, arguments, result, most)
        if fitted is result:
            return result
        cut = self.llm_output(arguments["text"][:600] if "text" in arguments else "").replace(
            ">", ' truncated="true">', 1
        )
        return self.result(self.document(name, cut), failed=False)


@pytest.mark.parametrize("wrong", [_CallsALargeFailureTooLarge, _CutsALargeResult])
async def test_what_is_too_large_for_a_client_is_called_so_and_what_failed_keeps_its_code(wrong):
    report = await judged(wrong(), Options(examples=2, eras=("newest",)))
    assert {j.requirement.id for j in report.judgements if j.first is not None} == {"XMCP-MCP-051"}


class _HasLessToday(Miniature):
    """Has a shorter answer than before where a client reads little."""

    def fitted(self, name, arguments, result, most):
        fitted = super().fitted(name, arguments, result, most)
        return result if fitted is result else self.result(self.document(name, self.llm_output("None.")), failed=False)


class _IsBusyWhenItIsAskedAgain(Miniature):
    """Refuses a call that it was asked for a moment ago."""

    def too_large(self):
        return Failure("RATE_LIMIT", "Wait a moment.", self.busy())


class _FailsInAnotherWay(_Jams):
    """Fails every time, with one reason or another."""

    def shortened(self, failure):
        return Failure("X_ACME_FIRE", "The paper burns.", {**failure.attributes, "category": "unavailable"})


@pytest.mark.parametrize("odd", [_Jams, _HasLessToday, _IsBusyWhenItIsAskedAgain, _FailsInAnotherWay])
async def test_an_answer_that_is_smaller_for_a_reason_of_its_own_is_right(odd):
    report = await judged(odd(), Options(examples=2, eras=("newest",)))
    assert {j.requirement.id: str(j.first.observation) for j in report.judgements if j.first is not None} == {}
    assert "maxBytes 4096" in str(report.runs[1])


class _SaysShownToEverybody(Miniature):
    """Tells each model that the person sees the display, in documents."""

    def without_a_renderer(self, text):
        return text


class _SaysShownToEverybodyInPlainResults(Plain):
    """The same in plain results."""

    without_a_renderer = _SaysShownToEverybody.without_a_renderer


class _TellsTheModelsOfItsClients(Plain):
    """Writes what is for the user alone into the text for the model of a client that declared the extension."""

    def outcome(self, name, arguments, *, declared):
        outcome = super().outcome(name, arguments, declared=declared)
        return replace(outcome, text=f"{outcome.text}\n{outcome.note}") if declared else outcome


@pytest.mark.parametrize(
    ("miniature", "requirement"),
    [
        (_SaysShownToEverybody, "XMCP-DSP-025"),
        (_SaysShownToEverybodyInPlainResults, "XMCP-DSP-025"),
        (_TellsTheModelsOfItsClients, "XMCP-MCP-044"),
    ],
)
async def test_a_client_that_declared_and_one_that_did_not_are_compared_over_every_wire(miniature, requirement):
    report = await judged(miniature())
    assert {j.requirement.id for j in report.judgements if j.first is not None} == {requirement}


class _SpellsValuesItsOwnWay(Miniature):
    """Writes what it filled in, and nothing else, as no JSON."""

    def server_populated(self, told):
        return super().server_populated(told).replace('"', "'")


class _SaysHalfOfItWrongly(Miniature):
    """Lists metadata that break the schema in one member and sentences of chapter 5 in the others."""

    def metadata(self, name):
        wrong = {"cacheable": "yes", "depends_on": ["nowhere", name], "server_populated": ["user_id"]}
        return wrong if name == "pair" else super().metadata(name)


@pytest.mark.parametrize(
    ("miniature", "requirement"),
    [(_SpellsValuesItsOwnWay, "XMCP-RSP-040"), (_SaysHalfOfItWrongly, "XMCP-TOL-001")],
)
async def test_what_cannot_be_read_is_judged_for_that_alone(miniature, requirement):
    report = await judged(miniature())
    assert {j.requirement.id for j in report.judgements if j.first is not None} == {requirement}


class _EscapesNothing(Miniature):
    """Writes text as it is, as a template does."""

    def escaped(self, text):
        return text


async def test_a_server_that_escapes_nothing_is_told_just_that():
    report = await judged(_EscapesNothing())
    red = {j.requirement.id for j in report.judgements if j.first is not None}
    assert red == {"XMCP-RSP-022", "XMCP-RSP-023", "XMCP-RSP-024"}


class _Asks(Miniature):
    """Asks the client for input before it answers."""

    def answer(self, name, arguments, *, declared):
        if name == "echo":
            return mcp_types.InputRequiredResult(input_requests={}, request_state="later")
        return super().answer(name, arguments, declared=declared)


async def test_a_question_to_the_client_is_not_taken_for_an_answer():
    report = await judged(_Asks(), Options(examples=2, eras=("newest",)))
    assert not any(j.broken for j in report.judgements)
    assert any("asks the client for input" in note for note in report.runs[0].notes)


class _AnnouncesUnderExperimentalAlone(Miniature):
    """Announces the extension where only the handshake era has it."""

    def server(self):
        server = super().server()
        announced, capabilities = dict(server.extensions), server.get_capabilities
        server.extensions.clear()

        def under_experimental(*arguments, **named):
            return capabilities(*arguments, **named).model_copy(update={"experimental": announced})

        server.get_capabilities = under_experimental
        return server


async def test_the_place_of_the_announcement_is_that_of_the_era():
    report = await judged(_AnnouncesUnderExperimentalAlone(), Options(examples=1))
    red = [event for event in report.observed if not event.observation.ok]
    assert {event.run for event in red if event.observation.requirement == "XMCP-CNF-002"} >= {"memory, 2026-07-28"}
    assert not any("2025" in event.run for event in red)
