"""There is one scripted server, one scripted model, one HTTP host and one clock for all tests: those in `support`.

A second one drifts from the first: it forgets to cancel its tasks, takes a port that another process has, or plays a
server that no protocol allows. What only looks like one is listed below, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("reference/tests", "conformance/tests", "tools/tests")
SUPPORT = "reference/tests/support"

USE = {
    "model": "support.scripted_model.ScriptedModel",
    "server": "support.scripted_server.ScriptedServer",
    "host": "support.http_host.HttpHost",
    "clock": "support.clock",
}

ALLOWED = {
    ("reference/tests/test_http_transport.py", "host"): "a host with TLS, and one that sends past its event loop",
    ("reference/tests/cli/test_check_access.py", "host"): "a port that refuses connections until later, for `--wait`",
    ("reference/tests/server/test_serving.py", "host"): "a port that is taken, and nothing serves there",
    ("reference/tests/cli/test_serve.py", "host"): "a port that is taken, and nothing serves there",
    ("reference/tests/cli/test_processes.py", "host"): "the product's own workers get a socket that nobody connects to",
    ("reference/tests/cli/test_gateway.py", "host"): "a port that is taken, and nothing serves there",
    ("reference/tests/cli/test_check_gateway.py", "host"): "a port that is taken, and nothing serves there",
    ("reference/tests/gateway/test_metrics.py", "host"): "a port that is taken, and nothing serves there",
    (
        "reference/tests/gateway/audit/test_rebuild.py",
        "model",
    ): "keeps each request as bytes of that moment",
    ("tools/tests/test_docs_session.py", "host"): "a port that is taken, and nothing serves there",
    ("reference/tests/unseen_clients_eighteenth/odd.py", "model"): "hands on what another provider streams, by letters",
    ("reference/tests/types/public_names.py", "model"): "only type checkers read it",
    ("reference/tests/types/public_names.py", "server"): "only type checkers read it",
    ("reference/tests/client/test_progress.py", "server"): "an object of an application, with the parameter itself",
}
"""A file and what it seems to implement, with the reason why it may."""

HOSTS = {"Server", "HTTPServer", "ThreadingHTTPServer", "BaseHTTPRequestHandler", "TCPServer", "BaseRequestHandler"}
LISTENS = {"start_server", "create_server", "start_unix_server", "socket.socket", "uvicorn.Server", "uvicorn.run"}
"""Calls that open a listening socket, or could."""
TIME = {"time", "monotonic", "perf_counter", "sleep"}


def seconds(root: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what a module implements that `support` has, with the line of it."""
    for node in ast.walk(root):
        if isinstance(node, ast.ClassDef):
            yield from ((kind, node.lineno) for kind in _played(node))
        elif isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name in LISTENS or name.rpartition(".")[2] in LISTENS:
                yield "host", node.lineno
            if name.endswith("setattr") and _names_time(node.args):
                yield "clock", node.lineno


def _played(node: ast.ClassDef) -> Iterator[str]:
    methods = {child.name: child for child in node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)}
    bases = [_dotted(base) for base in node.bases]
    if "stream" in methods:
        yield "model"
    if {"discover_tools", "execute_tool_call"} & set(methods):
        yield "server"
    if any(base.rpartition(".")[2] in HOSTS for base in bases):
        yield "host"
    clock_loop = any(base.endswith(("EventLoop", "Selector")) for base in bases)
    call = methods.get("__call__")
    if clock_loop or "monotonic" in methods or (call is not None and _returns_seconds(call)):
        yield "clock"


def _returns_seconds(call: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether `__call__` takes nothing and gives a float: what a `clock` option takes."""
    return isinstance(call.returns, ast.Name) and call.returns.id == "float" and len(call.args.args) == 1


def _names_time(arguments: list[ast.expr]) -> bool:
    """Return whether what is replaced tells the time, or waits, in the `time` or `asyncio` module."""
    words = [word for argument in arguments[:2] for word in _words(argument) if word]
    return bool({"time", "asyncio"} & set(words[:-1])) and words[-1] in TIME


def _words(argument: ast.expr) -> list[str]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value.split(".")
    return _dotted(argument).split(".")


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ".".join(reversed(parts))


def found() -> dict[tuple[str, str], int]:
    return {
        (path.relative_to(ROOT).as_posix(), kind): line
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(SUPPORT)
        for kind, line in seconds(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_nothing_outside_support_plays_a_model_a_server_a_host_or_a_clock() -> None:
    second = [
        f"{path}:{line}: use {USE[kind]}" for (path, kind), line in found().items() if (path, kind) not in ALLOWED
    ]
    assert second == []


def test_what_is_allowed_is_there() -> None:
    assert {place for place in ALLOWED if place not in found()} == set()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("class M:\n async def stream(self, request): yield ''", "model"),
        ("def test():\n class M(Other):\n  async def stream(self, request): yield ''", "model"),
        ("class S:\n async def discover_tools(self): return []", "server"),
        ("class S(Base):\n async def execute_tool_call(self, name, arguments): return ''", "server"),
        ("class H(uvicorn.Server): pass", "host"),
        ("class H(http.server.BaseHTTPRequestHandler): pass", "host"),
        ("uvicorn.Server(config)", "host"),
        ("asyncio.start_server(handle, 'localhost', 0)", "host"),
        ("socket.create_server(('127.0.0.1', 0))", "host"),
        ("with socket.socket() as s: pass", "host"),
        ("class L(asyncio.SelectorEventLoop): pass", "clock"),
        ("class C:\n def __call__(self) -> float: return 1.0", "clock"),
        ("monkeypatch.setattr(time, 'monotonic', lambda: 0)", "clock"),
        ("monkeypatch.setattr('xmcp.storage.breakers.time.time', lambda: 0)", "clock"),
        ("monkeypatch.setattr(asyncio, 'sleep', at_once)", "clock"),
    ],
)
def test_a_second_one_is_found(source: str, kind: str) -> None:
    assert [seen for seen, _ in seconds(ast.parse(source))] == [kind]
