"""A report as one HTML page, which loads nothing: to keep with a build, to send to somebody, to open from a disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from xmcp_conformance.core.judge import Judgement, Status

from .summary import KNOWN_FAULTS, WORDS, Summary, place, where
from .tool_coverage import ToolCoverage

_TONES: Final = {"CONFORMS": "good", KNOWN_FAULTS: "warn"}
"""The colour of a verdict; that of any other is `bad`."""
_TONE_OF: Final = {
    Status.FAIL: "bad",
    Status.KNOWN: "warn",
    Status.WARN: "warn",
    Status.NOT_OBSERVED: "none",
    Status.PASS: "good",
}
_MOST_FAULTS: Final = 20
"""Maximum number of tools or cases that the page shows of one broken requirement."""
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --page: #fff; --card: #f6f8fa; --line: #d1d9e0;
  --good: #1a7f37; --warn: #9a6700; --bad: #cf222e; --none: #818b98; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --page: #0d1117; --card: #161b22;
  --line: #3d444d; --good: #3fb950; --warn: #d29922; --bad: #f85149; --none: #656c76; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 64rem; color: var(--ink); background: var(--page);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; line-height: 1.2; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem; }
h3 { margin: 0; font-size: 1rem; } p { margin: .25rem 0 .75rem; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.dim, .none { color: var(--dim); }
.bar { display: flex; height: .75rem; margin: 1rem 0 .5rem; border-radius: .4rem; overflow: hidden; gap: 2px; }
.bar span { min-width: 4px; } .bar .good { background: var(--good); } .bar .warn { background: var(--warn); }
.bar .bad { background: var(--bad); } .bar .none { background: var(--line); }
section.card { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-left: 4px solid var(--none);
  border-radius: .4rem; background: var(--card); }
section.card.is-bad { border-left-color: var(--bad); } section.card.is-warn { border-left-color: var(--warn); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; margin: .5rem 0 0; }
dt { color: var(--dim); } dd { margin: 0; }
code, dd { font: .86rem/1.55 ui-monospace, monospace; }
table { width: 100%; border-collapse: collapse; } td, th { padding: .3rem .75rem .3rem 0; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--line); } th { color: var(--dim); font-weight: 600; }
th, td code { white-space: nowrap; } .wide { overflow-x: auto; } details { margin: .75rem 0; }
summary { cursor: pointer; font-weight: 600; } li { margin: .3rem 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
"""


def to_html(summary: Summary) -> str:
    """Return the page. What a peer said is escaped, and stays text; there is no script."""
    return "\n".join(_page(summary)) + "\n"


def _page(summary: Summary) -> Iterator[str]:
    title = escape(f"{summary.verdict}: {summary.judged}")
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f'<h1 class="{_TONES.get(summary.verdict, "bad")}">{escape(summary.headline)}</h1>'
    yield f"<p><code>{escape(summary.judged)}</code></p>"
    yield f'<p class="dim">Judged by XMCP {escape(summary.specification)}, suite {escape(summary.suite)}.</p>'
    yield from _bar(summary)
    yield from _list(summary.why)
    for status, heading in (
        (Status.FAIL, "Broken"),
        (Status.KNOWN, "Broken as the baseline says"),
        (Status.WARN, "Warned of"),
    ):
        if judgements := summary.of(status):
            yield f"<h2>{heading} ({len(judgements)})</h2>"
            for judgement in judgements:
                yield from _card(judgement)
    if summary.tools:
        yield from _tools(summary)
    if summary.notes:
        yield "<h2>Notes</h2>"
        yield from _list(summary.notes)
    if unknown := summary.of(Status.NOT_OBSERVED):
        needs = ((one, summary.not_judged.get(one.requirement.id, "")) for one in unknown)
        heads = ("requirement", "it needs") if summary.not_judged else ("requirement",)
        yield from _folded("Not judged", unknown, _table(heads, (row[: len(heads)] for row in _said(needs))))
    if obeyed := summary.of(Status.PASS):
        times = ((one, "once" if one.occasions == 1 else f"{one.occasions} times") for one in obeyed)
        yield from _folded("Obeyed", obeyed, _table(("requirement", "seen"), _said(times)))
    yield "</body></html>"


def _bar(summary: Summary) -> Iterator[str]:
    """Yield how many requirements there were of each status, as a bar and in words."""
    counts = {status: len(summary.of(status)) for status in WORDS}
    parts = [
        f'<span class="{_TONE_OF[status]}" style="flex:{number}"></span>' for status, number in counts.items() if number
    ]
    words = [f"{number} {WORDS[status]}" for status, number in counts.items() if number]
    yield f'<div class="bar" aria-hidden="true">{"".join(parts)}</div>'
    yield f"<p>{len(summary.judgements)} requirements: {', '.join(words)}.</p>"


def _card(judgement: Judgement) -> Iterator[str]:
    """Yield a broken requirement: what it says, and each tool or case with what was seen there first."""
    requirement, tone = judgement.requirement, _TONE_OF[judgement.status]
    yield f'<section class="card is-{tone}" id="{requirement.id}">'
    about = (
        f"{requirement.level}, section {requirement.section}; broken {judgement.broken} of {judgement.occasions} times"
    )
    if judgement.only_warns:
        about += f"; counts as a warning: {judgement.only_warns}"
    yield f'<h3><span class="{tone}">{requirement.id}</span> <span class="dim">{about}</span></h3>'
    yield f"<p>{_text(requirement.quote)}</p>"
    for number, fault in enumerate(judgement.faults[:_MOST_FAULTS]):
        seen = {"seen": fault.observation.seen, "expected": fault.observation.expected, "in": place(fault)}
        rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in seen.items())
        if number == 0:
            yield f"<dl>{rows}</dl>"
        else:
            yield f"<details><summary>Also in {escape(where(fault))}</summary><dl>{rows}</dl></details>"
    if (more := len(judgement.faults) - _MOST_FAULTS) > 0:
        yield f'<p class="dim">And in {more} more, which the JSON report names.</p>'
    yield "</section>"


def _tools(summary: Summary) -> Iterator[str]:
    at_work = sum(tool.at_work for tool in summary.tools.values())
    yield f"<h2>Tools: {at_work} of {len(summary.tools)} seen at work</h2>"
    rows = [
        (f"<code>{escape(name)}</code>", *_worked(tool), str(tool.succeeded), str(tool.failed), _shown(tool))
        for name, tool in summary.tools.items()
    ]
    yield from _table(("tool", "at work", "succeeded", "ended in an error", "displays"), rows)


def _worked(tool: ToolCoverage) -> tuple[str]:
    if not tool.called:
        return ('<span class="dim">not called</span>',)
    return ('<span class="good">yes</span>' if tool.at_work else '<span class="warn">no</span>',)


def _shown(tool: ToolCoverage) -> str:
    return str(tool.shown) if tool.displays else ""


def _said(judgements: Iterable[tuple[Judgement, str]]) -> Iterator[tuple[str, str]]:
    for judgement, said in judgements:
        requirement = judgement.requirement
        yield f'{requirement.id}<br><span class="dim">{_text(requirement.quote)}</span>', _text(said)


def _folded(heading: str, judgements: list[Judgement], inner: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{heading} ({len(judgements)})</summary>"
    yield from inner
    yield "</details>"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f'<div class="wide"><table><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>'
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
    yield "</table></div>"


def _list(texts: Iterable[str]) -> Iterator[str]:
    if items := "".join(f"<li>{_text(text)}</li>" for text in texts):
        yield f"<ul>{items}</ul>"


def _text(text: str) -> str:
    """Return a text of the suite as HTML: what is between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
