"""Clients in JavaScript chat with the gateway, with tools inside: openai, the AI SDK and its `useChat`, AG-UI."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.gateways import Served, served
from support.scripted_model import ScriptedModel, asks

from tools.node_packages import NODE_FOLDER, Packages
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.usage import Usage
from xmcp.providers import Completion
from xmcp.providers.base import Reasoning

NPM = Path(__file__).parent / "npm"
ANSWER = "It is 5."
BROKEN = ProviderError("gone", category=ErrorCategory.CONTENT, provider="p", began=True)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    Packages(NPM, "Clients of the gateway in JavaScript are driven in Node.").install()


async def told(client: str, gateway: Served) -> Any:
    """Return what a client made of a chat."""
    program = [str(NODE_FOLDER / "node"), str(NPM / "clients.mjs"), client, gateway.url]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, stdout=pipe, stderr=pipe)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    return json.loads(out)


def with_tools() -> ScriptedModel:
    """A model that thinks, calls two tools of which one fails, shows a display, and answers."""
    calls = asks(("add", {"a": 2, "b": 3}), "fail", ("sales", {"region": "EMEA", "show_user": True}), text="I look.")
    usage = Usage(input_tokens=10, output_tokens=5)
    return ScriptedModel(
        [Reasoning("hm"), "I look.", Completion("I look.", calls.tool_calls, calls.finish_reason, usage=usage)],
        Completion(ANSWER, usage=usage),
    )


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
async def test_openais_client_reads_every_profile(profile: str) -> None:
    async with served(with_tools(), {"openai": {"events": profile}}, display="continue") as gateway:
        made = await told("openai", gateway)
    assert made["text"] == made["whole"]
    assert made["text"].startswith("I look.\n\n")
    assert made["text"].endswith(ANSWER)
    assert made["finish"] == "stop"


@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
async def test_openais_client_reads_responses_in_every_profile(profile: str) -> None:
    async with served(with_tools(), {"openai": {"events": profile}}, display="continue") as gateway:
        made = await told("openaiResponses", gateway)
    assert made["text"] == made["whole"]
    assert made["text"].startswith("I look.\n\n")
    assert made["text"].endswith(ANSWER)
    assert made["status"] == "completed"
    assert made["kinds"] == [*(["reasoning"] if profile != "none" else []), "message", "message"]


@pytest.mark.parametrize("api", ["aiSdk", "aiSdkResponses"])
@pytest.mark.parametrize("profile", ["none", "xmcp", "openwebui"])
async def test_the_ai_sdk_runs_no_tool_again_and_sees_the_usage(profile: str, api: str) -> None:
    async with served(with_tools(), {"openai": {"events": profile}}, display="continue") as gateway:
        made = await told(f"{api}Stream", gateway)
    assert made["text"].endswith(ANSWER)
    assert not any("tool" in kind for kind in made["types"])
    assert made["usage"] == 30
    assert made["error"] is None
    async with served(with_tools(), {"openai": {"events": profile}}, display="continue") as gateway:
        made = await told(f"{api}Whole", gateway)
    assert made["text"].endswith(ANSWER)
    assert (made["finish"], made["calls"]) == ("stop", 0)


@pytest.mark.parametrize(
    "client", ["openai", "openaiResponses", "aiSdkStream", "aiSdkResponsesStream", "useChat", "agUi"]
)
async def test_an_answer_that_breaks_off_is_an_error_in_every_client(client: str) -> None:
    async with served(ScriptedModel(["half an ", BROKEN])) as gateway:
        made = await told(client, gateway)
    assert "refused because of what it contains" in made["error"]


async def test_use_chat_has_text_reasoning_tools_and_displays_as_parts() -> None:
    async with served(with_tools(), display="continue") as gateway:
        made = await told("useChat", gateway)
    assert made["error"] is None
    kinds = [part["type"] for part in made["parts"]]
    assert [kind for kind in kinds if kind != "step-start"] == [
        "reasoning",
        "text",
        "dynamic-tool",
        "dynamic-tool",
        "dynamic-tool",
        "data-xmcp-display",
        "text",
    ]
    tools = {part["toolName"]: part for part in made["parts"] if part["type"] == "dynamic-tool"}
    assert (tools["add"]["state"], tools["add"]["output"]) == ("output-available", "5")
    assert tools["fail"]["state"] == "output-error"
    display = next(part for part in made["parts"] if part["type"] == "data-xmcp-display")
    assert display["data"]["envelope"]["type"] == "table"
    assert made["metadata"]["usage"]["llm_calls"] == 2
    assert made["metadata"]["model"] == "assistant"


async def test_an_ag_ui_client_verifies_the_events_and_keeps_messages_and_activities() -> None:
    async with served(with_tools(), display="continue") as gateway:
        made = await told("agUi", gateway)
    assert made["error"] is None
    assert made["types"][0] == "RUN_STARTED"
    assert made["types"][-1] == "RUN_FINISHED"
    assert "TOOL_CALL_RESULT" in made["types"]
    activities = [message for message in made["messages"] if message["role"] == "activity"]
    assert [one["activityType"] for one in activities] == ["xmcp.display"]
    assert made["messages"][-1]["content"] == ANSWER


def with_own_tool() -> ScriptedModel:
    """A model that calls a tool of the gateway and one of the client's own at once, and then answers."""
    return ScriptedModel(asks(("ask_page", {"question": "which?"}), ("add", {"a": 2, "b": 3}), text="I ask."), ANSWER)


