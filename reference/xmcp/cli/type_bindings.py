"""`xmcp bindings`: copy the generated types of a language, the schemas or the vectors, and list what each loses.

The files themselves are written by tools/generate/ and are part of the package.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from xmcp.cli.suggestions import did_you_mean
from xmcp_conformance.core.untrusted_text import printable, quoted
from xmcp_models import DATA

_PACKAGE = DATA.parent
_OTHERS = ("data/typescript", "data/vectors", "data/go", "data/rust", "data/java")
"""Folders of an installed package. A checkout has them in generated/ instead."""
_TYPESCRIPT, _VECTORS, _GO, _RUST, _JAVA = _OTHERS


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of the schemas that the types of a language cannot express.

    `forgets` are the keywords of JSON Schema that are not checked, with the names of tools/lint/weakened_schema.py: the
    tests require that the bindings check everything else.
    """

    words: str
    forgets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Language:
    """One kind of bindings.

    `source` is a folder of the package `xmcp_models`, of which everything except `without` belongs to these bindings;
    `folder` is its name in the folder that the person gives.
    """

    gains: str
    losses: tuple[Loss, ...]
    source: str
    next_step: str
    folder: str = "."
    without: tuple[str, ...] = ()


_LOST_BY_QUICKTYPE = (
    Loss("the XML document: there is no type for it"),
    Loss("which payload a display type takes: it is an object, a list or a string, without a type of its own"),
    Loss("members that a schema does not name, those of vendors too: they are dropped"),
    Loss("the registries of error codes and display types; `--lang schemas` has them as JSON"),
)
_CHECKED_BY_SCHEMA = "Before you read, validate with the JSON Schema: `xmcp bindings --lang schemas`."

LANGUAGES: dict[str, Language] = {
    "python": Language(
        gains="the package xmcp_models: a pydantic model of each JSON Schema, dataclasses of the XSD, the registries "
        "as tables, the schemas for validators",
        losses=(
            Loss("which payload a display type takes, and all other rules of the form if/then", ("if",)),
            Loss("that an optional member is absent rather than null; write with exclude_unset=True", ("null",)),
            Loss("that the items of a list are different", ("uniqueItems",)),
            Loss("which names a member may have", ("propertyNames",)),
            Loss('that "true" is not a boolean and "1" not a number, unless you read with strict=True'),
            Loss("members that a part's schema does not name, where it is silent about them: they are dropped"),
            Loss("every rule of the XML document: the dataclasses hold its values, and read most invalid documents"),
        ),
        source=".",
        folder="xmcp_models",
        without=_OTHERS,
        next_step="Needs pydantic 2 (and xsdata, to read or write XML with the dataclasses):\n"
        "  from xmcp_models.display_envelope import DisplayEnvelope\n"
        "  DisplayEnvelope.model_validate_json(text, strict=True)",
    ),
    "typescript": Language(
        gains="a module of types for each JSON Schema, with a union that narrows where a schema has rules by type, and "
        "the registries as constants",
        losses=(
            Loss("the XML document: there is no type for it, because its schema says elements and not values"),
            Loss("patterns and formats of strings", ("pattern", "format")),
            Loss("lengths of strings, and how long a list may be", ("minLength", "maxLength", "maxItems")),
            Loss(
                "ranges of numbers, and that a number is whole",
                ("minimum", "maximum", "exclusiveMinimum", "integer"),
            ),
            Loss("that the items of a list are different", ("uniqueItems",)),
            Loss("which names a member may have", ("propertyNames",)),
            Loss(
                "rules of the form if/then, except those by the type (or kind) of a whole schema, which the unions "
                "Known… say; what stands within it has the open type",
                ("if",),
            ),
            Loss("everything at run time: types are not validation"),
        ),
        source=_TYPESCRIPT,
        next_step="Needs nothing at run time; compiles under tsc --strict:\n"
        '  import type { KnownDisplayEnvelope } from "./display_envelope.js";\n'
        '  import { ERROR_CODES } from "./registry.js";',
    ),
    "go": Language(
        gains="a package xmcp with a struct of each JSON Schema, and a function that reads and one that writes it",
        losses=(
            *_LOST_BY_QUICKTYPE,
            Loss("nearly every rule: it reads most values that the schemas refuse, also without a required member"),
            Loss(
                "an optional list, text or number that is empty or null: it is left out where Go cannot tell them apart"
            ),
        ),
        source=_GO,
        next_step=f"Needs only the standard library; put the folder into your module as xmcp:\n"
        f"  envelope, err := xmcp.UnmarshalDisplayEnvelope(data)\n{_CHECKED_BY_SCHEMA}",
    ),
    "rust": Language(
        gains="a module xmcp.rs with a struct of each JSON Schema, for serde",
        losses=(
            *_LOST_BY_QUICKTYPE,
            Loss("most rules: it notices most wrong JSON types, absent members and unknown words, and little else"),
            Loss("a member that must be there and is null: it is left out"),
        ),
        source=_RUST,
        next_step='Needs serde (with the feature "derive") and serde_json; `mod xmcp;` in your crate:\n'
        f"  let envelope: xmcp::DisplayEnvelope = serde_json::from_str(text)?;\n{_CHECKED_BY_SCHEMA}",
    ),
    "java": Language(
        gains="a package xmcp with a class of each JSON Schema, and a Converter that reads and writes with Jackson",
        losses=(
            *_LOST_BY_QUICKTYPE,
            Loss("nearly every rule: it reads most values that the schemas refuse, also without a required member"),
            Loss("that an optional member is absent: it is written as null, which the schemas refuse"),
            Loss('that "1" is not a number, "true" not a boolean and 1 not a text: it converts them'),
        ),
        source=_JAVA,
        next_step="Needs Jackson 2 (jackson-databind, from Maven Central or from Debian):\n"
        f"  DisplayEnvelope envelope = xmcp.Converter.DisplayEnvelopeFromJsonString(text);\n{_CHECKED_BY_SCHEMA}",
    ),
    "schemas": Language(
        gains="the XSD, the JSON Schemas (draft 2020-12), the names and the registries",
        losses=(
            Loss("what no schema can say; the sentences of the specification do, and `xmcp check` judges by them"),
        ),
        source="data",
        without=(*(PurePosixPath(folder).name for folder in _OTHERS), "requirements.json"),
        next_step="Validate with any library for JSON Schema 2020-12 and XSD 1.0. The schemas refer to each other by "
        "file name:\nregister each under its $id.",
    ),
    "vectors": Language(
        gains="one file with the test vectors of a codec and all examples, each with what a reader delivers or why it "
        "refuses; its checksum, its schemas, and how to run it",
        losses=(Loss("server and client: `xmcp check` judges them by what they send"),),
        source=_VECTORS,
        next_step="README.md says how to run them in any language; `sha256sum -c *.sha256` checks the file.",
    ),
}


