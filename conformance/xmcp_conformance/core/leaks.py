"""Find in a text what a server did not mean to tell: stack traces, paths of its machine, secrets. Pure.

Each expression takes time that grows with the length of the text only: every repetition has a bound, and none stands
inside another. A stack trace can come on one line, as loggers write it. A path of the server is told from the route of
an API, such as `/home/kitchen/light`, by the folders that only machines have, or by the name of a file at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["stack trace", "path", "secret"]

SEARCHED: Final = 200_000
"""Maximum number of characters of a text that are searched."""

_STACK_TRACES: Final[dict[str, str]] = {
    "Python": r"Traceback \(most recent call last\)|\bFile \"[^\"\n]{1,300}(?:\.pyw?\", line \d|\", line \d{1,7}, in )",
    "Java or Kotlin": r"\bat [\w.$<>/]{1,300}\((?:[\w$-]{1,100}\.(?:java|kt|scala|groovy|clj):\d{1,7}|Native Method"
    r"|Unknown Source)\)|\bException in thread \"|\bCaused by: [\w.$]{1,200}(?:Exception|Error)\b",
    "JavaScript": r"\bat (?:[^\n()]{1,200} \()?(?:file://|node:|webpack|/|[A-Za-z]:\\)[^\n()]{1,300}:\d{1,7}:\d{1,7}"
    r"|\bat [^\n()]{1,200} \([^\s()]{1,300}:\d{1,7}:\d{1,7}\)|\bat Object\.<anonymous>",
    "C#": r"\bat [^\n]{1,300} in [^\n]{1,300}:line \d{1,7}|--- End of (?:inner exception )?stack trace"
    r"|\bat (?:[A-Z]\w{0,60}\.){2,9}[\w`<>]{1,80}\((?:[A-Z][\w.<>\[\]]{0,60} \w{1,60},? ?){1,9}\)",
    "Go": r"\bgoroutine \d{1,9} \[\w|\.go:\d{1,7} \+0x[0-9a-f]|\bpanic: runtime error",
    "Rust": r"\bthread '[^'\n]{0,100}'(?: \(\d{1,9}\))? panicked at|\bstack backtrace:|\b[\w/.-]{1,200}\.rs:\d{1,7}:\d",
    "PHP": r"#\d{1,4} [^\s(]{1,300}\(\d{1,7}\): |#\d{1,4} \{main\}|\bin [^\s]{1,300}\.php(?::| on line )\d",
    "Ruby": r"[^\s:]{1,300}\.rb:\d{1,7}:in [`']",
    "Perl": r"\bat [^\s]{1,300}\.p[lm] line \d",
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
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----",
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    r"\b(?:FwoG|IQoJ)[A-Za-z0-9+/=]{40}",
    r"\bX-Amz-(?:Signature|Credential|Security-Token)=[\w%/+-]{8}",
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[abprs]-[\w-]{10})",
    r"\b(?:sk-[A-Za-z0-9_-]{16}|[sr]k_live_\w{10}|AIza[\w-]{30}|ya29\.[\w-]{20}|hf_[A-Za-z0-9]{20}|npm_[A-Za-z0-9]{30})",
    r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{5}",
    r"(?i:\bbearer)\s{1,3}[A-Za-z0-9._~+/-]{16}",
    r"(?i:\b\w{0,30}(?:password|passwd|pwd|secret|token|api[_-]?key|account_?key)[\"']?=[\"']?)"
    + _REMOVED
    + r"[^\s,;\"']{4}",
    r"(?i:[?&]sig=)[\w%]{20}",
    r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@]{0,60}:" + _REMOVED + r"[^\s/@]{1,100}@",
)
_PATTERNS: Final[tuple[tuple[Kind, str, re.Pattern[str]], ...]] = (
    *[("stack trace", language, re.compile(pattern)) for language, pattern in _STACK_TRACES.items()],
    ("path", "", re.compile(f"{_UNIX}|{_WINDOWS}|{_SHARE}")),
    ("secret", "", re.compile("|".join(_SECRETS))),
)


@dataclass(frozen=True, slots=True)
class Leak:
    """What leaks: its kind, the language of a stack trace, the index of its first character, and its text."""

    kind: Kind
    language: str
    at: int
    text: str


def leaks(text: str) -> Iterator[Leak]:
    """Yield what a text leaks, the first of each kind and language."""
    for kind, language, pattern in _PATTERNS:
        if (match := pattern.search(text, 0, SEARCHED)) is not None:
            yield Leak(kind, language, match.start(), match[0])
