"""The tools offered to a model in a form that every vendor accepts: legal names, and their JSON, serialised once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.json_values import encode_json

MAX_NAME: Final = 64
"""Maximum length of a function name that the chat formats of all vendors accept."""

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ToolSchemas:
    """The tools offered to a model, made once per version of the catalogue and shared by all its requests.

    `tools` are objects of the OpenAI chat format, `json` is their JSON array in bytes. Two objects are equal only if
    they are the same object, so a provider that needs another shape can keep it in a `WeakKeyDictionary`.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    version: int = 0
    json: bytes = b"[]"

    @classmethod
    def of(cls, tools: Iterable[Mapping[str, Any]], version: int = 0) -> ToolSchemas:
        """Return the schemas of `tools`, serialised now, so that no request has to."""
        listed = tuple(tools)
        return cls(listed, version, encode_json(listed))

    def plus(self, *tools: Mapping[str, Any]) -> ToolSchemas:
        """Return these tools and others after them; the bytes of these are taken as they are."""
        comma = b"," if self.tools and tools else b""
        return ToolSchemas((*self.tools, *tools), self.version, self.json[:-1] + comma + encode_json(tools)[1:])


def legal_name(name: str) -> str:
    """Return a function name that every vendor accepts: `name` itself if it is one, else a close and stable one."""
    clean = _ILLEGAL.sub("_", name) or "_"
    if len(clean) <= MAX_NAME:
        return clean
    return f"{clean[: MAX_NAME - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
