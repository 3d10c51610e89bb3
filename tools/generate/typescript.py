"""Write the TypeScript bindings: a module of types for each JSON Schema, and the registries as constants."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.generate import schema_for_typescript
from tools.generate.registry_constants import constants
from tools.generate.sources import NOTE, SUFFIX, display_types, json_schemas
from tools.node_packages import Packages

NODE_PACKAGES = Packages(Path(__file__).parent / "npm", "They generate and check the TypeScript bindings.")
# json2ts adds to each definition where the schema refers to it, which does not help a reader of the type.
_REFERENCED = r" \* This interface was referenced by `\w+`'s JSON-Schema\n \* via the `definition` \"\w+\"\.\n"
_ORIGIN = re.compile(rf"/\*\*\n{_REFERENCED} \*/\n| \*\n{_REFERENCED}")
_UNIONS = (
    ("RegisteredErrorCode", "ERROR_CODES"),
    ("ErrorCategory", "ERROR_CATEGORIES"),
    ("RegisteredDisplayType", "DISPLAY_TYPES"),
)
"""Name of each union of keys, and the constant whose keys it lists."""


def write_typescript(out: Path) -> None:
    """Write the bindings to the folder `out`, which must not exist."""
    out.mkdir(parents=True)
    schemas = typescript_schemas()
    titles = {name: schema["title"] for name, schema in schemas.items()}
    with tempfile.TemporaryDirectory() as scratch:
        source, written = Path(scratch) / "schemas", Path(scratch) / "types"
        source.mkdir()
        imports = {}
        for name, schema in schemas.items():
            linked, imports[name] = schema_for_typescript.named(schema, name, titles)
            (source / f"{name}.json").write_text(json.dumps(linked), encoding="utf-8")
        options = ("--unreachableDefinitions", "--maxItems=-1", "--bannerComment=", "--style.printWidth=120")
        program = "json-schema-to-typescript/dist/src/cli.js"
        done = NODE_PACKAGES.run(program, "-i", str(source), "-o", str(written), *options, cwd=Path(scratch))
        if done.returncode:
            sys.exit(f"json2ts failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        for name in schemas:
            head = f"/** {NOTE} */\n\n" + "".join(schema_for_typescript.import_lines(imports[name]))
            body = _ORIGIN.sub("", (written / f"{name}.d.ts").read_text(encoding="utf-8"))
            (out / f"{name}.ts").write_text(head + ("\n" if imports[name] else "") + body, encoding="utf-8")
    _write_registry(out)


def typescript_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas with a definition for each value that an if/then rule asks for, instead of the rules."""
    payloads = {
        row["type"]: {"properties": {"payload": {"$ref": row["payload"].removeprefix(f"display_envelope{SUFFIX}")}}}
        for row in display_types()
        if "payload" in row
    }
    more = {"display_envelope": payloads}
    return {name: schema_for_typescript.by_value(schema, more.get(name)) for name, schema in json_schemas().items()}


def _write_registry(out: Path) -> None:
    """Write the registries as constants, and the unions of their keys."""
    text = f"/** {NOTE} */\n\n"
    for constant in constants():
        value = json.dumps(constant.value, indent=2, ensure_ascii=False)
        text += f"/** {constant.doc} */\nexport const {constant.name} = {value} as const;\n\n"
    for union, table in _UNIONS:
        text += f"export type {union} = keyof typeof {table};\n"
    (out / "registry.ts").write_text(text, encoding="utf-8")
