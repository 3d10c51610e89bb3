"""What an application sets for one chat: the model, instructions, tools, the limit of turns, data of its own."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp import AIClient, Conversation, SamplerConfig, SyncAIClient
from xmcp.client import ChatWarning, Middleware
from xmcp.client.tools import subset
from xmcp.providers import ProviderError

SYSTEM = {"role": "system", "content": "Be brief."}


class AsyncFilter:
    async def __call__(self, name: str) -> bool:
        return False


def tools_of(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request.tools.tools]


# ---- the model


async def test_the_model_of_a_chat_is_asked_first_and_the_fallbacks_stay() -> None:
    refused = ProviderError("no", category="quota")
    model, other = ScriptedModel(refused, then="a", name="one"), ScriptedModel(refused, then="b", name="two")
    async with AIClient([], llm_provider=model, llm_model="small", fallback_models=["spare"]) as ai:
        await ai.chat("q", [], model="large")
        assert [request.model for request in model.requests] == ["large", "spare"]
        result = await ai.chat("q", [], model=(other, "theirs"))
        assert [request.model for request in other.requests] == ["theirs"]
        assert [request.model for request in model.requests] == ["large", "spare", "spare"]
        assert result["answer"] == "a"
        await ai.chat("q", [])
    assert model.requests[-1].model == "small"


async def test_a_fallback_that_is_the_model_of_the_chat_is_not_asked_twice() -> None:
    model = ScriptedModel(then=ProviderError("no", category="quota"))
    async with AIClient([], llm_provider=model, fallback_models=["a", "b"]) as ai:
        with pytest.raises(ProviderError):
            await ai.chat("q", [], model="a")
    assert [request.model for request in model.requests] == ["a", "b"]


async def test_a_provider_that_is_named_is_made_once_and_closed_with_the_client(
    monkeypatch: pytest.MonkeyPatch, chat_server: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    chat_server.replies = [chat_server.reply.streamed("ok"), chat_server.reply.streamed("ok")]
    async with AIClient([], llm_provider=ScriptedModel()) as ai:
        for name in ("m-1", "m-2"):
            assert (await ai.chat("q", [], model=("OpenAIProvider", name)))["answer"] == "ok"
        made = [one for one in ai._own_providers if type(one).__name__ == "OpenAIProvider"]
        assert len(made) == 1
        closed: list[bool] = []
        monkeypatch.setattr(made[0], "aclose", lambda: _note(closed))
    assert closed == [True]
    assert [request["model"] for request in chat_server.requests] == ["m-1", "m-2"]


async def _note(closed: list[bool]) -> None:
    closed.append(True)


# ---- instructions


async def test_instructions_of_a_chat_reach_the_model_and_stay_out_of_the_history() -> None:
    model = ScriptedModel(asks("t"), "done", "again")
    async with AIClient([ScriptedServer({"t": "7"})], llm_provider=model) as ai:
        result = await ai.chat("q", [], system="Be brief.")
        assert [request.messages[0] for request in model.requests] == [SYSTEM, SYSTEM]
        assert [message["role"] for message in result["history"]] == ["user", "assistant", "tool", "assistant"]
        await ai.chat("more", result["history"])
    assert model.requests[-1].messages[0] == {"role": "user", "content": "q"}


async def test_they_stand_in_for_those_of_the_history_which_keeps_its_own() -> None:
    model = ScriptedModel("a", "b", "c")
    own = [{"role": "system", "content": "Be long."}, {"role": "developer", "content": "Be kind."}]
    async with AIClient([], llm_provider=model) as ai:
        conversation = Conversation(ai, history=own)
        reply = await conversation.chat("q", system="Be brief.")
        await conversation.chat("q", system="")
        await conversation.chat("r")
    assert [m["role"] for m in reply["history"]] == ["system", "developer", "user", "assistant"]
    first, without, third = ([m for m in request.messages if m["role"] != "user"] for request in model.requests)
    assert first == [SYSTEM]
    assert [m["role"] for m in without] == ["assistant"]
    assert third[:2] == own


async def test_middleware_sees_the_instructions() -> None:
    seen: list[Any] = []

    class Look(Middleware):
        def before_llm(self, state: Any) -> None:
            seen.append(state.messages[0])

    async with AIClient([], llm_provider=ScriptedModel("a"), middleware=[Look()]) as ai:
        await ai.chat("q", [], system="Be brief.")
    assert seen == [SYSTEM]


# ---- tools


def two() -> ScriptedServer:
    return ScriptedServer({"read": "7", "write": "8"})


async def test_a_tool_outside_the_subset_is_neither_offered_nor_called() -> None:
    model, server = ScriptedModel(asks("read", "write"), "done"), two()
    async with AIClient([server], llm_provider=model, meta_tools=["think"]) as ai:
        result = await ai.chat("q", [], tools=["read"])
    assert [tools_of(request) for request in model.requests] == [["read"], ["read"]]
    assert [name for name, _ in server.calls] == ["read"]
    refused = result["history"][-2]["content"]
    assert "UNKNOWN_TOOL" in refused
    assert "__think__" not in refused


async def test_a_meta_tool_is_chosen_by_its_name_too() -> None:
    model = ScriptedModel(asks(("__clarify__", {"question": "which?"}), ("__think__", {"thought": "x"})))
    async with AIClient([two()], llm_provider=model, meta_tools=True) as ai:
        result = await ai.chat("q", [], tools=["__clarify__"])
    assert tools_of(model.requests[0]) == ["__clarify__"]
    assert result["stop_reason"] == "clarify"
    assert "UNKNOWN_TOOL" in result["history"][-1]["content"]


@pytest.mark.parametrize(
    ("tools", "offered"),
    [([], []), (lambda name: name.startswith("w"), ["write"]), ({"write", "read"}, ["read", "write"])],
)
async def test_subsets(tools: Any, offered: list[str]) -> None:
    model = ScriptedModel("a", "b")
    async with AIClient([two()], llm_provider=model) as ai:
        await ai.chat("q", [], tools=tools)
        await ai.chat("q", [])
    assert [tools_of(request) for request in model.requests] == [offered, ["read", "write"]]


async def test_chats_with_the_same_subset_share_its_serialised_tools_and_few_subsets_are_kept() -> None:
    model = ScriptedModel()
    names = [f"t{number}" for number in range(subset.MAX_KEPT + 1)]
    async with AIClient([ScriptedServer(dict.fromkeys(names, "7"))], llm_provider=model) as ai:
        for tools in (["t0"], lambda name: name == "t0", *([name] for name in names), ["t0"]):
            await ai.chat("q", [], tools=tools)
        assert model.requests[0].tools is model.requests[1].tools is model.requests[2].tools
        assert model.requests[-1].tools is not model.requests[0].tools


async def test_a_parameter_whose_source_is_left_out_is_required_again() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    server = ScriptedServer(
        {"sum": "7", "show": "8"},
        sum={"metadata": {"provides": "total"}},
        show={"metadata": {"depends_on": ["sum"]}, "inputSchema": schema},
    )
    model = ScriptedModel("a", "b")
    async with AIClient([server], llm_provider=model) as ai:
        await ai.chat("q", [])
        await ai.chat("q", [], tools=["show"])
    whole, part = (request.tools.tools[-1]["function"]["parameters"] for request in model.requests)
    assert "required" not in whole
    assert "sum" in whole["properties"]["total"]["description"]
    assert part == schema


async def test_an_unknown_tool_is_refused_with_what_there_is() -> None:
    async with AIClient([two()], llm_provider=ScriptedModel()) as ai:
        with pytest.raises(
            ValueError, match=r"tools is not valid: There is no tool named 'wriet'\. There are: write, read\."
        ):
            ai.stream_chat("q", [], tools=["read", "wriet"])


async def test_a_tool_of_a_server_that_cannot_be_reached_is_a_warning() -> None:
    model, dead = ScriptedModel("a"), ScriptedServer({"t": "7"}, listing=OSError("gone"))
    async with AIClient({"up": two(), "down": dead}, llm_provider=model) as ai:
        events = [event async for event in ai.stream_chat("q", [], tools=["up__read", "down__t"])]
    texts = [event.text for event in events if isinstance(event, ChatWarning)]
    assert any("down__t" in text and "not offered" in text for text in texts), texts
    assert tools_of(model.requests[0]) == ["up__read"]


@pytest.mark.parametrize("tools", [["read"], [], lambda name: name == "read"], ids=["list", "none", "function"])
async def test_a_tool_that_must_be_called_and_is_left_out_is_refused_before_anything_is_sent(tools: Any) -> None:
    model, must = ScriptedModel("a"), SamplerConfig(tool_choice="write")
    async with AIClient([two()], llm_provider=model, sampler=must) as ai:
        with pytest.raises(
            ValueError, match=r"tool_choice names the tool 'write', which tools=\.\.\. leaves out: add it"
        ):
            ai.stream_chat("q", [], tools=tools)
        with pytest.raises(ValueError, match="tool_choice names the tool 'write'"):
            ai.estimate_tokens("q", tools=tools)
        await ai.chat("q", [], tools=tools, sampler=SamplerConfig(tool_choice="auto"))
        await ai.chat("q", [], tools=["write"])
        await ai.chat("q", [])
    assert [request.sampler.tool_choice for request in model.requests] == ["auto", "write", "write"]


# ---- the limit of turns, and data of the application


async def test_the_limit_of_turns_of_a_chat() -> None:
    model = ScriptedModel(then=asks("read"))
    async with AIClient([two()], llm_provider=model, max_turns=5) as ai:
        result = await ai.chat("q", [], max_turns=2)
    assert (result["stop_reason"], len(model.requests)) == ("max_turns", 2)


async def test_metadata_reach_middleware_approval_and_the_log_and_nothing_else() -> None:
    seen: list[Any] = []
    given = {"user": {"plan": "gold"}}

    class Look(Middleware):
        def before_llm(self, state: Any) -> None:
            seen.append(state.chat.metadata)

    def approve(call: Any) -> bool:
        seen.append(call.chat.metadata)
        return True

    written, records = io.StringIO(), list[Any]()
    logger = logging.getLogger("test_metadata")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler := logging.StreamHandler(written))
    model = ScriptedModel(asks("read"), "done", "done")
    options: Any = {"middleware": [Look()], "approve": approve, "logger": logger, "usage_sink": records.append}
    async with AIClient([two()], llm_provider=model, **options) as ai:
        await ai.chat("q", [], metadata=given)
        given["user"]["plan"] = "free"
        await ai.chat("q", [])
    logger.removeHandler(handler)
    gold = {"user": {"plan": "gold"}}
    assert seen == [gold, gold, gold, {}]
    assert "gold" in written.getvalue()
    assert "gold" not in json.dumps([records, [dict(one) for one in model.requests[1].messages]])


# ---- all faces, and what is refused


async def test_a_conversation_hands_the_options_on() -> None:
    model = ScriptedModel("a", "b")
    async with AIClient([two()], llm_provider=model) as ai:
        conversation = Conversation(ai)
        await conversation.chat("q", model="m", tools=["read"], sampler=SamplerConfig(seed=1))
        async for _ in conversation.stream_chat("q", model="n", tools=[]):
            pass
    assert [(one.model, tools_of(one)) for one in model.requests] == [("m", ["read"]), ("n", [])]
    assert model.requests[0].sampler.seed == 1


def test_the_client_without_await_hands_the_options_on() -> None:
    model = ScriptedModel()
    with SyncAIClient([two()], llm_provider=model) as ai:
        ai.chat("q", [], model="a", tools=["read"], session_id="s")
        list(ai.stream_chat("q", [], model="b", tools=[]))
        conversation = ai.conversation()
        conversation.chat("q", model="c", tools=["write"])
        list(conversation.stream_chat("q", model="d"))
    offered = [(one.model, tools_of(one)) for one in model.requests]
    assert offered == [("a", ["read"]), ("b", []), ("c", ["write"]), ("d", ["read", "write"])]


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"modle": "x"}, TypeError, "chat() has no option 'modle'. Did you mean 'model'?"),
        ({"tenant": "x"}, TypeError, "Did you mean 'tenant_id'?"),
        ({"model": 7}, TypeError, "model has 7; it takes names of models, or pairs (provider, model)"),
        ({"model": ""}, ValueError, "model has an empty text as the name of a model: leave it out"),
        ({"model": ("NoProvider", "m")}, ValueError, "model names the provider 'NoProvider'; there are"),
        ({"system": ["x"]}, TypeError, "system must be a text, not ['x']"),
        ({"tools": "read"}, TypeError, "tools must be a list of names, such as ['read'], or a function of (name)"),
        ({"tools": [read := {"name": "read"}]}, TypeError, f"not {[read]!r}"),
        ({"tools": lambda: True}, TypeError, "tools is called with (name)"),
        ({"max_turns": 0}, ValueError, "max_turns must be above 0, not 0"),
        ({"max_turns": "3"}, TypeError, "max_turns must be a whole number"),
        ({"display": "show"}, ValueError, "display must be 'exit' or 'continue', not 'show'"),
        ({"metadata": [1]}, TypeError, "metadata must be a JSON object"),
        ({"metadata": {"a": [object]}}, TypeError, "metadata/a/0: a value or key of type type is not JSON"),
        ({"sampler": {"seed": 1}}, TypeError, "sampler must be a SamplerConfig"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_is_not_valid_is_refused_at_once(options: Any, kind: type[Exception], said: str) -> None:
    model = ScriptedModel()
    async with AIClient([two()], llm_provider=model) as ai:
        with pytest.raises(kind) as caught:
            ai.stream_chat("q", [], **options)
        with pytest.raises(kind):
            await ai.chat("q", [], **options)
        with pytest.raises(kind):
            await Conversation(ai).chat("q", **options)
    assert said in str(caught.value)
    assert model.requests == []


async def test_an_async_predicate_is_refused_since_its_answer_would_always_be_true() -> None:
    async def only_read(name: str) -> bool:
        return name == "read"

    model = ScriptedModel()
    wrong: Any = only_read
    async with AIClient([two()], llm_provider=model) as ai:
        with pytest.raises(TypeError, match="tools must not be async"):
            await ai.chat("q", [], tools=AsyncFilter())
        with pytest.raises(TypeError, match="tools must not be async"):
            await ai.chat("q", [], tools=wrong)
    assert model.requests == []
