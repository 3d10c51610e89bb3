"""The options that write a report to a file: whether that is possible is known before anything is started."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from xmcp_conformance.core.events import Emit, Event
from xmcp_conformance.core.judge import ExitCode
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.reports.badge import to_badge_json, to_badge_svg
from xmcp_conformance.reports.html import to_html
from xmcp_conformance.reports.junit import to_junit
from xmcp_conformance.reports.markdown import to_markdown
from xmcp_conformance.reports.ndjson import line
from xmcp_conformance.reports.sarif import to_sarif
from xmcp_conformance.reports.summary import Summary

STANDARD_OUTPUT: Final = Path("-")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def lines_option(name: str, text: str) -> Callable[[_Command], _Command]:
    """Return the decorator of an option for a file that gets lines while the command runs."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(f"--{name}", f"{name}_path", metavar="FILE", type=kind, callback=_checked_file, help=text)


def json_option(what: str) -> Callable[[_Command], _Command]:
    """Return the decorator of the option `--json`, the parameter `json_path`, of a command that writes `what`."""
    return file_option("json", f"Also write the {what} as JSON; - for standard output.")


def file_option(name: str, text: str) -> Callable[[_Command], _Command]:
    """Return the decorator of an option for a file, or - for standard output; the parameter is `<name>_path`."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option(f"--{name}", f"{name}_path", metavar="FILE", type=kind, callback=_checked, help=text)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a report: its option, the option's help, and how it is written, also to a file that ends in .json."""

    name: str
    help: str
    write: Callable[[Summary], str]
    write_json: Callable[[Summary], str] | None = None


_FORMS: Final = (
    _Form("junit", "Also write the report as JUnit XML.", to_junit),
    _Form("markdown", "Also write the report as Markdown, as for GITHUB_STEP_SUMMARY.", to_markdown),
    _Form("html", "Also write the report as a page of HTML, which loads nothing.", to_html),
    _Form("sarif", "Also write the report as SARIF, for code scanning.", to_sarif),
    _Form(
        "badge",
        "Also write the verdict as an SVG badge; as JSON for a badge service if FILE ends in .json.",
        to_badge_svg,
        to_badge_json,
    ),
)


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The files in which the command line wants a report, with the form of each, and the file of the events.

    `takes_stdout`: one of the reports, or that of `--json`, goes to standard output; the text for people does not.
    """

    wanted: tuple[tuple[_Form, Path], ...]
    events: Path | None = None
    takes_stdout: bool = False

    @contextmanager
    def recorded(self, emit: Emit) -> Iterator[Emit]:
        """Provide what also writes each event to its file as it happens; end the process if that fails."""
        with lines_to(self.events) as write:
            if write is None:
                yield emit
                return

            def both(event: Event) -> None:
                write(line(event))
                emit(event)

            yield both

    def write(self, summary: Summary) -> None:
        """Write each file; end the process if that fails."""
        for form, path in self.wanted:
            write = (form.write_json if path.suffix == ".json" else None) or form.write
            write_file(path, write(summary))


def report_options(command: _Command) -> _Command:
    """Add an option for each form of a report to a command, which gets them as the parameter `reports`."""

    @functools.wraps(command)
    def with_reports(*arguments: Any, **options: Any) -> Any:
        paths = [(form, options.pop(form.name)) for form in _FORMS]
        wanted = tuple((form, path) for form, several in paths for path in several)
        to_stdout = [*(path for _, path in wanted), options.get("json_path")].count(STANDARD_OUTPUT)
        if to_stdout > 1:
            raise click.UsageError(f"{to_stdout} reports for standard output: name a file for all but one of them.")
        reports = ReportFiles(wanted, options.pop("events_path"), takes_stdout=to_stdout == 1)
        return command(*arguments, reports=reports, **options)

    wrapped: Any = with_reports
    wrapped = lines_option("events", "Also write each event of the run as a line of JSON.")(wrapped)
    for form in reversed(_FORMS):
        kind = click.Path(dir_okay=False, path_type=Path)
        wrapped = click.option(
            f"--{form.name}", metavar="FILE", type=kind, multiple=True, callback=_all_checked, help=form.help
        )(wrapped)
    return wrapped  # type: ignore[no-any-return]


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[str], None] | None]:
    """Provide what writes a line to a file at once; `None` if there is no file. End the process if that fails."""
    if path is None:
        yield None
        return
    with _ended_by_faults(path):
        file = path.open("w", encoding="ascii", buffering=1)  # a reader follows it line by line

    def write(text: str) -> None:
        with _ended_by_faults(path):
            file.write(f"{text}\n")

    try:
        yield write
    finally:
        with suppress(OSError):  # of a disk that is full, `write` has told
            file.close()


def source_of(words: Iterable[str]) -> str:
    """Return the file that a command is about, the first of its words that is one below this folder; else `.`."""
    here = Path.cwd()
    for word in words:
        with suppress(OSError, ValueError):  # a word can be anything, such as a program
            if os.path.isfile(word):
                return Path(word).resolve().relative_to(here).as_posix()
    return "."


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write a report to a file, or to standard output if the path is `-`; end the process if that fails."""
    # Standard output can lack characters: what takes their place must not be read as JSON.
    write_file(path, json.dumps(report, indent=2, ensure_ascii=path == STANDARD_OUTPUT) + "\n")


def write_file(path: Path, written: str | bytes) -> None:
    """Write a file, or to standard output if the path is `-`; end the process if that fails. Text is in UTF-8."""
    data = written.encode("utf-8") if isinstance(written, str) else written
    if path == STANDARD_OUTPUT:
        click.echo(data, nl=False)  # whatever the encoding of standard output is: forms name theirs
        return
    with _ended_by_faults(path):
        path.write_bytes(data)


@contextmanager
def _ended_by_faults(path: Path) -> Iterator[None]:
    """End the process with a sentence if the file cannot be written."""
    try:
        yield
    except OSError as error:
        click.echo(f"{path} cannot be written: {error.strerror}.", err=True)
        sys.exit(ExitCode.SUITE_FAILED)


def _checked_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Return `path` if lines can be written there.

    Raises:
        click.BadParameter: They cannot; the message says why.
    """
    if path == STANDARD_OUTPUT:
        raise click.BadParameter("name a file: standard output has the report for people")
    return _checked(context, parameter, path)


def _all_checked(context: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths if a report can be written to each.

    Raises:
        click.BadParameter: It cannot; the message says why.
    """
    for path in paths:
        _checked(context, parameter, path)
    return paths


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
