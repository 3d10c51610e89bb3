"""`xmcp bindings`: the written files work where they are, and the losses that it reports are the real losses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import xmcp.cli.type_bindings
from tools.generate.sources import SUFFIX, json_schemas
from tools.generate.typescript import typescript_schemas
from tools.lint import typescript_check, weakened_schema
from xmcp.cli import run
from xmcp.cli.type_bindings import LANGUAGES, Language, Loss, files, overview
from xmcp_models import DATA
from xmcp_models.display_envelope import Column, DisplayEnvelope
from xmcp_models.tool_metadata import ToolMetadata

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "schemas" / "examples"
SCHEMAS = json_schemas()
LOSSES = [(name, loss) for name, language in LANGUAGES.items() for loss in language.losses]


def plain(text: str) -> str:
    return " ".join(text.split())


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What it says


def test_without_options_it_says_what_each_language_gives_and_loses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bindings"]) == 0
    said = plain(capsys.readouterr().out)
    for name, language in LANGUAGES.items():
        assert f"{name}: gives {language.gains} " in said
        for loss in language.losses:
            assert f"loses {loss.words} " in said


def test_the_guide_lists_the_same_languages_gains_and_losses() -> None:
    page = (ROOT / "docs" / "guides" / "bindings.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert sections.keys() == LANGUAGES.keys()
    for name, language in LANGUAGES.items():
        rows = re.findall(r"^\| (gives|loses) \| (.*) \|$", sections[name], re.MULTILINE)
        assert rows == [("gives", language.gains), *(("loses", loss.words) for loss in language.losses)]


# What it writes


@pytest.mark.parametrize("name", LANGUAGES)
def test_it_says_what_it_wrote_and_what_comes_next(
    name: str, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bindings", "--lang", name, "--out", "new/folder"]) == 0
    said = capsys.readouterr().out
    for path in tree(workplace / "new" / "folder"):
        assert f"  {path}\n" in said
    assert LANGUAGES[name].next_step in said


def test_the_python_package_imports_on_its_own(workplace: Path) -> None:
    assert run(["bindings", "--lang", "python", "--out", "here"]) == 0
    written = tree(workplace / "here")
    modules = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in written if name.endswith(".py")
    ]
    assert len(modules) > 5
    code = (
        "import importlib, sys\n"
        "sys.path.insert(0, 'here')\n"
        "sys.modules['xmcp'] = sys.modules['xmcp_conformance'] = None\n"
        f"files = [importlib.import_module(name).__file__ for name in {modules!r}]\n"
        "import xmcp_models\n"
        "assert (xmcp_models.DATA / 'tool_response.xsd').is_file()\n"
        "from xmcp_models.display_envelope import DisplayEnvelope\n"
        "print(DisplayEnvelope(type='text', payload='a').model_dump_json(exclude_unset=True))\n"
        "assert all('/here/' in file.replace('\\\\', '/') for file in files), files"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=workplace, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"type":"text","payload":"a"}\n', "")


@pytest.mark.parametrize("name", ["typescript", "go", "rust", "java"])
def test_the_types_are_what_was_generated(name: str, workplace: Path) -> None:
    assert run(["bindings", "--lang", name, "--out", "here"]) == 0
    assert tree(workplace / "here") == tree(ROOT / "generated" / name)


def test_the_schemas_are_those_of_the_specification(workplace: Path) -> None:
    assert run(["bindings", "--lang", "schemas", "--out", "here"]) == 0
    originals = tree(ROOT / "schemas")
    assert tree(workplace / "here") == {
        name: text for name, text in originals.items() if not name.startswith("examples/")
    }


def test_what_it_writes_comes_with_the_package() -> None:
    for language in LANGUAGES.values():
        assert files(language)


def test_what_python_compiled_of_the_package_stays_where_it_is(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DATA.parent, workplace / "installed")
    (workplace / "installed" / "__pycache__").mkdir(exist_ok=True)
    (workplace / "installed" / "__pycache__" / "registry.cpython-311.pyc").write_bytes(b"")
    monkeypatch.setattr(xmcp.cli.type_bindings, "_PACKAGE", workplace / "installed")
    assert run(["bindings", "--lang", "python", "--out", "here"]) == 0
    assert not [path for path in tree(workplace / "here") if "__pycache__" in path]


# What it refuses


def test_python_is_written_beside_what_is_there_but_not_into_its_own_folder_twice(
    workplace: Path, failing: Callable[..., tuple[int, str]]
) -> None:
    (workplace / "mine.py").write_text("mine")
    assert run(["bindings", "--lang", "python", "--out", str(workplace)]) == 0
    code, line = failing("bindings", "--lang", "python", "--out", str(workplace))
    assert code == 1
    assert "xmcp_models is not empty" in line


def test_a_folder_with_something_in_it_is_left_alone(workplace: Path, failing: Callable[..., tuple[int, str]]) -> None:
    (workplace / "registry.ts").write_text("mine")
    code, line = failing("bindings", "--lang", "typescript", "--out", str(workplace))
    assert code == 1
    assert "is not empty" in line
    assert "--force" in line
    assert tree(workplace) == {"registry.ts": b"mine"}


def test_force_replaces_files_of_the_same_name_only(workplace: Path) -> None:
    (workplace / "registry.ts").write_text("mine")
    (workplace / "other.ts").write_text("mine")
    assert run(["bindings", "--lang", "typescript", "--out", str(workplace), "--force"]) == 0
    assert tree(workplace) == {**tree(ROOT / "generated" / "typescript"), "other.ts": b"mine"}


@pytest.mark.parametrize("name", ["swift", "kotlin", ""])
def test_a_language_without_bindings_is_told_why_and_what_to_use(
    name: str, workplace: Path, failing: Callable[..., tuple[int, str]]
) -> None:
    code, line = failing("bindings", "--lang", name, "--out", "here")
    assert code == 2
    for word in ("union", "--lang schemas", "--lang vectors", *LANGUAGES):
        assert word in line
    assert tree(workplace) == {}


def test_a_misspelled_language_is_told_the_near_one(workplace: Path, failing: Callable[..., tuple[int, str]]) -> None:
    code, line = failing("bindings", "--lang", "Python", "--out", "here")
    assert code == 2
    assert "Did you mean" in line
    assert "python" in line


def test_a_hostile_name_cannot_act_on_the_terminal(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bell = "\x07\x1b]0;x"  # click itself takes out colours only
    assert run(["bindings", "--lang", f"{bell}go", "--out", "here"]) == 2
    assert run(["bindings", "--lang", "typescript", "--out", f"{bell}new"]) == 0
    assert run(["bindings", "--lang", "typescript", "--out", f"{bell}new"]) == 1
    captured = capsys.readouterr()
    assert not {"\x07", "\x1b"} & {*captured.out, *captured.err}


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--lang", "python"], 2, "--lang needs --out"),
        (["--out", "here"], 2, "--out needs --lang: one of python, typescript, go, rust, java, schemas"),
        (["--lang", "python", "--out", "file"], 2, "file is a file; name a folder"),
        (["--lang", "python", "--out", "file/within"], 1, "cannot write to file/within: Not a directory"),
    ],
)
def test_wrong_use_is_told_what_to_do(
    args: list[str], code: int, words: str, workplace: Path, failing: Callable[..., tuple[int, str]]
) -> None:
    (workplace / "file").write_text("")
    ended, line = failing("bindings", *args)
    assert (ended, words in line) == (code, True), line


# What is lost


def json_examples(kind: str) -> Iterator[tuple[str, str, str]]:
    """Name of the schema, path and text of each example that has a JSON Schema."""
    for path in sorted(EXAMPLES.glob(f"{kind}/*/*.json")):
        if path.parent.name in SCHEMAS:
            yield path.parent.name, path.relative_to(EXAMPLES).as_posix(), path.read_text(encoding="utf-8")


def model(name: str) -> type[BaseModel]:
    found = getattr(import_module(f"xmcp_models.{name}"), SCHEMAS[name]["title"])
    assert issubclass(found, BaseModel)
    return found


def takes(name: str, text: str) -> bool:
    try:
        model(name).model_validate_json(text, strict=True)
    except ValidationError:
        return False
    return True


def judges(language: Language | Loss, schemas: dict[str, Any]) -> dict[str, Any]:
    """Validators of the schemas without what is lost, by name; of a union that tells types apart, by `Known…` too."""
    losses = language.losses if isinstance(language, Language) else (language,)
    types = {name: f"{name}{SUFFIX}" for name in schemas}
    for name, schema in schemas.items():
        if typescript_check.known_values(schema):
            types[f"Known {name}"] = f"{name}{SUFFIX}#/$defs/Known{schema['title']}"
    weakened = {keyword for loss in losses for keyword in loss.forgets}
    return weakened_schema.validators({f"{name}{SUFFIX}": schemas[name] for name in schemas}, weakened, types)


def test_the_python_models_check_everything_but_what_is_listed() -> None:
    judge = judges(LANGUAGES["python"], SCHEMAS)
    examples = [*json_examples("valid"), *json_examples("invalid")]
    wrong = [path for name, path, text in examples if takes(name, text) != judge[name].is_valid(json.loads(text))]
    assert wrong == []
    assert sum(takes(name, text) for name, _, text in json_examples("invalid")) > 0


@pytest.mark.parametrize(
    ("name", "loss"), [(name, loss) for name, loss in LOSSES if loss.forgets], ids=lambda value: str(value)[:50]
)
def test_each_loss_that_is_listed_lets_an_invalid_example_pass(name: str, loss: Loss) -> None:
    judge = judges(loss, typescript_schemas() if name == "typescript" else SCHEMAS)
    for example, _, text in json_examples("invalid"):
        if any(judge[key].is_valid(json.loads(text)) for key in (example, f"Known {example}") if key in judge):
            return
    pytest.fail(f"{name} does not lose it, or no example in schemas/examples/invalid shows it: {loss.words}")


def test_python_takes_text_for_a_boolean_unless_strict() -> None:
    assert ToolMetadata.model_validate_json('{"display": "true"}').display is True
    with pytest.raises(ValidationError):
        ToolMetadata.model_validate_json('{"display": "true"}', strict=True)


def test_python_drops_members_where_a_schema_is_silent_about_them() -> None:
    assert Column.model_validate({"key": "a", "acme/width": 3}).model_dump(exclude_unset=True) == {"key": "a"}
    envelope = {"type": "text", "payload": "a", "acme/hint": 1}
    assert DisplayEnvelope.model_validate(envelope).model_dump(exclude_unset=True) == envelope


def test_valid_examples_go_through_the_python_models_unchanged() -> None:
    for name, path, text in json_examples("valid"):
        read = model(name).model_validate_json(text, strict=True)
        assert json.loads(read.model_dump_json(exclude_unset=True, by_alias=True)) == json.loads(text), path


def test_the_dataclasses_of_the_xsd_read_most_invalid_documents() -> None:
    from xsdata.formats.dataclass.parsers import XmlParser

    from xmcp_models.tool_response import ToolResponse

    def read(path: Path) -> bool:
        try:
            with warnings.catch_warnings(action="ignore"):
                XmlParser().from_bytes(path.read_bytes(), ToolResponse)
        except Exception:
            return False
        return True

    documents = [read(path) for path in EXAMPLES.glob("invalid/tool_response/*.xml")]
    assert sum(documents) > len(documents) / 2
    assert all(read(path) for path in EXAMPLES.glob("valid/tool_response/*.xml"))


def test_the_python_of_the_guide_runs() -> None:
    page = (ROOT / "docs" / "guides" / "bindings.md").read_text(encoding="utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {"text": '{"type": "text", "payload": "a"}'}
    exec(code, names)
    assert names["text"] == '{"type":"text","payload":"a"}'


def test_the_overview_is_made_for_a_terminal() -> None:
    assert max(map(len, overview().splitlines())) <= 100