@click.command(short_help="Write the generated types of a language.")
@click.option("--lang", metavar="LANGUAGE", help=f"One of {', '.join(LANGUAGES)}.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to.")
@click.option("--force", is_flag=True, help="Write to a folder that is not empty; files of the same name are replaced.")
def bindings(lang: str | None, out: Path | None, force: bool) -> None:
    """Write the types that are generated from the schemas; without options, list the languages.

    \b
      xmcp bindings
      xmcp bindings --lang typescript --out src/xmcp
    """
    if lang is None:
        if out is not None:
            raise click.UsageError(f"--out needs --lang: one of {', '.join(LANGUAGES)}.")
        click.echo(overview())
        return
    if lang not in LANGUAGES:
        raise click.UsageError(_nothing_for(lang))
    if out is None:
        raise click.UsageError(f"--lang needs --out: the folder to write to, as in --out {lang}-bindings.")
    written = _write(LANGUAGES[lang], out, force)
    number = f"{len(written)} file{'s' if len(written) != 1 else ''}"
    click.echo(f"Wrote {number} to {printable(str(out / LANGUAGES[lang].folder))}:")
    for path in written:
        click.echo(f"  {path}")
    click.echo(f"\n{LANGUAGES[lang].next_step}\n`xmcp bindings` lists what these lose of the schemas.")


def overview() -> str:
    """Return the gains and losses of each language as a text."""
    formatter = click.HelpFormatter(width=100)
    for name, language in LANGUAGES.items():
        with formatter.section(name):
            formatter.write_dl([("gives", language.gains), *(("loses", loss.words) for loss in language.losses)])
    formatter.write_paragraph()
    formatter.write_text("Write them with `xmcp bindings --lang LANGUAGE --out DIR`.")
    return formatter.getvalue().strip()


def files(language: Language) -> dict[PurePosixPath, Path]:
    """Return the files of these bindings, by their path in the folder that the person gives."""
    source = _folder(language.source)
    found = {PurePosixPath(path.relative_to(source).as_posix()): path for path in source.rglob("*") if path.is_file()}
    return {
        language.folder / path: found[path]
        for path in sorted(found)
        if "__pycache__" not in path.parts and not any(path.is_relative_to(part) for part in language.without)
    }


def _folder(source: str) -> Path:
    """Return a folder of the package `xmcp_models`; in a checkout, some are beside the folder with the package."""
    folder = _PACKAGE / source
    return _PACKAGE.parents[1] / folder.name if source in _OTHERS and not folder.is_dir() else folder


def _write(language: Language, out: Path, force: bool) -> list[PurePosixPath]:
    copies = files(language)
    shown = printable(str(out))
    try:
        if out.exists() and not out.is_dir():
            raise click.UsageError(f"--out {shown} is a file; name a folder.")
        home = out / language.folder
        if not force and home.exists() and any(home.iterdir()):
            raise click.ClickException(
                f"{printable(str(home))} is not empty. Name another folder, or write to it with --force; "
                "files of the same name are then replaced."
            )
        for target, path in copies.items():
            (out / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, out / target)
    except OSError as error:
        raise click.ClickException(f"cannot write to {shown}: {error.strerror or type(error).__name__}.") from None
    return list(copies)


def _nothing_for(lang: str) -> str:
    if near := did_you_mean(lang, LANGUAGES):
        return f"there are no bindings for {quoted(lang)}.{near} There are bindings for: {', '.join(LANGUAGES)}."
    return (
        f"there are no bindings for {quoted(lang)}. Generators for other languages turn a union into one record in "
        "which everything is optional, drop members that a schema does not name, and check few of its rules. Use "
        "`--lang schemas` with a JSON Schema validator of your language, and the test vectors of `--lang vectors`. "
        f"There are bindings for: {', '.join(LANGUAGES)}."
    )
