"""Links between pages work on a code host, which shows the files as they are, and on the site, which moves some."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from tools import ROOT
from tools.generate.site_pages import examples, site_links

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "spec").glob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
MADE_BY_THE_SITE = re.compile(r"\.\./vectors/xmcp-vectors-|api\.md#xmcp\.")
"""Downloads, and the anchors of the API, which only the site has."""


def prose(path: Path) -> str:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def headings(path: Path) -> list[str]:
    """Return the headings of a page as a reader sees them."""
    return [line.lstrip("#").strip().replace("`", "") for line in prose(path).splitlines() if re.match(r"#+ ", line)]


def on_a_code_host(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_of_a_page_leads_somewhere_on_a_code_host(page: Path) -> None:
    without_code = re.sub(r"`[^`\n]*`", "", prose(page))
    for path, fragment in LINK.findall(without_code):
        if "://" in path or MADE_BY_THE_SITE.search(f"{path}{fragment}"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if fragment:
            assert fragment[1:] in map(on_a_code_host, headings(target)), f"{path}{fragment}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_heading_has_the_same_anchor_on_a_code_host_and_on_the_site(page: Path) -> None:
    anchors = [on_a_code_host(heading) for heading in headings(page)]
    assert anchors == [slugify(heading, "-") for heading in headings(page)]
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize(
    ("page", "link", "on_the_site"),
    [
        (
            "guides/server.md",
            "../../spec/04-error-channel.md#41-the-element",
            "../spec/04-error-channel.md#41-the-element",
        ),
        ("guides/server.md", "../../schemas/registry/error_codes.json", "../spec/schemas.md#error-codes"),
        ("guides/server.md", "../../schemas/", "../spec/schemas.md"),
        ("guides/see.md", "../../conformance/xmcp_conformance/hosts/hosts.json", "hosts.md"),
        ("guides/server.md", "client.md#errors", "client.md#errors"),
        ("guides/server.md", "#errors", "#errors"),
        ("guides/server.md", "https://example.org/spec/", "https://example.org/spec/"),
        ("index.md", "../spec/requirements.yaml", "spec/requirements.md"),
        ("index.md", "../examples/README.md", "guides/examples.md"),
        ("spec/index.md", "requirements.yaml", "requirements.md"),
        ("spec/index.md", "09-versioning.md#91-versions", "09-versioning.md#91-versions"),
        ("guides/examples.md", "server.py", "examples.md#server-py"),
        ("guides/examples.md", "../docs/guides/level-1.md", "level-1.md"),
    ],
)
def test_a_link_to_a_file_leads_to_the_page_of_the_site_that_shows_it(page: str, link: str, on_the_site: str) -> None:
    assert site_links(f"See [it]({link}), [`it`]({link}).", page) == f"See [it]({on_the_site}), [`it`]({on_the_site})."


def test_code_that_looks_like_a_link_stays_as_it_is() -> None:
    text = "`a[0](../../schemas/)`\n\n```python\na[0](../../schemas/)\n```\n"
    assert site_links(text, "guides/server.md") == text


def test_the_page_of_the_examples_has_every_program() -> None:
    page = examples()
    for path in (ROOT / "examples").glob("*.py"):
        assert path.read_text(encoding="utf-8") in page
        assert f"{{ #{path.name.replace('.', '-')} }}" in page
