"""Whether a result has MCP's form is found out as the SDK finds it out, but soon, whatever a server sends."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import methods
from pydantic import ValidationError
from pydantic_core import from_json
from support.fuzzing import as_bytes, damaged, fuzzing

from xmcp.client.servers.peer_limits import MAX_CONTAINERS, MAX_ITEMS
from xmcp.client.servers.result_checks import MAX_FORMED, SLICE, _slices, check_result, is_too_wide

TEXT = {"type": "text", "text": "seen"}
RICH = {**TEXT, "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"a": {"b": 1}}}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "text": "x", "_meta": {}}}
ZONES = [f"Continent/City_{n}" for n in range(600)]
TOOL = {
    "name": "look",
    "inputSchema": {"type": "object", "properties": {"zone": {"enum": ZONES}, "b": {"type": "string"}}},
}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
ASKS = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "sampling/createMessage",
            "params": {"messages": [{"role": "user", "content": TEXT}], "maxTokens": 5},
        }
    },
}
VERSIONS = ["2025-11-25", "2026-07-28"]

RESULTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"content": [TEXT, RICH, RESOURCE], "structuredContent": {"a": [1]}, "_meta": {"b": 1}}),
    ("tools/call", {"resultType": "complete", "content": [TEXT] * 3, "isError": True, "more": [[1]]}),
    ("tools/call", ASKS),
    ("tools/list", {**CACHED, "tools": [TOOL] * 3, "nextCursor": "2"}),
    ("resources/read", {**CACHED, "contents": [{"uri": "file:///a", "text": "x"}] * 3}),
]


def is_right(check: Any, *given_: Any) -> bool:
    try:
        check(*given_)
    except ValidationError:
        return False
    return True


@given(
    st.sampled_from(RESULTS).flatmap(lambda each: st.tuples(st.just(each[0]), damaged(st.just(each[1])))),
    st.sampled_from(VERSIONS),
    st.sampled_from([2, 10, SLICE]),
)
@fuzzing(300)
def test_a_result_is_right_in_slices_if_it_is_as_a_whole(called: Any, version: str, size: int) -> None:
    method, result = called
    try:
        result = from_json(as_bytes(result))
    except ValueError:
        return  # no transport can bring it
    if not isinstance(result, dict):
        return
    as_a_whole = is_right(methods.validate_server_result, method, version, result)
    of_the_model = is_right(methods.parse_server_result, method, version, result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xmcp.client.servers.result_checks.SLICE", size)
        # What the SDK would refuse a step later may be refused here.
        sliced = next(_slices(result)) is not result
        right = is_right(check_result, method, version, result)
    assert right is as_a_whole or (sliced and right is of_the_model)


def test_a_method_that_a_version_does_not_have_is_a_key_error_which_the_sdk_expects() -> None:
    with pytest.raises(KeyError):
        check_result("tasks/get", "2026-07-28", {})


def test_slices_have_all_members_once_and_the_rest_of_the_result() -> None:
    result = {"content": [{"type": "text", "text": str(n)} for n in range(1000)], "isError": True, "_meta": {"a": 1}}
    parts = list(_slices(result))
    assert 5 < len(parts) < 10
    assert [block for part in parts for block in part["content"]] == result["content"]
    assert {(part["isError"], part["_meta"]["a"]) for part in parts} == {(True, 1)}
    assert [*_slices(RESULTS[0][1])] == [RESULTS[0][1]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "blocks",
    [
        [{}] * MAX_ITEMS,
        [1] * MAX_ITEMS,
        [{"type": "x"}] * MAX_ITEMS,
        [{**TEXT, "annotations": {"audience": ["a"] * SLICE}}] * 20,
        [{"type": "resource", "resource": {"uri": 1, "text": 1}}] * 2_000,
    ],
)
def test_a_result_of_nothing_but_errors_is_refused_soon(version: str, blocks: list[Any]) -> None:
    result = {"resultType": "complete", "content": blocks}
    assert not is_too_wide(result)
    took = []
    for _ in range(3):
        begun = time.thread_time()
        with pytest.raises(ValidationError) as caught:
            check_result("tools/call", version, result)
        took.append(time.thread_time() - begun)
    assert caught.value.error_count() < 50 * SLICE  # of 25 for each value in the SDK's form, with all that is in them
    assert min(took) < 1, took


@pytest.mark.parametrize(
    ("result", "too_wide"),
    [
        ({"content": [TEXT] * 4_000}, False),
        ({"content": [TEXT] * 4_200}, True),
        ({"content": [{}] * MAX_ITEMS}, False),
        ({"content": [{}] * (MAX_ITEMS + 1)}, True),
        ({"content": [RICH] * (MAX_FORMED // 4)}, True),
        ({"content": [{**TEXT, "annotations": {"audience": ["user"] * (SLICE + 1)}}]}, True),
        ({"content": [{**TEXT, "_meta": dict.fromkeys(map(str, range(MAX_ITEMS + 1)))}]}, True),
        ({"content": [{**TEXT, "_meta": {"rows": [[n] for n in range(10_000)]}}]}, False),
        ({"content": [], "_meta": {"rows": [{"a": 1}] * 100_000, "of": dict.fromkeys(map(str, range(6000)))}}, False),
        ({"content": [], "_meta": dict.fromkeys(map(str, range(MAX_ITEMS + 1)))}, True),
        ({"content": [], "structuredContent": {"rows": [{"a": 1}] * 100_000}}, False),
        ({"content": [], "structuredContent": dict.fromkeys(map(str, range(100_000)))}, False),
        ({"content": [], "structuredContent": dict.fromkeys(map(str, range(MAX_CONTAINERS + 1)))}, True),
        ({"content": [], "more": {"rows": [1] * 1_000_000}}, False),
        (dict.fromkeys(map(str, range(MAX_ITEMS + 1))), True),
        ({"tools": [TOOL] * MAX_ITEMS}, False),
        ({"inputRequests": {"a": {"params": {"messages": [{"content": [{}] * (SLICE + 1)}]}}}}, True),
    ],
    ids=range(17),
)
def test_a_result_has_no_more_values_with_a_form_than_there_is_time_to_check(result: Any, too_wide: bool) -> None:
    assert is_too_wide(result) is too_wide
