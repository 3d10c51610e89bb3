"""The generators write what is committed; otherwise the check names what is outdated and the command to run."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tools import node_packages
from tools.generate import generated_folder, typescript
from tools.generate.generated_folder import TARGET, differences
from tools.generate.python_package import write_python_package
from tools.generate.sources import json_schemas


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh") / "python"
    write_python_package(folder)
    return folder


@pytest.mark.slow
def test_the_python_package_is_what_the_generators_write(fresh, tmp_path):
    committed = tmp_path / "committed"
    shutil.copytree(TARGET / "python" / "xmcp_models", committed)
    assert differences(fresh, committed) == []


@pytest.mark.slow
def test_the_vectors_are_what_the_generators_write(fresh, tmp_path):
    shutil.copytree(fresh, tmp_path / "python" / "xmcp_models")
    generated_folder.write_vectors(tmp_path)
    assert differences(tmp_path / "vectors", TARGET / "vectors") == []


@pytest.mark.slow
def test_the_vectors_say_what_a_reader_with_the_new_schemas_does(fresh, tmp_path):
    new = tmp_path / "python" / "xmcp_models"
    shutil.copytree(fresh, new)
    xsd = (new / "data" / "tool_response.xsd").read_text()
    (new / "data" / "tool_response.xsd").write_text(
        xsd.replace('name="tool_name" type="ToolName"', 'name="tool" type="ToolName"')
    )
    generated_folder.write_vectors(tmp_path)
    [packed] = (tmp_path / "vectors").glob("*.json.sha256")
    examples = json.loads(packed.with_suffix("").read_bytes())["examples"]
    assert {example["reads"] for example in examples if example["kind"] == "tool_response"} == {False}


@pytest.mark.slow
def test_the_typescript_is_what_the_generators_write(tmp_path):
    if not typescript.NODE_PACKAGES.installed() and not os.environ.get("CI"):
        pytest.skip("its npm packages are not here; `uv run nox -s generate` installs them")
    typescript.write_typescript(tmp_path / "typescript")
    assert differences(tmp_path / "typescript", TARGET / "typescript") == []


def test_every_schema_has_a_module_in_each_language():
    for name in json_schemas():
        assert (TARGET / "python" / "xmcp_models" / f"{name}.py").is_file()
        assert (TARGET / "typescript" / f"{name}.ts").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["display_envelope.py", "tool_response.py", "registry.py", "data/requirements.json"])
def test_an_edit_by_hand_shows_as_a_diff(fresh, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(fresh, copy)
    with (copy / name).open("a") as file:
        file.write("# by hand\n")
    report = differences(fresh, copy)
    assert "-# by hand" in report
    assert f"--- committed/{name}" in report[0]


@pytest.mark.slow
def test_missing_and_left_over_files_are_named(fresh, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(fresh, copy)
    (copy / "py.typed").rename(copy / "left_over.py")
    assert differences(fresh, copy) == ["not generated any more: left_over.py", "missing: py.typed"]


@pytest.mark.parametrize("name", ["python/xmcp_models/registry.py", "typescript/registry.ts"])
def test_the_check_fails_with_the_command_that_helps(monkeypatch, tmp_path, name):
    stale = tmp_path / "generated"
    shutil.copytree(TARGET, stale)
    (stale / name).write_text("stale\n")
    monkeypatch.setattr(generated_folder, "TARGET", stale)
    monkeypatch.setattr(generated_folder, "generate", lambda out: shutil.copytree(TARGET, out))
    monkeypatch.setattr(node_packages.Packages, "install", lambda packages: None)
    with pytest.raises(SystemExit, match="uv run nox -s generate"):
        generated_folder.update(check=True)
