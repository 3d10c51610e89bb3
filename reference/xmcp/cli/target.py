"""From a target on the command line, `pkg.module:mcp` or `server.py`, to the server object.

The author's module is found and imported and the server in it chosen; errors are one line each.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from xmcp.cli import in_a_line
from xmcp.cli.ignored_calls import calls_ignored

if TYPE_CHECKING:
    from fastmcp import FastMCP

_USUAL_NAMES = ("mcp", "app")
_TARGET = re.compile(r"(?P<place>.+?)(?::(?P<attribute>[A-Za-z_][\w.]*))?")


class BadTarget(click.ClickException):
    """The target does not exist or is not a server: wrong usage."""

    exit_code = 2


class ImportFailed(click.ClickException):
    """The author's module exists, but importing it raised an exception."""


def load_server(target: str) -> FastMCP[Any]:
    """Return the server that `target` names; the current directory is importable.

    Args:
        target: `package.module` or `path/to/file.py`, optionally with `:attribute`. Without the attribute, the server
            that the module itself serves, else the only one in it, else the one named `mcp` or `app`.

    A call that would run a server while the module is imported, such as a last line `mcp.serve()`, does nothing.

    Raises:
        BadTarget: The module, file or attribute does not exist, or is not an XMCP or FastMCP server.
        ImportFailed: Importing the module raised an exception; the message has the author's file and line.
    """
    place, attribute = _parts(target)
    with calls_ignored() as ignored:
        module = _file(Path(place)) if _is_file(place) else _module(place)
    for call in ignored:
        if call.options:
            click.echo(f"{place} calls {call}; the options of this command count instead.", err=True)
    return _chosen(module, place, attribute, [call.server for call in ignored])


def directory_of(target: str) -> Path:
    """Return the directory of the files of `target`: that of the file, or for a module the current one."""
    place, _ = _parts(target)
    return Path(place).resolve().parent if _is_file(place) else Path.cwd()


def _parts(target: str) -> tuple[str, str | None]:
    if "://" in target:
        raise BadTarget(f"{target!r} is the address of a server that runs already; to serve one, name its file")
    match = _TARGET.fullmatch(target)
    if match is None:
        raise BadTarget("name a server as package.module:attribute or file.py:attribute")
    return match["place"], match["attribute"]


def _is_file(place: str) -> bool:
    return place.endswith(".py") or os.sep in place


def _module(name: str) -> ModuleType:
    _importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")) and not _frames(error):
            if Path(name).is_file():
                raise BadTarget(f"{name!r} is not a Python file; name a server as file.py:attribute") from None
            hint = f"; there is a file {name}.py, does it hide the package?" if Path(f"{name}.py").is_file() else ""
            raise BadTarget(
                f"there is no module {error.name!r} (current folder: {Path.cwd()}){hint}. "
                "For a file, write file.py:attribute"
            ) from None
        raise _import_failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error) from error


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadTarget(f"there is no file {str(path)!r} (current folder: {Path.cwd()})")
    _importable(Path.cwd())
    _importable(path.resolve().parent)
    # A file with the name of an imported module (json.py) must not replace that module.
    name = path.stem if path.stem not in sys.modules else f"_served_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise BadTarget(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _import_failed(str(path), error) from error
    return module


def _importable(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def _import_failed(name: str, error: BaseException) -> ImportFailed:
    if isinstance(error, SystemExit):
        what = f"it ended the process while it was imported: {error}"
    else:
        what = f"SyntaxError: {error.msg}" if isinstance(error, SyntaxError) else in_a_line(error)
    place = _place(error)
    return ImportFailed(f"importing {name} failed: {what}{f' ({place})' if place else ''}")


def _place(error: BaseException) -> str | None:
    """Return file and line where `error` was raised: the last of the author's own frames, else the last of all."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}"
    frames = _frames(error)
    places = [frame for frame in frames if not _is_installed(Path(frame.filename))] or frames
    return f"{_short(places[-1].filename)}, line {places[-1].lineno}" if places else None


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of the error, without those of the import system and of this file."""
    own = {__file__, importlib.__file__}
    trace = traceback.extract_tb(error.__traceback__)
    return [frame for frame in trace if frame.filename not in own and not frame.filename.startswith("<")]


def _is_installed(file: Path) -> bool:
    own, standard_library = Path(__file__).parent.parent, Path(os.__file__).parent
    return "site-packages" in file.parts or file.is_relative_to(own) or file.is_relative_to(standard_library)


def _short(filename: str) -> str:
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except ValueError:
        return filename


def _chosen(module: ModuleType, place: str, attribute: str | None, served: list[FastMCP[Any]]) -> FastMCP[Any]:
    """Return the server named `attribute`, or the one that the module itself `served`, or its only or usual one."""
    from fastmcp import FastMCP

    servers = {name: _to_run(value) for name, value in vars(module).items() if isinstance(value, FastMCP)}
    if attribute is None:
        if len(by_the_module := {id(server): server for server in served}) == 1:
            return next(iter(by_the_module.values()))
        distinct = {id(server): server for server in servers.values()}
        if len(distinct) == 1:
            return next(iter(distinct.values()))
        named = next((servers[name] for name in _USUAL_NAMES if name in servers), None)
        if named is None:
            found = (
                f"several: write {place}:NAME with one of {', '.join(sorted(servers))}"
                if servers
                else 'none; a server that is not made with either is started by its command, such as "python server.py"'
            )
            raise BadTarget(f"{place} should have one XMCP or FastMCP server, it has {found}")
        return named
    value: object = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            have = f"; servers in it: {', '.join(sorted(servers))}" if servers else "; there is no server in it"
            raise BadTarget(f"{place} has no attribute {attribute!r}{have}")
        value = getattr(value, part)
    if not isinstance(value, FastMCP):
        have = f"; servers in it: {', '.join(sorted(servers))}" if servers else ""
        raise BadTarget(f"{place}:{attribute} is a {type(value).__name__}, not an XMCP or FastMCP server{have}")
    return _to_run(value)


def _to_run(server: FastMCP[Any]) -> FastMCP[Any]:
    """Return the server; for what `use_xmcp` returned, the one that uses it."""
    from xmcp.server.use_xmcp import UsedXMCP

    return server.server if isinstance(server, UsedXMCP) else server
