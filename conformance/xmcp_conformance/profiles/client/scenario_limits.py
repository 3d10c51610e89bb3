"""What a schema cannot say of a scenario that others wrote: sizes, times, and what the suite's own servers can send."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from xmcp_conformance.core.untrusted_text import quoted

from .scenario import Act, Ask, Scenario
from .trace import Tool

LONGEST: Final = 600.0
"""Maximum of each time in a scenario, in seconds."""
SHORTEST_STEP: Final = 1.0
"""Minimum time, in seconds, before a change of the tools: a real clock does not tell shorter ones apart."""
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "max_turns": (1, 1000),
    "max_calls_per_turn": (1, 1000),
    "max_tools_per_server": (1, 10_000),
    "max_concurrency": (1, 1000),
    "max_attempts": (1, 100),
    "tool_timeout": (0.01, LONGEST),
    "chat_timeout": (0.01, LONGEST),
    "breaker_threshold": (1, 1000),
    "breaker_reset_after": (0.0, LONGEST),
    "display_budget": (0, 1 << 30),
    "max_answer_bytes": (1, 1 << 30),
}
"""The least and the greatest value of each number in a setup."""
_MOST_TOKENS: Final = 1 << 53
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_GIVEN_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,32}")
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_CATEGORY: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
)
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def faults(scenario: Scenario) -> Iterator[str]:
    """Yield what a schema cannot say: an index of nothing, and a time that nobody waits for."""
    setup, tools = scenario.setup, len(scenario.setup.tools)
    changed = [
        (f"changes[{at}].tools[{number}]", tool)
        for at, change in enumerate(scenario.changes)
        for number, tool in enumerate(change.tools)
    ]
    listed = [(f"setup.tools[{n}]", tool) for n, tool in enumerate(setup.tools)]
    servers = [(f"{where}.server", tool.server) for where, tool in (*listed, *changed)]
    servers += [(f"changes[{at}].server", change.server) for at, change in enumerate(scenario.changes)]
    for where, server in servers:
        if not 0 <= server < len(setup.servers):
            yield f"`{where}`: {server} is no index in `setup.servers`, which has {len(setup.servers)}"
    indexes = [(f"acts.{index}", index) for index in scenario.acts]
    indexes += [(where, ask.tool) for where, ask in _asks(scenario) if isinstance(ask.tool, int)]
    for where, index in indexes:
        if not 0 <= index < tools:
            yield f"`{where}`: {index} is no index in `setup.tools`, which has {tools}"
    yield from _sizes(scenario)
    yield from _names(scenario)
    for where, tool in (*listed, *changed):
        yield from _tool(where, tool)
    others = {index for index, tool in enumerate(setup.tools) if not _sends_documents(scenario, tool)}
    for index, acts in scenario.acts.items():
        for at, act in enumerate(acts):
            yield from _act(f"acts.{index}[{at}]", act, is_document=index not in others)
    for at, chat in enumerate(scenario.chats):
        for turn, says in enumerate(chat.script):
            if says.asks and says.fails and not (says.broken or says.stalls):
                yield f"`chats[{at}].script[{turn}]`: an answer that fails, and is not `broken`, has no `asks`"
    for at, chat in enumerate(scenario.chats):
        for name in sorted(chat.params.keys() - setup.params.keys()):
            yield f"`chats[{at}].params.{name}`: `setup.params` does not have it, so that nobody knows it is filled in"
    for where, ask in _asks(scenario):
        if "tag" in ask.arguments:
            yield f"`{where.removesuffix('.tool')}.arguments`: the suite gives `tag` itself; use `tag` beside it"
    for name, (least, most) in _RANGES.items():
        value = getattr(setup, name)
        if value is not None and not least <= value <= most:
            yield f"`setup.{name}`: {value:g}; {least:g} to {most:g}"
    for where, number in _tokens(scenario):
        if not 0 <= number <= _MOST_TOKENS:
            yield f"`{where}`: {number}; 0 to {_MOST_TOKENS}"
    for at, change in enumerate(scenario.changes):
        if change.time < SHORTEST_STEP:
            yield f"`changes[{at}].time`: {change.time:g} s; at least {SHORTEST_STEP:g}, which a clock tells apart"
    for where, seconds in _times(scenario):
        if not 0 <= seconds <= LONGEST:
            yield f"`{where}`: {seconds:g} seconds; at most {LONGEST:g}"


def _sizes(scenario: Scenario) -> Iterator[str]:
    """Yield what there is none or too many of."""
    sizes = [
        ("setup.servers", len(scenario.setup.servers), 0, 32),
        ("setup.tools", len(scenario.setup.tools), 0, 1000),
        ("chats", len(scenario.chats), 1, 64),
        ("changes", len(scenario.changes), 0, 64),
        ("approves", len(scenario.approves), 1, 1000),
        ("fallbacks", scenario.fallbacks, 0, 8),
    ]
    sizes += [(f"acts.{index}", len(acts), 1, 1000) for index, acts in scenario.acts.items()]
    for at, chat in enumerate(scenario.chats):
        sizes.append((f"chats[{at}].script", len(chat.script), 0, 200))
        sizes += [(f"chats[{at}].script[{turn}].asks", len(says.asks), 0, 200) for turn, says in enumerate(chat.script)]
    for where, size, least, most in sizes:
        if not least <= size <= most:
            yield f"`{where}`: {size}; {least} to {most}"


def _asks(scenario: Scenario) -> Iterator[tuple[str, Ask]]:
    for chat, conversation in enumerate(scenario.chats):
        for turn, says in enumerate(conversation.script):
            for place, ask in enumerate(says.asks):
                yield f"chats[{chat}].script[{turn}].asks[{place}].tool", ask


def _times(scenario: Scenario) -> Iterator[tuple[str, float]]:
    for index, acts in scenario.acts.items():
        yield from ((f"acts.{index}[{at}].delay", act.delay) for at, act in enumerate(acts))
    for at, chat in enumerate(scenario.chats):
        yield f"chats[{at}].begins", chat.begins
        yield f"chats[{at}].cancelled", chat.cancelled or 0
        yield from ((f"chats[{at}].script[{turn}].delay", says.delay) for turn, says in enumerate(chat.script))
    yield from ((f"changes[{at}].time", change.time) for at, change in enumerate(scenario.changes))


def _names(scenario: Scenario) -> Iterator[str]:
    """Yield names of servers and tools that are not names there, or that two have."""
    given = [server.given_name for server in scenario.setup.servers if server.given_name is not None]
    for at, server in enumerate(scenario.setup.servers):
        name = server.given_name
        if name is not None and (_GIVEN_NAME.fullmatch(name) is None or given.count(name) > 1):
            yield f"`setup.servers[{at}].given_name`: `{quoted(name)}`; 1 to 32 letters, digits and `-`, and no other's"
    lists = [("setup.tools", scenario.setup.tools)]
    lists += [(f"changes[{at}].tools", change.tools) for at, change in enumerate(scenario.changes)]
    for where, tools in lists:
        for (_, name), number in Counter((tool.server, tool.name) for tool in tools).items():
            if number > 1:
                yield f"`{where}`: `{quoted(name)}` is the name of {number} tools of one server"


def _tool(where: str, tool: Tool) -> Iterator[str]:
    if _TOOL_NAME.fullmatch(tool.name) is None:
        yield f"`{where}.name`: `{quoted(tool.name)}`; 1 to 128 letters, digits, `_`, `-` and `.`"
    for member, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if fault := None if schema is None else _fault_of_schema(schema):
            yield f"`{where}.{member}`: {fault}"


def _fault_of_schema(schema: Any) -> str | None:
    """Return why a schema of a tool is none of an object."""
    dialect = schema.get("$schema")
    if dialect is not None and (not isinstance(dialect, str) or dialect.rstrip("#") not in _DIALECTS):
        return f"its `$schema` is not one of {', '.join(_DIALECTS)}"
    try:
        jsonschema_rs.meta.validate(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        return f"no JSON Schema: {quoted(str(error).partition(chr(10))[0])}"
    return None if schema.get("type", "object") == "object" else "its `type` is not `object`"


def _sends_documents(scenario: Scenario, tool: Tool) -> bool:
    servers = scenario.setup.servers
    return not 0 <= tool.server < len(servers) or (servers[tool.server].xmcp and not servers[tool.server].plain)


def _act(where: str, act: Act, *, is_document: bool) -> Iterator[str]:
    if act.structured is not None and not isinstance(act.structured, dict):
        yield f"`{where}.structured`: MCP's `structuredContent` is an object"
    if _CODE.fullmatch(act.code) is None:
        yield f"`{where}.code`: `{quoted(act.code)}` is no code (section 4.1)"
    if act.category is not None and _CATEGORY.fullmatch(act.category) is None:
        yield f"`{where}.category`: `{quoted(act.category)}`; small letters, digits and `_`"
    if act.retry_after_ms is not None and not 0 <= act.retry_after_ms <= LONGEST * 1000:
        yield f"`{where}.retry_after_ms`: {act.retry_after_ms}; 0 to {LONGEST * 1000:g}"
    for member, text in (("text", act.text), ("for_user", act.for_user), ("for_both", act.for_both)):
        if is_document and (found := _NOT_IN_XML.search(text or "")):
            yield f"`{where}.{member}`: XML has no U+{ord(found[0]):04X}, so a server cannot send it"


def _tokens(scenario: Scenario) -> Iterator[tuple[str, int]]:
    yield from ((f"setup.quota_tokens.{quoted(name)}", number) for name, number in scenario.setup.quota_tokens.items())
    for at, chat in enumerate(scenario.chats):
        said = ((f"chats[{at}].script[{turn}].tokens", says.tokens) for turn, says in enumerate(chat.script))
        yield from ((where, number) for where, number in said if number is not None)
