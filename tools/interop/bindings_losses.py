"""Compile the types for Go, Rust and Java, send every JSON example through them, and compare what they lose.

    python -m tools.interop.bindings_losses          exit 1 if generated/ or the table of losses is out of date
    python -m tools.interop.bindings_losses --write  write both

A language whose compiler or JSON library is not on this machine is left out, with a line that says so.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonschema_rs

from tools import ROOT
from tools.generate import embedded_examples, quicktype_types
from tools.generate.generated_folder import TARGET, bring_up_to_date
from tools.generate.sources import SCHEMAS, SUFFIX, json_schemas
from tools.lint.weakened_schema import validators

PROGRAMS: Final = Path(__file__).parent / "bindings"
_CHAT: Final = ROOT / "spec" / "examples" / "one-chat.jsonl"
TABLE: Final = PROGRAMS / "losses.txt"
_NOT_MEASURED: Final = "-"
_DEBIAN_CRATES: Final = Path("/usr/share/cargo/registry")
_JARS: Final = ("jackson-annotations", "jackson-core", "jackson-databind")
_JACKSON: Final = "2.17.2"

Table = dict[str, dict[str, str]]
"""The cells of each row, by column."""


class _Written(NamedTuple):
    text: str


class Absent(Exception):
    """What a language needs is not on this machine; the message says what and how to get it."""


class Example(NamedTuple):
    """A value that the schema with the title `type` accepts, or for which it gives `faults`, keywords of the schema."""

    path: str
    type: str
    value: Any
    faults: frozenset[str]


# The languages


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:2])} failed ({done.returncode}):\n{done.stdout}{done.stderr}")


def _program(name: str, advice: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Absent(f"there is no `{name}`: {advice}")
    return found


def compile_go(work: Path) -> list[str]:
    """Compile the Go program in the folder `work`, and return the command that runs it."""
    go = _program("go", "`nox -s bindings` installs it")
    shutil.copytree(TARGET / "go", work / "xmcp")
    _run(go, "build", "-o", "roundtrip", cwd=work)
    return [str(work / "roundtrip")]


def compile_rust(work: Path) -> list[str]:
    """Compile the Rust program in the folder `work`, and return the command that runs it."""
    cargo = [_program("cargo", "install Rust")]
    if list(_DEBIAN_CRATES.glob("serde_json-*")):
        source = {"crates-io.replace-with": "debian", "debian.directory": str(_DEBIAN_CRATES)}
        cargo += [argument for key, value in source.items() for argument in ("--config", f'source.{key}="{value}"')]
    shutil.copytree(TARGET / "rust", work / "src", dirs_exist_ok=True)
    fetched = subprocess.run([*cargo, "fetch"], cwd=work, capture_output=True, text=True, check=False)
    if fetched.returncode:
        last = fetched.stderr.strip().splitlines()[-1:]
        raise Absent(f"cargo cannot get serde ({' '.join(last).strip()}); on Debian: librust-serde-json-dev")
    _run(*cargo, "build", "--quiet", cwd=work)
    target = os.environ.get("CARGO_TARGET_DIR", str(work / "target"))
    return [str(Path(target) / "debug" / "roundtrip")]


def compile_java(work: Path) -> list[str]:
    """Compile the Java program in the folder `work`, and return the command that runs it."""
    javac = _program("javac", "install a JDK, 17 or later")
    path = ":".join([str(work), *map(str, _jars())])
    sources = [str(file) for file in (TARGET / "java").rglob("*.java")]
    _run(javac, "-d", str(work), "-cp", path, "RoundTrip.java", *sources, cwd=work)
    return [_program("java", "install a JDK, 17 or later"), "-cp", path, "RoundTrip"]


def _jars() -> list[Path]:
    """Return the jars of Jackson in Maven's local repository.

    Debian's package compiles them too, and is not used: everybody has to get the same figures.

    Raises:
        Absent: they are not there.
    """
    home = Path.home() / ".m2" / "repository" / "com" / "fasterxml" / "jackson" / "core"
    jars = [home / name / _JACKSON / f"{name}-{_JACKSON}.jar" for name in _JARS]
    if all(jar.is_file() for jar in jars):
        return jars
    advice = f"mvn dependency:get -Dartifact=com.fasterxml.jackson.core:jackson-databind:{_JACKSON}"
    raise Absent(f"Maven's local repository has no Jackson {_JACKSON}: `{advice}`")


COMPILERS: Final[dict[str, Callable[[Path], list[str]]]] = {
    "go": compile_go,
    "rust": compile_rust,
    "java": compile_java,
}


def answers(command: list[str], examples: list[Example], work: Path) -> list[_Written | None]:
    """Return what the types of a language write for each example that they read, and None for the others.

    Raises:
        SystemExit: the program ended with an error, or did not answer every line.
    """
    lines = "".join(f"{example.type}\t{json.dumps(example.value)}\n" for example in examples)
    done = subprocess.run(command, input=lines, cwd=work, capture_output=True, encoding="utf-8", check=False)
    told = [line.partition("\t") for line in done.stdout.split("\n")[:-1]]
    if done.returncode or len(told) != len(examples):
        sys.exit(f"{command[0]} ended ({done.returncode}) after {len(told)} examples:\n{done.stderr}")
    return [_Written(rest) if verdict == "ok" else None for verdict, _, rest in told]


def _exact(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


# The examples, and what becomes of them


def read_examples(kind: str) -> Iterator[Example]:
    """Yield the examples of a kind, `valid` or `invalid`; the worked chat of the specification is valid too.

    Of the invalid ones, those that the schema refuses: what only the specification forbids is no loss of the types.
    """
    schemas, judges = json_schemas(), _judges()

    def example(path: Path, type_: str, text: str) -> Example:
        value = json.loads(text)
        faults = frozenset(_keyword(error.schema_path) for error in judges[type_].iter_errors(value))
        return Example(path.relative_to(ROOT).as_posix(), type_, value, faults)

    for path in sorted(SCHEMAS.glob(f"examples/{kind}/*/*.json")):
        if path.parent.name in schemas:
            found = example(path, schemas[path.parent.name]["title"], path.read_text(encoding="utf-8"))
            if found.faults or kind == "valid":
                yield found
    if kind == "valid":
        for line in _CHAT.read_text(encoding="utf-8").splitlines():
            yield example(_CHAT, schemas["chat_event"]["title"], line)


def _judges() -> dict[str, jsonschema_rs.Draft202012Validator]:
    """Return a validator for each type."""
    schemas = json_schemas()
    types = {schema["title"]: f"{name}{SUFFIX}" for name, schema in schemas.items()}
    return validators({f"{name}{SUFFIX}": schema for name, schema in schemas.items()}, (), types)


def _keyword(path: list[str | int]) -> str:
    """Return the keyword that a fault is against; what a rule if/then asks for counts as such a rule."""
    return "if/then" if "then" in path else next(str(step) for step in reversed(path) if isinstance(step, str))


def changes(before: Any, after: Any) -> Counter[str]:
    """Count what became of the members and values of a value that was read and written again."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = Counter({"members dropped": len(before.keys() - after.keys())})
        added = [after[key] for key in after.keys() - before.keys()]
        found["members added as null"] = added.count(None)
        found["members added with a value"] = len(added) - added.count(None)
        for key in before.keys() & after.keys():
            found += changes(before[key], after[key])
        return +found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return sum((changes(*pair) for pair in zip(before, after, strict=True)), Counter())
    numbers = all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in (before, after))
    if type(before) is type(after) or numbers:
        return Counter() if before == after else Counter({"numbers changed" if numbers else "other values changed": 1})
    return Counter({"other values changed": 1})


