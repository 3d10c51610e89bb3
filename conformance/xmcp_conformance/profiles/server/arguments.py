"""Make arguments for a tool from its input schema: right ones, drawn by Hypothesis or with values a person understands.

A validator checks all arguments by the whole schema, and those that do not fit are dropped: a gap in the strategies
costs calls, but never makes a wrong one.

Run as a program, this module draws from the one schema that `valid` sends it on standard input.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from functools import cache
from typing import Any, Final

from hypothesis.errors import HypothesisException

from xmcp_conformance.generators.seeded import drawn

from .input_schema import Arguments, Schema, fitting, resolve, sendable, types
from .schema_strategies import fitting_values

PATIENCE = 10.0
"""The time of a processor, in seconds, that drawing may take for a schema with a `pattern`."""
_WALL: Final = 6
"""How much longer than that it may take by the clock, on a busy machine."""
_QUANTIFIER: Final = re.compile(r"[*+?]|\{(?!\d{1,3}\})")
_REPEATS_MUCH: Final = re.compile(r"\)[*+?{]|\{\d*,?\d{4}")
_MOST_QUANTIFIERS: Final = 2


def valid(schema: Schema, count: int, seed_: int, *, full: bool = False) -> list[Arguments]:
    """Return up to `count` different arguments that fit the schema, the smallest first; the same for the same seed.

    The list is empty where none could be made.

    Args:
        schema: the input schema.
        count: the maximum number of arguments.
        seed_: of Hypothesis.
        full: with each optional member, two items in a list and a member in a map, where that is allowed.

    Raises:
        TimeoutError: a regular expression in the schema keeps the generator busy for longer than `PATIENCE`.
    """
    request = json.dumps({"schema": schema, "count": count, "seed_": seed_, "full": full})
    made = _drawn_apart(request) if _may_backtrack(schema) else _drawn_once(request)
    if made is None:
        raise TimeoutError(f"no arguments within {PATIENCE:g} s")
    return made


def _may_backtrack(schema: Any) -> bool:
    """Return whether a regular expression in the schema may take long: only simple ones are known not to.

    One with no repeated group, and with few quantifiers beside `{3}` and the like, tries the square of the length of
    a text at most. A process for the others costs a third of a second.
    """
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            named = value.get("patternProperties")
            patterns = [value.get("pattern"), *(named if isinstance(named, dict) else ())]
            if not all(_is_simple(one) for one in patterns if isinstance(one, str)):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _is_simple(pattern: str) -> bool:
    return not _REPEATS_MUCH.search(pattern) and len(_QUANTIFIER.findall(pattern)) <= _MOST_QUANTIFIERS


@cache  # the catalogue is the same in each era
def _drawn_once(request: str) -> list[Arguments]:
    return _drawn(**json.loads(request))


@cache
def _drawn_apart(request: str) -> list[Arguments] | None:
    """Draw in a process of its own, which can be killed: nothing else stops a regular expression that backtracks.

    Returns `None` where the process had to be killed.
    """
    command = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603 - this very file
            [*command, str(PATIENCE)],
            input=request,
            capture_output=True,
            text=True,
            timeout=PATIENCE * _WALL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode < 0:  # ended by the signal of its limit
        return None
    return list(json.loads(done.stdout)) if done.returncode == 0 else []


def _limit_processor_time(seconds: float) -> None:
    """End this process by a signal after so much time of a processor, where the system can (not on Windows)."""
    try:
        import resource
    except ImportError:
        return
    whole = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))


def _drawn(schema: Schema, count: int, seed_: int, *, full: bool) -> list[Arguments]:
    fits = fitting(schema)
    if fits is None:
        return []
    try:
        made = drawn(fitting_values(schema, full=full), count * 3, seed_)
        fit = [value for value in made if isinstance(value, dict) and fits(value) and sendable(value)]
    except (HypothesisException, ValueError, TypeError, LookupError, ArithmeticError, re.error, RecursionError):
        return []
    different = {json.dumps(value, sort_keys=True): value for value in fit}
    return sorted(different.values(), key=lambda value: len(json.dumps(value)))[:count]


def readable(schema: Schema) -> Arguments | None:
    """Return the required arguments with values that a person understands: `{"city": "city", "days": 1}`.

    They are the schema's own examples where it has some. Returns `None` where these values do not fit the schema.
    """
    fits = fitting(schema)
    if fits is None or _may_backtrack(schema):
        return None
    properties: Schema = schema.get("properties", {})
    try:
        arguments = {name: _plain(name, resolve(properties.get(name), schema)) for name in schema.get("required", ())}
    except (ValueError, TypeError, LookupError):  # the schema is wrong, or refers to nothing
        return None
    return arguments if fits(arguments) and sendable(arguments) else None


def _plain(name: str, subschema: Schema) -> Any:
    """Return a value for the parameter `name`: one that the schema names, else one that its type suggests."""
    words = ("default", "const")
    named = [*subschema.get("examples", ()), *(subschema[word] for word in words if word in subschema)]
    named += subschema.get("enum", ())
    if named:
        return named[0]
    kinds = types(subschema)
    if "string" in kinds or not kinds:
        return name
    if kinds & {"integer", "number"}:
        return max(subschema.get("minimum", 1), 1)
    return next((empty for kind, empty in _EMPTY.items() if kind in kinds), None)


_EMPTY: dict[str, Any] = {"boolean": False, "array": [], "object": {}}


if __name__ == "__main__":
    _limit_processor_time(float(sys.argv[1]))
    json.dump(_drawn(**json.load(sys.stdin)), sys.stdout)
