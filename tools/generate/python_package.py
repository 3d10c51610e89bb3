"""Write the Python package `xmcp_models`: models, registries, and the files that programs read at run time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from pprint import pformat

import yaml

from tools import ROOT
from tools.generate.registry_constants import constants
from tools.generate.sources import NOTE, SCHEMAS, SUFFIX, json_schemas
from tools.lint import released

HEADER = f'"""{NOTE}"""\n'
_CODEGEN_OPTIONS = """
    --input-file-type jsonschema --output-model-type pydantic_v2.BaseModel --target-python-version 3.11
    --use-annotated --use-union-operator --use-standard-collections --snake-case-field --field-constraints
    --use-schema-description --use-field-description --disable-timestamp --enum-field-as-literal all
    --formatters ruff-format ruff-check
""".split()  # noqa: SIM905 - written as on a command line


def write_python_package(out: Path) -> None:
    """Write the package to the folder `out`, which must not exist."""
    out.mkdir(parents=True)
    _write_json_models(out)
    _write_xml_model(out)
    _write_registry(out)
    (out / "py.typed").touch()
    _write_data(out / "data")
    (out / "__init__.py").write_text(
        HEADER
        + "\nfrom pathlib import Path\n\n"
        + 'DATA = Path(__file__).parent / "data"\n'
        + '"""Folder of the schemas and the registries, for programs that read them."""\n\n'
        + '__all__ = ["DATA"]\n',
        encoding="utf-8",
    )


def _write_json_models(out: Path) -> None:
    """Write Pydantic models of the JSON Schemas, one module for each schema."""
    with tempfile.TemporaryDirectory() as scratch:
        source, written = Path(scratch) / "schemas", Path(scratch) / "models"
        source.mkdir()
        for path in SCHEMAS.glob(f"*{SUFFIX}"):  # the generator names a module after its file, `.schema` included
            text = path.read_text(encoding="utf-8").replace(SUFFIX, ".json")
            (source / path.name.replace(SUFFIX, ".json")).write_text(text, encoding="utf-8")
        _run(["datamodel-codegen", "--input", str(source), "--output", str(written), *_CODEGEN_OPTIONS], ROOT)
        for name in json_schemas():
            body = (written / f"{name}.py").read_text(encoding="utf-8").split("\n\n", 1)[1]
            (out / f"{name}.py").write_text(HEADER + "\n" + body, encoding="utf-8")


def _write_xml_model(out: Path) -> None:
    """Write dataclasses of the XSD."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(SCHEMAS / "tool_response.xsd", scratch)
        _run(
            ["xsdata", "generate", "tool_response.xsd", "--package", "models", "--docstring-style", "Google"],
            Path(scratch),
        )
        body = (Path(scratch) / "models" / "tool_response.py").read_text(encoding="utf-8")
    (out / "tool_response.py").write_text(HEADER + "\n" + body, encoding="utf-8")


def _write_registry(out: Path) -> None:
    """Write the registries as Python tables."""
    text = HEADER + "\nfrom typing import Any, Final\n\n"
    for constant in constants():
        value = pformat(constant.value, width=110, sort_dicts=False)
        text += f'{constant.name}: Final[{constant.type}] = {value}\n"""{constant.doc}"""\n\n'
    (out / "registry.py").write_text(text, encoding="utf-8")
    _run(["ruff", "format", "--no-cache", "--isolated", "--line-length", "120", "registry.py"], out)


def _write_data(data: Path) -> None:
    """Copy the schemas and the registries, and write the requirement registry as JSON."""
    for pattern in ("*.xsd", f"*{SUFFIX}", "names.json", "registry/*.json"):
        for path in SCHEMAS.glob(pattern):
            copy = data / path.relative_to(SCHEMAS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    requirements = yaml.safe_load((ROOT / "spec" / "requirements.yaml").read_text(encoding="utf-8"))
    late = released.later(requirements["version"], requirements["requirements"], released.read())
    for row in requirements["requirements"]:
        row |= {"later": True} if row["id"] in late else {}
    (data / "requirements.json").write_text(
        json.dumps(requirements, indent=1, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8"
    )


def _run(arguments: list[str], cwd: Path) -> None:
    """Run a code generator of this environment.

    Raises:
        SystemExit: it failed; the message holds its output.
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
