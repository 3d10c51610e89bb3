"""The loop with a scripted model and scripted servers: what holds for every chat, independent of their behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.clock import never
from support.scripted_model import ScriptedModel
from support.scripted_server import Raw, ScriptedServer

from xmcp.chat.errors import CallFailed
from xmcp.chat.events import ChatChunk, ToolEvent
from xmcp.client.calls.active_call import ChatScope
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext
from xmcp.client.hooks.telemetry import ChatTelemetry
from xmcp.client.loop import chat as loop
from xmcp.client.loop.chat import Chat, ChatSettings
from xmcp.client.loop.fallback import Model as Asked
from xmcp.client.loop.turn import Hooks
from xmcp.client.slots import Slots
from xmcp.client.tools.catalogue import Catalogue, build
from xmcp.providers import Completion, ProviderError, ScriptedProvider, ToolCall, Turn, Usage
from xmcp.providers.base import Reasoning
from xmcp.wire import ErrorInfo, ToolResponse

DISPLAY = '<display>{"type":"text","payload":"seen"}</display>'
ANSWERS = {
    "tell": "<llm_output>told</llm_output>",
    "show": f"<llm_output>shown</llm_output>{DISPLAY}",
    "refuse": '<error code="DB_TIMEOUT" retryable="true">late</error>',
    "refuse_and_show": f'<error code="NOPE">no</error>{DISPLAY}',
}
"""What the tools of the stand-in answer that work."""

FAULTS: dict[str, Any] = {
    "lost": CallFailed(ErrorInfo("CONNECTION_FAILED", "gone")),
    "crash": RuntimeError("secret of ours"),
    "garbage": Raw("garbage"),
    "host_cancel": asyncio.CancelledError(),
}
"""The tools that break instead."""

ACTS = {
    **{tool: Raw(f'<tool_response tool_name="{tool}">{text}</tool_response>') for tool, text in ANSWERS.items()},
    **FAULTS,
    "never": never,
}


def StandIn(delays: Sequence[int] = ()) -> ScriptedServer:
    """A server in this process: answers after some turns of the event loop, in the ways of `ACTS`."""
    return ScriptedServer(ACTS, delays=delays)


def Model(completions: Sequence[Completion], fails_at: int | None = None) -> ScriptedModel:
    """A provider that gives prepared completions one after the other, and then a plain answer."""
    answers: list[Any] = list(completions)
    if fails_at is not None:
        answers += [Completion("end")] * (fails_at - len(answers))
        answers.insert(fails_at, ["partial", ProviderError("down", category="network")])
    return ScriptedModel(*answers)


def chat(model: Any, server: ScriptedServer | None = None, history: Sequence[Any] = (), **options: Any) -> Chat:
    hooks = Hooks(options.pop("on_display", None), options.pop("on_error", None))
    pipeline = Pipeline(slots=options.pop("slots", Slots(4)), timeouts={"*": options.pop("timeout", 30.0)})
    settings = ChatSettings(models=(Asked(model, None),), hooks=hooks, **{"max_turns": 6, **options})
    catalogue = build([(server, server.listing)], 1) if server else Catalogue()
    scope = ChatScope(ChatContext("chat"), ChatTelemetry(EventLog()), None)

    async def tools() -> Catalogue:
        return catalogue

    return Chat(settings, pipeline, tools, scope, list(history), "query")


async def chunks_of(running: Chat) -> list[ChatChunk]:
    return [chunk async for chunk in running.run()]


def calls(*names: str, arguments: str = "{}") -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"c{i}", name, arguments) for i, name in enumerate(names))


CALL = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "b", "call_0", "c"]),
    st.sampled_from([*ANSWERS, *FAULTS, "", "unknown", "bad name!", "x" * 200]),
    st.sampled_from(["{}", "", '{"a": 1}', "{", "[]", '"x"', '{"a": "\\ud83d"}']),
)
COMPLETION = st.builds(
    Completion,
    st.sampled_from(["", "text"]),
    st.lists(CALL, max_size=4).map(tuple),
    st.sampled_from(["stop", "tool_calls", "length", "content_filter"]),
    st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
)
MODELS = st.builds(Model, st.lists(COMPLETION, max_size=5), st.none() | st.integers(0, 5))
SERVERS = st.builds(StandIn, delays=st.lists(st.integers(0, 5), max_size=20))
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@quick
@given(MODELS, SERVERS, st.sampled_from(["exit", "continue"]), st.integers(1, 6))
async def test_every_history_at_every_moment_is_valid_and_every_call_is_told(
    valid: Any, model: ScriptedModel, server: ScriptedServer, display: str, max_turns: int
) -> None:
    seen: list[Any] = []

    async def look(value: Any, history: list[Any]) -> None:
        valid(history)
        seen.append(value)

    before = [{"role": "system", "content": "s"}, {"role": "user", "content": "query"}]
    running = chat(model, server, before, display=display, max_turns=max_turns, on_display=look, on_error=look)
    told: list[ChatChunk] = []
    error: ProviderError | None = None
    try:
        async for chunk in running.run():
            told.append(chunk)
            valid(running.messages)
    except ProviderError as exc:
        error = exc

    if error is not None:
        history, usage = error.history, error.usage
        assert [chunk for chunk in told if chunk.type == "done"] == []
    else:
        assert [chunk.type for chunk in told].count("done") == 1
        result = told[-1].result
        assert result is not None
        history, usage = result["history"], result["usage"]
        assert result["displays"] == [value for value in seen if not isinstance(value, ErrorInfo)]
        assert result["display"] == (result["displays"] or [None])[0]
        assert (result["stop_reason"] == "stop") <= (result["answer"] is not None)
    assert history is not None
    valid(history)
    assert history[:2] == before
    assert len(before) == 2
    assert usage is not None
    assert usage["llm_calls"] == [chunk.type for chunk in told].count("usage")

    answers = {message["tool_call_id"]: message for message in history if message["role"] == "tool"}
    assert len(answers) == sum(message["role"] == "tool" for message in history), "an id was used twice"
    announced = [chunk for chunk in told if chunk.type == "tool_call"]
    ended = [chunk for chunk in told if chunk.type in ("tool_result", "tool_error")]
    assert [chunk.call_id for chunk in announced] == [*answers]
    assert sorted(chunk.call_id or "" for chunk in ended) == sorted(answers)
    for chunk in ended:
        read = ToolResponse.from_xml(answers[chunk.call_id]["content"])
        assert (read.error is None) == (chunk.type == "tool_result")
        assert "secret" not in answers[chunk.call_id]["content"]
        assert "garbage" not in (read.llm_output or "")
    for call_id in answers:
        order = [
            chunk.type
            for chunk in told
            if isinstance(chunk, ToolEvent) and chunk.call_id == call_id and chunk.type != "warning"
        ]
        ranks = {"tool_call": 0, "tool_started": 1, "tool_result": 2, "tool_error": 2, "tool_display": 3}
        assert [ranks[type_] for type_ in order] == sorted(ranks[type_] for type_ in order)


@quick
@given(MODELS, SERVERS, st.integers(0, 12))
async def test_leaving_a_chat_at_any_moment_leaves_a_valid_history_and_no_task(
    valid: Any, model: ScriptedModel, server: ScriptedServer, after: int
) -> None:
    tasks = asyncio.all_tasks()
    running = chat(model, server, display="continue")
    events = running.run()
    try:
        for _ in range(after):
            await anext(events)
    except (StopAsyncIteration, ProviderError):
        pass
    await events.aclose()
    valid(running.messages)
    assert asyncio.all_tasks() == tasks
    assert server.running == 0


async def test_a_cancelled_chat_cancels_its_calls_and_leaves_no_task() -> None:
    tasks, server = asyncio.all_tasks(), StandIn()
    running = chat(Model([Completion(tool_calls=calls("never", "never"))]), server)
    started = asyncio.Event()

    async def consume() -> None:
        async for chunk in running.run():
            if chunk.type == "tool_started" and server.running == 2:
                started.set()

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.running == 0
    assert asyncio.all_tasks() == tasks
    assert [message["role"] for message in running.messages] == ["user", "assistant", "tool", "tool"]
    assert all("CANCELLED" in message["content"] for message in running.messages[-2:])


async def test_a_call_that_takes_too_long_is_a_timeout_and_the_others_are_not_touched() -> None:
    server = StandIn()
    model = Model([Completion(tool_calls=calls("never", "tell"))])
    told = await chunks_of(chat(model, server, timeout=0.01))
    (error,) = [chunk.error for chunk in told if chunk.type == "tool_error"]
    assert (error.code, error.retryable) == ("TIMEOUT", True)
    assert [chunk.text for chunk in told if chunk.type == "tool_result"] == ["told"]
    assert server.running == 0


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("lost", "{}", "CONNECTION_FAILED"),
        ("crash", "{}", "INTERNAL"),
        ("garbage", "{}", "INVALID_XML"),
        ("refuse", "{}", "DB_TIMEOUT"),
        ("unknown", "{}", "UNKNOWN_TOOL"),
        ("", "{}", "UNKNOWN_TOOL"),
        ("tell", "{", "VALIDATION_FAIL"),
        ("tell", "[]", "VALIDATION_FAIL"),
        ("host_cancel", "{}", "CANCELLED"),
    ],
)
async def test_whatever_a_call_breaks_on_the_model_is_told_in_one_shape_and_goes_on(
    name: str, arguments: str, code: str
) -> None:
    errors: list[ErrorInfo] = []
    model = Model([Completion(tool_calls=calls(name, arguments=arguments)), Completion("sorry")])
    told = await chunks_of(chat(model, StandIn(), on_error=lambda error, history: errors.append(error)))
    assert [error.code for error in errors] == [code]
    message = model.requests[1].messages[-1]
    assert message["role"] == "tool"
    read = ToolResponse.from_xml(message["content"])
    assert read.error is not None
    assert read.error.code == code
    assert "secret" not in message["content"]
    result = told[-1].result
    assert result is not None
    assert (result["answer"], result["stop_reason"]) == ("sorry", "stop")
    assert ("tool_started" in [chunk.type for chunk in told]) == (code not in ("UNKNOWN_TOOL", "VALIDATION_FAIL"))


async def test_a_name_that_differs_only_in_characters_no_vendor_takes_finds_its_tool() -> None:
    told = await chunks_of(chat(Model([Completion(tool_calls=calls("refuse.and show"))]), StandIn()))
    (error,) = [chunk for chunk in told if chunk.type == "tool_error"]
    assert (error.tool_name, error.error and error.error.code) == ("refuse_and_show", "NOPE")


async def test_results_are_told_as_they_happen_and_messages_kept_in_call_order() -> None:
    server = StandIn(delays=[0, 3, 9])  # taken from the end: the first call is the slowest
    model = Model([Completion(tool_calls=calls("show", "tell", "show"))])
    hooks: list[str] = []

    def on_display(display: Any, history: list[Any]) -> None:
        hooks.append(
            [m["tool_call_id"] for m in history if m["role"] == "tool" and "CANCELLED" not in m["content"]][-1]
        )

    running = chat(model, server, on_display=on_display)
    told = await chunks_of(running)
    assert [chunk.call_id for chunk in told if chunk.type == "tool_result"] == ["c2", "c1", "c0"]
    assert [chunk.call_id for chunk in told if chunk.type == "tool_display"] == ["c2", "c0"]
    assert [m["tool_call_id"] for m in running.messages if m["role"] == "tool"] == ["c0", "c1", "c2"]


async def test_hooks_are_called_in_call_order_and_see_a_history_with_what_is_known() -> None:
    server = StandIn(delays=[0, 3, 9])
    seen: list[tuple[str, list[str]]] = []

    def states(history: list[Any]) -> list[str]:
        reads = [ToolResponse.from_xml(m["content"]) for m in history if m["role"] == "tool"]
        return [read.error.code if read.error else "ok" for read in reads]

    running = chat(
        Model([Completion(tool_calls=calls("refuse", "show", "never"))]),
        server,
        timeout=0.05,
        on_display=lambda display, history: seen.append((display.type, states(history))),
        on_error=lambda error, history: seen.append((error.code, states(history))),
    )
    await chunks_of(running)
    assert seen == [
        ("DB_TIMEOUT", ["DB_TIMEOUT", "ok", "CANCELLED"]),
        ("text", ["DB_TIMEOUT", "ok", "CANCELLED"]),
        ("TIMEOUT", ["DB_TIMEOUT", "ok", "TIMEOUT"]),
    ]


async def test_no_more_calls_run_at_once_than_there_are_slots_and_all_get_their_turn() -> None:
    server, slots = StandIn(delays=[3] * 20), Slots(2)
    chats = [chat(Model([Completion(tool_calls=calls(*["tell"] * 5))]), server, slots=slots) for _ in range(3)]
    results = await asyncio.gather(*map(chunks_of, chats))
    assert server.most == 2
    assert all([chunk.type for chunk in told].count("tool_result") == 5 for told in results)
    (told, *_) = results
    started = [chunk.call_id for chunk in told if chunk.type == "tool_started"]
    assert started == [f"c{i}" for i in range(5)]


async def test_the_limit_of_turns_is_reported_as_such_with_the_last_results_in_the_history() -> None:
    model = Model([Completion(tool_calls=calls("tell"))] * 9)
    told = await chunks_of(chat(model, StandIn(), max_turns=3))
    result = told[-1].result
    assert result is not None
    assert (result["answer"], result["stop_reason"]) == (None, "max_turns")
    assert result["history"][-1]["role"] == "tool"
    assert len(model.requests) == result["usage"]["llm_calls"] == 3


async def test_text_beside_the_last_calls_is_the_answer_at_the_limit() -> None:
    told = await chunks_of(chat(Model([Completion("so far", calls("tell"))] * 2), StandIn(), max_turns=2))
    assert told[-1].result is not None
    assert told[-1].result["answer"] == "so far"


@pytest.mark.parametrize(
    ("names", "display", "asked"),
    [
        (["show"], "exit", 1),
        (["show", "show"], "exit", 1),
        (["show"], "continue", 2),
        (["show", "tell"], "exit", 2),
        (["show", "refuse"], "exit", 2),
        (["refuse_and_show"], "exit", 2),
    ],
)
async def test_a_display_ends_the_chat_unless_the_model_has_something_to_react_to(
    names: list[str], display: str, asked: int
) -> None:
    model = Model([Completion("thinking", calls(*names)), Completion("done")])
    told = await chunks_of(chat(model, StandIn(), display=display))
    result = told[-1].result
    assert result is not None
    assert len(model.requests) == asked
    assert (result["answer"], result["stop_reason"]) == ((None, "display") if asked == 1 else ("done", "stop"))
    assert len(result["displays"]) == len([name for name in names if "show" in name])


async def test_a_failing_hook_changes_nothing_but_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("hook")

    model = Model([Completion(tool_calls=calls("show", "refuse"))])
    told = await chunks_of(chat(model, StandIn(), on_display=broken, on_error=broken))
    assert told[-1].type == "done"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "callback_failed callback='on_display'",
        "callback_failed callback='on_error'",
    ]


async def test_a_model_that_fails_raises_with_a_history_to_go_on_from() -> None:
    errors: list[str] = []
    model = Model([Completion(tool_calls=calls("tell"), usage=Usage(7, 1, 0))], fails_at=1)
    running = chat(model, StandIn(), on_error=lambda error, history: errors.append(error.code))
    with pytest.raises(ProviderError) as caught:
        await chunks_of(running)
    assert caught.value.history is not None
    assert [message["role"] for message in caught.value.history] == ["user", "assistant", "tool"]
    # With what had arrived of the answer that failed.
    assert (caught.value.usage["llm_calls"], caught.value.usage["output_tokens"]) == (2, 1 + 2)
    assert errors == ["UPSTREAM_UNAVAILABLE"]
    again = await chunks_of(chat(Model([]), StandIn(), caught.value.history))
    assert again[-1].result is not None
    assert again[-1].result["answer"] == "end"


async def test_a_provider_that_breaks_its_contract_is_a_provider_error() -> None:
    silent, crashing = ScriptedModel(["text and no completion"]), ScriptedModel(KeyError("api_key=secret"))
    for model in (silent, crashing):
        with pytest.raises(ProviderError, match="'model'") as caught:
            await chunks_of(chat(model, StandIn()))
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        ["x" * 60, Reasoning("y" * 60), Completion("x")],
        Completion("x" * 101),
        [Completion(tool_calls=(ToolCall("c", "tell", '"' + "x" * 100 + '"'),))],
    ],
    ids=["pieces", "completion", "arguments"],
)
async def test_an_answer_of_ones_own_provider_has_the_size_of_any_other(
    answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MAX_ANSWER_CHARACTERS", 100)
    with pytest.raises(ProviderError, match="too large to be read") as caught:
        await chunks_of(chat(ScriptedModel(answer), StandIn()))
    assert caught.value.category == "too_large"
    fits = await chunks_of(chat(ScriptedModel(["x" * 60, Reasoning("y" * 40), Completion("x" * 100)]), StandIn()))
    assert fits[-1].result is not None


async def test_a_model_without_tools_is_offered_none_and_the_caller_is_told() -> None:
    model = Model([Completion("hi")])
    model.supports_tools = False
    told = await chunks_of(chat(model, StandIn()))
    assert model.requests[0].tools.tools == ()
    assert "takes no tools" in (told[0].text or "")


async def test_ids_that_a_vendor_repeats_in_every_turn_stay_apart_in_the_history() -> None:
    model = Model([Completion(tool_calls=calls("tell", "tell"))] * 3)
    running = chat(model, StandIn())
    await chunks_of(running)
    ids = [message["tool_call_id"] for message in running.messages if message["role"] == "tool"]
    assert len({*ids}) == 6
    assert ids[:2] == ["c0", "c1"]


async def test_the_events_of_a_simple_chat_are_these() -> None:
    model = ScriptedProvider([Turn("Looking.", [("tell", {"a": 1})]), "It is told."])
    told = await chunks_of(chat(model, StandIn()))
    assert [(chunk.type, chunk.turn) for chunk in told] == [
        ("llm_delta", 1),
        ("usage", 1),
        ("tool_call", 1),
        ("tool_started", 1),
        ("tool_result", 1),
        ("llm_delta", 2),
        ("usage", 2),
        ("done", 2),
    ]
    call = told[2]
    assert (call.call_id, call.tool_name, call.arguments, call.text) == ("call_0_0", "tell", {"a": 1}, '{"a": 1}')
    assert told[4].response is not None
    assert told[4].text == told[4].response.llm_output == "told"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Completion("", (ToolCall("c", 7, "{}"),)),
            "tool_calls has a call whose name and arguments are not both strings",
        ),  # type: ignore[arg-type]
        (Completion("", (ToolCall("c", "tell", {}),)), "tool_calls has a call"),  # type: ignore[arg-type]
        (Completion("x", finish_reason={"a": 1}), "finish_reason is not a string"),  # type: ignore[arg-type]
        (Completion(["x"]), "text is not a string"),  # type: ignore[arg-type]
        (Completion("x", usage="many"), "usage is not a Usage"),  # type: ignore[arg-type]
        (Completion("x", model=7), "model is not a string"),  # type: ignore[arg-type]
        ([7, Completion("x")], "a piece of text that is a int"),
    ],
)
async def test_a_provider_that_answers_with_other_types_fails_as_a_provider(answer: Any, words: str) -> None:
    model = ScriptedModel([answer] if isinstance(answer, Completion) else answer)
    with pytest.raises(ProviderError) as caught:
        await chunks_of(chat(model, StandIn()))
    assert words in caught.value.message
    assert caught.value.history is not None


async def test_a_document_with_nothing_but_a_display_that_is_none_is_an_empty_result_and_a_warning() -> None:
    server = ScriptedServer({"show": Raw('<tool_response tool_name="show"><display>{oops</display></tool_response>')})
    running = chat(Model([Completion("", calls("show"))]), server)
    events = await chunks_of(running)
    assert [event.type for event in events if event.type in ("warning", "tool_error", "tool_result")] == [
        "warning",
        "tool_result",
    ]
    (answered,) = [message["content"] for message in running.messages if message["role"] == "tool"]
    assert ToolResponse.from_xml(answered).llm_output == ""


async def test_a_space_that_xml_does_not_know_is_an_answer() -> None:
    result = (await chunks_of(chat(Model([Completion("\u3000")]), StandIn(), max_turns=1)))[-1].result
    assert (result["answer"], result["stop_reason"]) == ("\u3000", "stop")


@pytest.mark.parametrize("white", ["\n", " \t\r\n"])
@pytest.mark.parametrize(
    ("turns", "reason"),
    [(["stop"], "empty"), (["length"], "length"), (["content_filter"], "content_filter"), (["calls"], "max_turns")],
)
async def test_a_text_of_nothing_but_white_space_is_no_answer_and_no_message(
    white: str, turns: list[str], reason: str
) -> None:
    [kind] = turns
    said = Completion(white, calls("tell")) if kind == "calls" else Completion(white, finish_reason=kind)
    result = (await chunks_of(chat(Model([said]), StandIn(), max_turns=1)))[-1].result
    assert (result["answer"], result["stop_reason"]) == (None, reason)
    assert [m["role"] for m in result["history"] if m["role"] == "assistant"] == ["assistant"] * (kind == "calls")
