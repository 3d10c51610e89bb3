"""What model and person get of a server's results, at a terminal. Text of the server is data, never markup.

First the calls, each with the hosts in groups of the same outcome; last what stands out, where the eye is when the
output ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmcp_conformance.core.untrusted_text import printable, quoted
from xmcp_conformance.hosts.picture import Finding, Group, Picture, SeenCase, SeenTool, wrong

MOST_TEXT: Final = 4_000
"""Maximum number of characters of one text that is shown in full."""

_MOST_FINDINGS: Final = 12
_MOST_NAMES: Final = 4
_FEWEST_OTHERS: Final = 4
_FEWEST_ARGUMENTS: Final = 12
_WIDE: Final = 110
_TOKENS_WIDTH: Final = 11
"""As wide as `5,877–7,130` or `12.3k–15.0k`."""
_MARKS: Final = {"leaked": ("!", "bold red"), "misled": ("✗", "red"), "lost": ("−", "yellow"), "unknown": ("?", "dim")}
_WORDS: Final = {"leaked": "leaks: ", "misled": "the model ", "lost": "lost: ", "unknown": "not known: "}


def show(pictures: Sequence[Picture], console: Console, *, texts: bool = False) -> None:
    """Print the picture of a server, or of two with the same calls, one below the other in each call.

    Args:
        pictures: one picture, or two; those after the first are called B, C …
        console: where to print.
        texts: print also what the model reads, word for word.
    """
    sides = [(chr(ord("A") + index) if len(pictures) > 1 else "", picture) for index, picture in enumerate(pictures)]
    for name, picture in sides:
        _show_head(name, picture, console)
    console.print()
    console.print(_row(console, "", Text("host"), Text("tokens"), Text("what the model gets"), style="dim"))
    before: dict[object, str] = {}
    for tool in pictures[0].tools:
        console.print()
        _show_tool(tool, [(name, _same_tool(picture, tool)) for name, picture in sides], before, console, texts=texts)
    _show_legend(pictures[0], console, notes=texts)
    for name, picture in sides:
        _show_findings(name, picture, console)


def _side(name: str) -> Text:
    return Text.assemble((f"{name}  ", "bold cyan") if name else "")


def _same_tool(picture: Picture, tool: SeenTool) -> SeenTool | None:
    return next((other for other in picture.tools if other.tool.name == tool.tool.name), None)


def _show_head(name: str, picture: Picture, console: Console) -> None:
    visit = picture.visit
    listed = [tool for tool in visit.tools if tool.exists]
    called = sum(bool(tool.cases) for tool in listed)
    console.print(_side(name).append(quoted(visit.server), style="bold"), soft_wrap=True)
    xmcp = ", announces XMCP" if visit.announces else ""
    tools = f"{called} of {len(listed) + visit.left_out} tools called"
    console.print(Text(f"{visit.transport}, MCP {printable(visit.protocol_version)}{xmcp}, {tools}", style="dim"))
    if visit.declared_failure:
        hosts = _listed([host.title for host in picture.hosts if host.declares_xmcp]) or "hosts that declare XMCP"
        console.print(Text(f"No answers for {hosts}: {quoted(visit.declared_failure)}", style="yellow"))


# ---- one tool ----


def _show_tool(
    tool: SeenTool,
    sides: Sequence[tuple[str, SeenTool | None]],
    before: dict[object, str],
    console: Console,
    *,
    texts: bool,
) -> None:
    if not tool.cases:
        console.print(
            Text(quoted(tool.tool.name), style="bold").append(f"  {printable(tool.tool.not_called)}", style="dim")
        )
    for index, case in enumerate(tool.cases):
        cases = [side.cases[index] if side and index < len(side.cases) else None for _, side in sides]
        outcome = tuple(found.outcome if found else None for found in cases)
        like = before.setdefault((case.case.title.split(":")[0], outcome), tool.tool.name)
        if like != tool.tool.name and case.case.plain.result is not None and not texts:
            tokens = " | ".join(_tokens(found.tokens) if found else "–" for found in cases)
            end = f"  same outcomes as {quoted(like)} above, {tokens} tokens"
            console.print(_title(tool, case, console.width - len(end)).append(end, style="dim"))
            continue
        console.print(_title(tool, case, console.width))
        for (name, side), found in zip(sides, cases, strict=True):
            if found is not None:
                _show_case(name, found, console, texts=texts)
            else:
                why = (side.tool.not_called or "not called") if side else "this server does not list it"
                console.print(_row(console, name, Text(printable(why), style="dim")))
        people = list(dict.fromkeys(_person(found) for found in cases if found and not found.case.plain.is_error))
        for seen in filter(None, people):
            console.print(_row(console, "", Text(f"on screen  {seen}", style="dim")))


def _title(tool: SeenTool, case: SeenCase, width: int) -> Text:
    if not tool.tool.exists:
        return Text("a tool that does not exist", style="bold")
    line = Text(quoted(tool.tool.name), style="bold")
    why = Text(f"  ← {printable(case.case.title)}" if case.case.title else "", style="cyan")
    arguments = Text(f" {printable(json.dumps(case.case.arguments, ensure_ascii=False))}", style="dim")
    arguments.truncate(max(_FEWEST_ARGUMENTS, width - len(line) - len(why)), overflow="ellipsis")
    line.append_text(arguments).append_text(why)
    line.truncate(width, overflow="ellipsis")
    return line


# ---- one call ----


def _show_case(name: str, case: SeenCase, console: Console, *, texts: bool) -> None:
    if case.case.plain.result is None and case.case.declared is None:
        said = Text(f"no result: {quoted(case.case.plain.failure)}", style="yellow")
        console.print(_row(console, name, said))
        return
    everywhere, groups = case.everywhere, case.groups
    known = [group for group in groups if not group.shown.unknown]
    for group in groups:
        hosts = Text(_hosts(group, last=[group] == known[-1:], alone=len(groups) == 1))
        console.print(_row(console, name, hosts, Text(_tokens(group.tokens)), _gets(group, everywhere, console)))
        if texts:
            _show_texts(group, console)
    for kind, what in everywhere:
        example = case.seen[0].shown.examples.get(what, "")
        line = _fault(kind, what).append(f"  {quoted(example)}" if example else "")
        line.truncate(console.width - 5, overflow="ellipsis")
        console.print(_row(console, "", line))


def _row(console: Console, name: str, *cells: Text, style: str = "") -> Table:
    """Return a line of the table: who, tokens, what; a single cell has all the room."""
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(width=1 + len(name), no_wrap=True)
    if len(cells) > 1:
        row.add_column(width=_hosts_width(console))
        row.add_column(width=_TOKENS_WIDTH, justify="right", no_wrap=True)
    row.add_column(width=_what_width(console) if len(cells) > 1 else console.width - 5)
    row.add_row(Text(f" {name}", style="bold cyan"), *cells, style=style)
    return row


def _tokens(range_: tuple[int, int]) -> str:
    least, most = map(_number, range_)
    return least if least == most else f"{least}–{most}"


def _number(tokens: int) -> str:
    return f"{tokens:,}" if tokens < 10_000 else f"{tokens / 1000:.1f}k" if tokens < 100_000 else f"{tokens // 1000:,}k"


def _hosts_width(console: Console) -> int:
    return 40 if console.width >= _WIDE else 24


def _what_width(console: Console) -> int:
    return max(20, console.width - _hosts_width(console) - _TOKENS_WIDTH - 2 - 6)


def _hosts(group: Group, *, last: bool, alone: bool) -> str:
    titles = [seen.host.title for seen in group.seen]
    if alone:
        return f"all {len(titles)} hosts" if len(titles) > 1 else titles[0]
    return f"the other {len(titles)} hosts" if last and len(titles) >= _FEWEST_OTHERS else ", ".join(titles)


def _gets(group: Group, everywhere: Sequence[tuple[str, str]], console: Console) -> Text:
    """Return what the model gets, with the beginning of it, and below it what goes wrong in this group."""
    shown = group.shown
    line = Text.assemble((shown.form, "bold"), (f"  {printable(' '.join(shown.text[:300].split()))}", "dim"))
    line.truncate(_what_width(console), overflow="ellipsis")
    for kind, what in [*wrong(shown), *(("unknown", what) for what in shown.unknown)]:
        if (kind, what) not in everywhere:
            line.append("\n").append_text(_fault(kind, what))
    return line


def _fault(kind: str, what: str) -> Text:
    mark, style = _MARKS[kind]
    return Text.assemble((f"{mark} {_WORDS[kind]}{printable(what)}", style))


def _person(case: SeenCase) -> str:
    """Return for the hosts that say so what the person sees there."""
    by_sight: dict[str, list[str]] = {}
    for seen in case.seen:
        sight = " + ".join(seen.shown.person)
        if sight and seen.shown.person != ("not known",):
            by_sight.setdefault(sight, []).append(seen.host.title)
    return " · ".join(f"{_listed(hosts)}: {sight}" for sight, hosts in by_sight.items())


def _show_texts(group: Group, console: Console) -> None:
    by_text: dict[str, list[str]] = {}
    for seen in group.seen:
        by_text.setdefault(seen.shown.text, []).append(seen.host.title)
    for text, hosts in by_text.items():
        if len(group.seen) > 1:
            console.print(Padding(Text(f"{_listed(hosts)}:", style="cyan"), (0, 0, 0, 4)))
        console.print(Padding(Text(_readable(text)), (0, 0, 0, 4)))


def _readable(text: str) -> str:
    """Return a text that cannot act on a terminal, its lines kept, cut to `MOST_TEXT` characters."""
    lines = [printable(line.expandtabs(4)) for line in text[:MOST_TEXT].split("\n")]
    more = len(text) - MOST_TEXT
    return "\n".join(lines) + (f"\n… {more:,} more characters" if more > 0 else "")


# ---- the end ----


def _show_legend(picture: Picture, console: Console, *, notes: bool) -> None:
    console.print()
    if picture.visit.left_out:
        console.print(Text(f"{picture.visit.left_out} more tools were not called; --tool NAME calls one.", style="dim"))
    kinds = {"verified": "Hosts, verified by running them: ", "reported": "Hosts, as reported: "}
    lines = []
    for status, words in kinds.items():
        titles = [f"{host.title} {host.version}".strip() for host in picture.hosts if host.status == status]
        lines += [f"{words}{', '.join(titles)}."] if titles else []
    lines += [f"{host.title}: {host.note}" for host in picture.hosts if notes and host.note]
    if any(not host.person for host in picture.hosts):
        lines.append("In a library, what the person sees is up to the application.")
    if picture.tokenizer.exact:
        lines.append(f"Tokens are those of the text, by {picture.tokenizer.name}.")
    else:
        lines.append("Tokens are those of the text, estimated as characters / 4.")
    console.print(Text("\n".join(lines), style="dim"))


def _show_findings(name: str, picture: Picture, console: Console) -> None:
    findings = picture.findings
    console.print()
    if note := picture.visit.note:
        console.print(_side(name).append(f"note: {printable(note)}", style="yellow"))
    title = _side(name)
    if not picture.answered:
        hint = "no tool answered, so nothing can be said of its results; see the reasons above"
        console.print(title.append(f"Nothing seen: {hint}.", style="bold yellow"))
        return
    silent = sum(case.case.plain.result is None for tool in picture.tools for case in tool.cases)
    if not findings and silent:
        of = f"{silent} call{'s' if silent > 1 else ''} had no result; nothing is said of them."
        console.print(title.append(f"Nothing else is lost, leaks or misleads. {of}", style="bold yellow"))
        return
    if not findings:
        console.print(title.append("Nothing is lost, leaks or misleads in any of these hosts.", style="bold green"))
        return
    console.print(title.append(f"What stands out ({len(findings)})", style="bold"))
    for finding in findings[:_MOST_FINDINGS]:
        line = _fault(finding.kind, finding.what)
        console.print(Padding(line.append(f"  {_where(finding, len(picture.hosts))}"), (0, 0, 0, 2)))
    if len(findings) > _MOST_FINDINGS:
        console.print(Text(f"  and {len(findings) - _MOST_FINDINGS} more; --json has all of them", style="dim"))


def _where(finding: Finding, hosts: int) -> str:
    tools = _some([quoted(tool) for tool in finding.tools])
    if hosts == 1:
        return f"in {tools}"
    everywhere = len(finding.hosts) == hosts
    return f"in {tools}; {'every host' if everywhere else _some([host.title for host in finding.hosts])}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return _listed(names) if more <= 1 else f"{', '.join(names[:_MOST_NAMES])} and {more} more"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
