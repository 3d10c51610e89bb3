"""The loop with dependencies, with models that fail, with meta tools and with time limits."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from support.chats import answers_in, by_type, chat, events_of, make_pipeline
from support.clock import never
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat import messages
from xmcp.chat.events import LLMRetry
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.hooks.middleware import LLMState, Middleware, Stack
from xmcp.providers import Completion, ProviderError, ToolCall, Usage
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

CHART = ToolResponse("chart", "A chart.", DisplayEnvelope(type="text", payload="chart"))
CHAIN: dict[str, Any] = {
    "sql": {"metadata": {"provides": "sql"}},
    "rows": {
        "metadata": {"depends_on": ["sql"]},
        "inputSchema": {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]},
    },
    "chart": {
        "metadata": {"depends_on": ["rows"], "display": True},
        "inputSchema": {"type": "object", "properties": {"rows": {"type": "array"}, "title": {}}, "required": ["rows"]},
    },
}


def chain(**tools: Any) -> ScriptedServer:
    return ScriptedServer(
        {
            "sql": lambda a: "SELECT 1",
            "rows": lambda a: (f"ran {a['sql']}", {"rows": [[1]]}),
            "chart": lambda a: CHART,
            **tools,
        },
        **CHAIN,
    )


class OnlyTheQuery(Middleware):
    async def before_llm(self, state: LLMState) -> None:
        state.messages = filter(lambda message: message["role"] == "user", state.messages)  # type: ignore[assignment]


async def test_messages_that_a_hook_gives_as_an_iterator_are_all_sent() -> None:
    model = ScriptedModel("ok")
    history = [{"role": "system", "content": "rules"}]
    await events_of(chat(model, history=history, middleware=Stack([OnlyTheQuery()])))
    assert model.requests[0].messages == ({"role": "user", "content": "query"},)


@pytest.mark.parametrize(("number", "said"), [(1, "the tool is not offered"), (2, "the 2 tools are not offered")])
async def test_a_model_that_takes_no_tools_is_a_warning_with_their_number(number: int, said: str) -> None:
    model = ScriptedModel("ok", supports_tools=False)
    server = ScriptedServer({f"t{place}": lambda _: "ok" for place in range(number)})
    (warning,) = by_type(await events_of(chat(model, server)))["warning"]
    assert said in (warning.text or "")


async def test_a_chain_of_calls_in_one_turn_is_one_turn_and_its_display_ends_the_chat() -> None:
    server = chain()
    model = ScriptedModel(asks(("chart", {"title": "T"}), "rows", "sql"))
    told = await events_of(chat(model, server))
    assert server.calls == [("sql", {}), ("rows", {"sql": "SELECT 1"}), ("chart", {"title": "T", "rows": [[1]]})]
    result = told[-1].result
    assert result is not None
    assert (result["stop_reason"], len(model.requests)) == ("display", 1)
    assert [m["tool_call_id"] for m in result["history"] if m["role"] == "tool"] == ["c0", "c1", "c2"]
    chart = next(e for e in told if e.type == "tool_result" and e.tool_name == "chart")
    assert chart.report is not None
    assert chart.report.handed_on == {"rows": "rows"}


async def test_a_failed_predecessor_fails_its_dependants_and_nobody_else() -> None:
    server = chain(sql=lambda a: ErrorInfo("NOT_FOUND", "no such table"), other=lambda a: "fine")
    model = ScriptedModel(asks("sql", "rows", "chart", "other"))
    await events_of(chat(model, server))
    answers = answers_in(model.requests[1].messages)
    assert [a.error and a.error.code for a in answers.values()] == [
        "NOT_FOUND",
        "DEPENDENCY_FAILED",
        "DEPENDENCY_FAILED",
        None,
    ]
    assert "sql" in (answers["c2"].error.message if answers["c2"].error else "")
    assert sorted(name for name, _ in server.calls) == ["other", "sql"]


async def test_a_value_that_does_not_fit_stops_its_call_and_not_the_chat() -> None:
    server = chain(rows=lambda a: ("ran", {"rows": "none"}))
    model = ScriptedModel(asks("sql", "rows", "chart"))
    await events_of(chat(model, server))
    error = answers_in(model.requests[1].messages)["c2"].error
    assert error is not None
    assert (error.code, server.count("chart")) == ("DEPENDENCY_FAILED", 0)
    assert (error.meta or {})["fields"][0]["pointer"] == "/rows"


async def test_cancelling_a_chat_ends_the_calls_that_wait_for_others_too(valid: Any) -> None:
    never, tasks = asyncio.Event(), asyncio.all_tasks()
    server = chain(sql=lambda a: never.wait())
    running = chat(ScriptedModel(asks("sql", "rows", "chart")), server)
    events = running.run()
    async for event in events:
        if event.type == "tool_started":
            break
    await events.aclose()
    valid(running.messages)
    assert (server.running, server.calls, asyncio.all_tasks()) == (0, [("sql", {})], tasks)


BROKE = ProviderError("broke", category="network", began=True)


async def test_a_broken_answer_is_asked_for_once_more_and_its_text_is_void() -> None:
    model = ScriptedModel(["half an ", BROKE], ["whole", Completion("whole")])
    told = await events_of(chat(model))
    assert [(e.type, getattr(e, "text", None)) for e in told if e.type in ("llm_delta", "retry")] == [
        ("llm_delta", "half an "),
        ("retry", None),
        ("llm_delta", "whole"),
    ]
    retry = by_type(told)["retry"][0]
    assert isinstance(retry, LLMRetry)
    assert "call_id" not in retry.to_json()
    assert (retry.attempt, retry.error.code) == (1, "UPSTREAM_UNAVAILABLE")
    assert told[-1].result is not None
    assert (told[-1].result["answer"], told[-1].result["usage"]["llm_calls"]) == ("whole", 2)


async def test_an_answer_that_breaks_twice_is_the_next_models_and_the_chat_stays_with_that() -> None:
    first = ScriptedModel([BROKE], [BROKE])
    second = ScriptedModel(asks("t"), "done")
    told = await events_of(chat((first, second), ScriptedServer({"t": lambda a: "ok"})))
    assert (len(first.requests), len(second.requests)) == (2, 2)
    assert told[-1].result is not None
    assert told[-1].result["answer"] == "done"


async def test_when_no_model_is_left_the_last_failure_is_raised_with_the_history(valid: Any) -> None:
    models = tuple(ScriptedModel(ProviderError(name, category="rate_limit")) for name in "ab")
    with pytest.raises(ProviderError, match="b") as caught:
        await events_of(chat(models))
    assert caught.value.history == [{"role": "user", "content": "query"}]


async def test_a_request_at_fault_is_given_to_no_other_model() -> None:
    other = ScriptedModel()
    with pytest.raises(ProviderError):
        await events_of(chat((ScriptedModel(ProviderError("m", category="content")), other)))
    assert other.requests == []


async def test_a_model_that_is_silent_for_too_long_is_a_failed_model() -> None:
    told = await events_of(chat((ScriptedModel(never), ScriptedModel("here")), settings={"llm_timeout": 0.01}))
    assert told[-1].result is not None
    assert told[-1].result["answer"] == "here"
    with pytest.raises(ProviderError, match=r"'model' was silent for 0.01 s"):
        await events_of(chat(ScriptedModel(never), settings={"llm_timeout": 0.01}))


async def test_when_the_time_of_a_chat_is_over_its_calls_are_answered_and_it_says_so(valid: Any) -> None:
    never = asyncio.Event()
    server = ScriptedServer({"t": lambda a: "ok", "hangs": lambda a: never.wait()})
    told = await events_of(chat(ScriptedModel(asks("t", "hangs")), server, chat_timeout=0.05))
    result = told[-1].result
    assert result is not None
    assert (result["stop_reason"], result["answer"], server.running) == ("timeout", None, 0)
    valid(result["history"])
    assert [a.error and a.error.code for a in answers_in(result["history"]).values()] == [None, "TIMEOUT"]
    assert [e.error and e.error.code for e in by_type(told)["tool_error"]] == ["TIMEOUT"]


async def test_when_the_time_is_over_while_the_model_writes_its_text_is_the_answer() -> None:
    told = await events_of(chat(ScriptedModel(["so far", never]), chat_timeout=0.02))
    assert told[-1].result is not None
    assert (told[-1].result["stop_reason"], told[-1].result["answer"]) == ("timeout", "so far")
    assert told[-1].result["history"][-1] == {"role": "assistant", "content": "so far"}


async def test_a_thought_is_in_the_history_and_nowhere_else() -> None:
    model = ScriptedModel(asks(("__think__", {"thought": "They mean revenue."})), "Revenue is 3.")
    told = await events_of(chat(model, meta_tools=True))
    result = told[-1].result
    assert result is not None
    assert "They mean revenue." in str(result["history"])
    assert (result["answer"], result["displays"]) == ("Revenue is 3.", [])
    assert not any("They mean" in str(e) for e in told if e.type not in ("tool_call", "done"))
    assert model.requests[0].tools.tools[0]["function"]["name"] == "__think__"


async def test_a_question_to_the_person_ends_the_chat_after_its_turn(valid: Any) -> None:
    server = ScriptedServer({"t": lambda a: "ok"})
    model = ScriptedModel(asks("t", ("__clarify__", {"question": "Which year?"})))
    told = await events_of(chat(model, server, meta_tools=True))
    result = told[-1].result
    assert result is not None
    assert (result["stop_reason"], result["answer"]) == ("clarify", "Which year?")
    assert (len(model.requests), server.count("t")) == (1, 1)
    valid(result["history"])


async def test_a_summary_takes_the_place_of_what_is_old(valid: Any) -> None:
    history = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "old question"},
        {"role": "assistant", "content": "old answer"},
    ]
    model = ScriptedModel(asks(("__summarize__", {"summary": "They asked before."})), "done")
    told = await events_of(chat(model, history=history, meta_tools=True))
    result = told[-1].result
    assert result is not None
    valid(result["history"])
    assert [m["role"] for m in result["history"]] == ["system", "user", "user", "assistant", "tool", "assistant"]
    assert "old question" not in str(model.requests[1].messages)
    assert "They asked before." in str(model.requests[1].messages[1])


async def test_tools_of_its_own_that_are_not_offered_are_unknown_tools() -> None:
    model = ScriptedModel(asks(("__clarify__", {"question": "?"})), "done")
    told = await events_of(chat(model))
    assert told[-1].result is not None
    assert (told[-1].result["stop_reason"], told[-1].result["answer"]) == ("stop", "done")
    error = answers_in(model.requests[1].messages)["c0"].error
    assert error is not None
    assert error.code == "UNKNOWN_TOOL"


async def test_a_call_whose_arguments_cannot_be_read_is_what_its_dependants_failed_for() -> None:
    gate = asyncio.Event()

    async def slow(_: Any) -> str:
        await gate.wait()
        return "SELECT 1"

    model = ScriptedModel(asks("sql", ("rows", "{cut"), "chart"))
    running = asyncio.create_task(events_of(chat(model, chain(sql=slow))))
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    await running
    answers = answers_in(model.requests[1].messages)
    assert [a.error and a.error.code for a in answers.values()] == [None, "VALIDATION_FAIL", "DEPENDENCY_FAILED"]
    assert "`rows`" in (answers["c2"].error.message if answers["c2"].error else "")


async def test_what_stands_for_a_call_that_was_not_made_keeps_to_the_budget_too() -> None:
    model = ScriptedModel(asks("n" * 100_000))
    await events_of(chat(model, pipeline=make_pipeline(budgets=Budgets(display=500, result=500))))
    content = model.requests[1].messages[-1]["content"]
    assert "UNKNOWN_TOOL" in content
    assert len(content) < 2_000


async def test_ids_that_another_vendor_would_refuse_are_made_anew_and_arguments_that_are_no_object_become_one(
    valid: Any,
) -> None:
    written = (("call_" + "x" * 60, '{"city": "Par'), ("functions.t:0", '"Berlin"'), ("", ""), ("good-1", '{"a":1}'))
    model = ScriptedModel(Completion("", tuple(ToolCall(id_, "t", text) for id_, text in written), "tool_calls"))
    told = await events_of(chat(model, ScriptedServer({"t": lambda a: "ok"})))
    result = told[-1].result
    assert result is not None
    valid(result["history"])
    calls = result["history"][1]["tool_calls"]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call["id"]) for call in calls)
    assert calls[3]["id"] == "good-1"
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{}", "{}", '{"a":1}']
    assert "Par" in answers_in(result["history"])[calls[0]["id"]].to_xml()
    assert [event.text for event in by_type(told)["tool_call"]] == [text for _, text in written]


class Refuses(Middleware):
    """Stops the chat in its second turn with an exception of its own."""

    def __init__(self, exc: Exception) -> None:
        self.exc = exc

    def before_llm(self, state: LLMState) -> None:  # type: ignore[override]
        if state.turn == 2:
            raise self.exc


@pytest.mark.parametrize("exc", [PermissionError("stop"), TimeoutError("mine"), KeyError("x")], ids=repr)
async def test_an_exception_of_the_applications_own_carries_what_the_chat_had_come_to(exc: Any, valid: Any) -> None:
    model = ScriptedModel(Completion("", asks("t").tool_calls, "tool_calls", Usage(7, 3)))
    running = chat(model, ScriptedServer({"t": lambda a: "ok"}), middleware=Stack([Refuses(exc)]), chat_timeout=60)
    with pytest.raises(type(exc)) as caught:
        await events_of(running)
    assert caught.value is exc
    valid(exc.history)
    assert [message["role"] for message in exc.history] == ["user", "assistant", "tool"]
    assert (exc.usage["input_tokens"], exc.usage["llm_calls"]) == (7, 1)


async def test_an_exception_that_takes_no_attributes_is_raised_all_the_same() -> None:
    class Narrow(Exception):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    running = chat(
        ScriptedModel(asks("t")), ScriptedServer({"t": lambda a: "ok"}), middleware=Stack([Refuses(Narrow())])
    )
    with pytest.raises(Narrow):
        await events_of(running)


async def test_token_counts_that_are_none_are_not_added_up() -> None:
    sunk: list[Any] = []
    odd: list[Any] = [Usage("1", 2.5, True), Usage(-1, None, [3])]
    model = ScriptedModel(
        *(Completion("", asks("t").tool_calls, "tool_calls", usage) for usage in odd),
        Completion("end", usage=Usage(4, 5, 6)),
    )
    told = await events_of(chat(model, ScriptedServer({"t": lambda a: "ok"}), settings={"usage_sink": sunk.append}))
    counts = [tuple(one[key] for key in ("input_tokens", "output_tokens", "cached_tokens")) for one in sunk]
    assert counts == [(None, None, None)] * 2 + [(4, 5, 6)]
    assert told[-1].result is not None
    usage = told[-1].result["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (4, 5, 6)


async def test_calls_above_the_limit_of_a_turn_are_answered_and_not_made(valid: Any) -> None:
    server = ScriptedServer({"a": "ok"})
    model = ScriptedModel(asks(*["a"] * 5), "end")
    running = chat(model, server, settings={"max_calls": 3})
    events = by_type(await events_of(running))
    valid(running.messages)
    answers = answers_in(running.messages)
    codes = [answer.error and answer.error.code for answer in answers.values()]
    assert codes == [None, None, None, "RATE_LIMIT", "RATE_LIMIT"]
    assert server.count("a") == 3
    assert [event.call_id for event in events["tool_call"]] == ["c0", "c1", "c2", "c3", "c4"]
    assert [event.call_id for event in events["tool_error"]] == ["c3", "c4"]
    assert [event.call_id for event in events["tool_started"]] == ["c0", "c1", "c2"]
    error = answers["c4"].error
    assert error is not None
    assert "there may be 3 calls in one answer" in error.message
    assert (error.meta or {})["side_effects"] == "none"


async def test_as_many_calls_as_the_limit_are_all_made() -> None:
    server = ScriptedServer({"a": "ok"})
    await events_of(chat(ScriptedModel(asks(*["a"] * 3), "end"), server, settings={"max_calls": 3}))
    assert server.count("a") == 3


async def test_a_call_above_the_limit_has_failed_for_those_that_depend_on_it_unless_its_tool_was_called_below() -> None:
    server = chain()
    model = ScriptedModel(asks("rows", "sql", "sql"), asks("sql", "rows", "sql"), "end")
    running = chat(model, server, settings={"max_calls": 1, "display": "continue"})
    await events_of(running)
    codes = [answer.error and answer.error.code for answer in answers_in(running.messages[:5]).values()]
    assert codes == ["DEPENDENCY_FAILED", "RATE_LIMIT", "RATE_LIMIT"]
    assert [name for name, _ in server.calls] == ["sql"]
    running = chat(ScriptedModel(asks("sql", "rows", "sql"), "end"), server, settings={"max_calls": 2})
    await events_of(running)
    assert [name for name, _ in server.calls] == ["sql", "sql", "rows"]


async def test_a_question_above_the_limit_does_not_end_the_chat() -> None:
    model = ScriptedModel(asks("a", ("__clarify__", {"question": "Which?"})), "end")
    running = chat(model, ScriptedServer({"a": "ok"}), meta_tools=True, settings={"max_calls": 1})
    events = await events_of(running)
    assert events[-1].result["stop_reason"] == "stop"  # type: ignore[union-attr]


async def test_other_tasks_run_while_a_turn_answers_very_many_calls() -> None:
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    calls = asks(*[("a", "[1]")] * 2_000)
    await events_of(chat(ScriptedModel(calls, "end"), ScriptedServer({"a": "ok"})))
    counting.cancel()
    assert rounds > 100


async def test_a_callback_gets_a_list_of_its_own_with_every_answer_so_far_and_cannot_change_the_chat(
    valid: Any,
) -> None:
    seen: list[list[Any]] = []

    def on_error(_: ErrorInfo, history: list[Any]) -> None:
        valid(history)
        seen.append([answer.error and answer.error.code for answer in answers_in(history).values()])
        history[0]["content"] = "changed"
        history.clear()

    # The first call ends last.
    server = ScriptedServer(dict.fromkeys("abc", ErrorInfo("TOOL_ERROR", "No.")), delays=[0, 4, 8])
    running = chat(ScriptedModel(asks("a", "b", "c"), "end"), server, on_error=on_error)
    await events_of(running)
    assert [codes[: place + 1] for place, codes in enumerate(seen)] == [["TOOL_ERROR"] * n for n in (1, 2, 3)]
    assert running.messages[0]["content"] == "query"


async def test_the_history_for_callbacks_is_copied_once_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    copied, written = messages.copied, messages.turn_messages
    copies, turns = [], []
    monkeypatch.setattr(messages, "copied", lambda given: copies.append(len(given)) or copied(given))
    monkeypatch.setattr(messages, "turn_messages", lambda *args: turns.append(1) or written(*args))
    calls = asks(*[("a", "[1]")] * 100)
    running = chat(ScriptedModel(calls, "end"), ScriptedServer({"a": "ok"}), on_error=lambda *_: None)
    await events_of(running)
    assert sum(copies) < 300
    assert len(turns) < 5
