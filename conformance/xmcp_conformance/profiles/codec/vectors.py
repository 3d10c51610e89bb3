"""Load the test vectors and interpret them: tagged values, pieces of a stream, and the form in which results compare.

`conformance/vectors/README.md` describes the file; `vector_checks` runs the vectors against a codec.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

from xmcp_conformance.core.requirements import registry
from xmcp_models import DATA

_DEFAULTS = {"version": "1.0", "truncated": False, "lossy": False}
_MAX_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Vector:
    """One vector. `case` is its whole object in the file; some members depend on the direction (read or write)."""

    id: str
    row: int
    direction: str
    requirements: tuple[str, ...]
    case: Mapping[str, Any]

    @property
    def expect(self) -> Mapping[str, Any]:
        """The result that a conforming implementation must have."""
        expect: Mapping[str, Any] = self.case["expect"]
        return expect

    @property
    def expected_response(self) -> Any:
        """The response that a reader returns, as values without tags."""
        return untagged(self.case["response"] if "same" in self.expect else self.expect["response"])


def load(path: Path, *, form: Path | None = None) -> list[Vector]:
    """Return the vectors of a file.

    Args:
        path: `wire.json`, another file that is valid against `wire.schema.json`, or the file with vectors and examples.
        form: that schema, where the file is not known to be valid.

    Raises:
        ValueError: the file is not JSON, is not valid, or this runner does not support its format or version.
        OSError: it cannot be read.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict) and content.get("format") == "xmcp-vectors":
        content = content.get("wire")
    found = (content.get("format"), content.get("version")) if isinstance(content, dict) else None
    if found != ("xmcp-wire-vectors", "1.0"):
        raise ValueError(f"{path.name} has the format and version {found}; supported is xmcp-wire-vectors 1.0")
    if form is not None:
        schema = json.loads(form.read_text(encoding="utf-8"))
        if (fault := next(iter(jsonschema_rs.Draft202012Validator(schema).iter_errors(content)), None)) is not None:
            raise ValueError(f"/{'/'.join(map(str, fault.instance_path))}: {fault.message}")
    return [
        Vector(case["id"], case["row"], case["direction"], tuple(case["requirements"]), case)
        for case in content["vectors"]
    ]


def shipped() -> Path:
    """Return the file with the vectors of the suite's own version of the specification."""
    folder = DATA / "vectors"  # a checkout has it in generated/ instead
    within = folder if folder.is_dir() else DATA.parents[2] / "vectors"
    return within / f"xmcp-vectors-{registry().version}.json"


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


_TAGS: dict[str, Callable[[Any], Any]] = {
    "$repeat": lambda given: given[0] * given[1],
    "$count": lambda given: "".join(given[0].replace("#", str(number)) for number in range(given[1])),
    "$concat": lambda given: "".join(untagged(part) for part in given),
    "$surrogates": lambda given: "".join(chr(int(unit, 16)) for unit in given),
    "$base64": base64.b64decode,
    "$float": float,
    "$integer": int,
    "$decimal": decimal.Decimal,
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$bytes": base64.b64decode,
    "$pairs": lambda given: {untagged(key): untagged(value) for key, value in given},
    "$tuple": lambda items: tuple(untagged(item) for item in items),
    "$opaque": lambda _: object(),
    "$nest": _nested,
}


def untagged(value: Any) -> Any:
    """Replace each tag in a JSON value, such as `{"$repeat": ["x", 3]}`, by the value that it describes."""
    if isinstance(value, dict):
        if len(value) == 1 and (tag := next(iter(value))) in _TAGS:
            return _TAGS[tag](value[tag])
        return {key: untagged(member) for key, member in value.items()}
    return [untagged(member) for member in value] if isinstance(value, list) else value


def pieces(document: str | bytes, chunks: Mapping[str, Any]) -> Iterator[str | bytes]:
    """Split a document into the pieces in which a stream delivers it.

    Args:
        document: the whole document; text is split after encoding as UTF-8, unless `chunks` has `characters`.
        chunks: `bytes` or `characters` with the length of each piece, or `cuts` with byte offsets.
    """
    if "characters" not in chunks and isinstance(document, str):
        document = document.encode()
    if "cuts" in chunks:
        places = [0, *chunks["cuts"], len(document)]
    else:
        (size,) = chunks.values()
        places = [*range(0, len(document), size), len(document)]
    for start, end in itertools.pairwise(places):
        yield document[start:end]


def facts(response: Mapping[str, Any]) -> str:
    """Return a response as canonical JSON: the strings are equal if the responses are equal for every reader.

    An absent member equals its default. `true` differs from `1`, and `-0.0` from `0`; `1.0` equals `1`, because some
    languages have only one type of number.

    Raises:
        TypeError: a value has no JSON form.
        ValueError: the response contains itself.
    """
    present = {key: value for key, value in response.items() if value is not None}
    if isinstance(present.get("error"), dict):
        present["error"] = {key: value for key, value in present["error"].items() if value is not None}
    return json.dumps(_canonical(_DEFAULTS | present), sort_keys=True)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_canonical(member) for member in value]
    if isinstance(value, float) and value.is_integer() and 0 < abs(value) <= _MAX_SAFE_INTEGER:
        return int(value)
    return 0 if isinstance(value, float) and str(value) == "0.0" else value
