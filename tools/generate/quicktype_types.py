"""Write the types for Go, Rust and Java with quicktype, and the names that XMCP adds to MCP as constants.

quicktype has npm packages of its own, and whoever works on XMCP rarely needs them: `nox -s bindings` runs it, and
`nox -s generate` does not.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.generate.registry_constants import Constant, constants
from tools.generate.schema_for_typescript import renamed
from tools.generate.sources import SUFFIX, json_schemas
from tools.node_packages import Packages

COMMAND: Final = "uv run nox -s bindings -- --write"
NODE_PACKAGES: Final = Packages(Path(__file__).parent / "quicktype", "They generate the types for Go, Rust and Java.")
_NOTE: Final = (
    "// Code generated from schemas/ by quicktype. DO NOT EDIT.",  # the line that Go's tools look for
    f"// Change the schema and run `{COMMAND}`.",
)
_THROWS: Final = (") throws JsonProcessingException {", ") throws IOException {")
"""What quicktype writes for Java, and its superclass, which `writeValueAsString` of Debian's Jackson throws, too."""
_RENAMED: Final = {"Error": "ErrorInfo"}
"""Other names for definitions whose own name is a class or a trait of each language. TypeScript has this one too."""
_TITLES: Final = {
    ("chat_event", "Message", "content"): "MessageContent",
    ("chat_event", "Message", "role"): "MessageRole",
    ("chat_event", "ToolCall", "type"): "ToolCallType",
    ("display_envelope", "", "payload"): "DisplayPayload",
    ("snapshot", "", "format"): "SnapshotFormat",
}
"""Names of types that quicktype would call after their property alone, by schema, definition and property."""


@dataclass(frozen=True, slots=True)
class Target:
    """A language: the folder of its files within that of the language, and the options of quicktype."""

    folder: str
    options: dict[str, Any]


TARGETS: Final = {
    "go": Target(".", {"outputFilename": "xmcp.go", "package": "xmcp", "omit-empty": True}),
    "rust": Target(".", {"outputFilename": "xmcp.rs", "skip-serializing-none": True, "leading-comments": False}),
    "java": Target("xmcp", {"outputFilename": "Converter.java", "package": "xmcp"}),
}


def write_types(out: Path) -> None:
    """Write a folder for each language into `out`.

    Raises:
        SystemExit: quicktype failed; the message holds its output.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name, schema in schemas().items():
            (Path(scratch) / f"{name}{SUFFIX}").write_text(json.dumps(schema), encoding="utf-8")
        for language, target in TARGETS.items():
            folder = out / language / target.folder
            arguments = (scratch, str(folder), language, json.dumps(target.options))
            # Not `Packages.run`: the program is ours, and finds the packages beside it.
            done = NODE_PACKAGES.run("../write_types.mjs", *arguments, cwd=NODE_PACKAGES.folder)
            if done.returncode:
                sys.exit(f"quicktype failed for {language} ({done.returncode}):\n{done.stdout}{done.stderr}")
            _write_names(folder / target.options["outputFilename"], language)
            for path in folder.iterdir():
                text = path.read_text(encoding="utf-8").strip().replace(*_THROWS)
                path.write_text("\n".join([*_NOTE, "", text, ""]), encoding="utf-8")


def _write_names(types: Path, language: str) -> None:
    """Write the keys in `_meta`, and the other names: behind the types, for Java in a class of its own."""
    names = [constant for constant in constants() if constant.type == "str"]
    if language == "java":
        lines = "".join(_constant(language, name) for name in names)
        text = f"package xmcp;\n\n/** The names that XMCP adds to MCP. */\npublic final class Names {{\n{lines}}}\n"
        types.with_name("Names.java").write_text(text, encoding="utf-8")
        return
    with types.open("a", encoding="utf-8") as file:
        file.write("".join(f"\n{_constant(language, name)}" for name in names))


def _constant(language: str, constant: Constant) -> str:
    name, value = constant.name, json.dumps(constant.value)
    if language == "go":
        return f"// {constant.doc}\nconst {name.title().replace('_', '').replace('Id', 'ID')} = {value}\n"
    if language == "rust":
        return f"/// {constant.doc}\npub const {name}: &str = {value};\n"
    return f"    /** {constant.doc} */\n    public static final String {name} = {value};\n"


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas as quicktype gets them: with names for types, and without formats.

    For a string with a format it takes the type of a date. That type writes the same moment in other characters, and in
    Go the import of `time` stands where no import can stand.
    """
    found = {name: _without_formats(renamed(schema, _RENAMED)) for name, schema in json_schemas().items()}
    for (name, definition, member), title in _TITLES.items():
        home = found[name]["$defs"][definition] if definition else found[name]
        home["properties"][member]["title"] = title
    for schema in found.values():
        for name, definition in schema.get("$defs", {}).items():
            definition["title"] = name
    return found


def checksum() -> str:
    """Return the checksum of the schemas as quicktype gets them."""
    return hashlib.sha256(json.dumps(schemas(), sort_keys=True).encode()).hexdigest()


def _without_formats(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_formats(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_formats(value) for key, value in node.items() if key != "format" or not isinstance(value, str)
    }
