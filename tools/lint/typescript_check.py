"""Compile generated/typescript under `tsc --strict`, with every example, and send the examples through Node.

    python tools/typescript_check.py

A valid example has to satisfy its type. An invalid one has to be refused, unless its fault is one that TypeScript is
listed to lose (`xmcp bindings`); then it has to be accepted, so that the list of losses is neither short nor long.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from generate import SCHEMAS, SUFFIX, json_schemas, typescript_schemas
from node_packages import TYPESCRIPT, node
from schema_for_typescript import values_with_rules
from weakened_schema import validators

from xmcp.cli.bindings import LANGUAGES

BUILD = TYPESCRIPT.folder / "build"
GUIDE = SCHEMAS.parent / "docs" / "guides" / "bindings.md"
_TYPES = "../../../generated/typescript"


@dataclass(frozen=True, slots=True)
class Example:
    """An example, the module and the type it is held against, and whether TypeScript has to accept it."""

    path: str
    module: str
    type: str
    value: Any
    accepted: bool


def type_of(value: Any, schema: dict[str, Any], known: set[str]) -> str:
    """The narrowest generated type that is meant for a value of this schema."""
    title: str = schema["title"]
    ruled = values_with_rules(schema)
    name = ruled[0] if ruled else ""
    return f"Known{title}" if isinstance(value, dict) and value.get(name) in known else title


def examples() -> Iterator[Example]:
    """Every JSON example of a schema.

    Raises:
        SystemExit: a valid example that the weakened schema refuses; then that is stronger than the schema.
    """
    schemas, variants = json_schemas(), typescript_schemas()
    forgotten = {keyword for loss in LANGUAGES["typescript"].losses for keyword in loss.forgets}
    files = {f"{name}{SUFFIX}": schema for name, schema in variants.items()}
    for name, schema in schemas.items():
        known = known_values(variants[name])
        types = {schema["title"]: f"{name}{SUFFIX}"}
        if known:
            types[f"Known{schema['title']}"] = f"{name}{SUFFIX}#/$defs/Known{schema['title']}"
        judges = validators(files, forgotten, types)
        for path in sorted(SCHEMAS.glob(f"examples/*/{name}/*.json")):
            value = json.loads(path.read_text(encoding="utf-8"))
            type_ = type_of(value, schema, known)
            yield Example(path.relative_to(SCHEMAS).as_posix(), name, type_, value, judges[type_].is_valid(value))


def known_values(variant: dict[str, Any]) -> set[str]:
    """The values by which the union of a schema is told apart."""
    definitions = variant.get("$defs", {})
    union = definitions.get(f"Known{variant['title']}", {"anyOf": []})
    members = [definitions[member["$ref"].removeprefix("#/$defs/")] for member in union["anyOf"]]
    return {test["const"] for member in members for test in member["properties"].values() if "const" in test}


def source(found: list[Example]) -> str:
    """A module that compiles if TypeScript accepts and refuses what it has to."""
    imports = sorted({(example.module, example.type) for example in found})
    lines = [f'import type {{ {type_} }} from "{_TYPES}/{module}.js";' for module, type_ in imports]
    lines.append("export const examples: [string, unknown][] = [")
    for example in found:
        if not example.accepted:
            lines.append("// @ts-expect-error")
        lines.append(f"{json.dumps([example.path])[:-1]}, {json.dumps(example.value)} satisfies {example.type}],")
    return "\n".join([*lines, "];", ""])


def guide(text: str) -> str:
    """The TypeScript of the guide, as a module beside the examples."""
    blocks: list[str] = re.findall(r"^```ts\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "\n".join(blocks).replace("./xmcp/", f"{_TYPES}/")


def main() -> None:
    """Command line."""
    TYPESCRIPT.install()
    found = list(examples())
    valid = [example for example in found if example.path.startswith("examples/valid/")]
    if refused := [example.path for example in valid if not example.accepted]:
        sys.exit(f"the generated types refuse what is valid, by the rules they are made of: {', '.join(refused)}")
    invalid = [example for example in found if example not in valid]
    BUILD.mkdir(exist_ok=True)
    (BUILD / "valid.ts").write_text(source(valid), encoding="utf-8")
    (BUILD / "invalid.ts").write_text(source(invalid), encoding="utf-8")
    (BUILD / "guide.ts").write_text(guide(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    done = TYPESCRIPT.run("typescript/bin/tsc", "--project", ".", cwd=TYPESCRIPT.folder)
    if done.returncode:
        sys.exit(_explained(done.stdout + done.stderr))
    done = node("--no-warnings", "round_trip.mjs", cwd=TYPESCRIPT.folder)
    if done.returncode:
        sys.exit(f"the round trip failed:\n{done.stdout}{done.stderr}")
    lost = sum(example.accepted for example in invalid)
    print(f"{done.stdout.strip()}; of {len(invalid)} invalid ones the types refuse {len(invalid) - lost}")


def _explained(said: str) -> str:
    return (
        f"tsc --strict does not accept the generated types:\n{said}\n"
        "In build/valid.ts: a type is narrower than its schema.\n"
        "In build/invalid.ts: an error is a fault that TypeScript sees although xmcp.cli.bindings lists it "
        "as lost;\nan unused @ts-expect-error is one that it does not see and that is not listed."
    )


if __name__ == "__main__":
    main()
