"""A plug-in for pytest, which pytest finds by itself: the fixture `xmcp_check` judges a server in a test.

    def test_my_server_conforms(xmcp_check):
        xmcp_check("python server.py", require=["100%"])

Every pytest run where the package is installed imports this module, so it imports nothing else before the fixture is
used.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xmcp_conformance.profiles.server.peers import Peer
    from xmcp_conformance.reports.server_report import ServerReport


@pytest.fixture
def xmcp_check() -> Callable[..., ServerReport]:
    """Return what judges a server: see `check`."""
    return check


def check(
    *servers: object,
    require: Iterable[str] = (),
    baseline: str | Path | None = None,
    headers: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    cwd: str | Path | None = None,
    arguments: Mapping[str, Mapping[str, Any] | Sequence[Mapping[str, Any]]] | None = None,
    tool_timeouts: Mapping[str, float] | None = None,
    **options: Any,
) -> ServerReport:
    """Judge a server as `xmcp check server` does; the test fails with its report unless the exit code would be 0.

    Args:
        servers: the same server, over one or more transports: a command that speaks MCP over stdio, such as
            `python server.py` or a list of words; a URL; or a server object of FastMCP or of the MCP SDK, which is
            called in this process.
        require: what has to be seen: the id of a sentence, the name of a tool, or `100%` of the tools.
        baseline: a file of known faults, as `xmcp check server --update-baseline` writes it.
        headers: of each request over HTTP.
        env: variables for a command, besides those of this process.
        cwd: the folder of a command.
        arguments: by the name of a tool, arguments with which it succeeds, or several such.
        tool_timeouts: seconds for the calls of tools, by a name or a pattern.
        options: the other fields of `Options`: `strict=True`, `allow_writes=True`, `calls=20`,
            `exclude=("expensive",)`, `call_timeout=60.0`, `eras=("newest",)` and so on.

    Returns:
        The report, whose `judgements` and `coverage` say more.

    A test that serves a URL from its own event loop has to serve it from a thread: this function does not give way.
    """
    __tracebackhide__ = True
    from xmcp_conformance.profiles.server import blackbox
    from xmcp_conformance.profiles.server.options import Options
    from xmcp_conformance.profiles.server.peers import PeerUnavailable
    from xmcp_conformance.reports.baseline import Baseline, read_baseline
    from xmcp_conformance.reports.required_coverage import Required
    from xmcp_conformance.reports.server_report import ServerReport
    from xmcp_conformance.reports.server_terminal import as_text

    # Hypothesis would keep what it learns of modules here in the folder of the user.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.devnull)
    several = {name: [one] if isinstance(one, Mapping) else one for name, one in (arguments or {}).items()}
    given = {name: [dict(one) for one in each] for name, each in several.items()}
    settings = Options(known=given, tool_timeouts=tuple((tool_timeouts or {}).items()), **options)
    known = Baseline() if baseline is None else read_baseline(Path(baseline))
    report = ServerReport(required=tuple(map(Required, require)), baseline=known)
    peers = [_peer(server, headers or {}, env or {}, cwd) for server in servers]
    if not peers:
        raise TypeError("xmcp_check needs a server: a command, a URL or a server object")
    try:
        _run(blackbox.check(peers, settings, report.add))
    except PeerUnavailable as error:
        pytest.fail(str(error), pytrace=False)
    if report.exit_code:
        pytest.fail(as_text(report, width=120), pytrace=False)
    return report


def _peer(server: object, headers: dict[str, str], env: dict[str, str], cwd: str | Path | None) -> Peer:
    """Return the peer that a test names.

    Raises:
        TypeError: it is no server.
    """
    from xmcp_conformance.core.command_environment import CommandEnvironment
    from xmcp_conformance.profiles.server.peers import HttpPeer, StdioPeer, in_this_process

    if isinstance(server, str) and server.startswith(("http://", "https://")):
        return HttpPeer(server, tuple(headers.items()))
    words = shlex.split(server) if isinstance(server, str) else server
    if isinstance(words, list | tuple) and words:
        return StdioPeer(
            tuple(map(str, words)), CommandEnvironment(tuple(env.items()), None if cwd is None else str(cwd))
        )
    return in_this_process(server)


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, also in a test that is a coroutine itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(coroutine)
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, coroutine).result()
