"""The generator's gate: it says what is stale, and what to run."""

from __future__ import annotations

import json
import os
import shutil
import sys

import generate
import node_packages
import pytest

COMMITTED = generate.TARGET


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh") / "python"
    generate.python(folder)
    return folder


def test_the_python_package_is_what_the_generators_write(fresh, tmp_path):
    committed = tmp_path / "committed"
    shutil.copytree(generate.TARGET / "python" / "xmcp_models", committed)
    shutil.rmtree(committed / "data" / "typescript")
    assert generate.differences(fresh, committed) == []


def test_the_typescript_is_what_the_generators_write(tmp_path):
    if not node_packages.TYPESCRIPT.installed() and not os.environ.get("CI"):
        pytest.skip("its npm packages are not here; `uv run nox -s generate` installs them")
    generate.typescript(tmp_path / "typescript")
    assert generate.differences(tmp_path / "typescript", generate.TARGET / "typescript") == []


def test_the_package_holds_a_copy_of_the_typescript():
    copy = generate.TARGET / "python" / "xmcp_models" / "data" / "typescript"
    assert generate.differences(generate.TARGET / "typescript", copy) == []
    assert any(copy.iterdir())


def test_every_schema_has_a_module_in_each_language():
    for name in generate.json_schemas():
        assert (generate.TARGET / "python" / "xmcp_models" / f"{name}.py").is_file()
        assert (generate.TARGET / "typescript" / f"{name}.ts").is_file()


@pytest.mark.parametrize("name", ["display_envelope.py", "tool_response.py", "registry.py", "data/requirements.json"])
def test_an_edit_by_hand_shows_as_a_diff(fresh, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(fresh, copy)
    with (copy / name).open("a") as file:
        file.write("# by hand\n")
    report = generate.differences(fresh, copy)
    assert "-# by hand" in report
    assert f"--- committed/{name}" in report[0]


def test_missing_and_left_over_files_are_named(fresh, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(fresh, copy)
    (copy / "py.typed").rename(copy / "left_over.py")
    assert generate.differences(fresh, copy) == ["not generated any more: left_over.py", "missing: py.typed"]


@pytest.mark.parametrize("name", ["python/xmcp_models/registry.py", "typescript/registry.ts"])
def test_the_check_fails_with_the_command_that_helps(monkeypatch, tmp_path, name):
    stale = tmp_path / "generated"
    shutil.copytree(generate.TARGET, stale)
    (stale / name).write_text("stale\n")
    monkeypatch.setattr(generate, "TARGET", stale)
    monkeypatch.setattr(generate, "generate", lambda out: shutil.copytree(COMMITTED, out))
    monkeypatch.setattr(node_packages.Packages, "install", lambda packages: None)
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    with pytest.raises(SystemExit, match="uv run nox -s generate"):
        generate.main()


def packages(folder, **wanted):
    (folder / "package.json").write_text(json.dumps({"devDependencies": wanted}))
    return node_packages.Packages(folder, "A test runs with them.")


def test_an_npm_that_cannot_install_is_told_what_to_do(tmp_path):
    absent = packages(tmp_path, absent="file:./none/at-all")
    told = r"(?s)npm could not install absent file:./none/at-all .*A test runs with them. Give npm a registry"
    with pytest.raises(SystemExit, match=told):
        absent.install()


def test_a_package_in_another_version_is_not_installed(tmp_path):
    both = packages(tmp_path, one="1.2.3", other="4.5.6")
    for name, version in {"one": "1.2.3", "other": "4.5.6"}.items():
        assert not both.installed()
        (tmp_path / "node_modules" / name).mkdir(parents=True)
        (tmp_path / "node_modules" / name / "package.json").write_text(json.dumps({"version": version}))
    assert both.installed()
    (tmp_path / "node_modules" / name / "package.json").write_text(json.dumps({"version": "0.0.1"}))
    assert not both.installed()