def results(model: ScriptedModel) -> list[str]:
    """Return the answers to calls that the model read at the end."""
    return [str(one["content"]) for one in model.requests[-1].messages if one["role"] == "tool"]


@pytest.mark.parametrize("client", ["openaiTools", "openaiResponsesTools", "aiSdkTools", "aiSdkResponsesTools"])
async def test_a_client_runs_its_own_tool_in_its_own_loop_and_no_other(client: str) -> None:
    model = with_own_tool()
    async with served(model) as gateway:
        made = await told(client, gateway)
    assert made["text"] == ANSWER
    assert made.get("results", ["ask_page"]) == ["ask_page"]
    asked, added = results(model)
    assert "You asked: which?" in asked
    assert ">5<" in added
    assert gateway.shop.calls == ["add"]


async def test_the_ai_sdk_refers_to_what_was_said_and_the_model_reads_it_with_what_ran_inside() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), ANSWER, "Still 5.")
    async with served(model) as gateway:
        made = await told("aiSdkResponsesTurns", gateway)
    assert made["text"] == "Still 5."
    assert [one["role"] for one in model.requests[-1].messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert ">5<" in results(model)[0]


async def test_use_chat_runs_a_tool_of_the_page_and_sends_its_output_by_itself() -> None:
    model = with_own_tool()
    async with served(model) as gateway:
        made = await told("useChatTools", gateway)
    parts = made["messages"][-1]["parts"]
    kinds = [part["type"] for part in parts if part["type"] != "step-start"]
    assert kinds == ["text", "dynamic-tool", "tool-ask_page", "text"]
    assert (len(made["messages"]), parts[-1]["text"]) == (2, ANSWER)
    asked, added = results(model)
    assert asked == "You asked: which?"
    assert ">5<" in added


@pytest.mark.parametrize(
    ("client", "state"), [("useChatApproves", "output-available"), ("useChatDenies", "output-denied")]
)
async def test_use_chat_asks_its_person_and_goes_on_in_the_same_message(client: str, state: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), "fail", ("add", {"a": 1, "b": 1}), text="I add."), ANSWER)
    async with served(model, {"chat": {"approve": ["add"]}}) as gateway:
        made = await told(client, gateway)
    assert made["asked"] == ["add", "add"]
    parts = made["messages"][-1]["parts"]
    assert [part["state"] for part in parts if part.get("toolName") == "add"] == [state, state]
    assert (len(made["messages"]), parts[-1]["text"]) == (2, ANSWER)
    assert len(model.requests) == 2
    assert gateway.shop.calls.count("add") == (2 if client == "useChatApproves" else 0)


async def test_an_ag_ui_client_runs_a_tool_of_its_own() -> None:
    model = with_own_tool()
    async with served(model) as gateway:
        made = await told("agUiTools", gateway)
    assert made["called"] == ["ask_page"]
    assert made["messages"][-1]["content"] == ANSWER
    asked, added = results(model)
    assert asked == "You asked: which?"
    assert ">5<" in added
