"""The parts of the view for hosts of MCP Apps that need no browser: in Node, and the page as it is shipped."""

from __future__ import annotations

import gzip
from html.parser import HTMLParser
from pathlib import Path

from tools import node_packages
from xmcp.server.display_view import page


def test_the_parts_work() -> None:
    done = node_packages.node("--test", "apps.test.ts", cwd=Path(__file__).parent, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


class _Elements(HTMLParser):
    """Keeps the elements of a page, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.script += data if self.lasttag == "script" else ""


def test_the_page_is_one_small_file_that_refers_to_no_other() -> None:
    html = page()
    assert len(gzip.compress(html.encode(), 9)) <= 60_000
    elements = _Elements()
    elements.feed(html)
    names = [name for name, _ in elements.found]
    assert names == ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "script"]
    assert not [name for _, attributes in elements.found for name in attributes if name in ("src", "href")]
    policy = next(one["content"] for _, one in elements.found if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    # What would end the element before its end, or hide the rest of the page from a parser.
    assert "</script" not in elements.script
    assert "<!--" not in elements.script
    assert len(elements.script) > 50_000
