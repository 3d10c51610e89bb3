"""JSON Schemas, the reader of envelopes and the generated models judge values alike, but for what is listed here.

Values are drawn from the schemas themselves, with something wrong now and then, and with the texts of the examples.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from tools.lint import weakened_schema
from xmcp.cli.type_bindings import LANGUAGES
from xmcp.wire.display_envelope import read_envelope

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
SUFFIX = ".schema.json"
FILES: dict[str, Any] = {path.name: json.loads(path.read_text("utf-8")) for path in SCHEMAS.glob(f"*{SUFFIX}")}
KINDS = sorted(name.removesuffix(SUFFIX) for name in FILES)
EXAMPLES = SCHEMAS / "examples"
DRAWN = 400
"""Values of each kind beside the examples, the same each time: what has to be seen is seen."""

# --------------------------------------------------------------------------------------------------- the values

JUNK = [None, True, "true", "", "text", 0, -1, 1.5, 2**53, [], {}, ["a", "a"], {"a": None}]
DEEPEST = 4


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


@cache
def texts_like(pattern: str) -> list[str]:
    """The texts of valid examples that a pattern matches."""
    match = re.compile(pattern, re.ASCII).search
    paths = sorted(EXAMPLES.glob("valid/*/*.json"))
    return sorted({text for path in paths for text in texts_in(json.loads(path.read_bytes())) if match(text)})


class Drawing:
    """Values for one schema file: what it and the files it refers to describe, or now and then something else."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = random.choice
        # One place in so many is drawn without a look at its schema.
        self.wrong = random.choice([12, 40, 10**6])

    def chance(self, of: int) -> bool:
        return self.random.randrange(of) == 0

    def value(self, schema: dict[str, Any], file: str, depth: int = 0) -> Any:
        if self.chance(self.wrong):
            return self.pick(JUNK)
        if "$ref" in schema:
            name, _, pointer = schema["$ref"].partition("#")
            node: Any = FILES[name or file]
            for step in pointer.split("/")[1:]:
                node = node[step]
            return self.value(node, name or file, depth)
        if "const" in schema or "enum" in schema:
            return self.pick(schema.get("enum") or [schema["const"]])
        if branches := schema.get("oneOf"):
            return self.value(self.pick(branches), file, depth)
        types = schema.get("type", "object")
        kind = types if isinstance(types, str) else self.pick(types)
        return getattr(self, kind)(schema, file, depth)

    def null(self, *_: Any) -> None:
        return None

    def boolean(self, *_: Any) -> bool:
        return self.chance(2)

    def number(self, schema: dict[str, Any], *_: Any) -> float:
        return self.pick([schema.get("minimum", 0), 0.5, 7, 1e9, -1])

    def integer(self, schema: dict[str, Any], *_: Any) -> int:
        least, most = schema.get("minimum", 0), schema.get("maximum", 2**53)
        return self.pick([least, least + 1, most, most + 1 if self.chance(self.wrong) else most])

    def string(self, schema: dict[str, Any], *_: Any) -> str:
        if schema.get("format") == "date-time":
            return self.pick(["2026-11-22T09:30:00Z", "2026-11-22T10:30:00.5+01:00"])
        if pattern := schema.get("pattern"):
            return self.pick(texts_like(pattern))
        least, most = schema.get("minLength", 0), schema.get("maxLength", 20)
        length = self.pick([least, least + 1, most, most + 1 if self.chance(self.wrong) else most])
        return self.pick(["a", "é", "😀"]) * length

    def array(self, schema: dict[str, Any], file: str, depth: int) -> list[Any]:
        size = 0 if depth > DEEPEST else self.pick([0, 1, 1, 2])
        size = max(size, schema.get("minItems", 0))
        items = [self.value(schema.get("items", {"type": "string"}), file, depth + 1) for _ in range(size)]
        return items * 2 if self.chance(self.wrong) else items

    def object(self, schema: dict[str, Any], file: str, depth: int) -> dict[str, Any]:
        required, properties, then = set(schema.get("required", ())), dict(schema.get("properties", {})), {}
        rules = [*schema.get("allOf", ()), *([schema] if "if" in schema else ())]
        if rules and depth <= DEEPEST and not self.chance(4):
            rule = self.pick(rules)
            then = rule["then"]
            properties |= {**rule["if"].get("properties", {}), **then.get("properties", {})}
        required |= set(then.get("required", ()))
        found = {}
        for name, inner in properties.items():
            if name in required and self.chance(self.wrong * 2):
                continue
            if name in required or (depth <= DEEPEST and self.chance(2)):
                found[name] = self.value(inner, file, depth + 1)
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            found |= {name: self.value(others, file, depth + 1) for name in "ab" if self.chance(2)}
        elif self.chance(4):
            found[self.pick(["acme/later", "later"])] = self.pick(JUNK)
        return found


