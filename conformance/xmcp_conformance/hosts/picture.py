"""The picture of a server: what each host makes of each answer, hosts with the same outcome together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .answers import Answer, Case, Visit, VisitedTool
from .presentation import Shown, present
from .rules import Host
from .tokens import Tokenizer

KINDS: Final = ("leaked", "misled", "lost")
"""What can go wrong: it leaks, it misleads the model, it is lost."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one host makes of one answer, and the tokens of its text."""

    host: Host
    shown: Shown
    tokens: int


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts in which the model gets the same but for the words that the host writes around it."""

    seen: tuple[Seen, ...]

    @property
    def shown(self) -> Shown:
        """What the host with the fewest words around it shows."""
        return min(self.seen, key=lambda seen: len(seen.shown.text)).shown

    @property
    def tokens(self) -> tuple[int, int]:
        """The least and the most tokens."""
        counts = [seen.tokens for seen in self.seen]
        return min(counts), max(counts)


@dataclass(frozen=True, slots=True)
class SeenCase:
    """A call and what all hosts make of its answer."""

    case: Case
    seen: tuple[Seen, ...]

    @property
    def groups(self) -> list[Group]:
        """The hosts in groups of the same outcome for the model, the largest last and then what is not known."""
        members: dict[object, list[Seen]] = {}
        for seen in self.seen:
            members.setdefault(_outcome(seen.shown), []).append(seen)
        groups = [Group(tuple(group)) for group in members.values()]
        return sorted(groups, key=lambda group: (bool(group.shown.unknown), len(group.seen)))

    @property
    def everywhere(self) -> list[tuple[str, str]]:
        """What goes wrong in every host, where there are several."""
        first, *others = [list(wrong(seen.shown)) for seen in self.seen] or [[]]
        return [fault for fault in first if others and all(fault in other for other in others)]

    @property
    def outcome(self) -> object:
        """A value that is equal for calls with the same outcome in every host, for the model and for the person."""
        return tuple((_outcome(seen.shown), seen.shown.person) for seen in self.seen)

    @property
    def tokens(self) -> tuple[int, int]:
        """The least and the most tokens in any host."""
        return Group(self.seen).tokens


@dataclass(frozen=True, slots=True)
class SeenTool:
    """A tool and its calls."""

    tool: VisitedTool
    cases: tuple[SeenCase, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that goes wrong: `kind` is `lost`, `leaked` or `misled`; with the tools and hosts where it does."""

    kind: str
    what: str
    tools: tuple[str, ...]
    hosts: tuple[Host, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What was seen of a server, by which hosts, and how tokens were counted."""

    visit: Visit
    hosts: tuple[Host, ...]
    tokenizer: Tokenizer
    tools: tuple[SeenTool, ...]

    @property
    def answered(self) -> bool:
        """Whether a tool of the server answered any call with a result."""
        return any(case.case.plain.result is not None for tool in self.tools if tool.tool.exists for case in tool.cases)

    @property
    def findings(self) -> list[Finding]:
        """Everything that goes wrong, once each: leaks first, then what misleads the model, then what is lost."""
        places: dict[tuple[str, str], tuple[dict[str, None], dict[str, Host]]] = {}
        for tool, seen in self._all():
            for kind, what in wrong(seen.shown):
                tools, hosts = places.setdefault((kind, what), ({}, {}))
                tools[tool.name if tool.exists else "an unknown tool"] = None
                hosts[seen.host.name] = seen.host
        found = [
            Finding(kind, what, tuple(tools), tuple(hosts.values())) for (kind, what), (tools, hosts) in places.items()
        ]
        return sorted(found, key=lambda finding: (KINDS.index(finding.kind), -len(finding.hosts), -len(finding.tools)))

    def _all(self) -> Iterator[tuple[VisitedTool, Seen]]:
        for tool in self.tools:
            for case in tool.cases:
                for seen in case.seen:
                    yield tool.tool, seen


def picture(visit: Visit, hosts: Iterable[Host], tokenizer: Tokenizer) -> Picture:
    """Return the picture of a visited server in these hosts."""
    chosen = tuple(hosts)
    tools = (
        SeenTool(tool, tuple(SeenCase(case, _seen(case, chosen, tokenizer)) for case in tool.cases))
        for tool in visit.tools
    )
    return Picture(visit, chosen, tokenizer, tuple(tools))


def _seen(case: Case, hosts: tuple[Host, ...], tokenizer: Tokenizer) -> tuple[Seen, ...]:
    counted: dict[str, int] = {}

    def seen(host: Host) -> Seen:
        shown = present(_answer_for(host, case), host)
        if shown.text not in counted:
            counted[shown.text] = tokenizer.count(shown.text)
        return Seen(host, shown, counted[shown.text])

    return tuple(seen(host) for host in hosts)


def _answer_for(host: Host, case: Case) -> Answer:
    return case.declared if host.declares_xmcp and case.declared is not None else case.plain


def _outcome(shown: Shown) -> object:
    return shown.form, shown.lost, shown.leaked, shown.misled, shown.unknown


def wrong(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield everything that goes wrong in one host, as pairs of its kind and what it is."""
    for kind in KINDS:
        for what in getattr(shown, kind):
            yield kind, what
