"""Make `generated/` from `schemas/` and the requirement registry.

    python tools/generate.py          write it
    python tools/generate.py --check  exit 1, with a diff, where it differs from what is committed

Only generators write there: datamodel-code-generator for the JSON Schemas, xsdata for the XSD, and this
file for the registries (as tables) and for the byte copies that installed packages read at run time.
"""

from __future__ import annotations

import argparse
import difflib
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from pprint import pformat
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "schemas"
TARGET = ROOT / "generated" / "python" / "xmcp_models"
COMMAND = "uv run nox -s generate"
HEADER = f'"""Generated from schemas/ by `{COMMAND}`. Do not edit: change the schema and run it again."""\n'

JSON_MODELS = ("display_envelope", "tool_metadata", "error_meta")
# Read at run time by validators, in the wheel as in a checkout.
COPIES = (
    "tool_response.xsd",
    "display_envelope.schema.json",
    "tool_metadata.schema.json",
    "error_meta.schema.json",
)


def _run(arguments: list[str], cwd: Path) -> None:
    """Run a generator of this environment; its own message is the error."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")


def json_model(name: str, out: Path) -> None:
    """Pydantic models of one JSON Schema."""
    options = """
        --input-file-type jsonschema --output-model-type pydantic_v2.BaseModel --target-python-version 3.11
        --use-annotated --use-union-operator --use-standard-collections --snake-case-field --field-constraints
        --use-schema-description --use-field-description --disable-timestamp --enum-field-as-literal all
        --use-one-literal-as-default --formatters ruff-format ruff-check
    """.split()  # noqa: SIM905 - it reads like the command line it is
    target = out / f"{name}.py"
    schema = f"{name}.schema.json"
    _run(["datamodel-codegen", "--input", schema, "--output", str(target), *options], SCHEMAS)
    body = target.read_text(encoding="utf-8").split("\n\n", 1)[1]
    target.write_text(HEADER + "\n" + body, encoding="utf-8")


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


def table(name: str, type_: str, value: Any, doc: str) -> str:
    """One constant with its documentation."""
    return f'{name}: Final[{type_}] = {pformat(value, width=110, sort_dicts=False)}\n"""{doc}"""\n\n'


def registries(out: Path) -> None:
    """The names and the two registries, as Python tables."""
    names = json.loads((SCHEMAS / "names.json").read_text(encoding="utf-8"))
    codes = json.loads((SCHEMAS / "registry" / "error_codes.json").read_text(encoding="utf-8"))["codes"]
    types = json.loads((SCHEMAS / "registry" / "display_types.json").read_text(encoding="utf-8"))["types"]
    text = HEADER + "\nfrom typing import Any, Final\n\n"
    text += table("PREFIX", "str", names["prefix"], "Prefix of everything XMCP adds to MCP.")
    text += table("EXTENSION_ID", "str", names["prefix"] + "tool-response", "The MCP extension identifier.")
    text += table("TOOL_META_KEY", "str", names["prefix"] + "tool", "Key of the tool metadata in a tool's `_meta`.")
    text += table("VERSION_META_KEY", "str", names["prefix"] + "version", "Key of the version in a result's `_meta`.")
    text += table("VERSION", "str", names["version"], "The version of the specification these models are for.")
    text += table(
        "ERROR_CODES", "dict[str, dict[str, Any]]", {row["code"]: row for row in codes}, "Registered error codes."
    )
    categories: dict[str, dict[str, Any]] = {}
    for row in codes:  # the first code of a category is its most general one
        categories.setdefault(row["category"], {"retryable": row["retryable"], "recovery": row["recovery"]})
    text += table("ERROR_CATEGORIES", "dict[str, dict[str, Any]]", categories, "Defaults of each error category.")
    text += table(
        "DISPLAY_TYPES", "dict[str, dict[str, Any]]", {row["type"]: row for row in types}, "Registered display types."
    )
    (out / "registry.py").write_text(text, encoding="utf-8")
    _run(["ruff", "format", "--no-cache", "--isolated", "--line-length", "120", "registry.py"], out)


def generate(out: Path) -> None:
    """Write the whole package to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for name in JSON_MODELS:
        json_model(name, out)
    xml_model(out)
    registries(out)
    (out / "py.typed").touch()
    data = out / "data"
    data.mkdir()
    for name in COPIES:
        shutil.copy(SCHEMAS / name, data / name)
    requirements = yaml.safe_load((ROOT / "spec" / "requirements.yaml").read_text(encoding="utf-8"))
    (data / "requirements.json").write_text(
        json.dumps(requirements, indent=1, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8"
    )
    (out / "__init__.py").write_text(
        HEADER
        + "\nfrom pathlib import Path\n\n"
        + 'DATA = Path(__file__).parent / "data"\n'
        + '"""Folder of the schemas and of the requirement registry, for validators."""\n\n'
        + '__all__ = ["DATA"]\n',
        encoding="utf-8",
    )


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
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "xmcp_models"
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
