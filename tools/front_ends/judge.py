"""Compare what clients and suites make of the gateway with what they must, and with the exceptions. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tools.front_ends.cases import Case

SHOWN: Final = 300
"""Characters of a text that are shown."""


@dataclass(frozen=True, order=True)
class Difference:
    """Something that is not as it must be: who made it, in which case, which part of it, and what it is."""

    front_end: str
    case: str
    part: str
    words: str


@dataclass(frozen=True)
class Exception_:
    """Differences that are known and have a reason. Members other than the reason are patterns with `*`."""

    front_end: str
    case: str
    part: str
    words: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Return whether this is one of them."""
        return all(
            fnmatchcase(getattr(difference, name), getattr(self, name))
            for name in ("front_end", "case", "part", "words")
        )


def exceptions(text: str) -> list[Exception_]:
    """Return the exceptions that a text in JSON lists."""
    return [Exception_(**one) for one in json.loads(text)]


def differences(front_end: str, name: str, case: Case, answers: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return what a client made otherwise than the case says. `answers` are those of a driver, one for a question."""
    found: dict[str, Difference] = {}  # of equal differences in many chats, one says it all
    for place, told in enumerate(answers):
        for part, words in _parts(case, place, told):
            found.setdefault(part, Difference(front_end, name, part, words))
    return [*found.values()]


def _parts(case: Case, place: int, told: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    error = told["error"]
    if told["calls"]:
        yield "calls", f"was left with calls of {', '.join(told['calls'])}"
    if case.failure is not None:
        if error is None:
            yield "error", f"took the end for success, with {_short(told['text'])}"
            return
        if case.failure.status is not None and error["status"] != case.failure.status:
            yield "status", f"shows {error['status']} ({error['type']}), not {case.failure.status}"
        if not re.search(case.failure.words, error["text"]):
            yield "words", f"shows {_short(error['text'])}, without {case.failure.words!r}"
        return
    if error is not None:
        yield "error", f"failed with {error['type']}: {_short(error['text'])}"
        return
    if told["text"] != case.texts[place]:
        yield "text", f"has {_short(told['text'])}, not {_short(case.texts[place])}"
    if sorted(told["ran"]) != sorted(case.ran):
        yield "ran", f"ran {told['ran']}, not {list(case.ran)}"
    if case.usage is not None and told["usage"] != list(case.usage):
        yield "usage", f"counts {told['usage']} tokens, not {list(case.usage)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


@dataclass(frozen=True)
class Judgement:
    """What became of a run: differences without an exception, those with one, and exceptions that did not occur."""

    unexpected: Sequence[Difference]
    excused: Sequence[tuple[Difference, Exception_]]
    outdated: Sequence[Exception_]


def judged(found: Iterable[Difference], known: Sequence[Exception_], ran: Iterable[tuple[str, str]]) -> Judgement:
    """Compare differences with the exceptions. `ran` are the pairs of front end and case that were tried."""
    unexpected, excused = [], []
    for difference in sorted(found):
        reason = next((one for one in known if one.covers(difference)), None)
        if reason is None:
            unexpected.append(difference)
        else:
            excused.append((difference, reason))
    used = {id(reason) for _, reason in excused}
    tried = [*ran]
    outdated = [
        one
        for one in known
        if id(one) not in used
        and any(fnmatchcase(front_end, one.front_end) and fnmatchcase(case, one.case) for front_end, case in tried)
    ]
    return Judgement(unexpected, excused, outdated)


def table(judgement: Judgement, ran: Sequence[tuple[str, str]]) -> list[str]:
    """Return a row for each case and a column for each front end: `ok`, `known`, `WRONG`, or nothing if not tried."""
    columns = [*dict.fromkeys(front_end for front_end, _ in ran)]
    rows = [*dict.fromkeys(case for _, case in ran)]
    marks = dict.fromkeys(ran, "ok")
    marks |= {(one.front_end, one.case): "known" for one, _ in judgement.excused}
    marks |= {(one.front_end, one.case): "WRONG" for one in judgement.unexpected}
    first = max(map(len, rows), default=0) + 2
    lines = [" " * first + "".join(f"{column:>{len(column) + 2}}" for column in columns)]
    for row in rows:
        cells = (f"{marks.get((column, row), ''):>{len(column) + 2}}" for column in columns)
        lines.append((f"{row:{first}}" + "".join(cells)).rstrip())
    return lines
