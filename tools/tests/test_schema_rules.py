"""Every rule of the schemas has an example that tests it, and every example is what its name says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from lxml import etree

from tools import ROOT
from tools.generate.sources import SCHEMAS
from tools.lint import json_schema_mutations, schema_rules
from tools.lint.pattern_mutations import mutated_patterns
from tools.lint.schema_mutation import Judge
from tools.lint.schema_rules import EXAMPLES, KINDS, XML_KIND

CHAPTER = ROOT / "spec" / "09-versioning.md"
REGISTRY = SCHEMAS / "registry"

# Mutations that change no verdict whatever the example, by a regular expression on their whole name.
EQUIVALENT = {
    r"\w+#/(allOf/\d+|\$defs/Message)/if/required/\w+ removed": "the schema requires that member of every object",
    r"display_envelope#/allOf/0/if/properties/type/enum (null|TEXT) accepted": "`type` is lower-case text",
    r"display_envelope#/\$defs/(\w+Payload(/oneOf/\d)?|Table|Image|Notification|Code|File)/type (null|number) .*": (
        "`payload` is an object, an array or a string"
    ),
    r"display_envelope#/\$defs/JsonPayload/type .*": "only the registry points there; it says what `payload` says",
    r"conformance_emit#/\$defs/EmittedResponse/type .*": "no object: both `required` hold, and `oneOf` does not",
    r"chat_event#/allOf/\d+/then/properties/text/type .*": "`text` is text in all events; TypeScript needs it",
    r"run_event#/allOf/\d+/if/properties/type/enum (null|[A-Z.]+) accepted": "`type` is lower-case text",
    r"run_event#/\$defs/Run((Tool)?(Started|Finished)|ToolProgress|Step|Text|Display|Notice|Snapshot)/type .*": (
        "`data` is an object"
    ),
    r"error_meta#/propertyNames/anyOf/0/enum null accepted": "a name is text",
    r"error_meta#/\$defs/FieldError/properties/pointer/pattern is \^\(/\(\[\^~\]\|~\[01\]\)\*\)\*\$": (
        "a `/` begins the next part of the pointer anyway"
    ),
}

# Invalid examples that every schema accepts, with the sentence of section 9.4 that they break.
BEYOND_SCHEMAS = {
    "display_envelope/chart-that-fetches-its-data": "XMCP-DSP-014",
    "display_envelope/chart-with-the-mark-image": "XMCP-DSP-014",
    "display_envelope/fallbacks-nested-four-deep": "XMCP-DSP-015",
    "display_envelope/groups-nested-four-deep": "XMCP-DSP-011",
    "display_envelope/meta-key-without-a-vendor": "XMCP-DSP-006",
    "display_envelope/reserved-type": "XMCP-DSP-010",
    "server_populated/value-that-is-redacted": "XMCP-RSP-096",
    "tool_response/category-of-another-code": "XMCP-ERR-010",
    "tool_response/display-that-is-python": "XMCP-RSP-040",
    "tool_response/display-with-a-duplicate-key": "XMCP-RSP-041",
    "tool_response/display-with-an-escaped-ampersand": "XMCP-RSP-042",
    "tool_response/display-with-an-integer-beyond-what-a-double-holds": "XMCP-RSP-043",
    "tool_response/display-with-an-unpaired-surrogate": "XMCP-RSP-044",
    "tool_response/display-with-nan": "XMCP-RSP-040",
    "tool_response/document-type": "XMCP-RSP-002",
    "tool_response/error-with-an-empty-message": "XMCP-ERR-006",
    "tool_response/internal-entity": "XMCP-RSP-002",
    "tool_response/major-version-0": "XMCP-RSP-064",
    "tool_response/major-version-2": "XMCP-RSP-064",
    "tool_response/major-version-9999": "XMCP-RSP-064",
    "tool_response/retry-after-of-an-error-that-is-not-retryable": "XMCP-ERR-005",
    "tool_response/server-populated-with-a-value-that-is-redacted": "XMCP-RSP-096",
    "tool_response/seventy-nested-elements": "XMCP-RSP-068",
    "tool_response/text-after-meta": "XMCP-ERR-008",
    "tool_response/two-values-in-display": "XMCP-RSP-040",
    "tool_response/xml-1-1": "XMCP-RSP-004",
}
PARTS = {"display": "display_envelope", "error/meta": "error_meta", "server_populated": "server_populated"}


@cache
def detections(kind: str) -> dict[str, list[str]]:
    return schema_rules.detections(kind)


@cache
def judge(kind: str) -> Judge:
    return schema_rules.judge_of(kind)


def is_valid_by_schemas(path: Path) -> bool:
    """By the schema of the example's kind and, in a document, by those of the JSON in it."""
    kind = path.parent.name
    if kind != XML_KIND:
        return judge(kind)(json.loads(path.read_bytes()))
    try:
        root = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return False
    if schema_rules.doctype(root):
        return True  # the validator cannot look at it
    return judge(kind)(root) and all(
        judge(part)(value) for place, part in PARTS.items() for value in json_values(root.findall(place))
    )


