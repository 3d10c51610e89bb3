"""Write a response as a tree of elements, each part of it in a form that is drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from xmcp_conformance.core.error_categories import CATEGORY_OF

Response: TypeAlias = dict[str, Any]

JSON_ELEMENTS: Final = ("display", "meta", "server_populated")
"""The elements that hold JSON."""
ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A code point that XML 1.0 does not allow."""


@dataclass(slots=True)
class Element:
    """An element as it is written: values of attributes and character data are raw XML."""

    name: str
    attributes: list[tuple[str, str]] = field(default_factory=list)
    content: list[Element | str] = field(default_factory=list)
    space: str = ""
    """White space around the attributes and their equals signs, where there is more than need be."""
    quote: str = '"'
    more: str = ""
    """What the start tag has at its end besides."""
    end: str = ""
    """The name in the end tag, where it is another one."""
    end_space: str = ""
    """White space in the end tag."""
    closed: bool = False
    """Whether the start tag says that the element is empty, if it is; then there is no end tag."""

    def __str__(self) -> str:
        """Return the element as text."""
        equals = f"{self.space}={self.space}{self.quote}"
        attributes = "".join(f"{self.space or ' '}{name}{equals}{value}{self.quote}" for name, value in self.attributes)
        start = f"<{self.name}{attributes}{self.more}{self.space}"
        if self.closed and not self.content:
            return f"{start}/>"
        return f"{start}>{''.join(map(str, self.content))}</{self.end or self.name}{self.end_space}>"

    def all(self) -> Iterator[Element]:
        """Yield the element and each within it, in the order of their start tags."""
        yield self
        for inner in self.content:
            if isinstance(inner, Element):
                yield from inner.all()

    def set(self, name: str, value: str) -> None:
        """Give an attribute another value, or add it."""
        self.remove(name)
        self.attributes.append((name, value))

    def remove(self, name: str) -> None:
        """Remove an attribute, if it is there."""
        self.attributes = [pair for pair in self.attributes if pair[0] != name]


def written(response: Response, random: Random) -> Element:
    """Return a document with this response, which has to be one that a document can carry."""
    root = Element("tool_response", [("tool_name", attribute(response["tool_name"], random))])
    if "call_id" in response:
        root.set("call_id", attribute(response["call_id"], random))
    if "version" in response or random.random() < 0.5:
        root.set("version", response.get("version", "1.0"))
    if response.get("lossy"):
        root.set("lossy", "true")
    parts: list[Element] = []
    if "llm_output" in response:
        said = Element("llm_output", [], [data(response["llm_output"], random)])
        if "format" in response:
            said.set("format", response["format"])
        if response.get("truncated"):
            said.set("truncated", random.choice(("true", "1")))
        parts.append(said)
    if "error" in response:
        parts.append(_error(response["error"], random))
    of_json = [name for name in ("display", "server_populated") if name in response]
    parts += [Element(name, [], [data(json_text(response[name], random), random)]) for name in of_json]
    if random.random() < 0.3:
        parts.append(foreign())
    gap = random.choice(("", "\n", " \t"))
    root.content = [gap, *(piece for part in parts for piece in (part, gap))]
    return root


def foreign() -> Element:
    """Return an element that a reader ignores with all that is in it (XMCP-RSP-066)."""
    display = Element("display", [], ['{"type":"text","payload":"p"}'])
    return Element("v:a", [("xmlns:v", "urn:v")], [Element("v:b", [], [display])])


def _error(error: dict[str, Any], random: Random) -> Element:
    element = Element("error", [("code", error["code"])])
    if error["category"] != CATEGORY_OF.get(error["code"], "internal") or random.random() < 0.2:
        element.set("category", error["category"])
    if error["retryable"] or random.random() < 0.5:
        element.set("retryable", "true" if error["retryable"] else "false")
    if "retry_after_ms" in error:
        element.set("retry_after_ms", str(error["retry_after_ms"]))
    random.shuffle(element.attributes)
    around = random.choice(("", "\n  "))
    element.content = [around, data(error["message"], random), around]
    if "meta" in error:
        element.content.append(Element("meta", [], [data(json_text(error["meta"], random), random)]))
    return element


def json_text(value: Any, random: Random) -> str:
    """Return a value as JSON that XML can carry, in one of several forms."""
    text = json.dumps(value, ensure_ascii=random.random() < 0.5, indent=random.choice((None, None, 1)))
    return ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def data(text: str, random: Random) -> str:
    """Return character data: raw where that is possible, as references, or as a CDATA section; with any line end."""
    form, line_end = random.random(), random.choice(("\n", "\n", "\r\n", "\r"))
    if form < 0.25 and "]]>" not in text and "\r" not in text:
        return "<![CDATA[" + text.replace("\n", line_end) + "]]>"
    if form < 0.4:
        return "".join(f"&#{random.choice(('', '0'))}{ord(one)};" if one in _ALWAYS else one for one in text)
    names = {"<": "&lt;", "&": "&amp;", ">": "&gt;", "\n": line_end}
    names["\r"] = random.choice(("&#13;", "&#xD;", "&#x0d;"))
    return "".join(names.get(one, one) for one in text)


def attribute(text: str, random: Random) -> str:
    """Return the value of an attribute, for double quotes."""
    names = {"<": "&lt;", "&": random.choice(("&amp;", "&#38;")), '"': random.choice(("&quot;", "&#x22;"))}
    return "".join(names.get(one, f"&#{ord(one)};" if one in "\t\n\r" else one) for one in text)


_ALWAYS: Final = frozenset("<&>\r")
