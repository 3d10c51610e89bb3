"""Make `generated/` from `schemas/` and the requirement registry.

    python tools/generate.py          write it
    python tools/generate.py --check  exit 1, with a diff, where it differs from what is committed

Only generators write there: datamodel-code-generator and json-schema-to-typescript for the JSON Schemas, xsdata for the
XSD, and this file for the registries (as tables) and for the byte copies that installed packages read at run time.
"""

from __future__ import annotations

import argparse
import difflib
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from typing import Any

import node_packages
import schema_for_typescript
import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "schemas"
TARGET = ROOT / "generated"
COMMAND = "uv run nox -s generate"
_NOTE = f"Generated from schemas/ by `{COMMAND}`. Do not edit: change the schema and run it again."
HEADER = f'"""{_NOTE}"""\n'
SUFFIX = schema_for_typescript.SUFFIX
# json2ts says of each definition where it stands, which is no use to a reader of the type.
_REFERENCED = r" \* This interface was referenced by `\w+`'s JSON-Schema\n \* via the `definition` \"\w+\"\.\n"
_ORIGIN = re.compile(rf"/\*\*\n{_REFERENCED} \*/\n| \*\n{_REFERENCED}")


def json_schemas() -> dict[str, dict[str, Any]]:
    """Every JSON Schema of the specification by its name, without `.schema.json`."""
    paths = sorted(SCHEMAS.glob(f"*{SUFFIX}"))
    return {path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _run(arguments: list[str], cwd: Path) -> None:
    """Run a generator of this environment; its own message is the error."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")


def json_models(out: Path) -> None:
    """Pydantic models of the JSON Schemas, a module for each."""
    options = """
        --input-file-type jsonschema --output-model-type pydantic_v2.BaseModel --target-python-version 3.11
        --use-annotated --use-union-operator --use-standard-collections --snake-case-field --field-constraints
        --use-schema-description --use-field-description --disable-timestamp --enum-field-as-literal all
        --formatters ruff-format ruff-check
    """.split()  # noqa: SIM905 - it reads like the command line it is
    with tempfile.TemporaryDirectory() as scratch:
        source, written = Path(scratch) / "schemas", Path(scratch) / "models"
        source.mkdir()
        for path in SCHEMAS.glob(f"*{SUFFIX}"):  # a module has its file's name, and `.schema` is no part of ours
            text = path.read_text(encoding="utf-8").replace(SUFFIX, ".json")
            (source / path.name.replace(SUFFIX, ".json")).write_text(text, encoding="utf-8")
        _run(["datamodel-codegen", "--input", str(source), "--output", str(written), *options], ROOT)
        for name in json_schemas():
            body = (written / f"{name}.py").read_text(encoding="utf-8").split("\n\n", 1)[1]
            (out / f"{name}.py").write_text(HEADER + "\n" + body, encoding="utf-8")


def xml_model(out: Path) -> None:
    """Dataclasses of the XSD."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(SCHEMAS / "tool_response.xsd", scratch)
        _run(
            ["xsdata", "generate", "tool_response.xsd", "--package", "models", "--docstring-style", "Google"],
            Path(scratch),
        )
        body = (Path(scratch) / "models" / "tool_response.py").read_text(encoding="utf-8")
    (out / "tool_response.py").write_text(HEADER + "\n" + body, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Constant:
    """One name of the registries, for every language."""

    name: str
    type: str
    value: Any
    doc: str


def registries() -> Iterator[Constant]:
    """The names and the two registries."""
    names = json.loads((SCHEMAS / "names.json").read_text(encoding="utf-8"))
    codes = json.loads((SCHEMAS / "registry" / "error_codes.json").read_text(encoding="utf-8"))["codes"]
    prefix, table = names["prefix"], "dict[str, dict[str, Any]]"
    yield Constant("PREFIX", "str", prefix, "Prefix of everything XMCP adds to MCP.")
    yield Constant("EXTENSION_ID", "str", prefix + "tool-response", "The MCP extension identifier.")
    yield Constant("TOOL_META_KEY", "str", prefix + "tool", "Key of the tool metadata in a tool's `_meta`.")
    yield Constant("VERSION_META_KEY", "str", prefix + "version", "Key of the version in a result's `_meta`.")
    yield Constant("PLAIN_META_KEY", "str", prefix + "plain", "Key of the version in the `_meta` of a plain result.")
    yield Constant(
        "DISPLAY_META_KEY", "str", prefix + "display", "Key of the display in the `_meta` of a plain result."
    )
    yield Constant("ERROR_META_KEY", "str", prefix + "error", "Key of the error in a plain result's `_meta`.")
    yield Constant(
        "POPULATED_META_KEY",
        "str",
        prefix + "server_populated",
        "Key of `server_populated` in a plain result's `_meta`.",
    )
    yield Constant("VERSION", "str", names["version"], "The version of the specification these models are for.")
    yield Constant(
        "VENDOR_KEY", "str", names["vendor_key"], "Regular expression of a name with a vendor prefix, whole."
    )
    yield Constant("ERROR_CODES", table, {row["code"]: row for row in codes}, "Registered error codes.")
    categories: dict[str, dict[str, Any]] = {}
    for row in codes:  # the first code of a category is its most general one
        categories.setdefault(row["category"], {"retryable": row["retryable"], "recovery": row["recovery"]})
    yield Constant("ERROR_CATEGORIES", table, categories, "Defaults of each error category.")
    displays = json.loads((SCHEMAS / "registry" / "display_types.json").read_text(encoding="utf-8"))
    types = {row["type"]: row for row in displays["types"]}
    yield Constant("DISPLAY_TYPES", table, types, "Registered display types.")
    rules = displays["envelope"]
    yield Constant("ENVELOPE_RULES", "dict[str, Any]", rules, "What an emitter keeps to in every display envelope.")


def display_types() -> list[dict[str, Any]]:
    """The rows of the registry of display types."""
    rows: list[dict[str, Any]] = json.loads((SCHEMAS / "registry" / "display_types.json").read_text(encoding="utf-8"))[
        "types"
    ]
    return rows


def python_registry(out: Path) -> None:
    """The registries as Python tables."""
    text = HEADER + "\nfrom typing import Any, Final\n\n"
    for row in registries():
        value = pformat(row.value, width=110, sort_dicts=False)
        text += f'{row.name}: Final[{row.type}] = {value}\n"""{row.doc}"""\n\n'
    (out / "registry.py").write_text(text, encoding="utf-8")
    _run(["ruff", "format", "--no-cache", "--isolated", "--line-length", "120", "registry.py"], out)


def typescript_registry(out: Path) -> None:
    """The registries as TypeScript constants, and the unions of their keys."""
    text = f"/** {_NOTE} */\n\n"
    for row in registries():
        value = json.dumps(row.value, indent=2, ensure_ascii=False)
        text += f"/** {row.doc} */\nexport const {row.name} = {value} as const;\n\n"
    for name, table in (
        ("RegisteredErrorCode", "ERROR_CODES"),
        ("ErrorCategory", "ERROR_CATEGORIES"),
        ("RegisteredDisplayType", "DISPLAY_TYPES"),
    ):
        text += f"export type {name} = keyof typeof {table};\n"
    (out / "registry.ts").write_text(text, encoding="utf-8")


def typescript_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas with a definition for each value that a rule asks for; the rules themselves are gone."""
    payloads = {
        row["type"]: {"properties": {"payload": {"$ref": row["payload"].removeprefix(f"display_envelope{SUFFIX}")}}}
        for row in display_types()
        if "payload" in row
    }
    more = {"display_envelope": payloads}
    return {name: schema_for_typescript.by_value(schema, more.get(name)) for name, schema in json_schemas().items()}


def typescript(out: Path) -> None:
    """TypeScript types of the JSON Schemas, a module for each, and the registries."""
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
        done = node_packages.TYPESCRIPT.run(program, "-i", str(source), "-o", str(written), *options, cwd=Path(scratch))
        if done.returncode:
            sys.exit(f"json2ts failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        for name in schemas:
            head = f"/** {_NOTE} */\n\n" + "".join(schema_for_typescript.import_lines(imports[name]))
            body = _ORIGIN.sub("", (written / f"{name}.d.ts").read_text(encoding="utf-8"))
            (out / f"{name}.ts").write_text(head + ("\n" if imports[name] else "") + body, encoding="utf-8")
    typescript_registry(out)


def python(out: Path) -> None:
    """The Python package: models, registries, and the files that are read at run time."""
    out.mkdir(parents=True)
    json_models(out)
    xml_model(out)
    python_registry(out)
    (out / "py.typed").touch()
    data = out / "data"
    for pattern in ("*.xsd", f"*{SUFFIX}", "names.json", "registry/*.json"):
        for path in SCHEMAS.glob(pattern):
            copy = data / path.relative_to(SCHEMAS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    requirements = yaml.safe_load((ROOT / "spec" / "requirements.yaml").read_text(encoding="utf-8"))
    (data / "requirements.json").write_text(
        json.dumps(requirements, indent=1, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8"
    )
    (out / "__init__.py").write_text(
        HEADER
        + "\nfrom pathlib import Path\n\n"
        + 'DATA = Path(__file__).parent / "data"\n'
        + '"""Folder of the schemas, the registries and the generated TypeScript, for programs that read them."""\n\n'
        + '__all__ = ["DATA"]\n',
        encoding="utf-8",
    )


def generate(out: Path) -> None:
    """Write everything to `out`."""
    python(out / "python" / "xmcp_models")
    typescript(out / "typescript")
    # An installed package has no folder `generated`; `xmcp bindings` writes from this copy.
    shutil.copytree(out / "typescript", out / "python" / "xmcp_models" / "data" / "typescript")


def _files(folder: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder)): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def differences(fresh: Path, committed: Path) -> list[str]:
    """What a regeneration would change, as unified diffs."""
    ours, theirs = _files(committed), _files(fresh)
    report = [f"not generated any more: {name}" for name in sorted(ours.keys() - theirs.keys())]
    report += [f"missing: {name}" for name in sorted(theirs.keys() - ours.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        if not filecmp.cmp(ours[name], theirs[name], shallow=False):
            report += difflib.unified_diff(
                ours[name].read_text(encoding="utf-8").splitlines(),
                theirs[name].read_text(encoding="utf-8").splitlines(),
                f"committed/{name}",
                f"generated/{name}",
                lineterm="",
            )
    return report


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 where it differs")
    arguments = parser.parse_args()
    node_packages.TYPESCRIPT.install()
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "generated"
        generate(fresh)
        report = differences(fresh, TARGET)
        if not report:
            print("generated/ agrees with schemas/ and spec/requirements.yaml")
            return
        if arguments.check:
            print("\n".join(report))
            sys.exit(f"\ngenerated/ is stale: run `{COMMAND}` and commit what it writes.")
        shutil.rmtree(TARGET, ignore_errors=True)
        shutil.copytree(fresh, TARGET)
        print(f"wrote {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
