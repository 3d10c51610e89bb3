"""The exported vectors: complete, valid, checked by sha256sum, and the same bytes each time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tools import ROOT
from tools.generate import export_vectors

SCHEMAS = {
    name: json.loads((ROOT / "conformance" / "vectors" / name).read_text(encoding="utf-8"))
    for name in ("wire.schema.json", "export.schema.json")
}
VALIDATOR = jsonschema_rs.Draft202012Validator(
    SCHEMAS["export.schema.json"],
    registry=jsonschema_rs.Registry(list(SCHEMAS.items())),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_vectors.write(tmp_path_factory.mktemp("export") / "new")


@pytest.fixture(scope="module")
def content(path: Path) -> dict[str, Any]:
    exported: dict[str, Any] = json.loads(path.read_bytes())
    return exported


def test_the_file_is_what_its_schema_says(content: dict[str, Any]) -> None:
    assert [fault.message for fault in VALIDATOR.iter_errors(content)] == []
    accepted = next(example for example in content["examples"] if example.get("reads") is True)
    refused = next(example for example in content["examples"] if example.get("reads") is False)
    for broken in (
        content | {"more": 1},
        content | {"format": "xmcp-wire-vectors"},
        content | {"wire": content["wire"] | {"vectors": [{"id": "x"}]}},
        content | {"examples": [content["examples"][0] | {"valid": "yes"}]},
        content | {"examples": [content["examples"][0] | {"reads": True}]},
        content | {"examples": [accepted | {"reads": False}]},
        content | {"examples": [refused | {"reads": True}]},
        content | {"examples": [{name: value for name, value in accepted.items() if name != "response"}]},
    ):
        assert not VALIDATOR.is_valid(broken)


def test_every_vector_is_in_it_as_it_was(content: dict[str, Any]) -> None:
    wire = json.loads((ROOT / "conformance" / "vectors" / "wire.json").read_text(encoding="utf-8"))
    assert json.dumps(content["wire"]) == json.dumps(wire)


def test_every_example_is_in_it_as_it_was(content: dict[str, Any]) -> None:
    exported = {(e["valid"], e["kind"], e["name"]): e["text"].encode() for e in content["examples"]}
    folders = [ROOT / "schemas" / "examples" / verdict for verdict in ("valid", "invalid")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert exported == {
        (path.parents[1].name == "valid", path.parent.name, path.stem): path.read_bytes() for path in files
    }
    assert len(exported) == len(content["examples"])


def test_sha256sum_accepts_the_checksum_and_not_another_file(path: Path, tmp_path: Path) -> None:
    for name in (path.name, f"{path.name}.sha256"):
        shutil.copy(path.with_name(name), tmp_path)
    check = ["sha256sum", "--check", "--strict", f"{path.name}.sha256"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    with (tmp_path / path.name).open("ab") as file:
        file.write(b" ")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_a_second_run_gives_the_same_bytes_and_says_where_they_are(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.generate.export_vectors", "--out", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert printed == [str(tmp_path / path.name), str(tmp_path / f"{path.name}.sha256")]
    for written in printed:
        assert Path(written).read_bytes() == path.with_name(Path(written).name).read_bytes()


def test_the_name_has_the_version_of_the_specification(path: Path, content: dict[str, Any]) -> None:
    assert path.name == f"xmcp-vectors-{content['version']}.json"
    assert f"version: {content['version']}" in (ROOT / "spec" / "requirements.yaml").read_text(encoding="utf-8")