@cache
def corpus(kind: str) -> list[str]:
    """Values as texts, each once: the examples and what is drawn."""
    file = kind + SUFFIX
    random = Random(kind)
    found = [json.loads(path.read_bytes()) for path in sorted(EXAMPLES.glob(f"*/{kind}/*.json"))]
    found += [Drawing(random).value(FILES[file], file) for _ in range(DRAWN)]
    return list(dict.fromkeys(map(json.dumps, found)))


# --------------------------------------------------------------------------------------------------- the judges


def by_schema(kind: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        FILES[kind + SUFFIX], retriever=lambda uri: FILES[uri.rpartition("/")[2]], validate_formats=True
    )


def weakened(kind: str, *forgotten: str) -> jsonschema_rs.Validator:
    """By the schemas with formats, and without the keywords that are forgotten."""
    return weakened_schema.validators(FILES, set(forgotten), {kind: kind + SUFFIX})[kind]


def by_model(kind: str, text: str) -> bool:
    model = getattr(import_module(f"xmcp_models.{kind}"), FILES[kind + SUFFIX]["title"])
    assert issubclass(model, BaseModel)
    try:
        model.model_validate_json(text, strict=True)
    except ValidationError:
        return False
    return True


def by_reader(text: str) -> bool:
    try:
        read_envelope(json.loads(text))
    except ValueError:
        return False
    return True


def test_the_reader_and_the_schema_accept_the_same_envelopes() -> None:
    judge = by_schema("display_envelope")
    seen: Counter[bool] = Counter()
    different = []
    for text in corpus("display_envelope"):
        verdict = judge.is_valid(json.loads(text))
        seen[verdict] += 1
        if by_reader(text) != verdict:
            different.append((verdict, text))
    assert different == []
    assert min(seen[True], seen[False]) > 100


LOSSES = [keyword for loss in LANGUAGES["python"].losses for keyword in loss.forgets]


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_model_and_its_schema_accept_the_same_values_but_for_what_is_listed(kind: str) -> None:
    judge = weakened(kind, *LOSSES)
    seen: Counter[bool] = Counter()
    different = []
    for text in corpus(kind):
        verdict = judge.is_valid(json.loads(text))
        seen[verdict] += 1
        if by_model(kind, text) != verdict:
            different.append((verdict, text))
    assert different == []
    assert min(seen[True], seen[False]) > 10


def test_each_loss_of_the_models_is_seen() -> None:
    seen = set()
    for kind in KINDS:
        whole = weakened(kind)
        judges = {keyword: weakened(kind, keyword) for keyword in LOSSES}
        for text in corpus(kind):
            value = json.loads(text)
            if not whole.is_valid(value):
                seen |= {keyword for keyword, judge in judges.items() if judge.is_valid(value)}
    assert seen == set(LOSSES)


def test_a_whole_number_with_a_fraction_is_an_integer_to_all_but_the_models() -> None:
    text = '{"type": "table", "payload": {"columns": [], "rows": [], "total_rows": 1.0}}'
    assert by_schema("display_envelope").is_valid(json.loads(text))
    assert by_reader(text)
    assert by_schema("snapshot").is_valid(json.loads(SNAPSHOT))
    assert not by_model("snapshot", SNAPSHOT)


SNAPSHOT = '{"format": "xmcp-conversation", "version": 1.0, "created_at": "2026-11-22T09:30:00Z", "history": []}'


@pytest.mark.parametrize(
    ("time", "schema_takes_it", "model_takes_it"),
    [("2026-11-22T09:30:00Z", True, True), ("yesterday", False, False), ("1", False, True)],
)
def test_a_time_is_a_date_time_to_the_schemas_and_to_the_models_also_seconds_since_1970(
    time: str, schema_takes_it: bool, model_takes_it: bool
) -> None:
    record = json.loads((EXAMPLES / "valid" / "usage_record" / "known-price.json").read_bytes())
    text = json.dumps(record | {"timestamp": time})
    assert by_schema("usage_record").is_valid(json.loads(text)) is schema_takes_it
    assert by_model("usage_record", text) is model_takes_it
