"""Find in a text what a server did not mean to tell: stack traces, paths of its machine, secrets. Pure.

Each expression takes time that grows with the length of the text only: every repetition has a bound, and none stands
inside another. A stack trace can come on one line, as loggers write it. A path of the server is told from the route of
an API, such as `/home/kitchen/light`, by the folders that only machines have, or by the name of a file at its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["stack trace", "path", "secret"]

SEARCHED: Final = 200_000
"""Maximum number of characters of a text that are searched."""
REDACTED: Final = 20_000
"""Maximum number of characters of a text that is shown without its secrets; reports show far fewer."""


@dataclass(frozen=True, slots=True)
class _Search:
    """One expression, and texts of which each of its matches has one, in lower case: they are found much faster."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]

    def first(self, text: str, lowered: str) -> re.Match[str] | None:
        """Return the first match in a text, of which `lowered` is the same in lower case."""
        return self.pattern.search(text) if any(mark in lowered for mark in self.marks) else None


def _search(marks: str, pattern: str) -> _Search:
    """Return the search for a pattern whose matches have one of these marks, which bars separate."""
    return _Search(tuple(marks.split("|")), re.compile(pattern))


_STACK_TRACES: Final[dict[str, _Search]] = {
    "Python": _search(
        'traceback (|file "',
        r"Traceback \(most recent call last\)|\bFile \"[^\"\n]{1,300}(?:\.pyw?\", line \d|\", line \d{1,7}, in )",
    ),
    "Java or Kotlin": _search(
        ".java:|.kt:|.scala:|.groovy:|.clj:|native method|unknown source|exception in|caused by",
        r"\bat [\w.$<>/]{1,300}\((?:[\w$-]{1,100}\.(?:java|kt|scala|groovy|clj):\d{1,7}|Native Method"
        r"|Unknown Source)\)|\bException in thread \"|\bCaused by: [\w.$]{1,200}(?:Exception|Error)\b",
    ),
    "JavaScript": _search(
        "at ",
        r"\bat (?:[^\n()]{1,200} \()?(?:file://|node:|webpack|/|[A-Za-z]:\\)[^\n()]{1,300}:\d{1,7}:\d{1,7}"
        r"|\bat [^\n()]{1,200} \([^\s()]{1,300}:\d{1,7}:\d{1,7}\)|\bat Object\.<anonymous>",
    ),
    "C#": _search(
        "at |stack trace",
        r"\bat [^\n]{1,300} in [^\n]{1,300}:line \d{1,7}|--- End of (?:inner exception )?stack trace"
        r"|\bat (?:[A-Z]\w{0,60}\.){2,9}[\w`<>]{1,80}\((?:[A-Z][\w.<>\[\]]{0,60} \w{1,60},? ?){1,9}\)",
    ),
    "Go": _search(
        "goroutine |.go:|panic: ",
        r"\bgoroutine \d{1,9} \[\w|\.go:\d{1,7} \+0x[0-9a-f]|\bpanic: runtime error",
    ),
    "Rust": _search(
        "panicked at|stack backtrace|.rs:",
        r"\bthread '[^'\n]{0,100}'(?: \(\d{1,9}\))? panicked at|\bstack backtrace:|\b[\w/.-]{1,200}\.rs:\d{1,7}:\d",
    ),
    "PHP": _search(
        "#|.php",
        r"#\d{1,4} [^\s(]{1,300}\(\d{1,7}\): |#\d{1,4} \{main\}|\bin [^\s]{1,300}\.php(?::| on line )\d",
    ),
    "Ruby": _search(".rb:", r"[^\s:]{1,300}\.rb:\d{1,7}:in [`']"),
    "Perl": _search(".pl line|.pm line", r"\bat [^\s]{1,300}\.p[lm] line \d"),
}
_NAME: Final = r"[\w.@+-]{1,100}"
_BELOW: Final = r"[\w./@+-]{0,200}"
_FILE: Final = r"[\w./@+-]{0,200}(?<=[\w@+-])\.[A-Za-z]\w{0,9}\b"
_PATHS: Final = (
    rf"/(?:usr/(?:s?bin|lib\d{{0,2}}|local|share|src|include)|var/(?:lib|log|run|tmp|www|task|cache|spool|folders|opt)"
    rf"|run/secrets|proc/(?:self|\d{{1,7}})|Users|private)/{_NAME}{_BELOW}",
    r"/etc/(?:passwd|shadow|hosts|fstab|ssl|ssh|nginx|apache2|kubernetes|pki|letsencrypt|systemd|default|environment)\b",
    rf"/(?:home|root|opt|srv|etc|tmp|app|mnt|media|workspaces?|data|code|build|github)/{_FILE}",
    rf"/(?:home/[\w-]{{1,60}}|root)/\.{_NAME}",
    rf"/[\w./-]{{0,200}}(?:site-packages|dist-packages|node_modules|vendor/bundle|\.venv|target/release)/{_NAME}",
)
_UNIX: Final = rf"(?:(?<![\w./:-])|(?<=file://))(?:{'|'.join(_PATHS)})"
_WINDOWS: Final = r"(?<!\w)[A-Za-z]:(?:\\{1,2}|/)(?:[\w.$~ -]{1,60}(?:\\{1,2}|/)){1,12}[\w.$~-]{1,60}"
_SHARE: Final = r"(?<![\w\\])\\{2,4}[\w.-]{2,60}\\{1,2}[\w.$-]{1,60}\\{1,2}[\w.$-]{1,60}"
_REMOVED: Final = r"(?![*x•#.]{2,}|<|\[|(?i:redacted|hidden|secret\b|removed))"
_SECRETS: Final = (
    _search("private key", r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"),
    _search("akia|asia|abia|acca", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    _search("fwog|iqoj", r"\b(?:FwoG|IQoJ)[A-Za-z0-9+/=]{40}"),
    _search("x-amz-", r"\bX-Amz-(?:Signature|Credential|Security-Token)=[\w%/+-]{8}"),
    _search(
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[abprs]-[\w-]{10})",
    ),
    _search(
        "sk-|k_live_|aiza|ya29.|hf_|npm_",
        r"\b(?:sk-[A-Za-z0-9_-]{16}|[sr]k_live_\w{10}|AIza[\w-]{30}|ya29\.[\w-]{20}|hf_[A-Za-z0-9]{20}"
        r"|npm_[A-Za-z0-9]{30})",
    ),
    _search("eyj", r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{5}"),
    _search("bearer", r"(?i:\bbearer)\s{1,3}[A-Za-z0-9._~+/-]{16}"),
    _search(
        "password|passwd|pwd|secret|token|api|account",
        r"(?i:\b\w{0,30}(?:password|passwd|pwd|secret|token|api[_-]?key|account_?key)[\"']?=[\"']?)"
        + _REMOVED
        + r"[^\s,;\"']{4}",
    ),
    _search("sig=", r"(?i:[?&]sig=)[\w%]{20}"),
    _search("://", r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@]{0,60}:" + _REMOVED + r"[^\s/@]{1,100}@"),
)
_SEARCHES: Final[tuple[tuple[Kind, str, tuple[_Search, ...]], ...]] = (
    *[("stack trace", language, (search,)) for language, search in _STACK_TRACES.items()],
    ("path", "", (_search("/", _UNIX), _search("\\|/", _WINDOWS), _search("\\", _SHARE))),
    ("secret", "", _SECRETS),
)
_NAMED: Final = r"[\w-]{0,30}(?:password|passwd|pwd|secret|token|api[_-]?key|account_?key)[\"']?"
_NO_VALUE: Final = _REMOVED + r"(?![\"']?(?i:none|null|true|false)\b)"
_QUOTED: Final = r"\"[^\"\n]{1,1000}\"|'[^'\n]{1,1000}'"
_REDACTIONS: Final = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (
            r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]{0,5000}?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|\Z)",
            "[removed]",
        ),
        (
            r"(\b[A-Za-z][A-Za-z0-9+.-]{1,30}://)[^\s/@\"'`,;<>]{0,200}:" + _REMOVED + r"[^\s\"'`,;<>]{1,200}@",
            r"\1[removed]@",
        ),
        (r"(?i)\b((?:bearer|basic)\s{1,3})[A-Za-z0-9._~+/=-]{8,4000}", r"\1[removed]"),
        (
            rf"(?i)(?<![\w-])({_NAMED}\s?=\s?){_NO_VALUE}(?:{_QUOTED}|[^\s\"'&)]{{4,1000}})",
            r"\1[removed]",
        ),
        (rf"(?i)(?<![\w-])({_NAMED}\s?:\s?){_NO_VALUE}(?:{_QUOTED})", r"\1[removed]"),
        (r"(?i)([?&](?:sig|x-amz-(?:signature|credential|security-token))=)[\w%/+.-]{8,4000}", r"\1[removed]"),
        (r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b", "[removed]"),
        (r"\b(?:FwoG|IQoJ)[A-Za-z0-9+/=]{40,4000}", "[removed]"),
        (
            r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}|xox[abprs]-[\w-]{10,255})",
            "[removed]",
        ),
        (
            r"\b(?:sk-[A-Za-z0-9_-]{16,255}|[sr]k_live_\w{10,255}|AIza[\w-]{30,255}|ya29\.[\w-]{20,2000}"
            r"|hf_[A-Za-z0-9]{20,255}|npm_[A-Za-z0-9]{30,255})",
            "[removed]",
        ),
        (r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{5,2000}", "[removed]"),
    )
)
"""How a secret is found together with all of it, and what is shown in its place."""
_REMEMBERED: Final = 16
"""The number of texts whose leaks are remembered: a server often answers several calls in the same words."""


@dataclass(frozen=True, slots=True)
class Leak:
    """What leaks: its kind, the language of a stack trace, the index of its first character, and its text."""

    kind: Kind
    language: str
    at: int
    text: str


def leaks(text: str) -> tuple[Leak, ...]:
    """Return what the first `SEARCHED` characters of a text leak, the first of each kind and language."""
    return _leaks(text[:SEARCHED])


def redacted(text: str) -> str:
    """Return the first `REDACTED` characters of a text, such as the last words of a program, without its secrets.

    What a secret is called, and whose it is, stays: `api_key=[removed]`, `postgres://[removed]@db/sales`.
    """
    text = text[:REDACTED]
    for pattern, shown in _REDACTIONS:
        text = pattern.sub(shown, text)
    return text


@lru_cache(maxsize=_REMEMBERED)
def _leaks(text: str) -> tuple[Leak, ...]:
    lowered = text.lower()
    found: list[Leak] = []
    for kind, language, searches in _SEARCHES:
        matches = [match for one in searches if (match := one.first(text, lowered)) is not None]
        if matches:
            first = min(matches, key=lambda match: match.start())
            found.append(Leak(kind, language, first.start(), first[0]))
    return tuple(found)
