"""Servers that are wrong only on some occasions, as real servers are.

`Conditional` answers as the right miniature, but as a mutant where a condition holds. A condition is a pure function of
an `Occasion`; `CONDITIONS` has them by name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import mcp_types
from mcp import MCPError

from .miniature import Json, Miniature, Negotiated, Plain, validator

T = TypeVar("T")
Kind: TypeAlias = Literal["announcement", "listing", "text", "display", "error"]
Place: TypeAlias = Literal["first string", "later string", "nested member", "array item", "map key"]


@dataclass(frozen=True, slots=True)
class Occasion:
    """What there is to know when a server answers: a call, one tool of a listing, or the announcement in an era.

    All numbers count what came before from a client of the same kind, so that they are those of a server that is
    started anew for each connection.

    Attributes:
        kind: what is answered; for a call, what the right answer is.
        handshake: whether the era is that of the handshake.
        declared: whether the client declared the extension; of an announcement, that is not known yet.
        tool: the name of the tool.
        listings: the number of listings.
        calls: the number of calls.
        of_tool: the number of calls of this tool.
        equal: the number of calls of this tool with these arguments.
        in_flight: the number of calls that are not answered yet, with this one.
        after_refusal: whether the call before this one was refused.
        asks_to_show: whether `show_user` is true.
        length: the length of the right text or message.
        hostile: the places of the arguments whose text needs care in XML.
        refused_for: the keywords of the input schema that the arguments break.
        at_border: whether an argument has a value that is the last that its schema allows.
        optional: whether an optional argument is there, other than `show_user`; `None` where the tool has none.
    """

    kind: Kind
    handshake: bool
    declared: bool | None = None
    tool: str = ""
    listings: int = 0
    calls: int = 0
    of_tool: int = 0
    equal: int = 0
    in_flight: int = 0
    after_refusal: bool = False
    asks_to_show: bool = False
    length: int = 0
    hostile: frozenset[Place] = frozenset()
    refused_for: frozenset[str] = frozenset()
    at_border: bool = False
    optional: bool | None = None


Condition: TypeAlias = Callable[[Occasion], bool]


def _hostile_in(place: Place) -> Condition:
    return lambda now: not now.refused_for and place in now.hostile and "first string" not in now.hostile


def _refused_for(keyword: str) -> Condition:
    return lambda now: now.refused_for == {keyword}


def _only(tool: str) -> Condition:
    return lambda now: now.tool == tool


_KEYWORDS = (
    "required", "type", "additionalProperties", "enum", "minimum", "maximum", "pattern", "minLength", "maxLength",
)  # fmt: skip
"""Not `uniqueItems`: a server can keep equal items once, and loses nothing (section 4.3), so no call has that fault."""

CONDITIONS: dict[str, Condition] = {
    "always": lambda _: True,
    "only in the handshake era": lambda now: now.handshake,
    "only in the newest era": lambda now: not now.handshake,
    "only for clients that declared": lambda now: now.declared is True,
    "only for plain clients": lambda now: now.declared is False,
    "only in a listing": lambda now: now.kind == "listing",
    "only from the second listing on": lambda now: now.kind == "listing" and now.listings > 0,
    "only in the first call of all": lambda now: now.calls == 0 and now.kind not in ("listing", "announcement"),
    "only after 20 calls": lambda now: now.calls >= 20,
    "only from the second call of a tool on": lambda now: now.of_tool > 0,
    "only in the second call of a tool": lambda now: now.of_tool == 1,
    "only when the same call comes again": lambda now: now.equal > 0,
    "only while another call is in flight": lambda now: now.in_flight > 1,
    "only after a refusal": lambda now: now.after_refusal,
    "only with show_user": lambda now: now.asks_to_show,
    "only without show_user": lambda now: not now.asks_to_show and now.kind not in ("listing", "announcement"),
    "only in errors": lambda now: now.kind == "error",
    "only beside a display": lambda now: now.kind == "display",
    "only in a text alone": lambda now: now.kind == "text",
    "only in texts of 4,000 characters or more": lambda now: now.length >= 4_000,
    "only in texts of 60,000 characters or more": lambda now: now.length >= 60_000,
    "only with hostile text in a later string": _hostile_in("later string"),
    "only with hostile text in a nested member": _hostile_in("nested member"),
    "only with hostile text in an array item": _hostile_in("array item"),
    "only with hostile text as a map key": _hostile_in("map key"),
    "only with hostile text in a refused call": lambda now: bool(now.refused_for and now.hostile),
    "only with hostile text in an error": lambda now: now.kind == "error" and bool(now.hostile),
    "only at the border of a constraint": lambda now: now.at_border and not now.refused_for,
    "only with an optional argument": lambda now: now.optional is True,
    "only without the optional arguments": lambda now: now.optional is False,
    **{f"only where refused for {keyword} alone": _refused_for(keyword) for keyword in _KEYWORDS},
    **{f"only of the tool {name}": _only(name) for name in Miniature().tools()},
}

_RIGHT: dict[str, type[Miniature]] = {wire.wire: wire for wire in (Miniature, Negotiated, Plain)}
_NEEDS_CARE = re.compile("[<>&\\r]|[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_KNOWN: dict[tuple[str, str, bool], Occasion] = {}
"""What there is to know of each call alone, by the wire, the call and whether the client declared the extension."""


@dataclass(slots=True)
class _History:
    """What a server saw of one kind of client."""

    listings: int = 0
    calls: int = 0
    of_tool: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    refused: bool = False


class Conditional(Miniature):
    """Answers as the right miniature, and as a mutant where a condition holds.

    `differed` has the numbers of the answers in which the two were not the same and the mutant's was given; answers,
    tools in listings and announcements are counted together.
    """

    def __init__(self, mutant: Miniature, holds: Condition) -> None:
        super().__init__()
        self.wire = mutant.wire
        self.right = _RIGHT[mutant.wire]()
        self.mutant = mutant
        self.holds = holds
        self.differed: set[int] = set()
        self._answers = 0
        self._history: dict[tuple[bool, ...], _History] = {}

    def announced(self, *, handshake: bool) -> dict[str, Any]:
        """Return the announcement in an era."""
        occasion = Occasion("announcement", handshake)
        return self._chosen(occasion, self.right.extensions, self.mutant.extensions)

    def view(self, *, handshake: bool) -> mcp_types.ReadResourceResult:
        """Return the view in an era: as an announcement, it is what it is whoever asks."""

        def of(server: Miniature) -> Callable[[], mcp_types.ReadResourceResult]:
            return lambda: server.view(handshake=handshake)

        return self._chosen(Occasion("announcement", handshake), of(self.right), of(self.mutant))

    def catalogue(self, *, declared: bool, handshake: bool, apps: bool) -> mcp_types.ListToolsResult:
        """Return the listing, tool by tool."""
        history = self._history.setdefault((declared, handshake, apps), _History())
        tools = []
        for name in self.right.tools():
            occasion = Occasion("listing", handshake, declared, name, history.listings)
            listed = (partial(one.listed_to, name, apps=apps) for one in (self.right, self.mutant))
            tools.append(self._chosen(occasion, *listed))
        history.listings += 1
        return mcp_types.ListToolsResult(tools=tools)

    def call(self, name: str, arguments: Json, *, declared: bool, handshake: bool, most: int = 2**23) -> Any:
        """Answer a call."""
        self.calls += 1

        def answer(server: Miniature) -> Any:
            server.calls = self.calls - 1
            return server.call(name, arguments, declared=declared, handshake=handshake, most=most)

        occasion = self._occasion(name, arguments, declared=declared, handshake=handshake)
        return self._chosen(occasion, lambda: answer(self.right), lambda: answer(self.mutant))

    def _chosen(self, occasion: Occasion, right: Callable[[], T], wrong: Callable[[], T]) -> T:
        self._answers += 1
        rightly = right()
        if not self.holds(occasion):
            return rightly
        try:
            wrongly = wrong()
        except MCPError:
            self.differed.add(self._answers)
            raise
        if wrongly != rightly:
            self.differed.add(self._answers)
        return wrongly

    def _occasion(self, name: str, arguments: Json, *, declared: bool, handshake: bool) -> Occasion:
        history = self._history.setdefault((declared, handshake), _History())
        key = json.dumps([name, arguments], sort_keys=True)
        alone = _KNOWN.get((self.wire, key, declared))
        if alone is None:
            alone = _KNOWN[self.wire, key, declared] = self._alone(name, arguments, declared=declared)
        occasion = replace(
            alone,
            handshake=handshake,
            calls=history.calls,
            of_tool=history.of_tool[name],
            equal=history.equal[key],
            in_flight=self.in_flight,
            after_refusal=history.refused,
        )
        history.calls += 1
        history.of_tool[name] += 1
        history.equal[key] += 1
        history.refused = bool(alone.refused_for)
        return occasion

    def _alone(self, name: str, arguments: Json, *, declared: bool) -> Occasion:
        """Return what there is to know of a call without regard to what came before."""
        outcome = self.right.outcome(name, arguments, declared=declared)
        schema = self.right.tools().get(name, {})
        given, _ = self.right.set_aside(name, self.right.without_null(name, arguments))
        faults = [fault.kind.name for fault in validator(schema).iter_errors(given)]
        optional = schema.get("properties", {}).keys() - set(schema.get("required", ())) - {"show_user"}
        texts = list(_texts_at(arguments, schema, schema, "first string"))
        return Occasion(
            "error" if outcome.failure else "display" if outcome.envelope else "text",
            handshake=False,
            declared=declared,
            tool=name,
            asks_to_show=arguments.get("show_user") is True,
            length=len(outcome.failure.message if outcome.failure else outcome.text),
            hostile=frozenset(place for place, text in texts if _NEEDS_CARE.search(text)),
            refused_for=frozenset(faults),
            at_border=_at_border(arguments, schema),
            optional=bool(optional & arguments.keys()) if optional else None,
        )


@dataclass(slots=True)
class WrongAnswers:
    """Which answers of a run are wrong, by their numbers.

    `tools` are those that gave them; none where an answer is wrong that no tool gives alone: an announcement, a
    listing, or the answer to a call of a tool that the server does not have.
    """

    answers: set[int] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    beyond_tools: bool = False

    def add(self, number: int, occasion: Occasion, *, beyond_tools: bool) -> None:
        """Take one more into account."""
        self.answers.add(number)
        self.beyond_tools |= beyond_tools
        self.tools = set() if self.beyond_tools else {*self.tools, occasion.tool}


class Watched(Conditional):
    """Answers rightly, and notes under which conditions the mutant would have answered otherwise."""

    def __init__(self, mutant: Miniature, found: dict[str, WrongAnswers]) -> None:
        super().__init__(mutant, lambda _: True)
        self._found = found
        self._known = frozenset(mutant.tools())

    def _chosen(self, occasion: Occasion, right: Callable[[], T], wrong: Callable[[], T]) -> T:
        before = len(self.differed)
        with suppress(MCPError):  # that, too, is an answer that differs
            super()._chosen(occasion, right, wrong)
        if len(self.differed) > before:
            beyond_tools = occasion.kind in ("listing", "announcement") or occasion.tool not in self._known
            for name, holds in CONDITIONS.items():
                if holds(occasion):
                    self._found[name].add(self._answers, occasion, beyond_tools=beyond_tools)
        return right()


def _texts_at(value: Any, schema: Json, root: Json, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield the texts in the arguments of a tool, each with its place."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_at(item, schema.get("items", {}), root, "array item")
    elif isinstance(value, dict):
        properties = schema.get("properties", {})
        inner: Place = "nested member"
        for index, name in enumerate({**properties, **value}):
            if value is not None and name in value:
                if name not in properties:
                    yield "map key", name
                if schema is root:
                    inner = "later string" if index else "first string"
                yield from _texts_at(value[name], properties.get(name, {}), root, inner)


def _at_border(arguments: Json, schema: Json) -> bool:
    """Return whether an argument has a value or a size that is the last that its schema allows."""
    for name, value in arguments.items():
        limits = schema.get("properties", {}).get(name, {})
        size = len(value) if isinstance(value, str | list) else value
        words = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
        if any(limits.get(word, object()) == size for word in words) or value in limits.get("enum", ())[-1:]:
            return True
    return False
