"""Compile generated/typescript and every example under `tsc --strict`, and send the examples through Node.

    python -m tools.lint.typescript_check

A valid example must satisfy its type. An invalid example must not, unless `xmcp bindings` lists its fault among those
that TypeScript cannot express. Then the type must accept it: the list is complete, and has no entry too many.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.generate.schema_for_typescript import values_with_rules
from tools.generate.sources import SCHEMAS, SUFFIX, json_schemas
from tools.generate.typescript import NODE_PACKAGES, typescript_schemas
from tools.lint.weakened_schema import validators
from tools.node_packages import node
from xmcp.cli.type_bindings import LANGUAGES

PROJECT = Path(__file__).parent / "typescript"
BUILD = PROJECT / "build"
GUIDE = ROOT / "docs" / "guides" / "bindings.md"
GENERATED = ROOT / "generated" / "typescript"
RENAMER = "tools/generate/typescript.py"
_TYPES = "../../../../generated/typescript"  # from BUILD
_EXPORT = re.compile(r"^export (?:type|interface|const|class|enum|function) (\w+)", re.MULTILINE)
_DECLARATION = re.compile(
    r"^(?:declare )?(?:type|interface|var|let|const|class|function|namespace) (\w+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Example:
    """An example, the module and the type that it is compared with, and whether TypeScript must accept it."""

    path: str
    module: str
    type: str
    value: Any
    accepted: bool


def type_of(value: Any, schema: dict[str, Any], known: set[str]) -> str:
    """Return the name of the narrowest generated type for a value of this schema."""
    title: str = schema["title"]
    ruled = values_with_rules(schema)
    name = ruled[0] if ruled else ""
    return f"Known{title}" if isinstance(value, dict) and value.get(name) in known else title


def examples() -> Iterator[Example]:
    """Yield every JSON example of every schema. What the weakened schema accepts, TypeScript must accept."""
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
    """Return the values of the property that discriminates the union of a schema."""
    definitions = variant.get("$defs", {})
    union = definitions.get(f"Known{variant['title']}", {"anyOf": []})
    members = [definitions[member["$ref"].removeprefix("#/$defs/")] for member in union["anyOf"]]
    return {test["const"] for member in members for test in member["properties"].values() if "const" in test}


def source(found: list[Example]) -> str:
    """Return a module that compiles if TypeScript accepts and refuses what it must."""
    imports = sorted({(example.module, example.type) for example in found})
    lines = [f'import type {{ {type_} }} from "{_TYPES}/{module}.js";' for module, type_ in imports]
    lines.append("export const examples: [string, unknown][] = [")
    for example in found:
        if not example.accepted:
            lines.append("// @ts-expect-error")
        lines.append(f"{json.dumps([example.path])[:-1]}, {json.dumps(example.value)} satisfies {example.type}],")
    return "\n".join([*lines, "];", ""])


def guide(text: str) -> str:
    """Return the TypeScript code of the guide, as a module beside the examples."""
    blocks: list[str] = re.findall(r"^```ts\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "\n".join(blocks).replace("./xmcp/", f"{_TYPES}/")


def exported(folder: Path) -> list[str]:
    """Return the names that the modules of a folder export, with repetitions."""
    modules = sorted(folder.glob("*.ts"))
    return [name for module in modules for name in _EXPORT.findall(module.read_text(encoding="utf-8"))]


def global_names() -> set[str]:
    """Return the names that TypeScript declares for JavaScript, browsers and web workers.

    Raises:
        SystemExit: its declarations are not where they are expected.
    """
    libraries = sorted(NODE_PACKAGES.folder.glob("node_modules/@typescript/typescript-*/lib/lib.*.d.ts"))
    names = {name for library in libraries for name in _DECLARATION.findall(library.read_text(encoding="utf-8"))}
    if not {"Error", "File", "Worker"} <= names:
        sys.exit("the package typescript has its declarations elsewhere: change global_names() in this file.")
    return names


def main() -> None:
    """Run the command line."""
    NODE_PACKAGES.install()
    if shadowed := sorted(global_names() & set(exported(GENERATED))):
        sys.exit(f"generated types with the name of a global: {', '.join(shadowed)}. RENAMED in {RENAMER} is for them.")
    found = list(examples())
    valid = [example for example in found if example.path.startswith("examples/valid/")]
    if refused := [example.path for example in valid if not example.accepted]:
        sys.exit(f"the schemas that the types are made from refuse valid examples: {', '.join(refused)}")
    invalid = [example for example in found if example not in valid]
    BUILD.mkdir(exist_ok=True)
    (BUILD / "valid.ts").write_text(source(valid), encoding="utf-8")
    (BUILD / "invalid.ts").write_text(source(invalid), encoding="utf-8")
    lines = [f'export * from "{_TYPES}/{module.stem}.js";' for module in sorted(GENERATED.glob("*.ts"))]
    (BUILD / "all.ts").write_text("\n".join([*lines, ""]), encoding="utf-8")  # no name is exported by two modules
    (BUILD / "guide.ts").write_text(guide(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    for project in ("tsconfig.json", "tsconfig.strict.json"):
        done = NODE_PACKAGES.run("typescript/bin/tsc", "--project", project, cwd=PROJECT)
        if done.returncode:
            sys.exit(_explanation(done.stdout + done.stderr))
    done = node("--no-warnings", "round_trip.mjs", cwd=PROJECT)
    if done.returncode:
        sys.exit(f"the round trip failed:\n{done.stdout}{done.stderr}")
    refused_by_types = sum(not example.accepted for example in invalid)
    print(f"{done.stdout.strip()}; the types refuse {refused_by_types} of {len(invalid)} invalid examples")


def _explanation(output: str) -> str:
    return (
        f"tsc --strict does not accept the generated types:\n{output}\n"
        "An error in build/valid.ts: a type is narrower than its schema.\n"
        "An error in build/invalid.ts: TypeScript notices a fault that xmcp.cli.type_bindings lists as lost.\n"
        "An unused @ts-expect-error in build/invalid.ts: TypeScript misses a fault that is not listed as lost."
    )


if __name__ == "__main__":
    main()
