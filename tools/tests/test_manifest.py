"""The manifest of the specification: every changed, removed or added file is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import ROOT
from tools.lint import manifest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("spec/01-a.md", "schemas/a.xsd", "schemas/examples/valid/k/a.json", "conformance/vectors/wire.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    manifest.write(tmp_path)
    return tmp_path


def test_a_tree_as_it_was_accepted_has_no_fault_and_sha256sum_agrees(tree: Path) -> None:
    assert list(manifest.faults(tree)) == []
    subprocess.run(["sha256sum", "-c", "--quiet", "spec/SHA256SUMS"], cwd=tree, check=True)


@pytest.mark.parametrize(
    "name", ["spec/01-a.md", "schemas/a.xsd", "schemas/examples/valid/k/a.json", "conformance/vectors/wire.json"]
)
def test_a_file_that_changes_or_goes_is_named(tree: Path, name: str) -> None:
    (tree / name).write_text("other", encoding="utf-8")
    assert list(manifest.faults(tree)) == [f"{name}: differs from its checksum in spec/SHA256SUMS"]
    (tree / name).unlink()
    assert list(manifest.faults(tree)) == [f"{name}: is listed in spec/SHA256SUMS, but does not exist"]


def test_a_file_that_comes_is_named(tree: Path) -> None:
    (tree / "schemas" / "b.json").write_text("{}", encoding="utf-8")
    assert list(manifest.faults(tree)) == ["schemas/b.json: exists, but is not listed in spec/SHA256SUMS"]


def test_it_lists_every_chapter_schema_example_and_vector_of_this_repository() -> None:
    listed = manifest.checksums(ROOT)
    for name in (
        *("spec/02-tool-response.md", "spec/requirements.yaml", "schemas/tool_response.xsd", "schemas/names.json"),
        *("schemas/registry/error_codes.json", "conformance/vectors/wire.json", "conformance/vectors/wire.schema.json"),
        *(
            "schemas/examples/valid/tool_response/display-only.xml",
            "schemas/examples/invalid/display_envelope/no-type.json",
        ),
    ):
        assert name in listed
    assert len(listed) > 700
