"""Whatever a tool returns works, or is an error that tells its author what to do, on both wires and in both eras."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import logging
import math
import time
import types
from collections import UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import attrs
import jsonschema_rs
import numpy as np
import pandas as pd
import pytest
from fastmcp import Client
from fastmcp.server.middleware import Middleware
from fastmcp.utilities.types import Image
from mcp_types import TextContent
from pydantic import BaseModel, ConfigDict
from support.declaration import DECLARES
from support.http_host import in_thread

from xmcp import XMCP, DisplayEnvelope, ToolResponse
from xmcp.server.result_data import UnsendableResultError, check_data
from xmcp_models.registry import DISPLAY_META_KEY


@attrs.define
class Point:
    x: int


@dataclass
class Holder:
    array: Any


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    array: Any
    when: dt.date = dt.date(2026, 1, 2)


class WithText:
    def __str__(self) -> str:
        return "a thing"


class Opaque:
    """Its text is nothing but its address."""


class Speechless:
    def __str__(self) -> str:
        raise RuntimeError("s3cr3t")


FRAME = pd.DataFrame({"a": [1, 2], "t": pd.to_datetime(["2026-01-02", None])})
ROWS = [{"a": 1, "t": "2026-01-02T00:00:00"}, {"a": 2, "t": None}]
CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

WORKS: dict[str, tuple[Any, Any]] = {
    "integer_of_numpy": (np.int64(3), 3),
    "bool_of_numpy": (np.bool_(True), True),
    "array": (np.array([1.5, np.nan]), [1.5, None]),
    "frame": (FRAME, ROWS),
    "no_instant": (pd.NaT, None),
    "missing": (pd.NA, None),
    "attrs": (Point(1), {"x": 1}),
    "dataclass_around_an_array": (Holder(np.array([1])), {"array": [1]}),
    "model_around_an_array": (Model(array=np.array([1])), {"array": [1], "when": "2026-01-02"}),
    "model_around_no_instant": (Model(array=pd.NaT), {"array": None, "when": "2026-01-02"}),
    "set": ({1}, [1]),
    "set_of_attrs": ((Point(1),), [{"x": 1}]),
    "path": (Path("/a"), "/a"),
    "mapping": (types.MappingProxyType({"a": Point(1)}), {"a": {"x": 1}}),
    "user_dict": (UserDict(a=1), {"a": 1}),
    "range": (range(2), [0, 1]),
    "keys": ({"a": 1}.keys(), ["a"]),
    "bytes": (b"\xff", "/w=="),
    "key_of_numpy": ({np.int64(1): np.int64(2)}, {"1": 2}),
    "not_a_number": (math.nan, None),
    "infinity": ([math.inf], [None]),
}
"""Name, value, its JSON; the same in data and in displays."""
AS_TEXT_ALONE: dict[str, tuple[Any, Any]] = {"text": (WithText(), "a thing"), "key": ({(1, 2): "a"}, {"1,2": "a"})}
"""Has a JSON form as data only: in a display nothing is guessed (XMCP-RSP-049)."""
UNSENDABLE: dict[str, tuple[Any, str]] = {
    "opaque": (Opaque(), "/payload/v"),
    "opaque_inside": ([Point(1), Opaque()], "/payload/v/1"),
    "function": (lambda: None, "/payload/v"),
    "speechless": (Speechless(), "/payload/v"),
    "circle": (CIRCLE, ""),
}


KINDS = {
    "alone": lambda value: value,
    "inside": lambda value: {"v": value},
    "mixed": lambda value: ["text", Image(data=b"\x89PNG", format="png"), {"v": value}],
}
"""What a plain tool returns."""
SHOWN = {
    "mapping": lambda value: {"type": "json", "payload": {"v": value}},
    "object": lambda value: DisplayEnvelope(type="json", payload={"v": value}),
    "response": lambda value: ToolResponse("t", display=DisplayEnvelope(type="json", payload={"v": value})),
}
"""What a display tool returns."""


def _returning(form: Callable[[Any], Any], value: Any) -> Callable[[], Any]:
    return lambda: form(value)


def made(values: dict[str, tuple[Any, Any]], wire: Literal["always", "negotiated"] = "always") -> XMCP:
    """Return a server with a tool for each value in each form."""
    mcp = XMCP("values", wire=wire)
    for name, (value, _) in values.items():
        for kind, form in (KINDS | SHOWN).items():
            register = mcp.display_tool if kind in SHOWN else mcp.tool
            register(_returning(form, value), name=f"{kind}_{name}")
    return mcp


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.parametrize("wire", ["always", "negotiated"])
async def test_what_authors_return_every_day_works(wire: Any, era: str, reply: Any, over_http: Any) -> None:
    """Over HTTP, because in memory nothing is written as JSON."""
    values = WORKS | AS_TEXT_ALONE
    async with (
        over_http(made(values, wire).http_app()) as url,
        Client(f"{url}/mcp", mode=era, timeout=300, extensions=DECLARES) as client,
    ):

        async def answer(tool: str, **arguments: Any) -> Any:
            result = await client.call_tool_mcp(tool, arguments)
            assert not result.is_error, (tool, text_of(result))
            if wire == "always":
                reply(result)
            return result

        for name, (_, json) in values.items():
            for tool, data in (f"inside_{name}", {"v": json}), (f"alone_{name}", json):
                # Without sessions, nobody knows what a client of the handshake declared.
                promised = era == "auto" and isinstance(data, dict)
                assert (await answer(tool)).structured_content == (data if promised else None), tool
            assert " at 0x" not in text_of(await answer(f"mixed_{name}")), name
            for kind in SHOWN:
                answered = await answer(f"{kind}_{name}")
                assert " at 0x" not in text_of(answered)
                assert "<display>" not in text_of(answered)


@pytest.mark.parametrize("wire", ["always", "negotiated"])
async def test_what_authors_return_every_day_can_be_shown(wire: Any, era: str, reply: Any, over_http: Any) -> None:
    async with over_http(made(WORKS, wire).http_app()) as url, Client(f"{url}/mcp", mode=era, timeout=300) as client:
        for name, (_, json) in WORKS.items():
            for kind in SHOWN:
                result = await client.call_tool_mcp(f"{kind}_{name}", {"show_user": True})
                display = reply(result).display if wire == "always" else result.meta[DISPLAY_META_KEY]
                assert display == {"type": "json", "payload": {"v": json}}, (kind, name)


@pytest.mark.parametrize("kind", SHOWN)
async def test_what_is_shown_is_json_for_every_middleware(kind: str, call: Any) -> None:
    seen: list[str] = []

    class Keeps(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            seen.append(json.dumps(result.meta))
            return result

    mcp = made({"frame": WORKS["frame"]})
    mcp.add_middleware(Keeps())
    assert (await call(mcp, f"{kind}_frame", show_user=True)).display["payload"] == {"v": ROWS}
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["alone", "promised"])
@pytest.mark.parametrize("name", UNSENDABLE)
async def test_what_cannot_be_sent_is_an_error_whose_author_reads_why(
    name: str, kind: str, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    value = UNSENDABLE[name][0]
    mcp = XMCP("t")

    @mcp.tool
    def alone():  # type: ignore[no-untyped-def]
        return value

    @mcp.tool
    def promised() -> dict[str, Any]:
        return {"v": value}

    reply = await call(mcp, "promised" if kind == "promised" or isinstance(value, list) else "alone")
    assert (reply.code, reply.meta["side_effects"]) == ("INTERNAL", "unknown")
    assert reply.message.startswith("Could not serialize the return value of tool")
    assert "s3cr3t" not in reply.wire
    assert f"error_id={reply.meta['error_id']}" in caplog.text
    assert "return a dict, a list, a dataclass or a pydantic model" in caplog.text or "contains itself" in caplog.text


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.parametrize("name", UNSENDABLE)
async def test_what_cannot_be_sent_cannot_be_shown(
    name: str, kind: str, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = made({name: UNSENDABLE[name]})
    reply = await call(mcp, f"{kind}_{name}", show_user=True)
    assert reply.code == "INVALID_PAYLOAD"
    (fault,) = reply.meta["params"]["envelope"]
    assert fault["pointer"].startswith(UNSENDABLE[name][1])
    assert fault["reason"] == "no_json_form"
    assert "show_user=false" not in reply.message  # it would not help
    assert reply.message in caplog.text
    as_text = await call(mcp, f"{kind}_{name}")
    assert (as_text.code == "INTERNAL") is (kind != "mapping" or name == "circle")
    assert " at 0x" not in as_text.wire


@pytest.mark.parametrize("kind", ["inside", "mixed"])
async def test_data_that_nobody_was_promised_names_what_cannot_be_sent(
    kind: str, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = made({"opaque": (Opaque(), None), "speechless": (Speechless(), None)})
    for name, kept in (("opaque", "Opaque"), ("speechless", "Speechless")):
        reply = await call(mcp, f"{kind}_{name}")
        assert (reply.code, reply.structured) == (None, None)
        assert f"<{kept}>" in reply.llm_output.replace("&lt;", "<").replace("&gt;", ">")
    if kind == "inside":
        assert "at /v: Opaque has no JSON form; return a dict" in caplog.text


@pytest.mark.parametrize("show_user", [True, False])
@pytest.mark.parametrize("payload", [3, {"columns": 1, "rows": []}])
async def test_an_envelope_that_its_constructor_refuses_is_named(
    payload: Any, show_user: bool, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP("t")

    @mcp.display_tool
    def sync() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=payload)

    @mcp.display_tool
    async def within_a_response() -> ToolResponse:
        return ToolResponse("t", display={"type": "table", "payload": payload})

    for name in ("sync", "within_a_response"):
        reply = await call(mcp, name, show_user=show_user)
        assert (reply.code, reply.retryable) == ("INVALID_PAYLOAD", False)
        assert "payload" in reply.message
        assert reply.meta["params"]["envelope"][0]["message"].startswith("payload")
        assert f"error_id={reply.meta['error_id']}" in caplog.text


async def test_another_model_that_refuses_its_members_stays_internal(call: Any) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def other() -> None:
        Model.model_validate({})

    @mcp.tool
    def own_words() -> None:
        try:
            DisplayEnvelope(type="table", payload=3)  # type: ignore[arg-type]
        except ValueError as fault:
            raise RuntimeError("s3cr3t") from fault

    assert (await call(mcp, "other")).code == "INTERNAL"
    assert (await call(mcp, "own_words")).code == "INTERNAL"


# ---- NaN and the infinities ----


@pytest.mark.parametrize(
    ("number", "text"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (np.float32("nan"), "NaN")],
)
async def test_a_number_that_json_does_not_have_is_named_in_the_text(number: Any, text: str, call: Any) -> None:
    mcp = XMCP("t")
    mcp.tool(lambda: number, name="alone")
    mcp.tool(lambda: {"n": number, "rows": [number]}, name="inside")
    mcp.display_tool(lambda: number, name="display")
    mcp.display_tool(lambda: DisplayEnvelope(type="json", payload=[number]), name="shown")
    for name in ("alone", "display"):
        assert (await call(mcp, name)).llm_output == text
    reply = await call(mcp, "inside")
    assert reply.structured == {"n": None, "rows": [None]}
    assert reply.llm_output == '{"n":null,"rows":[null]}'
    assert "[null]" in (await call(mcp, "shown")).llm_output
    reply = await call(mcp, "shown", show_user=True)
    assert (reply.display["payload"], reply.llm_output) == ([None], "Shown to the user (json):\n[null]")


async def test_a_number_that_the_output_schema_promises_is_never_null(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def mean() -> float:
        return math.nan

    @mcp.tool
    def means() -> list[float]:
        return [1.0, math.inf]

    @mcp.tool
    def perhaps() -> float | None:
        return math.nan

    for name, place in (("mean", "/result"), ("means", "/result/1")):
        caplog.clear()
        assert (await call(mcp, name)).code == "INTERNAL"
        assert f"at {place}: it does not fit the tool's output schema" in caplog.text
        assert "NaN and the infinities are sent as null" in caplog.text
    reply = await call(mcp, "perhaps")
    assert (reply.llm_output, reply.structured) == ("NaN", {"result": None})


async def test_data_that_its_own_output_schema_refuses_is_not_sent(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def wrong() -> int:
        return "many" * 1000  # type: ignore[return-value]

    @mcp.tool
    def right() -> dict[str, int]:
        return {"a": np.int64(1)}  # type: ignore[dict-item]

    assert (await call(mcp, "wrong")).code == "INTERNAL"
    assert "does not fit the tool's output schema" in caplog.text
    assert "many" * 100 not in caplog.text
    assert (await call(mcp, "right")).structured == {"a": 1}


def test_data_with_many_faults_is_refused_at_the_first_one() -> None:
    validator = jsonschema_rs.validator_for({"properties": {"result": {"items": {"type": "number"}}}})
    begun = time.thread_time()
    with pytest.raises(UnsendableResultError, match="at /result/0: it does not fit"):
        check_data(validator, {"result": [None] * 100_000})
    assert time.thread_time() - begun < 0.5  # two seconds to list all of them


# ---- iterators ----


async def test_an_iterator_is_read_once_for_data_and_text(call: Any) -> None:
    mcp = XMCP("t")
    mcp.tool(lambda: map(str, [1, 2]), name="alone")
    mcp.tool(lambda: {"rows": (n for n in (1, 2)), "of": np.int64(2)}, name="inside")

    @mcp.tool
    def promised() -> Iterator[int]:
        return iter([1, 2])

    assert (await call(mcp, "alone")).llm_output == '["1","2"]'
    assert (await call(mcp, "inside")).structured == {"rows": [1, 2], "of": 2}
    assert (await call(mcp, "promised")).llm_output == "[1,2]"


async def test_an_endless_iterator_ends(
    call: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.server.result_data.MAX_ENTRIES", 10)
    mcp = XMCP("t")
    mcp.tool(lambda: itertools.count(), name="endless")
    mcp.tool(lambda: (n for n in range(1000)), name="generated")
    mcp.tool(lambda: iter(range(10)), name="enough")
    with caplog.at_level(logging.ERROR):
        assert (await call(mcp, "endless")).code == "INTERNAL"
        assert (await call(mcp, "generated")).code == "INTERNAL"
    assert "a count with more than 10 entries" in caplog.text
    assert "a generator with more than 10 entries" in caplog.text
    assert (await call(mcp, "enough")).llm_output == "[0,1,2,3,4,5,6,7,8,9]"


# ---- responses ----


async def test_a_response_whose_text_is_no_text_is_written_like_a_result(call: Any) -> None:
    mcp = XMCP("t")
    mcp.tool(lambda: ToolResponse("t", llm_output=5), name="number")  # type: ignore[arg-type]
    mcp.tool(lambda: ToolResponse("t", llm_output={"a": np.int64(1)}), name="data")  # type: ignore[arg-type]
    mcp.tool(lambda: ToolResponse("t", llm_output="a", format="no media type"), name="media")
    assert (await call(mcp, "number")).llm_output == "5"
    reply = await call(mcp, "data")
    assert (reply.llm_output, reply.format) == ('{"a":1}', "application/json")
    reply = await call(mcp, "media")
    assert (reply.llm_output, reply.format) == ("a", None)


# ---- secrets ----


async def test_a_secret_is_found_in_whatever_is_shown(call: Any) -> None:
    mcp = XMCP("t", wire="always")
    mcp.param_provider("key")(lambda request: "s3cr3t-key")
    forms: dict[str, Callable[[str], Any]] = {
        "set": lambda key: {key},
        "attrs": Point,
        "array": lambda key: np.array([key], dtype=object),
        "frame": lambda key: pd.DataFrame({"k": [key]}),
        "path": Path,
    }

    def leaking(shape: Any, form: Any) -> Any:
        return lambda key: shape(form(key))

    for name, form in forms.items():
        for kind, shape in SHOWN.items():
            mcp.display_tool(leaking(shape, form), name=f"{kind}_{name}", server_populated=["key"], sensitive=["key"])
    for name in forms:
        for kind in SHOWN:
            reply = await call(mcp, f"{kind}_{name}", show_user=True)
            assert "s3cr3t" not in reply.wire, (kind, name)
            assert "[redacted]" in str(reply.display), (kind, name)


async def test_an_output_schema_that_refers_to_another_document_is_not_fetched(call: Any) -> None:
    fetched = []

    async def documents(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fetched.append(await reader.readline())
        writer.close()

    with in_thread(documents) as elsewhere:
        mcp = XMCP()

        @mcp.tool(output_schema={"type": "object", "properties": {"a": {"$ref": f"{elsewhere}/a.json"}}})
        def refers() -> dict[str, Any]:
            return {"a": 1}

        assert (await call(mcp, "refers")).structured == {"a": 1}
    assert fetched == []
