"""The bench of the client measures correct chats: both clients follow the script, and a wrong one is detected."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tools import ROOT
from tools.bench import client as bench_client
from tools.bench import client_process as peer
from tools.bench.client import WORKLOADS, Workload, echo
from tools.bench.processes import Client, Failed, Server
from tools.bench.script import Call, Script, fault, tool_calls

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def addresses() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """The model, and the servers that each kind of workload has."""
    with ExitStack() as stack:
        model, tools, many = (
            stack.enter_context(Server(*arguments)) for arguments in (("model",), ("tools",), ("many", "100"))
        )
        few = [f"{tools.ready()}/mcp"]
        yield f"{model.ready()}/v1", {"few": few, "many": [*few, f"{many.ready()}/mcp"]}


def run(client, workload):
    return (peer.first_token if workload.how == "first_token" else peer.whole_chat)(client, workload.script)


@pytest.mark.parametrize("kind", peer.PEERS)
async def test_both_clients_answer_every_workload_as_scripted(addresses, kind):
    model, servers = addresses
    for name in ("few", "many"):
        async with peer.PEERS[kind](model, servers[name]) as client:
            for workload in WORKLOADS:
                if workload.peer == name:
                    assert await run(client, workload) > 0


@pytest.mark.slow
async def test_ours_is_measured_with_its_log_and_its_accounting_in_use(addresses):
    model, servers = addresses
    async with peer.Xmcp(model, servers["few"]) as client:
        await run(client, WORKLOADS[0])
        assert client.accounted == 2
        assert logging.getLogger("bench").isEnabledFor(logging.INFO)


def test_the_process_of_the_floor_has_nothing_of_ours_in_it():
    code = "import sys, tools.bench.client_process; print({'xmcp', 'fastmcp', 'openai'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout == "set()\n"


class Cutting(peer.Floor):
    """Loses the last character of every result."""

    async def call(self, call):
        message = await super().call(call)
        return {**message, "content": message["content"][:-1]}


class Swapping(peer.Floor):
    """Gives the result of a call to the one before."""

    async def call(self, call):
        message = await super().call(call)
        turn, place = message["tool_call_id"].rsplit("_", 1)
        return {**message, "tool_call_id": f"{turn}_{int(place) ^ 1}"}


@pytest.mark.slow
@pytest.mark.parametrize("broken", [Cutting, Swapping])
async def test_a_wrong_tool_result_is_an_error_and_no_figure(addresses, broken):
    model, servers = addresses
    async with broken(model, servers["few"]) as client:
        for workload in WORKLOADS:
            if workload.script.turns and workload.peer == "few":
                with pytest.raises(peer.WrongAnswer, match="call_0_0"):
                    await run(client, workload)


@pytest.mark.slow
async def test_a_client_without_its_tools_is_an_error(addresses):
    model, servers = addresses
    async with peer.Floor(model, servers["few"]) as client:
        with pytest.raises(peer.WrongAnswer, match="5 tools on offer, not 105"):
            await run(client, WORKLOADS[-1])


SCRIPT = Script([[Call("echo", {"text": "one"}), Call("echo", {"text": "two"})], [Call("report", {"size": 1000})]])


def history():
    """What comes back to the model when everything is right."""
    messages = []
    for turn, calls in enumerate(SCRIPT.turns):
        messages.append({"role": "assistant", "content": None, "tool_calls": tool_calls(SCRIPT, turn)})
        for place, call in enumerate(calls):
            messages.append({"role": "tool", "tool_call_id": f"call_{turn}_{place}", "content": f"<{call.result}>"})
    return messages


def test_a_right_history_has_no_fault():
    assert fault(SCRIPT, history(), 0) is None
    assert fault(SCRIPT, [], 0) is None
    assert fault(SCRIPT, history()[:3], 0) is None


def cut(messages):
    messages[-1]["content"] = messages[-1]["content"].replace(" 150 ", " ")


def another_chats(messages):
    messages[1]["content"] = "three"


def lost(messages):
    del messages[2]


def lost_at_the_end(messages):
    del messages[-1]


def out_of_order(messages):
    messages[1:3] = reversed(messages[1:3])


def twice(messages):
    messages.append(dict(messages[-1]))


def other_arguments(messages):
    messages[0]["tool_calls"][0]["function"]["arguments"] = json.dumps({"text": "uno"})


def no_call(messages):
    messages[0] = {"role": "assistant", "content": "No."}


WRONG = [cut, another_chats, lost, lost_at_the_end, out_of_order, twice, other_arguments, no_call]


@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_else_comes_back_is_a_fault(wrong):
    messages = history()
    wrong(messages)
    assert fault(SCRIPT, messages, 0)


def test_every_chat_has_texts_of_its_own():
    script = WORKLOADS[0].script
    first, second = (peer.own(script).turns[0][0].arguments["text"] for _ in range(2))
    assert first != second
    texts = [call.arguments["text"] for turn in peer.own(Script(echo(3, 4))).turns for call in turn]
    assert len(set(texts)) == 12


def test_a_ratio_is_of_the_same_round():
    workload = Workload("w", 1.0, Script([]), 1)
    pairs = [({"seconds": [n * 2.0], "cpu": n * 1.0}, {"seconds": [n * 1.0], "cpu": n * 1.0}) for n in (1, 10, 100)]
    figure = bench_client.ratio(workload, pairs)
    assert figure.value == 2
    assert "CPU 1.00" in figure.rest


@pytest.mark.slow
def test_a_failing_chat_fails_the_measurement_and_its_process_goes_on(addresses):
    model, servers = addresses
    with Client("floor") as client:
        client.ask("connect", peer="few", model=model, servers=servers["few"], options={})
        wrong = WORKLOADS[0]._replace(script=Script([[Call("nobody", {})]]))
        with pytest.raises(Failed, match="client_process floor: "):
            bench_client.measure(client, wrong)
        assert bench_client.measure(client, WORKLOADS[0])["seconds"]


def test_a_process_ends_with_the_bench():
    with Server("model") as model:
        model.ready()
        process = model._process
        process.stdin.close()
        assert process.wait(300) == 0
        process.stdin = None