CHANGES: Final = (
    "members dropped",
    "members added as null",
    "members added with a value",
    "numbers changed",
    "other values changed",
)


def measure(command: list[str], valid: list[Example], invalid: list[Example], work: Path) -> dict[str, int]:
    """Return the figures of a language, by the name of their row."""
    judges = _judges()
    figures: Counter[str] = Counter()
    for example, got in zip(valid, answers(command, valid, work), strict=True):
        if got is None:
            continue
        changed = changes(_exact(json.dumps(example.value)), _exact(got.text))
        figures.update({f"  {name}": count for name, count in changed.items()})
        figures["valid examples that are read"] += 1
        figures["  and come back changed"] += bool(changed)
        figures["  and come back invalid"] += not judges[example.type].is_valid(json.loads(got.text))
    for example, got in zip(invalid, answers(command, invalid, work), strict=True):
        figures["invalid examples that are read"] += got is not None
        for keyword in example.faults:
            figures[f"  against {keyword}"] += got is not None
    return dict(figures)


# The table


def rows(valid: list[Example], invalid: list[Example]) -> dict[str, str]:
    """Return the rows of the table, with the number of examples that each is about."""
    keywords = Counter(keyword for example in invalid for keyword in example.faults)
    return {
        **dict.fromkeys(
            ("valid examples that are read", "  and come back changed", "  and come back invalid"), str(len(valid))
        ),
        **{f"  {name}": "" for name in CHANGES},
        "invalid examples that are read": str(len(invalid)),
        **{f"  against {keyword}": str(count) for keyword, count in sorted(keywords.items())},
    }


