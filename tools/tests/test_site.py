"""The site can be read: ids lead to their sentences, the search finds them, and nothing is clipped, dark or light."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import material
import pytest
import pytest_asyncio
import yaml
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from support import browser
from support.http_host import hosted

from tools import ROOT
from tools.generate import site_pages
from xmcp_conformance.core.requirements import registry

CSS = (ROOT / "docs" / "css" / "xmcp.css").read_text(encoding="utf-8")
CHAPTER = "spec/02-tool-response/"
SCREENS = [(width, dark) for width in (1280, 390) for dark in (False, True)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = ("-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_each_id_has_an_entry_of_its_own_in_the_search(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {entry["location"]: entry["title"] for entry in index["docs"]}
    ids = list(registry().requirements)
    assert len(ids) > 200
    assert {titles.get(f"spec/requirements/#{id_}-row") for id_ in ids} == set(ids)
    separator = index["config"]["separator"]
    assert re.split(separator, "XMCP-RSP-023") == ["XMCP", "RSP", "023"]
    assert re.split(separator, "&lt;ctx.report_progress(0.5)") == ["", "ctx", "report", "progress", "0.5", ""]


def test_an_id_stands_in_front_of_its_sentence() -> None:
    sentence = "- A document MUST be well-formed. [XMCP-RSP-001]\n\nSo says XMCP-RSP-001; `[XMCP-RSP-001]` is code.\n"
    first, _, prose = site_pages.chapter(sentence).splitlines()
    id_ = "[XMCP-RSP-001](requirements.md#XMCP-RSP-001-row)"
    assert first == f"- {id_}{{ #XMCP-RSP-001 .requirement }} A document MUST be well-formed."
    assert prose == f"So says {id_}; `[XMCP-RSP-001]` is code."


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance of WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def rgb(css: str) -> tuple[float, ...]:
    return tuple(int(number) / 255 for number in re.findall(r"\d+", css)[:3])


def test_the_contrast_of_the_ids_is_that_of_wcag_aa_in_both_themes() -> None:
    assert contrast(rgb("rgb(255, 255, 255)"), rgb("rgb(119, 119, 119)")) == pytest.approx(4.48, abs=0.01)
    sheets = Path(material.__file__).parent.glob("templates/assets/stylesheets/*.css")
    theme = re.sub(r"\s", "", "".join(sheet.read_text(encoding="utf-8") for sheet in sheets))
    assert "--md-hue:225deg" in theme
    assert "--md-default-bg-color:hsla(var(--md-hue),15%,14%,1)" in theme
    backgrounds = {"default": (1.0, 1.0, 1.0), "slate": (0.119, 0.1295, 0.161)}
    for scheme, background in backgrounds.items():
        (colour,) = re.findall(rf'\[data-md-color-scheme="{scheme}"\] {{\s*--xmcp-id-color: #(\w{{6}});', CSS)
        assert contrast(tuple(bytes.fromhex(colour)[i] / 255 for i in range(3)), background) >= 4.5, scheme
    assert "opacity" not in CSS


def test_the_theme_follows_the_system_until_the_reader_chooses() -> None:
    class Loader(yaml.SafeLoader):
        pass

    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    palettes = config["theme"]["palette"]
    assert [palette["media"] for palette in palettes] == [
        "(prefers-color-scheme)",
        "(prefers-color-scheme: light)",
        "(prefers-color-scheme: dark)",
    ]
    assert [palette.get("scheme") for palette in palettes] == [None, "default", "slate"]


@pytest_asyncio.fixture
async def url(site: Path) -> AsyncIterator[str]:
    async with hosted(Starlette(routes=[Mount("/", StaticFiles(directory=site, html=True))])) as address:
        yield address


@pytest.mark.slow
async def test_a_jump_to_an_id_shows_its_sentence_from_the_beginning_and_readably(url: str) -> None:
    async with browser.page() as page:
        for width, dark in SCREENS:
            await page.show(f"{url}/{CHAPTER}#XMCP-RSP-027", width=width, dark=dark)
            await page.until("document.querySelector('.requirement:target')")
            await page.until("scrollY > 500")
            seen = await page.value(
                """(() => {
                    const id = document.querySelector('.requirement:target'), item = id.closest('li')
                    const mark = document.createElement('i')
                    item.prepend(mark)
                    return {
                        top: item.getBoundingClientRect().top,
                        bottom: item.getBoundingClientRect().bottom,
                        header: document.querySelector('.md-header').getBoundingClientRect().bottom,
                        ids: [...document.querySelectorAll('.requirement')].map(one => getComputedStyle(one).color),
                        back: getComputedStyle(document.body).backgroundColor,
                    }
                })()"""
            )
            assert seen["header"] <= seen["top"] < seen["bottom"] < 844
            assert {contrast(rgb(colour), rgb(seen["back"])) >= 4.5 for colour in seen["ids"]} == {True}
            assert (luminance(rgb(seen["back"])) < 0.1) is dark


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", CHAPTER, "spec/03-display-envelope/", "spec/schemas/"])
async def test_no_document_and_no_table_is_clipped(url: str, path: str) -> None:
    async with browser.page() as page:
        for width, dark in SCREENS[::2]:
            await page.show(f"{url}/{path}", width=width, dark=dark)
            clipped = await page.value(
                """[...document.querySelectorAll('.md-typeset pre > code, .md-typeset__scrollwrap, html')]
                    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText.slice(0, 80))"""
            )
            assert clipped == [], (width, path)


@pytest.mark.slow
async def test_the_search_finds_an_id_first(url: str) -> None:
    async with browser.page() as page:
        for id_ in ("XMCP-RSP-023", "xmcp-mcp-005", "XMCP-CLI-001"):
            await page.show(f"{url}/?q={id_}")
            await page.until("document.querySelectorAll('.md-search-result__link').length > 1")
            found = await page.value(
                "[...document.querySelectorAll('.md-search-result__link')].slice(0, 2).map(one => one.hash)"
            )
            assert f"#{id_.upper()}-row" in found


QUESTIONS = {
    "show a chart": ["server", "level-1"],
    "hide a parameter from the model": ["server"],
    "trace log of a chat": ["client", "server", "gateway-production"],
    "limit concurrency": ["client"],
    "what does a client that does not know XMCP get": ["server", "conformance"],
    "server that needs an Authorization header": ["client"],
    "tool returns 5 MB": ["client"],
    "error retry hint": ["server", "level-1"],
    "test without an API key": ["quick-start", "conformance", "client", "chat", "gateway"],
    "check my server in CI": ["conformance", "examples"],
}
WORDS = ["timeout", "parallel", "cache", "rate limit", "retry", "without FastMCP", "authentication", "headers"]
"""What people type who do not ask: the page of questions comes first."""
"""What people type, and the guides that answer it; the page of questions has the short answer."""


@pytest.mark.slow
async def test_the_search_finds_the_answer_to_a_question_among_the_first_three_pages(url: str) -> None:
    found: dict[str, list[str]] = {}
    async with browser.page() as page:
        for question in QUESTIONS:
            await page.show(f"{url}/?q={quote(question)}")
            await page.until("document.querySelectorAll('.md-search-result__item').length > 2")
            found[question] = await page.value(
                """[...document.querySelectorAll('.md-search-result__item')].slice(0, 3)
                    .map(one => one.querySelector('a').pathname)"""
            )
    assert {question: pages for question, pages in found.items() if "/guides/questions/" not in pages} == {}
    missed = {
        question: found[question]
        for question, guides in QUESTIONS.items()
        if not any(f"/guides/{guide}/" in found[question] for guide in guides)
    }
    assert missed == {}
    assert not [pages for pages in found.values() if "/api/" in pages[:1] or "/spec/schemas/" in pages[:1]]


@pytest.mark.slow
async def test_the_search_finds_the_page_of_questions_first_for_the_words_of_its_headings(url: str) -> None:
    found: dict[str, str] = {}
    async with browser.page() as page:
        for word in WORDS:
            await page.show(f"{url}/?q={quote(word)}")
            await page.until("document.querySelectorAll('.md-search-result__item').length > 0")
            found[word] = await page.value("document.querySelector('.md-search-result__item a').pathname")
    assert {word: path for word, path in found.items() if "/guides/questions/" not in path} == {}


SECTIONS = {
    "report_progress": "/guides/from-fastmcp/#http-is-stateless",
    "set_state": "/guides/from-fastmcp/#http-is-stateless",
    "stream_chat": "/guides/client/#streaming",
    "--allow-writes": "/guides/see/#what-is-called",
    "--require": "/guides/conformance/#in-ci",
    "--allowed-host": "/guides/server/#serving",
    "bearer token check server": "/guides/conformance/#in-ci",
    "tool never succeeded": "/guides/conformance/#how-to-read-the-verdict",
    "use Claude Anthropic": "/guides/models/#which-provider",
    "approval": "/guides/client/#between-model-and-tool",
    "XMCP-RSP-023": "/spec/requirements/#XMCP-RSP-023-row",
    "save conversation": "/guides/client/#conversations-scripts-notebooks",
    "docker SIGTERM shutdown": "/guides/server/#how-a-server-ends",
}
"""Identifiers, options as they stand in a shell, and words of a text: the section that has them."""


@pytest.mark.slow
async def test_the_search_finds_the_section_that_has_the_words_among_the_first_five_pages(url: str) -> None:
    found: dict[str, list[str]] = {}
    async with browser.page() as page:
        for query in SECTIONS:
            await page.show(f"{url}/?q={quote(query)}")
            await page.until("document.querySelectorAll('.md-search-result__item').length > 0")
            found[query] = await page.value(
                """[...document.querySelectorAll('.md-search-result__item')].slice(0, 5).flatMap(one =>
                    [...one.querySelectorAll(':scope > a')].map(link => link.pathname + link.hash))"""
            )
    assert {query: links for query, links in found.items() if SECTIONS[query] not in links} == {}


@pytest.mark.slow
async def test_signs_alone_find_nothing(url: str) -> None:
    async with browser.page() as page:
        await page.show(f"{url}/?q={quote('-- *')}")
        await page.until("document.querySelector('.md-search-result__meta').textContent === 'No matching documents'")


@pytest.mark.slow
async def test_small_words_of_a_query_find_nothing(url: str) -> None:
    found = []
    async with browser.page() as page:
        for query in ("stop server", "how can I stop a server"):
            await page.show(f"{url}/?q={quote(query)}")
            await page.until("document.querySelectorAll('.md-search-result__item').length > 2")
            found.append(await page.value("document.querySelector('.md-search-result__meta').textContent.trim()"))
    assert found[0] == found[1]
