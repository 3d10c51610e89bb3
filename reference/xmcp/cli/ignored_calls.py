"""Calls that would run a server while `xmcp serve` imports the file in which they stand: they say which one is meant.

A script ends in `mcp.serve()`, often without `if __name__ == "__main__"`. If the import ran it, the command would never
get to its own options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fastmcp import FastMCP

_ASYNC: Final = ("run_async", "run_stdio_async", "run_http_async")
_SHOWN: Final = ("transport", "host", "port", "path")  # another option may hold a secret
_METHODS: Final = ("serve", "run", *_ASYNC)


@dataclass(frozen=True)
class IgnoredCall:
    """A call of a method that would have run `server`."""

    server: FastMCP[Any]
    method: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = {name: f"={value!r}"[:100] for name, value in self.options.items() if name in _SHOWN}
        options = ", ".join(f"{name}{shown.get(name, '=...')}" for name in self.options)
        return f"{self.method}({options})"


@contextmanager
def calls_ignored() -> Iterator[list[IgnoredCall]]:
    """Have calls that run a FastMCP server return at once for the duration of the context; yield a list of them."""
    from fastmcp import FastMCP

    from xmcp.server.transports import Serving

    calls: list[IgnoredCall] = []

    def ignoring(method: str) -> Callable[..., Any]:
        def ignored(server: FastMCP[Any], *args: Any, **options: Any) -> None:
            positional = dict(zip(("transport", "host", "port"), args, strict=False))
            calls.append(IgnoredCall(server, method, positional | options))

        async def ignored_async(server: FastMCP[Any], *args: Any, **options: Any) -> None:
            ignored(server, *args, **options)

        return ignored_async if method in _ASYNC else ignored

    with _replaced(FastMCP, ignoring), _replaced(Serving, ignoring):
        yield calls


@contextmanager
def _replaced(kind: type, replacement: Callable[[str], Any]) -> Iterator[None]:
    own = {method: vars(kind).get(method) for method in _METHODS if hasattr(kind, method)}
    for method in own:
        setattr(kind, method, replacement(method))
    try:
        yield
    finally:
        for method, before in own.items():
            if before is None:  # inherited
                delattr(kind, method)
            else:
                setattr(kind, method, before)
