"""`xmcp check document`: find files, read them up to a limit, and check them with the conformance suite."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import click
from rich.console import Console

from xmcp_conformance.core.events import Emit
from xmcp_conformance.profiles.document.checks import MOST_READ, check_document, check_lines, start, unreadable
from xmcp_conformance.profiles.document.kinds import FileName, Role, kinds
from xmcp_conformance.reports.document_json import to_dict
from xmcp_conformance.reports.document_report import DocumentReport
from xmcp_conformance.reports.document_terminal import show_file, show_verdict
from xmcp_conformance.reports.summary import of_documents

from .named_files import STANDARD_INPUT, files_named, reason_of
from .report_files import ReportFiles, json_option, report_options, write_json

_SUFFIXES = (".xml", ".json", ".jsonl")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--kind", type=click.Choice(kinds()), help="Kind of the files, if it cannot be recognised.")
@click.option(
    "--role",
    type=click.Choice(["server", "client"]),
    help="Who wrote the documents: some sentences bind servers alone. Default: a server each tool response.",
)
@click.option("--strict", is_flag=True, help="Count a broken SHOULD like a broken MUST.")
@click.option("--quiet", is_flag=True, help="List only files with a fault.")
@json_option("report")
@report_options
def document(
    files: tuple[str, ...],
    kind: str | None,
    role: Role | None,
    strict: bool,
    quiet: bool,
    json_path: Path | None,
    reports: ReportFiles,
) -> None:
    """Check documents in files: tool responses in XML, and the formats in JSON.

    FILE is a file, a folder (every .xml, .json and .jsonl in it), a pattern such as 'out/**/*.xml', or - for
    standard input. Each line of a .jsonl file is a document.

    Exit codes: 0 all conform, 1 some do not, 2 usage (no such file, or --kind is needed), 3 a file cannot be read.
    """
    report = DocumentReport()
    console = Console(stderr=reports.takes_stdout, highlight=False)
    with reports.recorded(report.add) as emit:
        start(kind, strict=strict, emit=emit)
        for path, reason in files_named(files, _SUFFIXES).items():
            if reason:
                unreadable(path, reason, emit)
            else:
                _judge(FileName(path, kind, role=role), emit)
            show_file(report.files[-1], console, quiet=quiet)
    show_verdict(report, console, quiet=quiet)
    if json_path is not None:
        write_json(json_path, to_dict(report))
    reports.write(of_documents(report))
    sys.exit(report.exit_code)


def _judge(given: FileName, emit: Emit) -> None:
    path = given.path
    parts = Path(path)
    name = replace(given, folder=parts.absolute().parent.name, suffix=parts.suffix.lower())
    try:
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                unreadable(path, "Standard input is closed", emit)
            else:
                check_document(sys.stdin.buffer.read(MOST_READ + 1), given, emit)
            return
        with open(path, "rb") as file:
            if name.suffix == ".jsonl":
                check_lines(_lines(file), name, emit)
            else:
                check_document(file.read(MOST_READ + 1), name, emit)
    except OSError as error:
        unreadable(path, reason_of(error), emit)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; a line that is too long is cut just above the limit, so that it is recognised."""
    while line := file.readline(MOST_READ + 1):
        yield line
        while len(line) > MOST_READ and not line.endswith(b"\n"):
            line = file.readline(MOST_READ + 1)
