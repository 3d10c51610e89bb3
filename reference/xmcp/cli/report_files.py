"""The option `--json PATH`: whether a report can be written there is known before anything is started."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.reports.junit import to_junit
from xmcp_conformance.reports.markdown import to_markdown
from xmcp_conformance.reports.summary import Summary

STANDARD_OUTPUT: Final = Path("-")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def json_option(what: str) -> Callable[[_Command], _Command]:
    """Return the decorator of the option `--json`, the parameter `json_path`, of a command that writes `what`."""
    return click.option(
        "--json",
        "json_path",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_checked,
        help=f"Also write the {what} as JSON; - for standard output.",
    )


def report_options(command: _Command) -> _Command:
    """Add the options `--junit` and `--markdown`, the parameters `junit_path` and `markdown_path`, to a command."""
    for name, form in (("markdown", "Markdown, as for GITHUB_STEP_SUMMARY"), ("junit", "JUnit XML")):
        command = click.option(
            f"--{name}",
            f"{name}_path",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            callback=_checked,
            help=f"Also write the report as {form}.",
        )(command)
    return command


def write_reports(summary: Summary, junit_path: Path | None, markdown_path: Path | None) -> None:
    """Write a report as JUnit and as Markdown, where a file is named; end the process if that fails."""
    if junit_path is not None:
        _write(junit_path, to_junit(summary))
    if markdown_path is not None:
        _write(markdown_path, to_markdown(summary))


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write a report to a file, or to standard output if the path is `-`; end the process if that fails."""
    # Standard output can lack characters: what takes their place must not be read as JSON.
    _write(path, json.dumps(report, indent=2, ensure_ascii=path == STANDARD_OUTPUT) + "\n")


def _write(path: Path, text: str) -> None:
    if path == STANDARD_OUTPUT:
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        click.echo(f"The report cannot be written to {path}: {error.strerror}.", err=True)
        sys.exit(ExitCode.SUITE_FAILED)


def _checked(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Return `path` if a report can be written there.

    Raises:
        click.BadParameter: It cannot; the message says why.
    """
    if path is None or path == STANDARD_OUTPUT:
        return path
    if path == Path():  # click refuses "." as a folder; this was ""
        raise click.BadParameter("the name of the file is empty")
    shown = printable(str(path))
    if not path.parent.is_dir():
        raise click.BadParameter(
            f"the folder `{printable(str(path.parent))}` does not exist; create it, or name another file"
        )
    target = path.resolve()  # of a link to a file that does not exist yet, that file
    is_new = not target.exists()
    if not is_new and not path.is_file():
        return path  # a pipe or a device: to open it now could end what reads from it
    try:
        with target.open("ab"):  # the permissions alone do not tell: the file system can be read-only
            pass
        if is_new:
            target.unlink()
    except OSError as error:
        raise click.BadParameter(f"`{shown}` cannot be written: {error.strerror}; name another file") from None
    return path
