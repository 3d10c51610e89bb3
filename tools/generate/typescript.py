"""Write the TypeScript bindings: a module of types for each JSON Schema, and the registries as constants."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.generate import schema_for_typescript
from tools.generate.registry_constants import constants
from tools.generate.sources import NOTE, SCHEMAS, SUFFIX, display_types, json_schemas
from tools.node_packages import Packages

NODE_PACKAGES = Packages(Path(__file__).parent / "npm", "They generate and check the TypeScript bindings.")
# json2ts adds to each definition where the schema refers to it, which does not help a reader of the type.
_REFERENCED = r" \* This interface was referenced by `\w+`'s JSON-Schema\n \* via the `definition` \"\w+\"\.\n"
_ORIGIN = re.compile(rf"/\*\*\n{_REFERENCED} \*/\n| \*\n{_REFERENCED}")
_MEMBER = re.compile(r"^( +)(\w+\??:)", re.MULTILINE)
RENAMED: Final = {
    "Error": "ErrorInfo",
    "File": "FileObject",
    "Image": "ImageObject",
    "Notification": "NotificationObject",
}
"""Other names for definitions whose own name is a global of JavaScript or of a browser.

A module that imports a type `Error` cannot write `catch (fault) { if (fault instanceof Error)`, and one that forgets to
import `File` gets the browser's. tools/lint/typescript_check.py finds such names.
"""


@dataclass(frozen=True, slots=True)
class _Table:
    """How a registry is typed: the union of its keys, the type of one entry, and the schema of that type."""

    keys: str
    entry: str
    schema: Callable[[], dict[str, Any]]


def _entry_of(registry: str, rows: str) -> dict[str, Any]:
    """Return the schema of one row of a registry."""
    schema = json.loads((SCHEMAS / "registry" / f"{registry}{SUFFIX}").read_text(encoding="utf-8"))
    entry: dict[str, Any] = schema["properties"][rows]["items"]
    return {key: value for key, value in entry.items() if key != "allOf"}


def _category_entry() -> dict[str, Any]:
    """Return the schema of the defaults of an error category: two members of each of its codes."""
    code = _entry_of("error_codes", "codes")
    members = ["retryable", "recovery"]
    return {**code, "required": members, "properties": {name: code["properties"][name] for name in members}}


_TABLES: Final = {
    "ERROR_CODES": _Table("RegisteredErrorCode", "ErrorCodeEntry", lambda: _entry_of("error_codes", "codes")),
    "ERROR_CATEGORIES": _Table("ErrorCategory", "ErrorCategoryEntry", _category_entry),
    "DISPLAY_TYPES": _Table("RegisteredDisplayType", "DisplayTypeEntry", lambda: _entry_of("display_types", "types")),
}
"""The constants in which programs look up what a document says, by name."""
_LOOKUP = """\
/** The entries of a registry. A key that is not registered, as any string can be, has the value undefined. */
export type Lookup<Entries, Entry> = Entries & { readonly [key: string]: Entry | undefined };

// Without a prototype: else the keys "constructor" and "__proto__" would have a value.
const lookup = <Entries extends object, Entry>(entries: Entries): Lookup<Entries, Entry> =>
  Object.assign(Object.create(null), entries);

"""


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
        (source / "registry.json").write_text(json.dumps(_registry_schema()), encoding="utf-8")
        options = ("--unreachableDefinitions", "--maxItems=-1", "--bannerComment=", "--style.printWidth=120")
        program = "json-schema-to-typescript/dist/src/cli.js"
        done = NODE_PACKAGES.run(program, "-i", str(source), "-o", str(written), *options, cwd=Path(scratch))
        if done.returncode:
            sys.exit(f"json2ts failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        for name in schemas:
            head = f"/** {NOTE} */\n\n" + "".join(schema_for_typescript.import_lines(imports[name]))
            body = _ORIGIN.sub("", (written / f"{name}.d.ts").read_text(encoding="utf-8"))
            (out / f"{name}.ts").write_text(head + ("\n" if imports[name] else "") + body, encoding="utf-8")
        _write_registry(out, (written / "registry.d.ts").read_text(encoding="utf-8"))


def typescript_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas with a definition for each value that an if/then rule asks for, instead of the rules."""
    payloads = {
        row["type"]: {"properties": {"payload": {"$ref": row["payload"].removeprefix(f"display_envelope{SUFFIX}")}}}
        for row in display_types()
        if "payload" in row
    }
    more = {"display_envelope": payloads}
    return {
        name: schema_for_typescript.renamed(schema_for_typescript.by_value(schema, more.get(name)), RENAMED)
        for name, schema in json_schemas().items()
    }


def _registry_schema() -> dict[str, Any]:
    """Return a schema whose definitions are the entries of the tables; its own type is not used."""
    entries = {table.entry: {**table.schema(), "title": table.entry} for table in _TABLES.values()}
    return {"title": "Registry", "type": "object", "additionalProperties": False, "$defs": entries}


def _write_registry(out: Path, entry_types: str) -> None:
    """Write the registries as constants, the unions of their keys, and `entry_types`, the types of their entries."""
    text = f"/** {NOTE} */\n\n" + _LOOKUP
    for constant in constants():
        value = json.dumps(constant.value, indent=2, ensure_ascii=False)
        if table := _TABLES.get(constant.name):
            entries = constant.name[0].lower() + schema_for_typescript.pascal(constant.name.lower())[1:]
            text += f"const {entries} = {value} as const;\n\n"
            text += f"/** {constant.doc} */\nexport const {constant.name}: "
            text += f"Lookup<typeof {entries}, {table.entry}> = lookup({entries});\n"
            text += f"export type {table.keys} = keyof typeof {entries};\n\n"
        else:
            text += f"/** {constant.doc} */\nexport const {constant.name} = {value} as const;\n\n"
    types = _ORIGIN.sub("", entry_types).replace("export interface Registry {}\n", "")
    types = _MEMBER.sub(r"\1readonly \2", types).replace("string[]", "readonly string[]")  # json2ts cannot say it
    text += types.strip() + "\n"
    (out / "registry.ts").write_text(text, encoding="utf-8")
