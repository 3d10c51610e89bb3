"""What the types for Go, Rust and Java lose is counted, and belongs to the schemas of now."""

from __future__ import annotations

import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from tools.generate import quicktype_types
from tools.generate.generated_folder import TARGET
from tools.generate.registry_constants import constants
from tools.generate.sources import json_schemas
from tools.interop.bindings_losses import COMPILERS, TABLE, changes, measured, read_examples, rows, shown, table


def test_the_types_and_their_table_belong_to_the_schemas_of_now():
    assert table(TABLE.read_text(encoding="utf-8")), f"a schema has changed: run `{quicktype_types.COMMAND}`"


def test_every_language_reads_every_valid_example():
    row = table(TABLE.read_text(encoding="utf-8"))["valid examples that are read"]
    assert {row[language] for language in COMPILERS} == {row["examples"]}


def test_a_table_of_other_schemas_is_no_table():
    assert table(TABLE.read_text(encoding="utf-8").replace("schemas ", "schemas 0")) == {}


def test_a_table_comes_back_from_its_text():
    cells = {"read": {"examples": "3", "go": "2", "rust": "-", "java": "1"}}
    cells["  dropped"] = {"go": "0", "rust": "-", "java": "7"}
    assert table(shown(cells)) == cells


@pytest.mark.parametrize("language", COMPILERS)
def test_every_type_is_there_under_its_name_and_the_head_says_what_made_it(language):
    files = list((TARGET / language).rglob("*.*"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert all(path.read_text(encoding="utf-8").startswith("// Code generated from schemas/ by") for path in files)
    assert text.count(quicktype_types.COMMAND) == len(files)
    for schema in json_schemas().values():
        assert any(f"{word} {schema['title']} " in text for word in ("type", "struct", "class"))


@pytest.mark.parametrize(
    ("language", "form"), [("go", "const {} = {}"), ("rust", "const {}: &str = {};"), ("java", "String {} = {};")]
)
def test_every_name_that_xmcp_adds_to_mcp_is_a_constant(language, form):
    text = "\n".join(path.read_text(encoding="utf-8") for path in (TARGET / language).rglob("*.*"))
    names = {constant.name: constant.value for constant in constants() if constant.type == "str"}
    assert names["ERROR_META_KEY"].endswith("/error")
    for name, value in names.items():
        written = name.title().replace("_", "").replace("Id", "ID") if language == "go" else name
        assert form.format(written, f'"{value}"') in text


def test_examples_that_only_the_specification_forbids_are_not_counted():
    assert all(example.faults for example in read_examples("invalid"))
    assert not any(example.faults for example in read_examples("valid"))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": Decimal("1.0")}, {}),
        ({"a": 1}, {"a": 2}, {"numbers changed": 1}),
        ({"a": True}, {"a": 1}, {"other values changed": 1}),
        ({"a": "1"}, {"a": 1}, {"other values changed": 1}),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, {"members dropped": 1}),
        ({}, {"a": None, "b": 1}, {"members added as null": 1, "members added with a value": 1}),
        ([1, 2], [1], {"other values changed": 1}),
    ],
)
def test_changes_are_counted(before, after, found):
    assert changes(before, after) == found


def test_a_language_that_is_absent_keeps_its_figures_and_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    counts = rows(list(read_examples("valid")), list(read_examples("invalid")))
    figures = dict.fromkeys(COMPILERS, "7")
    before = {name: {"examples": count, **figures} if count else figures for name, count in counts.items()}
    cells, left_out = measured(before)
    assert [line.split()[0] for line in left_out] == list(COMPILERS)
    assert table(shown(cells)) == before


def test_a_language_that_is_absent_keeps_no_figures_about_other_examples(monkeypatch):
    monkeypatch.setenv("PATH", "")
    before = table(TABLE.read_text(encoding="utf-8"))
    before["valid examples that are read"]["examples"] = "1"
    cells, _ = measured(before)
    assert {row[language] for row in cells.values() for language in COMPILERS} == {"-"}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="no JDK")
@pytest.mark.parametrize("jackson", ["/usr/share/java", "~/.m2/repository/com/fasterxml/jackson/core"])
def test_the_types_for_java_compile_with_the_jackson_of_debian_and_of_maven(jackson, tmp_path):
    # Debian's `writeValueAsString` also throws IOException.
    of_maven = "-2.17.2" if "m2" in jackson else ""
    names = [f"jackson-{part}{of_maven}.jar" for part in ("databind", "core", "annotations")]
    jars = [next(Path(jackson).expanduser().rglob(name), None) for name in names]
    if None in jars:
        pytest.skip(f"no Jackson in {jackson}")
    sources = map(str, (TARGET / "java").rglob("*.java"))
    compiler = ["javac", "-nowarn", "-d", str(tmp_path), "-cp", ":".join(map(str, jars)), *sources]
    done = subprocess.run(compiler, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_method_for_java_throws_less_than_the_jackson_of_debian():
    for path in (TARGET / "java").rglob("*.java"):
        assert quicktype_types._THROWS[0] not in path.read_text(encoding="utf-8"), path
