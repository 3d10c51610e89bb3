"""What one server may put into the catalogue, and what the application is told of the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import mcp_types as mt
import pytest
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat.events import ChatWarning
from xmcp.client import AIClient
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import listing_limits as limits
from xmcp.client.servers import listing_pages, pool
from xmcp.client.servers.connection import Connection
from xmcp.client.servers.listing_limits import Kept, within_limits
from xmcp.client.servers.targets import ServerTarget
from xmcp.client.tools.catalogue import Entry, depends_on
from xmcp_models.registry import TOOL_META_KEY


def tool(name: str, schema: Any = None, **more: Any) -> mt.Tool:
    meta = {"_meta": {TOOL_META_KEY: more.pop("metadata")}} if "metadata" in more else {}
    return mt.Tool.model_validate({"name": name, "inputSchema": schema or {"type": "object"}, **more, **meta})


def kept_of(*listed: mt.Tool, **options: Any) -> Kept:
    return within_limits(listed, set(), **options)


def names(kept: Kept) -> list[str]:
    return [tool.name for tool in kept.tools]


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": schema}
    return schema


def test_a_listing_within_the_limits_is_used_as_it_is() -> None:
    listed = [tool("a", description="d" * limits.MAX_DESCRIPTION), tool("b", nested(100))]
    kept = kept_of(*listed)
    assert kept.tools == listed
    assert [*kept.warnings("s")] == []


def test_the_first_tools_of_a_long_list_are_used_and_a_warning_says_what_to_do() -> None:
    kept = kept_of(*[tool(f"t{n}") for n in range(9)], max_tools=2)
    assert names(kept) == ["t0", "t1"]
    assert [*kept.warnings("shop")] == [
        "The client leaves out the tools 't2', 't3', 't4', 't5', 't6' and 2 more of the server shop: it lists 9 tools, "
        "and 2 are the limit; split it into several servers, or raise max_tools_per_server."
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (tool("bad", nested(200)), "nested more than 128 levels deep"),
        (tool("bad", {"description": "d" * limits.MAX_TOOL_BYTES}), "larger than 131072 bytes"),
        (
            tool("bad", metadata={"depends_on": [f"a{number}" for number in range(limits.MAX_EDGES + 1)]}),
            "more than 10000 names in `depends_on`",
        ),
        (
            tool("bad", {"allOf": [{} for _ in range(limits.MAX_TOOL_PARTS + 1)]}),
            "applies more than 200 others",
        ),
        (mt.Tool.model_construct(name="bad", input_schema={"default": {1, 2}}), "not JSON"),
    ],
)
def test_a_tool_above_a_limit_is_left_out_and_the_others_are_not(bad: mt.Tool, reason: str) -> None:
    kept = kept_of(tool("a"), bad, tool("b"))
    assert names(kept) == ["a", "b"]
    (warning,) = kept.warnings("shop")
    assert warning.startswith("The client leaves out the tool 'bad' of the server shop: ")
    assert reason in warning


def test_the_limits_of_a_server_count_all_its_tools_together() -> None:
    large = [tool(f"t{n}", {"description": "d" * 120_000}) for n in range(20)]
    assert len(kept_of(*large).tools) == limits.MAX_SERVER_BYTES // 120_100
    many = [tool(f"t{n}", metadata={"depends_on": [f"t{m}" for m in range(n)]}) for n in range(200)]
    composed = [tool(f"t{n}", {"allOf": [{} for _ in range(150)]}) for n in range(20)]
    assert len(kept_of(*composed).tools) == limits.MAX_PARTS // 150
    edges = [len(one.meta[TOOL_META_KEY]["depends_on"]) for one in kept_of(*many).tools if one.meta]
    assert sum(edges) <= limits.MAX_EDGES < sum(edges) + 200


def test_a_long_description_is_cut_and_the_server_s_own_tool_is_not_changed() -> None:
    long = tool("a", description="d" * (limits.MAX_DESCRIPTION + 1))
    kept = kept_of(long)
    assert kept.tools[0].description == "d" * limits.MAX_DESCRIPTION + " […]"
    assert long.description == "d" * (limits.MAX_DESCRIPTION + 1)
    assert "cuts the description of the tool 'a' of the server shop after 16384 characters" in next(
        kept.warnings("shop")
    )


def test_a_server_cannot_fill_the_memory_with_names() -> None:
    had: set[str] = set()
    for turn in range(30):
        kept = within_limits([tool(f"t{turn}_{n}") for n in range(5)], had, max_tools=5)
    assert len(had) == limits.RENAMINGS * 5
    assert kept.tools == []
    assert "has had 50 names of tools already" in next(kept.warnings("shop"))
    assert names(within_limits([tool("t0_0")], had, max_tools=5)) == ["t0_0"]


async def test_names_of_all_credentials_count_together_and_catalogues_share_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "MAX_NAMES", 12)
    target = ServerTarget("http://127.0.0.1:9", headers=lambda _: {})
    servers = pool.Servers([(None, target)], connect_timeout=1, log=EventLog())
    await servers.open()
    (credentials,) = servers.credential_pools.values()
    made, left_out = [], []
    for user in range(4):
        member = credentials._make(ServerTarget(target.target, headers={}))
        member.connected([tool(f"t{user}_{n}") for n in range(5)])
        left_out.append([*member.warnings()])
        made.append(servers.catalogue_with({0: (member.server, member.tools)}))
    await servers.close()
    assert [len(catalogue.entries) for catalogue in made] == [5, 5, 2, 0]
    assert ["has had 12 names" in "".join(texts) for texts in left_out] == [False, False, True, True]
    # A copy for each chat would take a time and a memory that grow with the number of users.
    assert len({id(catalogue.names) for catalogue in made[:3]}) == 1
    assert len(made[0].names) == 12


async def test_a_chat_is_told_what_is_left_out_and_goes_on_with_the_rest() -> None:
    server = ScriptedServer({f"t{n}": "ok" for n in range(4)}, name="shop")
    model = ScriptedModel(asks("t1", "t3"), "end")
    async with AIClient([server], llm_provider=model, max_tools_per_server=2) as ai:
        assert [one["function"]["name"] for one in ai.tools] == ["t0", "t1"]
        events = [event async for event in ai.stream_chat("q", history=[])]
    (warning,) = [event for event in events if isinstance(event, ChatWarning)]
    assert "'t2', 't3' of the server shop" in warning.text
    assert [name for name, _ in server.calls] == ["t1"]


async def test_tools_that_depend_on_one_that_is_left_out_are_not_said_to_depend_on_nothing() -> None:
    described: Any = {"t1": {"metadata": {"depends_on": ["t2"]}}}
    server = ScriptedServer({f"t{n}": "ok" for n in range(3)}, **described)
    async with AIClient([server], llm_provider=ScriptedModel(), max_tools_per_server=2) as ai:
        warnings = [event.text async for event in ai.stream_chat("q", history=[]) if isinstance(event, ChatWarning)]
    assert len(warnings) == 1


async def test_a_chat_is_told_of_a_few_unknown_dependencies_and_of_the_number_of_the_others() -> None:
    described: Any = {f"t{n}": {"metadata": {"depends_on": [f"x{m}" for m in range(50)]}} for n in range(40)}
    server = ScriptedServer({f"t{n}": "ok" for n in range(40)}, **described)
    async with AIClient([server], llm_provider=ScriptedModel()) as ai:
        warnings = [event.text async for event in ai.stream_chat("q", history=[]) if isinstance(event, ChatWarning)]
    assert len(warnings) == 6
    assert "'x4' and 45 more, which that server does not have" in warnings[0]
    assert warnings[-1].startswith("35 more tools of the server")


class Pages:
    """A `fastmcp.Client` whose list of tools has so many pages (`None`: no end), of so many tools each."""

    def __init__(self, pages: int | None, tools: int) -> None:
        self.pages, self.tools, self.asked = pages, tools, 0

    async def list_tools_mcp(self, **_: Any) -> Any:
        self.asked += 1
        more = None if self.asked == self.pages else f"page {self.asked}"
        return mt.ListToolsResult(tools=[tool("t")] * self.tools, next_cursor=more)


@pytest.mark.parametrize(("pages", "tools", "asked"), [(3, 2, 3), (None, 6_000, 4)])
async def test_pages_of_tools_are_read_to_their_end_or_up_to_a_number_of_tools(
    pages: int | None, tools: int, asked: int
) -> None:
    client = Pages(pages, tools)
    assert len(await Connection.list_tools(SimpleNamespace(client=client))) == asked * tools  # type: ignore[arg-type]
    assert client.asked == asked


async def test_a_list_with_very_many_pages_is_an_error() -> None:
    with pytest.raises(listing_pages.ListTooLong, match="more than 250 pages"):
        await Connection.list_tools(SimpleNamespace(client=Pages(None, 0)))  # type: ignore[arg-type]
    assert listing_pages.MAX_PAGES == 250


async def test_a_server_that_lists_its_tools_again_costs_no_work_for_those_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    of = Entry.of

    def counted(name: str, *args: Any) -> Entry:
        made.append(name)
        return of(name, *args)

    monkeypatch.setattr(Entry, "of", counted)
    one, other = ScriptedServer({"a": "ok"}, name="one"), ScriptedServer({"b": "ok"}, name="other")
    async with AIClient([one, other], llm_provider=ScriptedModel()) as ai:
        made.clear()
        await ai.refresh_tools()
        assert made == []
        one.acts["c"] = "ok"
        changes = await ai.refresh_tools()
        assert (made, changes.added) == (["a", "c"], ("c",))


async def test_a_tool_that_an_object_changes_in_place_is_noticed() -> None:
    own = tool("a", {"type": "object", "properties": {"x": {}}})
    server = ScriptedServer({"a": "ok"}, listing=lambda _: [own])
    async with AIClient([server], llm_provider=ScriptedModel()) as ai:
        own.input_schema["properties"]["y"] = {}
        assert (await ai.refresh_tools()).changed == ("a",)
        own.description = "Says more."
        assert (await ai.refresh_tools()).changed == ("a",)


@pytest.mark.parametrize("names", [["a", 5], ["a", ""], ["a", "a"], ["a", "b" * 129], "a", {"a": 1}, None])
def test_a_list_of_dependencies_that_is_not_as_the_schema_says_is_ignored_whole(names: Any) -> None:
    made = tool("t", metadata={"depends_on": names})
    assert depends_on(made) == ()
    assert depends_on(tool("t", metadata={"depends_on": ["a", "b" * 128]})) == ("a", "b" * 128)