def table(text: str) -> Table:
    """Return the table of a text that `shown` wrote; an empty one if it is about other schemas than those of now."""
    if not text.startswith(_head()):
        return {}
    lines = text.removeprefix(_head()).splitlines()
    columns = lines[0].split()
    cells = {}
    for line in lines[1:]:
        name, *values = re.split(r"(?<=\S) {2,}", line)
        cells[name] = dict(zip(columns[-len(values) :], values, strict=True))
    return cells


def shown(cells: Table) -> str:
    """Return the table as a text."""
    columns = ("examples", *COMPILERS)
    width = max(map(len, cells))
    lines = [" " * width + "".join(f"  {column:>8}" for column in columns)]
    for name, row in cells.items():
        lines.append(f"{name:<{width}}" + "".join(f"  {row.get(column, ''):>8}" for column in columns))
    return _head() + "\n".join([*lines, ""])


def _head() -> str:
    return f"schemas {quicktype_types.checksum()[:16]}\n\n"


def measured(before: Table) -> tuple[Table, list[str]]:
    """Return the table of this machine, and a line for each language that it cannot measure.

    The cells of such a language are those of `before`, if they are about the same examples.
    """
    valid, invalid = list(read_examples("valid")), list(read_examples("invalid"))
    cells: Table = {name: {"examples": count} for name, count in rows(valid, invalid).items()}
    counts = {name: row.get("examples", "") for name, row in before.items()}
    same_examples = counts == {name: row["examples"] for name, row in cells.items()}
    left_out = []
    for language, compile_ in COMPILERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            work = Path(scratch) / language
            shutil.copytree(PROGRAMS / language, work)
            try:
                figures = measure(compile_(work), valid, invalid, work)
            except Absent as absent:
                left_out.append(f"{language} is not measured: {absent}.")
                for name, row in cells.items():
                    row[language] = before[name][language] if same_examples else _NOT_MEASURED
                continue
        for name, row in cells.items():
            row[language] = str(figures.get(name, 0))
    return cells, left_out


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.interop.bindings_losses",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write generated/ and the table")
    write = parser.parse_args().write
    quicktype_types.NODE_PACKAGES.install()
    bring_up_to_date(quicktype_types.write_types, quicktype_types.COMMAND, check=not write)
    old = TABLE.read_text(encoding="utf-8") if TABLE.is_file() else ""
    cells, left_out = measured(table(old))
    new = shown(cells)
    print("\n".join([new, *left_out]))
    if write:
        TABLE.write_text(new, encoding="utf-8")
        embedded_examples.update(check=False)
    elif new != old:
        print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "committed", "measured", lineterm="")))
        sys.exit(
            f"\nThe types lose something else than {TABLE.relative_to(ROOT)} says: run `{quicktype_types.COMMAND}`."
        )


if __name__ == "__main__":
    main()
