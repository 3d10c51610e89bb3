"""The files that a command line names: a file, a folder, a pattern, or standard input."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import click

from xmcp_conformance.core.untrusted_text import printable

STANDARD_INPUT = "-"

# A path, and why it cannot be read, if that is known already.
_Find = tuple[str, str]


def files_named(arguments: Iterable[str], suffixes: tuple[str, ...]) -> dict[str, str]:
    """Return every file that the arguments name, each once and in their order, and every folder that cannot be read.

    Args:
        arguments: the words of the command line.
        suffixes: which files of a folder count, such as `.json`.

    Returns:
        For each path why it cannot be read; "" if no reason is known.

    Raises:
        click.BadParameter: An argument names no file.
    """
    found: dict[str, str] = {}
    for argument in arguments:
        if not argument.strip():
            raise click.BadParameter("the name of a file is empty", param_hint="FILE")
        if argument == STANDARD_INPUT or (os.path.lexists(argument) and not os.path.isdir(argument)):
            found[argument] = ""
            continue
        shown = printable(argument)
        if os.path.isdir(argument):
            inside, missing = dict(_in_folder(argument, suffixes)), f"no {', '.join(suffixes)} in the folder `{shown}`"
        else:
            inside = dict(sorted(_in_pattern(argument)))
            missing = f"no file matches `{shown}`" if glob.has_magic(argument) else f"no such file: `{shown}`"
        if not inside:
            raise click.BadParameter(missing, param_hint="FILE")
        found |= inside
    return found


def _in_folder(folder: str, suffixes: tuple[str, ...]) -> Iterator[_Find]:
    closed: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=closed.append):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.lower().endswith(suffixes) and _is_file(path):
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
    return ((_plain(str(error.filename)) or os.curdir, reason_of(error)) for error in closed)


def reason_of(error: OSError) -> str:
    """Return in words why a file cannot be read."""
    return error.strerror or str(error)


def _is_file(path: str) -> bool:
    """Tell whether `path` is a file, or cannot be inspected (a broken link): opening it then reports the reason."""
    return os.path.isfile(path) or not os.path.exists(path)
