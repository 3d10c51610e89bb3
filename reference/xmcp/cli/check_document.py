"""`xmcp check document`: find files, read them up to a limit, and check them with the conformance suite."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console

from xmcp_conformance.core.events import Emit
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.document.checks import MOST_READ, check_document, check_lines, start, unreadable
from xmcp_conformance.profiles.document.kinds import FileName, kinds
from xmcp_conformance.reports.document_json import to_dict
from xmcp_conformance.reports.document_report import DocumentReport
from xmcp_conformance.reports.document_terminal import show_file, show_verdict

from .report_files import STANDARD_OUTPUT, json_option, write_json

_SUFFIXES = (".xml", ".json", ".jsonl")
_STANDARD_INPUT = "-"


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--kind", type=click.Choice(kinds()), help="Kind of the files, if it cannot be recognised.")
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--quiet", is_flag=True, help="List only files with a fault.")
@json_option("report")
def document(files: tuple[str, ...], kind: str | None, strict: bool, quiet: bool, json_path: Path | None) -> None:
    """Check documents in files: tool responses in XML, and the formats in JSON.

    FILE is a file, a folder (every .xml, .json and .jsonl in it), a pattern such as 'out/**/*.xml', or - for
    standard input. Each line of a .jsonl file is a document.

    Exit codes: 0 all conform, 1 some do not, 2 usage (no such file, or --kind is needed), 3 a file cannot be read.
    """
    report = DocumentReport()
    start(kind, strict=strict, emit=report.add)
    console = Console(stderr=json_path == STANDARD_OUTPUT, highlight=False)
    for path, reason in _found(files).items():
        if reason:
            unreadable(path, reason, report.add)
        else:
            _judge(path, kind, report.add)
        show_file(report.files[-1], console, quiet=quiet)
    show_verdict(report, console, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    sys.exit(report.exit_code)


# A path, and why it cannot be read, if that is known already.
_Find = tuple[str, str]


def _found(arguments: Iterable[str]) -> dict[str, str]:
    """Return every file that the arguments name, each once and in their order, and every folder that cannot be read.

    Returns:
        For each path why it cannot be read; "" if no reason is known.

    Raises:
        click.BadParameter: An argument names no file.
    """
    found: dict[str, str] = {}
    for argument in arguments:
        if not argument.strip():
            raise click.BadParameter("the name of a file is empty", param_hint="FILE")
        if argument == _STANDARD_INPUT or (os.path.lexists(argument) and not os.path.isdir(argument)):
            found[argument] = ""
            continue
        shown = printable(argument)
        if os.path.isdir(argument):
            inside, missing = dict(_in_folder(argument)), f"no {', '.join(_SUFFIXES)} in the folder `{shown}`"
        else:
            inside = dict(sorted(_in_pattern(argument)))
            missing = f"no file matches `{shown}`" if glob.has_magic(argument) else f"no such file: `{shown}`"
        if not inside:
            raise click.BadParameter(missing, param_hint="FILE")
        found |= inside
    return found


def _in_folder(folder: str) -> Iterator[_Find]:
    closed: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=closed.append):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.lower().endswith(_SUFFIXES) and _is_file(path):
                yield path, ""
    yield from _reasons(closed)


def _in_pattern(pattern: str) -> Iterator[_Find]:
    whole = Path(pattern)
    found = _expanded(whole.anchor, whole.parts[bool(whole.anchor) :])
    return ((path, reason) for path, reason in found if reason or _is_file(path))


def _expanded(folder: str, parts: Sequence[str]) -> Iterator[_Find]:
    """Yield the paths that match a pattern below a folder. Unlike `glob`, `**` follows no links, to avoid circles."""
    if not parts:
        yield folder, ""
    elif not glob.has_magic(parts[0]):
        path = os.path.join(folder, parts[0])
        if os.path.lexists(path):
            yield from _expanded(path, parts[1:])
    elif parts[0] == "**":
        closed: list[OSError] = []
        for root, folders, _ in os.walk(folder or os.curdir, onerror=closed.append):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from _expanded(_plain(root), parts[1:] or ["*"])
        yield from _reasons(closed)
    else:
        try:
            names = os.listdir(folder or os.curdir)
        except NotADirectoryError:
            return
        except OSError as error:
            yield from _reasons([error])
            return
        for name in names:
            if fnmatch(name, parts[0]) and (parts[0].startswith(".") or not name.startswith(".")):
                yield from _expanded(os.path.join(folder, name), parts[1:])


def _plain(path: str) -> str:
    """Return a path below the working folder without a leading `./`."""
    return "" if path == os.curdir else path.removeprefix(os.path.join(os.curdir, ""))


def _reasons(closed: Iterable[OSError]) -> Iterator[_Find]:
    return ((_plain(str(error.filename)) or os.curdir, _reason(error)) for error in closed)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _is_file(path: str) -> bool:
    """Tell whether `path` is a file, or cannot be inspected (a broken link): opening it then reports the reason."""
    return os.path.isfile(path) or not os.path.exists(path)


def _judge(path: str, kind: str | None, emit: Emit) -> None:
    parts = Path(path)
    name = FileName(path, kind, parts.absolute().parent.name, parts.suffix.lower())
    try:
        if path == _STANDARD_INPUT:
            if sys.stdin is None:
                unreadable(path, "Standard input is closed", emit)
            else:
                check_document(sys.stdin.buffer.read(MOST_READ + 1), FileName(path, kind), emit)
            return
        with open(path, "rb") as file:
            if name.suffix == ".jsonl":
                check_lines(_lines(file), name, emit)
            else:
                check_document(file.read(MOST_READ + 1), name, emit)
    except OSError as error:
        unreadable(path, _reason(error), emit)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; a line that is too long is cut just above the limit, so that it is recognised."""
    while line := file.readline(MOST_READ + 1):
        yield line
        while len(line) > MOST_READ and not line.endswith(b"\n"):
            line = file.readline(MOST_READ + 1)
