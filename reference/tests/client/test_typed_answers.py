"""Typed answers: a model is asked for JSON of a type, and asked once more if its answer is something else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Literal

import pytest
from pydantic import BaseModel, field_validator
from support.clock import never
from support.growth import is_linear
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.vendors.gemini import Gemini
from support.vendors.one_method import OneMethod
from support.vendors.presets import DeepSeek, MiniMax
from typing_extensions import TypedDict

from xmcp import AIClient, Conversation, DisplayEnvelope, SamplerConfig, SyncAIClient, ToolResponse
from xmcp.chat.completions import VendorState
from xmcp.client import AnswerInvalid, LLMDelta, LLMRetry
from xmcp.client.loop import typed_answer
from xmcp.providers import Completion, ErrorCategory, ModelRequest, ProviderError, ToolCall, ToolSchemas, Usage
from xmcp.providers.contract import Answer, Refusal
from xmcp.providers.formats import deepseek, gemini, gemini_cli, minimax


class Report(BaseModel):
    """Totals of a region."""

    region: Literal["EMEA", "APAC"]
    total: int

    @field_validator("total")
    @classmethod
    def _positive(cls, value: int) -> int:
        if value < 0:
            raise ValueError("a total is never below 0")
        return value


@dataclass
class Day:
    when: date


class Pair(TypedDict):
    a: int


class OneMethodWithoutOptions(OneMethod):
    async def chat_complete(self, model: str, messages: list[Any], tools: list[Any] | None = None) -> Any:  # type: ignore[override]
        return await super().chat_complete(model, messages, tools)


GOOD = '{"region": "EMEA", "total": 7}'
VALUE = Report(region="EMEA", total=7)


async def test_the_answer_is_asked_for_by_schema_and_comes_as_a_value_beside_the_text() -> None:
    model = ScriptedModel(asks("t", text="Let me look."), GOOD)
    async with AIClient([ScriptedServer({"t": "7"})], llm_provider=model) as ai:
        result = await ai.chat("q", [], answer_type=Report, sampler=SamplerConfig(temperature=0))
    assert result.value == VALUE
    assert result["answer"] == GOOD
    assert [message["role"] for message in result["history"]] == ["user", "assistant", "tool", "assistant"]
    assert "value" not in json.loads(json.dumps(result))
    assert "value" not in result.to_dict()
    schemas = [request.sampler.response_format for request in model.requests]
    assert schemas == [Report.model_json_schema()] * 2
    assert model.requests[0].sampler.temperature == 0


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Day, '{"when": "2026-11-29"}', Day(date(2026, 11, 29))),
        (Pair, '{"a": 1}', {"a": 1}),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (Report | Day, '{"value": {"when": "2026-11-29"}}', Day(date(2026, 11, 29))),
        (Report, f"```json\n{GOOD}\n```", VALUE),
        (Report, f"Here it is:\n\n```\n{GOOD}\n```\nGood luck!", VALUE),
        (Report, f"Here it is:\r\n```json\r\n{GOOD}\r\n```\r\n", VALUE),
        (Report, f"```JSON \n{GOOD}\n```", VALUE),
        (str, '{"value": "use\\n```\\nx\\n```\\n"}', "use\n```\nx\n```\n"),
        (float, " 3 ", 3.0),
    ],
)
async def test_types_and_what_models_write_around_an_answer(type_: Any, text: str, value: Any) -> None:
    model = ScriptedModel(text)
    async with AIClient([], llm_provider=model) as ai:
        result = await ai.chat("q", [], answer_type=type_)
    assert result.value == value
    assert type(result.value) is type(value)
    schema = model.requests[0].sampler.response_format
    assert schema is not None
    assert schema["type"] == "object", "vendors take nothing else at the root"


async def test_an_answer_of_another_type_is_mended_in_one_round_of_which_only_the_good_one_stays() -> None:
    state = VendorState("model", ["signed"])
    bad = Completion('{"region": "EMEA", "total": -1}', usage=Usage(10, 5, None), vendor_state=state)
    model = ScriptedModel(bad, Completion(GOOD, usage=Usage(20, 6, None)))
    async with AIClient([], llm_provider=model, max_turns=1) as ai:
        events = [event async for event in ai.stream_chat("q", [], answer_type=Report)]
    result = events[-1].result
    assert result.value == VALUE
    assert result["history"] == [{"role": "user", "content": "q"}, {"role": "assistant", "content": GOOD}]
    assert (result["usage"]["input_tokens"], result["usage"]["llm_calls"]) == (30, 2)
    query, answer, complaint = model.requests[1].messages
    assert query == {"role": "user", "content": "q"}
    assert (answer["role"], answer["content"]) == ("assistant", bad.text)
    assert "signed" in json.dumps(answer)
    assert complaint["role"] == "user"
    assert "total: Value error, a total is never below 0" in complaint["content"]
    assert '"enum":["EMEA","APAC"]' in complaint["content"]
    # Who shows the text of a stream is told to discard the first answer, as after a model that broke off.
    kinds = [(type(event), event.turn) for event in events if isinstance(event, LLMDelta | LLMRetry)]
    assert kinds == [(LLMDelta, 1), (LLMRetry, 1), (LLMDelta, 1)]


async def test_a_second_wrong_answer_is_an_error_with_the_text_the_faults_the_history_and_the_usage() -> None:
    errors: list[str] = []
    model = ScriptedModel("no idea", '{"region": "MARS"}')
    async with AIClient([], llm_provider=model, on_error=lambda error, _: errors.append(error.message)) as ai:
        conversation = Conversation(ai)
        with pytest.raises(AnswerInvalid) as caught:
            await conversation.chat("q", answer_type=Report)
        assert conversation.history == [{"role": "user", "content": "q"}]
        model.answers = [GOOD]
        reply = await conversation.chat("q", answer_type=Report)
    failure = caught.value
    assert isinstance(failure, ProviderError)
    assert failure.text == '{"region": "MARS"}'
    assert failure.faults == ("region: Input should be 'EMEA' or 'APAC'", "total: Field required")
    assert failure.message.startswith("The model's answer is not a valid Report: region: Input should be")
    assert failure.history == [{"role": "user", "content": "q"}]
    assert failure.usage is not None
    assert failure.usage["llm_calls"] == 2
    assert errors == [failure.message]
    assert reply.value == VALUE
    assert len(reply["history"]) == 2


async def test_calls_in_the_second_answer_are_made_and_there_is_no_third_round() -> None:
    model = ScriptedModel("?", asks("t"), "?", GOOD)
    async with AIClient([ScriptedServer({"t": "7"})], llm_provider=model) as ai:
        with pytest.raises(AnswerInvalid) as caught:
            await ai.chat("q", [], answer_type=Report)
    assert len(model.requests) == 3
    assert caught.value.history is not None
    assert [message["role"] for message in caught.value.history] == ["user", "assistant", "tool"]
    assert [message["role"] for message in model.requests[2].messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ScriptedModel(asks("t"), then="x"), "display"),
        (ScriptedModel(asks(("__clarify__", {"question": "which?"}))), "clarify"),
        (ScriptedModel(then=asks("u")), "max_turns"),
        (ScriptedModel(Completion("{", finish_reason="length")), "length"),
        (ScriptedModel(""), "empty"),
        (ScriptedModel([GOOD, never]), "timeout"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_chat_that_ends_otherwise_has_no_value_and_no_error(model: ScriptedModel, reason: str) -> None:
    shown = ToolResponse("t", display=DisplayEnvelope(type="text", payload="x"))
    server = ScriptedServer({"t": shown, "u": "7"})
    limit = 0.2 if reason == "timeout" else None
    async with AIClient([server], llm_provider=model, meta_tools=True, max_turns=2, chat_timeout=limit) as ai:
        result = await ai.chat("q", [], answer_type=Report)
    assert (result["stop_reason"], result.value) == (reason, None)


async def test_a_chat_can_say_that_no_display_ends_it() -> None:
    model = ScriptedModel(asks("t"), GOOD)
    server = ScriptedServer({"t": ToolResponse("t", display=DisplayEnvelope(type="text", payload="x"))})
    async with AIClient([server], llm_provider=model) as ai:
        result = await ai.chat("q", [], answer_type=Report, display="continue")
    assert (result["stop_reason"], len(result["displays"])) == ("stop", 1)
    assert result.value is not None


async def test_a_chat_that_is_left_in_the_second_round_keeps_nothing_of_the_first() -> None:
    model = ScriptedModel("?", ["{", never])
    async with AIClient([], llm_provider=model) as ai:
        stream = ai.stream_chat("q", [], answer_type=Report)
        async for event in stream:
            if isinstance(event, LLMRetry):
                assert stream.history == [{"role": "user", "content": "q"}]
            if isinstance(event, LLMDelta) and event.text == "{":
                break
        await stream.aclose()
    assert stream.history == [{"role": "user", "content": "q"}, {"role": "assistant", "content": "{"}]


@pytest.mark.parametrize(
    ("number", "faults", "last"),
    [
        (typed_answer.MAX_FAULTS, typed_answer.MAX_FAULTS, "value/9: Input should be a valid integer"),
        (50, typed_answer.MAX_FAULTS + 1, "and 40 more"),
        (9_000, 1, "the whole: it has 9000 faults"),
        (700_000, 1, "the whole: it has more than 2097152 characters, or 10000 parts"),
    ],
)
async def test_what_is_told_of_many_faults_is_bounded(number: int, faults: int, last: str) -> None:
    model = ScriptedModel(then='{"value": [' + ",".join(['"x"'] * number) + "]}")
    async with AIClient([], llm_provider=model) as ai:
        with pytest.raises(AnswerInvalid) as caught:
            await ai.chat("q", [], answer_type=list[int])
    assert len(caught.value.faults) == faults
    assert caught.value.faults[-1].startswith(last)
    assert len(caught.value.message) < 1000
    assert "does not have the form" in caught.value.ui_message()
    assert "try again" not in caught.value.ui_message()


async def test_without_a_type_there_is_no_value() -> None:
    async with AIClient([], llm_provider=ScriptedModel(GOOD)) as ai:
        result = await ai.chat("q", [])
    assert result.value is None


def test_the_client_without_await_has_the_value() -> None:
    with SyncAIClient([], llm_provider=ScriptedModel(then=GOOD)) as ai:
        assert ai.chat("q", [], answer_type=Report).value == VALUE
        assert ai.conversation().chat("q", answer_type=Report).value == VALUE


class Unknown:
    pass


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"answer_type": Unknown}, TypeError, "answer_type cannot be <class"),
        ({"answer_type": "Report"}, TypeError, "answer_type must be a type, such as a pydantic model, not 'Report'"),
        (
            {"answer_type": Report, "sampler": SamplerConfig(response_format={"type": "object"})},
            ValueError,
            "Pass either answer_type or the response_format of sampler",
        ),
    ],
)
async def test_what_is_no_type_of_answers_is_refused_at_once(options: Any, kind: Any, said: str) -> None:
    model = ScriptedModel()
    async with AIClient([], llm_provider=model) as ai:
        with pytest.raises(kind) as caught:
            ai.stream_chat("q", [], **options)
    assert said in str(caught.value)


# ---- vendors that have no schemas, or none beside tools: the model answers by a call of the final tool

FINAL = "__answer__"
COMPACT = GOOD.replace(" ", "")
"""As Gemini, which has arguments as objects, tells of them."""


def final(arguments: str, *others: ToolCall) -> Answer:
    return Answer("", (*others, ToolCall("c9", FINAL, arguments)), "tool_calls")


@pytest.mark.parametrize(
    ("vendor", "model"),
    [(DeepSeek, None), (MiniMax, None), (Gemini, "gemini-2.5-pro"), (OneMethodWithoutOptions, None)],
    ids=lambda one: getattr(one, "__name__", one),
)
async def test_the_final_tool_is_the_answer_of_a_vendor_without_schemas(vendor: Any, model: str | None) -> None:
    async with vendor() as stand_in:
        stand_in.answers(
            Answer("", (ToolCall("c1", "t", "{}"),), "tool_calls"),
            final('{"region": "MARS"}'),
            final(COMPACT),
            Answer("ok"),
        )
        server = ScriptedServer({"t": "7"})
        async with AIClient([server], llm_provider=stand_in.provider, llm_model=model, display="continue") as ai:
            events = [event async for event in ai.stream_chat("q", [], answer_type=Report)]
            result = events[-1].result
            await ai.chat("and now?", result["history"])
    first, second, mended, plain = stand_in.asked
    assert (result.value, result["answer"], result["stop_reason"]) == (VALUE, COMPACT, "stop")
    assert result["history"][-1] == {"role": "assistant", "content": COMPACT}
    assert [one["role"] for one in result["history"]] == ["user", "assistant", "tool", "assistant"]
    assert list(first.tools) == list(second.tools) == list(mended.tools) == ["t", FINAL]
    assert set(first.tools[FINAL]["properties"]) == {"region", "total"}
    assert "JSON Schema" not in "".join(said.text for said in first.messages), "it is told once"
    assert "region: Input should be 'EMEA' or 'APAC'" in mended.messages[-1].text
    assert list(plain.tools) == ["t"]
    texts = [event.text for event in events if isinstance(event, LLMDelta)]
    assert texts[-1] == COMPACT
    assert [event.tool_name for event in events if event.type == "tool_call"] == ["t"]


async def test_text_beside_the_final_call_is_told_and_the_answer_is_not_appended_to_it() -> None:
    async with DeepSeek() as stand_in:
        stand_in.answers(Answer("Sure, here it is.", (ToolCall("c9", FINAL, GOOD),), "tool_calls"))
        async with AIClient([], llm_provider=stand_in.provider) as ai:
            events = [event async for event in ai.stream_chat("q", [], answer_type=Report)]
    assert "".join(event.text for event in events if isinstance(event, LLMDelta)) == "Sure, here it is."
    result = events[-1].result
    assert (result.value, result["answer"]) == (VALUE, GOOD)
    assert result["history"][-1] == {"role": "assistant", "content": GOOD}


async def test_blanks_beside_the_final_call_hide_no_answer() -> None:
    model = ScriptedModel(Completion("\n\n", (ToolCall("c9", FINAL, GOOD),), "tool_calls"))
    async with AIClient([], llm_provider=model) as ai:
        events = [event async for event in ai.stream_chat("q", [], answer_type=Report)]
    assert "".join(event.text for event in events if isinstance(event, LLMDelta)) == f"\n\n{GOOD}"


@pytest.mark.parametrize("written", ["", " \n"])
async def test_a_final_call_without_arguments_is_an_object_without_members(written: str) -> None:
    class Nothing(BaseModel):
        pass

    async with AIClient([], llm_provider=ScriptedModel(asks((FINAL, written)))) as ai:
        result = await ai.chat("q", [], answer_type=Nothing)
    assert (result.value, result["answer"], result["stop_reason"]) == (Nothing(), "{}", "stop")


async def test_a_final_call_that_is_cut_before_its_arguments_is_no_answer() -> None:
    cut = Completion("", (ToolCall("c9", FINAL, ""),), "length")
    async with AIClient([], llm_provider=ScriptedModel(cut)) as ai:
        result = await ai.chat("q", [], answer_type=Report)
    assert (result.value, result["answer"], result["stop_reason"]) == (None, None, "length")


async def test_the_final_tool_is_offered_where_there_is_no_other() -> None:
    async with DeepSeek() as stand_in:
        stand_in.answers(final(GOOD))
        async with AIClient([ScriptedServer({"t": "7"})], llm_provider=stand_in.provider) as ai:
            result = await ai.chat("q", [], answer_type=Report, tools=[])
    assert result.value == VALUE
    assert list(stand_in.asked[0].tools) == [FINAL]


async def test_an_answer_beside_other_calls_is_too_early() -> None:
    async with DeepSeek() as stand_in:
        stand_in.answers(final(GOOD, ToolCall("c1", "t", "{}")), Answer(f"```json\n{GOOD}\n```"))
        server = ScriptedServer({"t": "7"})
        async with AIClient([server], llm_provider=stand_in.provider) as ai:
            result = await ai.chat("q", [], answer_type=Report)
    assert [name for name, _ in server.calls] == ["t"]
    assert FINAL not in json.dumps(result["history"])
    assert result.value == VALUE, "an answer as text is taken as well"


async def test_who_wants_no_calls_is_answered_in_words() -> None:
    async with DeepSeek() as stand_in:
        stand_in.answers(Answer(GOOD))
        sampler = SamplerConfig(tool_choice="none")
        async with AIClient([ScriptedServer({"t": "7"})], llm_provider=stand_in.provider, sampler=sampler) as ai:
            result = await ai.chat("q", [], answer_type=Report)
    assert result.value == VALUE
    assert list(stand_in.asked[0].tools) == ["t"]
    assert "JSON Schema" in stand_in.asked[0].messages[-1].text


async def test_a_final_call_that_is_cut_is_no_answer() -> None:
    async with DeepSeek() as stand_in:
        stand_in.answers(Answer("", (ToolCall("c1", FINAL, '{"region": "EM'),), "length"))
        async with AIClient([], llm_provider=stand_in.provider) as ai:
            result = await ai.chat("q", [], answer_type=Report)
    assert (result.value, result["stop_reason"]) == (None, "length")


async def test_a_fallback_that_takes_schemas_gets_one() -> None:
    other = ScriptedModel(GOOD)
    async with DeepSeek() as stand_in:
        stand_in.answers(Refusal(ErrorCategory.QUOTA))
        async with AIClient([], llm_provider=stand_in.provider, fallback_models=[(other, None)]) as ai:
            result = await ai.chat("q", [], answer_type=Report)
    assert result.value == VALUE
    assert other.requests[0].tools.tools == ()
    assert other.requests[0].sampler.response_format == Report.model_json_schema()


# ---- or they are told of it in words

TOOLS = ToolSchemas.of([{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}])
SAMPLER = SamplerConfig(response_format=Report.model_json_schema())
HELLO = [{"role": "user", "content": "hi"}]


def test_gemini_before_its_third_generation_takes_a_schema_only_without_tools() -> None:
    def body(model: str, tools: ToolSchemas) -> dict[str, Any]:
        return gemini.request_body(model, HELLO, tools, SAMPLER)

    for written in (body("gemini-2.5-pro", ToolSchemas()), body("gemini-3-pro", TOOLS)):
        assert written["generationConfig"]["responseMimeType"] == "application/json"
        assert "systemInstruction" not in written
    told = body("gemini-2.5-pro", TOOLS)
    assert "generationConfig" not in told
    assert '"enum":["EMEA","APAC"]' in told["systemInstruction"]["parts"][0]["text"]


def test_minimax_is_told_in_words_but_for_the_model_that_takes_schemas() -> None:
    written = json.loads(minimax.request_body("MiniMax-M3", HELLO, ToolSchemas(), SAMPLER))
    assert '"enum":["EMEA","APAC"]' in written["messages"][-1]["content"]
    assert "response_format" not in written
    written = json.loads(minimax.request_body("MiniMax-Text-01", HELLO, ToolSchemas(), SAMPLER))
    assert written["messages"] == HELLO
    assert written["response_format"]["json_schema"]["schema"] == Report.model_json_schema()


def test_deepseek_and_the_gemini_cli_are_told_in_words() -> None:
    written = deepseek.request_body("m", HELLO, ToolSchemas(), SAMPLER)
    assert '"enum":["EMEA","APAC"]' in json.loads(written)["messages"][-1]["content"]
    assert '"enum":["EMEA","APAC"]' in gemini_cli.instructions(HELLO, SAMPLER)
    assert "JSON Schema" not in gemini_cli.instructions(HELLO, ModelRequest(HELLO).sampler)


class Leaf(BaseModel):
    leaf: int


class Box(BaseModel):
    of: list[Box | Row | Leaf]


class Row(BaseModel):
    of: list[Box | Row | Leaf]
    wide: bool = False


class Tree(BaseModel):
    of: list[Tree]
    left: Tree | None = None
    end: Leaf | Day | None = None


def test_a_type_that_takes_exponential_time_to_read_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Box has a union of types that contain it again.*discriminator"):
        typed_answer.answer_type(Box)
    value, faults = typed_answer.answer_type(Tree).read('{"of":[{"of":[]}],"end":{"leaf":1}}')
    assert (value.end, faults) == (Leaf(leaf=1), [])


def test_an_answer_of_very_many_parts_is_not_even_validated() -> None:
    wanted = typed_answer.answer_type(list[Report])
    assert wanted.read("[" + "{}," * 10_000 + "{}]") == (
        None,
        ["the whole: it has more than 2097152 characters, or 10000 parts"],
    )


@pytest.mark.parametrize("given", [{"type": "int"}, {"type": "object"}, len, lambda value: value])
def test_a_schema_or_a_function_is_no_type(given: Any) -> None:
    with pytest.raises(TypeError, match="answer_type must be a type"):
        typed_answer.answer_type(given)


def test_what_a_validator_raises_is_a_fault() -> None:
    class Broken(BaseModel):
        total: int

        @field_validator("total")
        @classmethod
        def _known(cls, value: int) -> int:
            return {1: 1}[value]

    wanted = typed_answer.answer_type(Broken)
    assert wanted.read('{"total": 2}') == (None, ["the whole: KeyError"])


def test_many_beginnings_of_a_fence_take_time_in_proportion_to_the_answer() -> None:
    wanted = typed_answer.answer_type(dict[str, int])
    assert is_linear(lambda times: partial(wanted.read, "x```\n" * (times * 1000)))