def json_values(holders: list[etree._Element]) -> Iterator[Any]:
    for holder in holders:
        try:
            yield json.loads(holder.text or "")
        except ValueError:
            continue


EXAMPLE_FILES = [
    path for verdict in ("valid", "invalid") for kind in KINDS for path in sorted((EXAMPLES / verdict / kind).iterdir())
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_of_a_schema_is_shown_by_an_example(kind: str) -> None:
    survivors = [name for name, by in detections(kind).items() if not by]
    assert [name for name in survivors if not any(re.fullmatch(known, name) for known in EQUIVALENT)] == []


@pytest.mark.slow
def test_no_mutation_that_is_listed_as_equivalent_is_killed_or_gone() -> None:
    for known in EQUIVALENT:
        matched = [by for kind in KINDS for name, by in detections(kind).items() if re.fullmatch(known, name)]
        assert matched, known
        assert not any(matched), known


def test_no_two_mutations_have_one_name() -> None:
    for kind in KINDS:
        names = [mutation.name for mutation in schema_rules.mutations(kind)]
        assert len(names) == len(set(names)) > 30


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_an_example_is_what_its_folder_says(path: Path) -> None:
    name = f"{path.parent.name}/{path.stem}"
    beyond = path.parent.parent.name == "invalid" and name in BEYOND_SCHEMAS
    assert is_valid_by_schemas(path) == (path.parent.parent.name == "valid" or beyond)


def test_what_breaks_a_rule_that_no_schema_states_breaks_one_of_section_9_4() -> None:
    assert set(BEYOND_SCHEMAS.values()) <= sentences_of_section_9_4()
    there = {f"{path.parent.name}/{path.stem}" for path in EXAMPLE_FILES if path.parent.parent.name == "invalid"}
    assert BEYOND_SCHEMAS.keys() <= there


def sentences_of_section_9_4() -> set[str]:
    section = CHAPTER.read_text("utf-8").partition("## 9.4")[2].partition("## 9.5")[0]
    found: set[str] = set()
    for row in re.findall(r"XMCP-[A-Z]+-[0-9]{3}(?:(?:, | to )[0-9]{3})*", section):
        prefix, numbers = row[:9], re.findall(r"( to )?([0-9]{3})", row[9:])
        last = 0
        for ranged, number in numbers:
            found |= {f"{prefix}{n:03}" for n in range(last + 1 if ranged else int(number), int(number) + 1)}
            last = int(number)
    return found


def test_every_folder_of_examples_is_of_a_kind_that_is_checked() -> None:
    for verdict in ("valid", "invalid"):
        there = {path.name for path in (EXAMPLES / verdict).iterdir()}
        assert there - {"call_tool_result", "foreign_result"} == set(KINDS)


# The registries


def registry(name: str) -> Any:
    return json.loads((REGISTRY / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["error_codes", "display_types"])
def test_a_registry_is_valid_by_its_schema(name: str) -> None:
    jsonschema_rs.validator_for(registry(f"{name}.schema")).validate(registry(name))


def test_no_name_of_a_registry_is_there_twice() -> None:
    codes = registry("error_codes")["codes"]
    names = [name for row in codes for name in (row["code"], *row.get("aliases", ()))]
    types = [row["type"] for row in registry("display_types")["types"]]
    assert (len(names), len(types)) == (len(set(names)), len(set(types)))


def test_the_registry_and_the_envelope_give_each_type_the_same_payload() -> None:
    envelope = json_schema_mutations.schema_of("display_envelope")
    by_rule: dict[str, str] = {}
    for branch in envelope["allOf"]:
        condition = branch["if"]["properties"]["type"]
        for name in condition.get("enum") or [condition["const"]]:
            assert name not in by_rule
            by_rule[name] = "display_envelope.schema.json" + branch["then"]["properties"]["payload"]["$ref"]
    by_row = {
        row["type"]: row.get("payload") for row in registry("display_types")["types"] if row["status"] == "active"
    }
    assert by_row.pop("json") == "display_envelope.schema.json#/$defs/JsonPayload"
    assert by_row == by_rule
    assert {payload.rpartition("/")[2] for payload in by_rule.values()} <= envelope["$defs"].keys()


def test_the_payload_of_json_and_of_unknown_types_is_what_every_payload_is() -> None:
    envelope = json_schema_mutations.schema_of("display_envelope")
    assert envelope["$defs"]["JsonPayload"]["type"] == envelope["properties"]["payload"]["type"]


def test_every_definition_of_a_payload_is_used_by_a_type() -> None:
    defined = {
        name for name in json_schema_mutations.schema_of("display_envelope")["$defs"] if name.endswith("Payload")
    }
    used = {row["payload"].rpartition("/")[2] for row in registry("display_types")["types"] if "payload" in row}
    assert defined == used


# The mutations themselves


def test_a_pattern_is_altered_part_by_part() -> None:
    assert mutated_patterns("^a[bc]?$") == [
        "a[bc]?$",
        r"^a[\s\S]?$",
        "^a[c]?$",
        "^a[b]?$",
        "^a[bc]$",
        "^a[bc]+$",
        "^a[bc]?",
        "^[bc]?$",
    ]
    assert mutated_patterns("x|yz{1,2}") == [
        "x|yz{0,2}",
        "x|yz{2,2}",
        "x|yz{1,1}",
        "x|yz{1,3}",
        "yz{1,2}",
        "x",
        "|yz{1,2}",
        "x|z{1,2}",
        "x|y",
    ]


def test_a_keyword_that_is_not_known_is_no_rule_that_goes_unseen() -> None:
    with pytest.raises(KeyError, match="contains"):
        list(json_schema_mutations.edits({"properties": {"a": {"contains": {}}}}))


def test_every_kind_of_rule_has_its_mutations() -> None:
    schema = {
        "type": ["string", "null"],
        "minLength": 1,
        "title": "no rule",
        "enum": ["a", "b"],
        "oneOf": [{"$ref": "#/x"}],
        "additionalProperties": True,
    }
    assert [edit.name for edit in json_schema_mutations.edits(schema)] == [
        "#/type removed",
        "#/type number accepted",
        "#/type string refused",
        "#/type null refused",
        "#/minLength removed",
        "#/minLength is 0",
        "#/minLength is 2",
        "#/enum/a removed",
        "#/enum/b removed",
        "#/enum removed",
        "#/enum null accepted",
        "#/enum A accepted",
        "#/oneOf removed",
        "#/oneOf/0 removed",
        "#/oneOf/0/$ref removed",
        "#/additionalProperties closed",
    ]
