"""Check that the examples test every rule of our schemas: change one rule at a time, and see which verdicts change.

    python -m tools.lint.schema_rules    print the mutations that no example detects

A mutation survives if every example keeps its verdict: then no example tests that rule. Mutations that make the schema
invalid are ignored.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from lxml import etree

from tools.generate.sources import SCHEMAS
from tools.lint import json_schema_mutations, xsd_mutations
from tools.lint.schema_mutation import Judge, Mutation

EXAMPLES = SCHEMAS / "examples"
XML_KIND = xsd_mutations.KIND
KINDS = (XML_KIND, *json_schema_mutations.KINDS)
"""Kinds of examples that have a schema; each has a folder of valid and one of invalid examples."""


def judge_of(kind: str) -> Judge:
    """Return the function that validates a parsed example against the schema of its kind."""
    if kind == XML_KIND:
        return xsd_mutations.judge_by(xsd_mutations.xsd())
    return json_schema_mutations.judge_by(json_schema_mutations.schema_of(kind))


def mutations(kind: str) -> list[Mutation]:
    """Return every mutation of the schema of a kind."""
    return xsd_mutations.mutations() if kind == XML_KIND else json_schema_mutations.mutations_of(kind)


def parsed_xml(path: Path) -> etree._Element | None:
    """Parse an XML document; return None if it is malformed or has a DOCTYPE: no schema can judge it."""
    try:
        root = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None
    return None if doctype(root) else root


def doctype(root: etree._Element) -> str:
    """Return the document type declaration of a parsed document, or an empty string if it has none."""
    return str(root.getroottree().docinfo.doctype)  # type: ignore[attr-defined]


def examples(kind: str) -> dict[str, Any]:
    """Return the parsed examples of a kind, with keys such as `valid/name` and `invalid/name`."""
    found = {}
    for verdict in ("valid", "invalid"):
        for path in sorted((EXAMPLES / verdict / kind).iterdir()):
            value = parsed_xml(path) if kind == XML_KIND else json.loads(path.read_bytes())
            if kind != XML_KIND or value is not None:
                found[f"{verdict}/{path.stem}"] = value
    return found


def detections(kind: str) -> dict[str, list[str]]:
    """Return, for each mutation, the names of the examples whose verdict it changes."""
    values = examples(kind)
    judge = judge_of(kind)
    verdicts = {name: judge(value) for name, value in values.items()}
    found = {}
    for mutation in mutations(kind):
        mutated = mutation.judge()
        found[mutation.name] = [name for name, value in values.items() if mutated(value) != verdicts[name]]
    return found


def main() -> None:
    """Run the command line."""
    argparse.ArgumentParser(
        prog="python -m tools.lint.schema_rules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    for kind in KINDS:
        detected = detections(kind)
        print(f"{kind}: {len(detected)} mutations, {len(examples(kind))} examples")
        for name in (name for name, by in detected.items() if not by):
            print(f"  survives: {name}")


if __name__ == "__main__":
    main()
