"""Read messages in the format of OpenAI's chat completions, arguments of calls, and JSON values. Pure functions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from xmcp_conformance.core.histories import Message, calls_of
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.reader import Document, read

WHITE_SPACE: Final = " \t\r\n"
"""White space of XML (section 2)."""
SHORT: Final = 1_000
"""Number of characters of a message of which no client leaves out a part for the model."""

_OF_A_WRITER: Final = re.compile("XMCP-RSP-|XMCP-ERR-0[0-2]")
"""What is in a display, in `server_populated` and in the words of an error can be the server's."""
_TAG = re.compile(r'"tag"\s*:\s*"([^"\\]*)"')


def text_of(message: Message) -> str:
    """Return the text of a message, whether its content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return name, description and parameters of an offered tool, which may be wrapped in a member `function`."""
    inner = tool.get("function")
    return inner if isinstance(inner, Mapping) else tool


def parameter_names(schema: Any) -> Iterator[str]:
    """Yield the names of parameters in a schema, and in those that it applies to the same object."""
    for part in _parts(schema, every=True):
        for keyword in ("properties", "required", "dependentSchemas"):
            yield from part.get(keyword) or ()
        for name, others in (part.get("dependentRequired") or {}).items():
            yield from (name, *others)


def names_in_samples(schema: Any) -> Iterator[str]:
    """Yield the names in the objects that a schema has as a default or as an example of the arguments."""
    for part in _parts(schema, every=True):
        for sample in (part.get("default"), *(part.get("examples") or ())):
            yield from sample if isinstance(sample, Mapping) else ()


def required_names(schema: Mapping[str, Any]) -> set[str]:
    """Return the names under `required` at the top of a schema, under `allOf` or behind a local reference there."""
    parts = _parts(schema, every=False)
    return {name for part in parts for name in part.get("required") or () if isinstance(name, str)}


def _parts(schema: Any, *, every: bool) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and those that it always applies to the same object, each once; `every`: those of a case, too.

    Of references, those within the schema are followed.
    """
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    for part in waiting:
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting.extend(part.get("allOf") or ())
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            waiting.append(_target(schema, reference))
        if every:
            waiting.extend(one for keyword in ("anyOf", "oneOf") for one in part.get(keyword) or ())
            waiting.extend(part.get(keyword) for keyword in ("if", "then", "else", "not"))
            waiting.extend((part.get("dependentSchemas") or {}).values())


def _target(schema: Mapping[str, Any], reference: str) -> Any:
    target: Any = schema
    for step in reference[2:].split("/"):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
    return target


def parameters_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the input schema of an offered tool, as the model sees it."""
    schema = function_of(tool).get("parameters") or {}
    return schema if isinstance(schema, Mapping) else {}


def arguments_of(written: str) -> dict[str, Any] | None:
    """Return the arguments that a model wrote; `None` where they are not one JSON object. Empty text means `{}`."""
    if not written.strip():
        return {}
    try:
        value = json.loads(written, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is not JSON either (section 11.2)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_beyond_a_double(value: Any) -> bool:
    """Return whether JSON that was read has a number that no double holds, such as 1e400 (section 11.11)."""
    if isinstance(value, Mapping):
        return any(map(is_beyond_a_double, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_beyond_a_double, value))
    return isinstance(value, float) and math.isinf(value)


def tag_of(written: str, arguments: Mapping[str, Any] | None) -> str | None:
    """Return the tag of a call, also where its arguments are not JSON."""
    if arguments is not None:
        tag = arguments.get("tag")
        return tag if isinstance(tag, str) else None
    found = _TAG.search(written)
    return found[1] if found else None


@lru_cache(1024)
def document_of(content: str) -> Document | None:
    """Return the document in the content of a tool message; `None` where the content is not a document."""
    return read(content).document


def says_the_same(content: str, before: str) -> bool:
    """Return whether a tool message says the same as before; its display can be another, its text can be shortened."""
    if content == before:
        return True
    now, then = document_of(content), document_of(before)
    if now is None or then is None or (now.error is None) is not (then.error is None):
        return False
    shortened = now.truncated or bool(now.llm_output and then.llm_output and now.llm_output in then.llm_output)
    same_error = now.error is None or then.error is None or now.error.code == then.error.code
    return same_error and (now.llm_output == then.llm_output or shortened)


@lru_cache(1024)
def fault_of_a_writer(content: str) -> Observation | None:
    """Return the first fault in a document of a client that its writer made, and not the server whose parts it has."""
    faults = (one for one in read(content, by_server=False).observations if not one.ok)
    own = (one for one in faults if _OF_A_WRITER.match(one.requirement))
    return next((one for one in own if registry().requirements[one.requirement].mandatory), None)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON: `true` is not a number, and the order of members does not matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def compact(value: Any) -> str:
    """Return JSON without white space between tokens and without unnecessary escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def strings_of(messages: Sequence[Message]) -> Iterator[str]:
    """Yield every text in the messages: the contents, and the arguments of calls."""
    for message in messages:
        yield text_of(message)
        for call in calls_of(message):
            yield str((call.get("function") or {}).get("arguments", ""))


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
