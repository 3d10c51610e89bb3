"""Going on from a response: by its id, by references to items, by a conversation; after a restart; what is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openai
import pytest
from support.gateways import events_in, served
from support.recorded_gateways import TENANTS, recorded
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.completions import VendorState
from xmcp.chat.usage import Usage
from xmcp.gateway.audit import conversations
from xmcp.gateway.audit.archive import Archive
from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.decoders import openai_items
from xmcp.gateway.decoders.openai_items import continued_run
from xmcp.gateway.keys import digest
from xmcp.gateway.runs.rounds import last_added
from xmcp.providers import Completion

ASK: Mapping[str, Any] = {"model": "assistant", "input": "2+3?"}
USAGE = Usage(input_tokens=10, output_tokens=5, cached_tokens=2)
TOOL = {
    "type": "function",
    "name": "ask_page",
    "description": "Asks.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}
CALL = ("ask_page", {"question": "which?"})


def sent(model: ScriptedModel, request: int = -1) -> Sequence[tuple[str, Any]]:
    """Return role and content of what the model was sent."""
    return [(one["role"], one["content"]) for one in model.requests[request].messages]


def roles(model: ScriptedModel, request: int = -1) -> str:
    """Return the first letters of the roles of what the model was sent."""
    return "".join(role[0] for role, _ in sent(model, request))


@pytest.mark.parametrize("by", ["previous_response_id", "conversation"])
async def test_a_client_sends_only_the_results_of_its_tools_and_what_is_new(by: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1})), asks(CALL, text="I ask."), "It is blue.", "You said go.")
    ask: dict[str, Any] = {"model": "assistant", "tools": [TOOL], "instructions": "Be brief."}
    async with served(model) as gateway, gateway.openai() as client:

        def goes_on(response: Any) -> dict[str, Any]:
            return {by: response.id if by == "previous_response_id" else "talk"}

        begun = {} if by == "previous_response_id" else {"conversation": "talk"}
        first = await client.responses.create(**ask, input="go", **begun)
        call = first.output[-1]
        assert first.output_text == "I ask."
        result = {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": [{"type": "input_text", "text": "blue"}],
        }
        async with client.responses.stream(**ask, input=[result], **goes_on(first)) as stream:
            second = await stream.get_final_response()
        assert second.output_text == "It is blue."
        assert second.previous_response_id == (first.id if by == "previous_response_id" else None)
        third = await client.responses.create(model="assistant", input="What did I say?", **goes_on(second))
    assert third.output_text == "You said go."
    assert roles(model, 2) == "suatat"
    assert sent(model, 2)[-1] == ("tool", "blue")
    assert roles(model, 3) == "uatatau"  # instructions are of one response
    assert gateway.shop.calls == ["add"]


async def test_two_requests_go_on_from_the_same_response_and_one_without_results_says_so() -> None:
    model = ScriptedModel(asks(CALL), then="ok")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.responses.create(**ASK, tools=[TOOL])
        for words in ("one", "two"):
            said = {"model": "assistant", "input": words, "previous_response_id": first.id}
            await client.responses.create(**said)
            assert [role for role, _ in sent(model)] == ["user", "assistant", "tool", "user"]
            assert "no result" in sent(model)[2][1]
            assert sent(model)[-1] == ("user", words)


async def test_a_conversation_goes_on_with_all_items_that_are_new() -> None:
    model = ScriptedModel(then="ok")
    async with served(model) as gateway, gateway.openai() as client:
        await client.responses.create(**ASK, conversation={"id": "talk"})
        items: list[Any] = [{"role": "developer", "content": "In rhyme."}, {"role": "user", "content": "and?"}]
        raw = await client.responses.with_raw_response.create(model="assistant", input=items, conversation="talk")
    assert sent(model) == [("user", "2+3?"), ("assistant", "ok"), ("developer", "In rhyme."), ("user", "and?")]
    assert raw.headers["xmcp-history"] == "remembered"
    assert raw.parse().conversation.id == "talk"


async def test_what_a_vendor_wants_back_comes_back_from_a_response() -> None:
    call = asks(CALL, ("add", {"a": 1, "b": 1}))
    state = VendorState("model", {"signature": "s"})
    model = ScriptedModel(Completion("", call.tool_calls, "tool_calls", vendor_state=state), "done")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.responses.create(**ASK, tools=[TOOL])
        result: Any = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "x"}
        await client.responses.create(model="assistant", input=[result], previous_response_id=first.id)
    assert "signature" in json.dumps(list(model.requests[-1].messages))


def test_what_a_run_added_begins_after_the_results_that_it_went_on_from() -> None:
    def call(*ids: str) -> dict[str, Any]:
        function = {"name": "n", "arguments": "{}"}
        calls = [{"id": name, "type": "function", "function": function} for name in ids]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def answers(*ids: str) -> list[dict[str, Any]]:
        return [{"role": "tool", "tool_call_id": name, "content": "x"} for name in ids]

    question, answer = {"role": "user", "content": "go"}, {"role": "assistant", "content": "a"}
    own, other = f"ct_{RUN}_0", f"ct_{8:032x}_0"
    assert last_added([question]) == []
    assert last_added([question, call("c0"), *answers("c0"), answer]) == [call("c0"), *answers("c0"), answer]
    assert last_added([question, call(own, "c1"), *answers("c1")]) == [call(own, "c1"), *answers("c1")]
    assert last_added([question, call(own, "c1"), *answers(own, "c1"), answer]) == [answer]
    assert last_added([question, call(own), *answers(own), call(other)]) == [call(other)]


async def test_an_item_that_a_client_refers_to_is_all_that_its_run_has_said_and_read() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), "It is 5.", then="ok")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.responses.create(**ASK)
        references = [{"type": "item_reference", "id": item.id} for item in first.output]
        reasoning = {"type": "item_reference", "id": first.output[0].id.replace("msg_", "rs_")}
        items = [{"role": "user", "content": "2+3?"}, reasoning, *references, {"role": "user", "content": "sure?"}]
        second = await client.responses.create(model="assistant", input=items)
    assert second.output_text == "ok"
    assert roles(model) == "uatau"
    assert ">5<" in sent(model)[2][1]


@pytest.mark.parametrize("referred", ["call", "text"])
async def test_a_call_goes_on_with_its_result_where_a_client_refers_to_it_or_to_the_text_before(referred: str) -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1})), asks(CALL, text="I ask."), "It is blue.")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.responses.create(**ASK, tools=[TOOL])
        text, call = first.output
        reference = {"type": "item_reference", "id": (call if referred == "call" else text).id}
        whole = [] if referred == "call" else [call]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
        items = [{"role": "user", "content": "2+3?"}, reference, *whole, result]
        second = await client.responses.create(model="assistant", input=items, tools=[TOOL])
    assert second.output_text == "It is blue."
    assert roles(model) == "uatat"
    assert sent(model)[-1] == ("tool", "blue")


@pytest.mark.parametrize("lost", ["time", "place", "store", "tenant"])
async def test_what_is_not_kept_is_said_in_openais_words(lost: str) -> None:
    settings = {"time": {"response_seconds": 0}, "place": {"response_bytes": 0}}.get(lost, {})
    listed = [{"name": one, "tenant": one, "hash": f"sha256:{digest(f'xmcp_{one}').hex()}"} for one in ("acme", "evil")]
    model = ScriptedModel(then="hi")
    async with served(model, {"runs": settings, "keys": listed}) as gateway:
        async with gateway.openai(api_key="xmcp_acme") as client:
            first = await client.responses.create(**ASK, store=lost != "store")
        async with gateway.openai(api_key="xmcp_evil" if lost == "tenant" else "xmcp_acme") as client:
            with pytest.raises(openai.BadRequestError) as told:
                await client.responses.create(**ASK, previous_response_id=first.id)
            reference = {"type": "item_reference", "id": first.output[0].id}
            with pytest.raises(openai.BadRequestError) as referred:
                await client.responses.create(model="assistant", input=[reference, {"role": "user", "content": "x"}])
            if lost == "tenant":
                with pytest.raises(openai.NotFoundError):
                    await client.responses.retrieve(first.id)
    assert (told.value.code, told.value.param) == ("previous_response_not_found", "previous_response_id")
    assert (referred.value.code, referred.value.param) == ("item_not_found", "input[0].id")
    assert len(model.requests) == 1


async def test_with_an_audit_store_it_goes_on_after_a_restart_and_for_its_own_tenant_only(database: str) -> None:
    first = ScriptedModel(asks(("add", {"a": 2, "b": 3})), asks(CALL, text="I ask."))
    async with recorded(first, database, TENANTS) as gateway, gateway.openai(api_key="a") as client:
        begun = await client.responses.create(**ASK, tools=[TOOL], instructions="Be brief.")
    call_id = begun.output[-1].call_id
    result = {"type": "function_call_output", "call_id": call_id, "output": "blue"}
    going_on: dict[str, Any] = {"model": "assistant", "input": [result], "previous_response_id": begun.id}
    second = ScriptedModel("It is blue.")
    async with recorded(second, database, TENANTS) as gateway:
        async with gateway.openai(api_key="b") as client:
            with pytest.raises(openai.BadRequestError, match="not found"):
                await client.responses.create(**going_on)
        async with gateway.openai(api_key="a") as client:
            response = await client.responses.create(**going_on)
    assert response.output_text == "It is blue."
    assert roles(second) == "uatat"
    assert [one["id"] for one in second.requests[0].messages[3]["tool_calls"]] == [call_id]


async def test_a_request_reads_so_much_from_the_store_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "HISTORIES_SIZE", 1_000)
    references = []
    async with recorded(ScriptedModel(then="x" * 1_100), tmp_path / "a.db") as gateway, gateway.openai() as client:
        for number in range(3):
            response = await client.responses.create(model="assistant", input=str(number))
            references.append({"type": "item_reference", "id": response.output[0].id})
    question = {"role": "user", "content": "x"}
    async with recorded(ScriptedModel(then="ok"), tmp_path / "a.db") as gateway, gateway.openai() as client:
        await client.responses.create(model="assistant", input=[*references[:1], question])
        with pytest.raises(openai.BadRequestError) as told:
            await client.responses.create(model="assistant", input=[*references, question])
    assert told.value.param == "input[1].id"


async def test_what_a_request_refers_to_is_no_more_than_it_could_send_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_items, "MAX_EARLIER_SIZE", 3_000)
    model = ScriptedModel(then="x" * 1_100)
    async with served(model) as gateway, gateway.openai() as client:
        references = []
        for number in range(3):
            response = await client.responses.create(model="assistant", input=str(number))
            references.append({"type": "item_reference", "id": response.output[0].id})
        question = {"role": "user", "content": "x"}
        await client.responses.create(model="assistant", input=[*references[:2], *references[:2], question])
        with pytest.raises(openai.BadRequestError, match="refers to more than 3,000 characters") as told:
            await client.responses.create(model="assistant", input=[*references, question])
    assert told.value.param == "input[2].id"
    assert len(model.requests) == 4


async def test_where_the_store_cannot_be_read_the_client_is_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(*_: Any) -> Any:
        raise AuditError("at db.internal")

    monkeypatch.setattr(Archive, "run_histories", unreadable)
    async with recorded(ScriptedModel("hi"), tmp_path / "a.db") as gateway, gateway.openai() as client:
        with pytest.raises(openai.InternalServerError) as told:
            await client.responses.create(**ASK, previous_response_id=f"resp_{1:032x}")
    assert (told.value.status_code, told.value.code) == (503, "audit_unavailable")
    assert "internal" not in told.value.message


async def test_what_is_remembered_of_a_response_is_within_the_window_of_sessions() -> None:
    model = ScriptedModel(then="ok")
    async with served(model, {"sessions": {"max_messages": 4}}) as gateway, gateway.openai() as client:
        goes_on: dict[str, Any] = {}
        for number in range(5):
            response = await client.responses.create(model="assistant", input=str(number), **goes_on)
            goes_on = {"previous_response_id": response.id}
    assert [content for role, content in sent(model) if role == "user"] == ["2", "3", "4"]


async def test_a_request_cannot_make_the_gateway_look_for_any_number_of_runs() -> None:
    items = [{"type": "item_reference", "id": f"msg_{number:032x}_0"} for number in range(201)]
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        answer = await http.post("/v1/responses", json={"model": "assistant", "input": items})
    assert answer.status_code == 400
    assert "more than 200 earlier responses" in answer.json()["error"]["message"]


async def test_a_stream_says_large_members_of_the_request_no_second_time() -> None:
    schema = {"type": "object", "properties": {"n": {"description": "x" * 20_000}}}
    body = {**ASK, "stream": True, "metadata": {"big": "x" * 20_000}, "tools": [{**TOOL, "parameters": schema}]}
    async with served(ScriptedModel("hi")) as gateway, gateway.http() as http:
        answer = await http.post("/v1/responses", json=body)
    assert len(answer.content) < 20_000
    assert events_in(answer.text)[-1][2]["response"]["tools"] == []


RUN = f"{7:032x}"


@pytest.mark.parametrize(
    ("body", "run"),
    [
        ({"previous_response_id": f"resp_{RUN}", "input": "x"}, True),
        ({"input": [{"role": "user"}, 3, {"type": "item_reference", "id": f"msg_{RUN}_1"}]}, True),
        ({"input": [{"type": "function_call_output", "call_id": f"ct_{RUN}_0"}]}, True),
        ({"input": [{"type": "function_call_output", "call_id": "c0"}], "previous_response_id": "resp_x"}, False),
        ({"input": [{"type": "item_reference", "id": f"rs_{RUN}_1"}]}, True),
        ({"input": [{"type": "item_reference", "id": f"rs_{RUN}"}]}, False),
        ({"input": 3, "previous_response_id": 3}, False),
        ({}, False),
    ],
)
def test_which_earlier_run_a_request_names_is_read_from_any_body(body: dict[str, Any], run: bool) -> None:
    assert continued_run(body) == (f"run_{RUN}" if run else None)


async def test_from_the_responses_of_a_session_that_was_deleted_nobody_goes_on() -> None:
    async with served(ScriptedModel(then="ok")) as gateway, gateway.openai() as client, gateway.http() as http:
        gone, kept = [await client.responses.create(**ASK, conversation=name) for name in ("gone", "kept")]
        assert (await http.delete("/sessions/gone")).status_code == 204
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(**ASK, previous_response_id=gone.id)
        assert refused.value.code == "previous_response_not_found"
        assert (await client.responses.create(**ASK, previous_response_id=kept.id)).output_text == "ok"
