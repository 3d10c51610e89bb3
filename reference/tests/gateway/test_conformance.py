"""Our gateway is judged by the suite, as anybody's: with the suite's model, with models of its own, by the command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.clock import never
from support.gateways import served
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.providers import Completion, ModelRequest, OpenAIProvider, Reasoning
from xmcp_conformance.core.events import Event, Noted, NotReached, Observed
from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.gateway import scripted_model
from xmcp_conformance.profiles.gateway.options import Options, Paths, Prompts
from xmcp_conformance.profiles.gateway.visit import check
from xmcp_conformance.profiles.server.arguments import readable
from xmcp_conformance.reports.case_report import CHATS, CaseReport


class Verdict:
    """What the suite says of a gateway."""

    def __init__(self) -> None:
        self.report = CaseReport(CHATS)
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.report.add(event)

    @property
    def faults(self) -> list[str]:
        observed = (event for event in self.events if isinstance(event, Observed))
        missing = [f"{event.peer}: {event.reason}" for event in self.events if isinstance(event, NotReached)]
        return missing + [f"{event.call}: {event.observation}" for event in observed if not event.observation.ok]

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Noted)]

    @property
    def unseen(self) -> set[str]:
        return {one.requirement.id for one in self.report.judgements if one.status is Status.NOT_OBSERVED}


@asynccontextmanager
async def the_suites_model() -> AsyncIterator[tuple[scripted_model.ScriptedModel, OpenAIProvider]]:
    model, host = scripted_model.ScriptedModel(readable), Host()
    await host.serve(model.app)
    try:
        yield model, OpenAIProvider("sk-of-a-vendor", base_url=f"{host.url}/v1", model="scripted")
    finally:
        await host.close()


KEY = {"name": "front", "tenant": "acme", "env": "FRONT_END_KEY"}


@pytest.mark.parametrize("display", ["exit", "continue"])
async def test_it_conforms_with_the_suites_model_and_every_sentence_applies(display: str) -> None:
    config = {"openai": {"events": "xmcp"}, "keys": [KEY]}
    verdict = Verdict()
    async with the_suites_model() as (model, provider), served(provider, config, display=display) as gateway:
        headers = (("Authorization", "Bearer xmcp_front"),)
        options = Options(gateway.url, scripted_model.PROMPTS, headers, seconds=30)
        await check(options, verdict.add, "ours", model)
    assert verdict.faults == []
    assert verdict.notes == []
    assert verdict.unseen == set()
    assert verdict.report.exit_code is ExitCode.CONFORMS
    assert model.credentials == ["sk-of-a-vendor"]


@pytest.mark.parametrize("profile", ["none", "openwebui"])
async def test_it_conforms_whatever_it_says_beside_the_text(profile: str) -> None:
    verdict = Verdict()
    config = {"openai": {"events": profile}}
    async with the_suites_model() as (model, provider), served(provider, config) as gateway:
        await check(Options(gateway.url, scripted_model.PROMPTS, seconds=30), verdict.add, "ours", model)
    assert verdict.faults == []
    assert verdict.unseen == {"XMCP-STR-032"}


def telling(stories: Mapping[str, Sequence[Any]]) -> ScriptedModel:
    """Return a model that answers each question with the answers that it has for it, one after the other."""

    def answer(request: ModelRequest) -> Any:
        asked = max(at for at, one in enumerate(request.messages) if one["role"] == "user")
        answers = stories[str(request.messages[asked]["content"])]
        said = sum(one["role"] == "assistant" for one in request.messages[asked:])
        return answers[min(said, len(answers) - 1)]

    return ScriptedModel(then=answer)


BROKEN = ProviderError("the connection broke", category=ErrorCategory.NETWORK, began=True)
REFUSED = ProviderError("no", category=ErrorCategory.AUTH)
CLARIFY = ("__clarify__", {"question": "Which region?"})
STORIES: Mapping[str, Sequence[Any]] = {
    "two at once": [asks(("add", {"a": 1, "b": 2}), ("sales", {"region": "EMEA"}), text="Both."), "Three, and 42."],
    "a tool that fails": [asks("fail"), "It failed."],
    "no such tool": [asks("nowhere"), "There is none."],
    "no arguments": [asks(("add", "{{")), "They were none."],
    "two displays": [
        asks(("sales", {"region": "A", "show_user": True}), ("sales", {"region": "B", "show_user": True})),
        "Both are above.",
    ],
    "the same twice": [asks(("add", {"a": 1, "b": 2}), ("add", {"a": 1, "b": 2})), "Three."],
    "no end": [asks(("add", {"a": 1, "b": 2}), text="Again.")],
    "a thought": [asks(("__think__", {"thought": "hm"}), text="Let me think."), "Done."],
    "no text": [asks(("add", {"a": 1, "b": 2})), Completion("")],
    "cut": [asks(("add", {"a": 1, "b": 2})), Completion("It is th", finish_reason="length")],
    "many pieces": [[*(f"{n} " for n in range(3_000)), Completion("".join(f"{n} " for n in range(3_000)))]],
}
FAILING: Mapping[str, Sequence[Any]] = {
    "refused at once": [REFUSED],
    "refused later": [asks(("add", {"a": 1, "b": 2}), text="I add."), REFUSED],
    "broken again and again": [asks(("add", {"a": 1, "b": 2})), ["It is ", BROKEN]],
}


async def test_whatever_happens_in_a_chat_its_streams_obey_every_sentence() -> None:
    verdict = Verdict()
    options: dict[str, Any] = {"display": "continue", "max_turns": 3, "meta_tools": ["think"]}
    async with served(telling({**STORIES, **FAILING}), {"openai": {"events": "xmcp"}}, **options) as gateway:
        asked = Options(gateway.url, Prompts(tuple(STORIES), tuple(FAILING)), seconds=30)
        await check(asked, verdict.add, "ours")
    assert verdict.faults == []
    assert verdict.unseen <= {"XMCP-STR-025", "XMCP-REC-045", "XMCP-REC-046"}


async def test_a_question_of_the_client_is_told_also_after_other_text() -> None:
    thinks_and_asks = [Reasoning("hm"), asks(CLARIFY)]
    asking = {
        "asks": [asks(CLARIFY, text="Let me see.")],
        "asks at once": [asks(CLARIFY)],
        "asks after a thought": [thinks_and_asks],
    }
    verdict = Verdict()
    async with served(telling(asking), {"openai": {"events": "xmcp"}}, meta_tools=["clarify"]) as gateway:
        await check(Options(gateway.url, Prompts(tuple(asking)), seconds=30), verdict.add, "ours")
    assert verdict.faults == []
    assert "XMCP-REC-043" not in verdict.unseen


@pytest.mark.parametrize(
    "answers", [[asks("wait", ("add", {"a": 1, "b": 2}))], [["It ", never]]], ids=["tool", "model"]
)
async def test_a_chat_whose_time_is_over_ends_as_every_sentence_says(answers: list[Any]) -> None:
    verdict = Verdict()
    async with served(telling({"hangs": answers})) as gateway:
        body = {"input": "PROMPT", "deadline_ms": 500}
        options = Options(gateway.url, Prompts((), ("hangs",)), body=body, paths=Paths(openai=""), seconds=30)
        await check(options, verdict.add, "ours")
    assert verdict.faults == []
    assert "XMCP-STR-022" not in verdict.unseen
