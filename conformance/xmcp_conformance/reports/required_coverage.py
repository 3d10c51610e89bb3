"""What a person requires a run of the suite to have seen: a sentence judged, a tool at work, a share of the tools."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted

from .tool_coverage import Coverage

_ID: Final = re.compile(r"XMCP-[A-Z]{3}-\d{3}")
_SHARE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)%")


@dataclass(frozen=True, slots=True)
class Required:
    """One thing that is required: `text` is an id, a share in percent, or the name of a tool.

    Raises:
        ValueError: it is an id of no sentence that a run can judge, no possible share, or a number without `%`.
    """

    text: str

    def __post_init__(self) -> None:
        share = _SHARE.fullmatch(self.text)
        if share and not 0 < float(share[1]) <= 100:
            raise ValueError(f"`{self.text}` is no share of the tools: it is more than 0% and at most 100%")
        if re.fullmatch(r"[\s\d.%-]*", self.text) and not share:
            raise ValueError(f"`{self.text}` is neither an id nor a tool; a share of the tools is written as in `80%`")
        if (known := self.text.strip().upper()) != self.text and _ID.fullmatch(known):
            raise ValueError(f"`{self.text}` is no id; is it `{known}`?")
        if not _ID.fullmatch(self.text):
            return
        judged = {one.id for means in ("server", "fixture") for one in registry().verified_by(means)}
        if self.text not in registry().requirements:
            same_chapter = [id_ for id_ in judged if id_.startswith(self.text[:8])]
            near = get_close_matches(self.text, same_chapter, n=1)
            raise ValueError(f"no sentence has the id `{self.text}`" + (f"; is it `{near[0]}`?" if near else ""))
        if self.text not in judged:
            raise ValueError(f"`{self.text}` is not judged by what a server answers, so no run can show it")

    @property
    def tool(self) -> str:
        """The name of the tool that is required; empty where it is something else."""
        return "" if _ID.fullmatch(self.text) or _SHARE.fullmatch(self.text) else self.text

    def missed(self, judged: set[str], coverage: Coverage) -> str | None:
        """Return what was not seen, as words after "required"; `None` where it was.

        Args:
            judged: the ids of the sentences that had an occasion.
            coverage: the tools.
        """
        if share := _SHARE.fullmatch(self.text):
            least, seen = float(share[1]), coverage.percent
            told = f"{self.text} of the tools at work, and {coverage.at_work} of {coverage.wanted} were"
            return told if seen < least else None
        if _ID.fullmatch(self.text):
            return None if self.text in judged else f"{self.text} judged, and nothing gave occasion"
        tool = coverage.tools.get(self.text)
        if tool is None:
            near = get_close_matches(self.text, coverage.tools, n=1)
            return f"the tool `{quoted(self.text)}`, which is not listed" + (f"; is it `{near[0]}`?" if near else "")
        if tool.at_work:
            return None
        why = "showed no display" if tool.succeeded else "never succeeded" if tool.called else "was not called"
        return f"the tool `{quoted(self.text)}`, which {why}"
