"""`nox -s docs` builds or serves the site, and says at once what it cannot do."""

from __future__ import annotations

import functools
import importlib.util
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from support.http_host import http_host

from tools import ROOT


class Refused(Exception):
    """The session ended with this message."""


@functools.cache
def noxfile() -> Any:
    """Import the sessions of this checkout, once: nox does not want to be told of a session twice."""
    spec = importlib.util.spec_from_file_location("noxfile_of_the_test", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def docs(*posargs: str) -> list[str]:
    """Run the session with these arguments, and return what it would run after `python -m mkdocs`."""
    ran: list[str] = []

    def refuse(message: str) -> None:
        raise Refused(message)

    def run(*words: str, env: dict[str, str]) -> None:
        assert "NO_MKDOCS_2_WARNING" in env
        ran.extend(words[3:])

    noxfile().docs.func(SimpleNamespace(posargs=list(posargs), run=run, error=refuse))
    return ran


async def test_the_site_is_built_or_served_on_a_port_that_is_free() -> None:
    assert docs() == ["build", "--strict"]
    async with http_host() as host:
        port = str(host.port)
    assert docs("serve", "--port", port) == ["serve", "-a", f"127.0.0.1:{port}"]


@pytest.mark.parametrize("words", ["serve -a 127.0.0.1:8123", "build", "serve --port"])
def test_other_arguments_are_refused_with_those_that_there_are(words: str) -> None:
    with pytest.raises(Refused, match=f"`serve --port 8123`, not `{words}`"):
        docs(*words.split())


@pytest.mark.parametrize("port", ["x", "70000"])
def test_what_is_no_port_is_refused(port: str) -> None:
    with pytest.raises(Refused, match=f"cannot be served on port {port} "):
        docs("serve", "--port", port)


def test_a_busy_port_is_told_before_anything_is_built() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        with pytest.raises(Refused, match=f"cannot be served on port {port} .*in use"):
            docs("serve", "--port", port)
