"""Scenarios that others wrote, from a file: they are judged by the same checks, beside those of the suite."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final, NoReturn

from pydantic import TypeAdapter, ValidationError

from xmcp_conformance.core.untrusted_text import quoted

from .scenario import Ask, Scenario
from .trace import first_fault

MOST_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file of scenarios."""
MOST: Final = 200
"""Maximum number of scenarios in a file."""
LONGEST: Final = 600.0
"""Maximum of each time in a scenario, in seconds."""
_LONGEST_NAME: Final = 120
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
_SCENARIOS: Final = TypeAdapter(dict[str, Scenario])


class NoScenarios(ValueError):
    """A file has no scenarios that can be run. The message says where, and what was expected there."""


def scenarios_in(data: bytes, taken: Collection[str]) -> dict[str, Scenario]:
    """Return the scenarios in a file by their names.

    Args:
        data: JSON, valid against `schema()`.
        taken: names that none of them can have.

    Raises:
        NoScenarios: it is not; or a name is taken, or an index or a time in one is out of its range.
    """
    if len(data) > MOST_BYTES:
        raise NoScenarios(f"more than {MOST_BYTES:,} bytes")
    try:
        raw = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
        found = _SCENARIOS.validate_python(raw)
    except UnicodeDecodeError as error:
        raise NoScenarios(f"no UTF-8, from byte {error.start} on") from error
    except json.JSONDecodeError as error:
        raise NoScenarios(f"no JSON: {error.msg.lower()}, in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise NoScenarios("JSON that is nested too deeply") from error
    except ValidationError as error:
        at, says = first_fault(error)
        raise NoScenarios(f"`{quoted(at.removeprefix('.') or 'the file')}`: {says}") from error
    except ValueError as error:  # Python reads no integer of so many digits
        if isinstance(error, NoScenarios):
            raise
        raise NoScenarios("a number in it has more than 4,300 digits") from error
    if not 0 < len(found) <= MOST:
        raise NoScenarios(f"{len(found)} scenarios; a file has 1 to {MOST}")
    known = {name.casefold() for name in taken}
    for name, scenario in found.items():
        if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name.strip() != name:
            raise NoScenarios(
                f"`{quoted(name)}`: a name has 1 to {_LONGEST_NAME} printable characters, no space at its ends"
            )
        if name.casefold() in known:
            raise NoScenarios(f"`{quoted(name)}` is the name of another scenario; choose one of your own")
        known.add(name.casefold())
        if fault := next(_faults(scenario), None):
            raise NoScenarios(f"`{quoted(name)}`: {fault}")
    return found


def _refuse(word: str) -> NoReturn:
    raise NoScenarios(f"no JSON: it has no `{word}`")


def _faults(scenario: Scenario) -> Iterator[str]:
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
    for name, (least, most) in _RANGES.items():
        value = getattr(setup, name)
        if value is not None and not least <= value <= most:
            yield f"`setup.{name}`: {value:g}; {least:g} to {most:g}"
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


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of scenarios."""
    described = _SCENARIOS.json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenarios",
        "description": "Scenarios for `xmcp check client --scenarios`, by their names.",
        **described,
        "minProperties": 1,
        "maxProperties": MOST,
    }
