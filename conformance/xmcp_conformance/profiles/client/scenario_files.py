"""Scenarios that others wrote, from a file: they are judged by the same checks, beside those of the suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any, Final, NoReturn

from pydantic import TypeAdapter, ValidationError

from xmcp_conformance.core.untrusted_text import quoted

from .drawn_scenarios import DRAWN
from .scenario import Scenario
from .scenario_limits import faults
from .trace import first_fault

MOST_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file of scenarios."""
MOST: Final = 200
"""Maximum number of scenarios in a file."""
_LONGEST_NAME: Final = 120
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
        raw = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse, object_pairs_hook=_object)
        json.dumps(raw, ensure_ascii=False, allow_nan=False).encode()
        found = _SCENARIOS.validate_python(raw)
    except UnicodeDecodeError as error:
        raise NoScenarios(f"no UTF-8, from byte {error.start} on") from error
    except json.JSONDecodeError as error:
        raise NoScenarios(f"no JSON: {error.msg.lower()}, in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise NoScenarios("JSON that is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise NoScenarios("a text in it has half of a surrogate pair") from error
    except ValidationError as error:
        at, says = first_fault(error)
        raise NoScenarios(f"`{quoted(at.removeprefix('.') or 'the file')}`: {says}") from error
    except ValueError as error:  # Python reads no integer of so many digits
        if isinstance(error, NoScenarios):
            raise
        raise NoScenarios("a number in it has more than 4,300 digits, or is larger than a double can be") from error
    if not 0 < len(found) <= MOST:
        raise NoScenarios(f"{len(found)} scenarios; a file has 1 to {MOST}")
    known = {name.casefold() for name in taken}
    for name, scenario in found.items():
        if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name.strip() != name:
            raise NoScenarios(
                f"`{quoted(name)}`: a name has 1 to {_LONGEST_NAME} printable characters, no space at its ends"
            )
        if name.casefold().startswith(DRAWN):
            raise NoScenarios(f"`{quoted(name)}`: names that begin with `{DRAWN}` are those of drawn scenarios")
        if name.casefold() in known:
            raise NoScenarios(f"`{quoted(name)}` is the name of another scenario; choose one of your own")
        known.add(name.casefold())
        if fault := next(faults(scenario), None):
            raise NoScenarios(f"`{quoted(name)}`: {fault}")
    return found


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of which no two members have the same name.

    Raises:
        NoScenarios: two have.
    """
    found = dict(members)
    if len(found) < len(members):
        (twice, _), *_ = Counter(name for name, _ in members).most_common(1)
        raise NoScenarios(f"an object has the member `{quoted(twice)}` more than once")
    return found


def _refuse(word: str) -> NoReturn:
    raise NoScenarios(f"no JSON: it has no `{word}`")


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
