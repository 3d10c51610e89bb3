"""Unseen servers by their names, with the ids of the sentences that the wrong ones break.

They were written from the sentences of the specification, and committed with these ids before the suite ran on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeVar

_Class = TypeVar("_Class", bound=type[Any])


@dataclass(frozen=True, slots=True)
class Unseen:
    """A server, what its author did, and the ids of which one has to be reported; `odd` servers break none.

    `python -m PACKAGE NAME`, with `conformance/tests` on the path, serves one of a package over stdio.
    """

    name: str
    description: str
    expected: tuple[str, ...]
    kind: Literal["wrong", "odd"]
    server: type[Any]


@dataclass(frozen=True, slots=True)
class UnseenSet:
    """The servers of one package, which its `modules` register when they are imported."""

    package: str
    modules: tuple[str, ...]
    _registered: list[Unseen] = field(default_factory=list)

    def breaks(self, *expected: str) -> Callable[[_Class], _Class]:
        """Register a wrong server under the ids of which any one, reported broken, counts as caught."""

        def register(server: _Class) -> _Class:
            self._register(server, expected, "wrong")
            return server

        return register

    def permitted(self, server: _Class) -> _Class:
        """Register an odd server, of which nothing may be reported broken."""
        self._register(server, (), "odd")
        return server

    def servers(self) -> dict[str, Unseen]:
        """Return the servers by name."""
        for module in self.modules:
            import_module(f"{self.package}.{module}")
        return {entry.name: entry for entry in self._registered}

    def _register(self, server: type[Any], expected: tuple[str, ...], kind: Literal["wrong", "odd"]) -> None:
        name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in server.__name__).lstrip("-")
        said = " ".join((server.__doc__ or "").split())
        ids = tuple(f"XMCP-{one}" for one in expected)
        self._registered.append(Unseen(name, said, ids, kind, server))


_FIRST = UnseenSet(
    "unseen", ("texts", "json_values", "displays", "errors", "parameters", "binding", "plain_results", "odd")
)
breaks, permitted, unseen = _FIRST.breaks, _FIRST.permitted, _FIRST.servers
