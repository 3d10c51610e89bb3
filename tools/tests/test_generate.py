"""The generator's gate: it says what is stale, and what to run."""

from __future__ import annotations

import shutil
import sys

import generate
import pytest


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh") / "xmcp_models"
    generate.generate(folder)
    return folder


def test_generated_is_what_the_generators_write(fresh):
    assert generate.differences(fresh, generate.TARGET) == []


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


def test_the_check_fails_with_the_command_that_helps(monkeypatch, tmp_path):
    stale = tmp_path / "xmcp_models"
    shutil.copytree(generate.TARGET, stale)
    (stale / "registry.py").write_text("stale\n")
    monkeypatch.setattr(generate, "TARGET", stale)
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    with pytest.raises(SystemExit, match="uv run nox -s generate"):
        generate.main()
