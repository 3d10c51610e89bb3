"""A parameter that is a model, with fields that the caller does not set: the server's, and `show_user`."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Annotated, Any

import pytest
from fastmcp import Client, Context
from fastmcp.tools import Tool
from pydantic import AliasChoices, AliasGenerator, AliasPath, BaseModel, ConfigDict, Field, model_validator

from xmcp import XMCP, DisplayEnvelope, ParamRequest
from xmcp_models.registry import TOOL_META_KEY

FILLED: Any = {"server_populated": True}


class Params(BaseModel):
    query: str
    user_id: str = Field(json_schema_extra=FILLED)
    key: str = Field(alias="apiKey", json_schema_extra={**FILLED, "sensitive": True})
    tags: list[str] = Field(default_factory=lambda: ["all"], json_schema_extra=FILLED)
    show_user: bool = False


def server(**options: Any) -> tuple[XMCP, list[Params]]:
    mcp, seen = XMCP("shop", **options), []

    @mcp.display_tool
    def sales(params: Params) -> Any:
        seen.append(params)
        rows = [{"query": params.query, "key": params.key}]
        return DisplayEnvelope(type="table", payload=rows) if params.show_user else rows

    @mcp.param_provider
    def known(request: ParamRequest) -> str:
        assert "user_id" not in request.arguments["params"]
        return {"user_id": "u-17", "apiKey": "sk-live-4711"}[request.name]

    return mcp, seen


async def test_the_caller_sees_only_its_own_fields(era: str) -> None:
    mcp, _ = server()
    async with Client(mcp, mode=era) as client:
        (tool,) = await client.list_tools()
    assert set(tool.input_schema["properties"]) == {"params", "show_user"}
    assert set(tool.input_schema["properties"]["params"]["properties"]) == {"query"}
    assert tool.input_schema["properties"]["params"]["required"] == ["query"]
    assert tool.meta[TOOL_META_KEY]["server_populated"] == ["user_id", "apiKey", "tags"]


async def test_the_object_has_what_the_server_and_show_user_say(call: Any) -> None:
    mcp, seen = server()
    shown = await call(mcp, "sales", params={"query": "EMEA"}, show_user=True)
    assert shown.code is None
    assert shown.filled == {"values": {"user_id": "u-17", "tags": ["all"]}, "redacted": ["apiKey"]}
    assert shown.display["payload"] == [{"query": "EMEA", "key": "[redacted]"}]
    told = await call(mcp, "sales", params={"query": "EMEA"})
    assert told.display is None
    assert [(one.user_id, one.key, one.show_user) for one in seen] == [
        ("u-17", "sk-live-4711", True),
        ("u-17", "sk-live-4711", False),
    ]


@pytest.mark.parametrize(
    "forged", [{"params": {"query": "q", "user_id": "x"}}, {"params": {"query": "q"}, "user_id": 1}]
)
async def test_what_the_caller_sends_for_them_is_set_aside_or_refused(call: Any, forged: dict[str, Any]) -> None:
    mcp, seen = server()
    assert (await call(mcp, "sales", **forged)).filled["overridden"] == ["user_id"]
    assert seen[0].user_id == "u-17"

    strict, never = server(on_param_override="reject")
    refused = await call(strict, "sales", **forged)
    assert refused.code == "FORBIDDEN_PARAM_OVERRIDE"
    pointer = "/user_id" if "user_id" in forged else "/params/user_id"
    assert refused.meta["fields"][0]["pointer"] == pointer
    assert not never


async def test_show_user_in_the_object_is_not_the_callers_switch(call: Any) -> None:
    mcp, seen = server()
    assert (await call(mcp, "sales", params={"query": "q", "show_user": True})).display is None
    assert seen[0].show_user is False


class Lenient(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user: str = Field(alias="u", json_schema_extra=FILLED)

    @model_validator(mode="before")
    @classmethod
    def parsed(cls, given: Any) -> Any:
        return {"u": given.partition("=")[2]} if isinstance(given, str) else given


async def test_a_model_cannot_be_made_to_take_a_field_of_the_server_another_way(call: Any) -> None:
    mcp, seen = XMCP(), []

    @mcp.tool
    def orders(params: Lenient) -> str:
        seen.append(params.user)
        return "done"

    mcp.param_provider("u")(lambda: "honest")
    refused = await call(mcp, "orders", params="user=forged")
    assert refused.code == "VALIDATION_FAIL"
    assert refused.meta["fields"] == [
        {"pointer": "/params", "reason": "wrong_type", "message": "Input should be an object"}
    ]
    assert (await call(mcp, "orders", params={"user": "forged"})).code is None
    assert seen == ["honest"]


async def test_a_default_of_the_parameter_keeps_its_other_fields(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def orders(params: Params = Params(query="all", user_id="nobody", apiKey="none")) -> str:  # noqa: B008
        return f"{params.query} {params.user_id}"

    mcp.param_provider("user_id")(lambda: "u-17")
    mcp.param_provider("apiKey")(lambda: "sk-live-4711")
    assert (await call(mcp, "orders")).structured == {"result": "all u-17"}
    async with Client(mcp) as client:
        (tool,) = await client.list_tools()
    assert "nobody" not in str(tool.input_schema)


async def test_a_value_of_the_server_that_does_not_fit_is_not_blamed_on_the_caller(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def orders(params: Params) -> None: ...

    mcp.param_provider(lambda request: {"user_id": 4711}.get(request.name, "text"))
    refused = await call(mcp, "orders", params={"query": "q"})
    assert refused.code == "INTERNAL"
    assert "fields" not in refused.meta


class Deep(BaseModel):
    params: Params


def test_what_cannot_be_hidden_is_refused_at_registration() -> None:
    def deeper(deep: Deep) -> None: ...
    def optional(params: Params | None = None) -> None: ...
    def several(params: list[Params]) -> None: ...
    def clashing(params: Params, user_id: str) -> None: ...
    def twice(params: Params, more: Params) -> None: ...

    for fn in (deeper, optional, several):
        with pytest.raises(ValueError, match="too deep inside a parameter"):
            XMCP().tool(fn)
    for fn in (clashing, twice):
        with pytest.raises(ValueError, match="the name of another parameter or field"):
            XMCP().tool(fn)


PATH = Field(validation_alias=AliasChoices(AliasPath("user", "id"), "user_id"), json_schema_extra=FILLED)


class ByPath(BaseModel):
    user_id: str = PATH


class ByGenerator(BaseModel):
    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=lambda _: AliasPath("user", "id")))
    user_id: str = Field(json_schema_extra=FILLED)


@dataclasses.dataclass
class InDataclass:
    user_id: Annotated[str, PATH]


@pytest.mark.parametrize("model", [ByPath, ByGenerator, InDataclass])
def test_a_field_that_a_caller_could_send_at_another_place_is_refused_at_registration(model: Any) -> None:
    async def whoami(params: Any, ctx: Context) -> None: ...

    whoami.__annotations__["params"] = model
    for add in (XMCP().tool, lambda fn: XMCP().add_tool(Tool.from_function(fn))):
        with pytest.raises(ValueError, match="'user_id' of a model, so no field may have an AliasPath"):
            add(whoami)


async def test_a_parameter_with_an_alias_has_its_default(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    async def whoami(user: Annotated[str, Field(alias="userId", json_schema_extra=FILLED)] = "nobody") -> str:
        return user

    assert (await call(mcp, "whoami", userId="eve")).llm_output == "nobody"


class Stamped(BaseModel):
    number: int = Field(default_factory=itertools.count(1).__next__, json_schema_extra=FILLED)


async def test_a_default_is_made_for_each_call(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def orders(params: Stamped) -> int:
        return params.number

    first, second = [(await call(mcp, "orders")).structured["result"] for _ in range(2)]
    assert second == first + 1
