"""The view in a host of MCP Apps: the bridge of the MCP project, in Chromium, as web hosts put it together.

The host's page and the sandbox proxy have different origins; the proxy is served with the policy that MCP Apps has as
the default, and puts the view into a frame with `sandbox="allow-scripts"`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import advertise
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from support import browser
from support.http_host import hosted

from tools import node_packages
from xmcp.samples.sales import mcp as sales
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, EXTENSION_ID, VIEW_URI

HOST = Path(__file__).with_name("apps_host")
NODE_PACKAGES = node_packages.Packages(HOST, "A test puts the view for MCP Apps into the bridge that hosts use.")
DEFAULT_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; object-src 'none'; connect-src 'none'"
)
MCP_APPS = {"mimeTypes": ["text/html;profile=mcp-app"]}
ALL_CAPABILITIES = {"openLinks": {}, "downloadFile": {}}
FULLSCREEN = {"availableDisplayModes": ["inline", "fullscreen"]}
SPEAKS_TO_NOBODY = {
    "ui/initialize",
    "ui/notifications/initialized",
    "ui/notifications/size-changed",
    "ui/open-link",
    "ui/download-file",
    "ui/request-display-mode",
    None,
}
"""The methods of all messages that the view may send (XMCP-MCP-066); answers have none."""

DRAWN = "document.querySelector('xmcp-display').shadowRoot"
TEXT = f"{DRAWN}.textContent"


def button(name: str) -> str:
    """Return an expression for the first button whose name has these letters."""
    named = f"`${{one.title}} ${{one.ariaLabel}} ${{one.textContent}}`.includes({json.dumps(name)})"
    return f"[...{DRAWN}.querySelectorAll('button')].find((one) => {named})"


@pytest.fixture(scope="module")
def host_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of the host's page."""
    NODE_PACKAGES.install()
    written = tmp_path_factory.mktemp("host") / "host.js"
    arguments = ("host.js", "--bundle", "--format=esm", "--log-level=warning", f"--outfile={written}")
    done = node_packages.node(NODE_PACKAGES.script("esbuild/bin/esbuild"), *arguments, cwd=HOST, timeout=120)
    assert done.returncode == 0, done.stderr
    return written.read_text(encoding="utf-8")


def files(requests: list[str], policy: str, **contents: tuple[str, str]) -> Starlette:
    """Return a site with a few files, which keeps what it was asked for."""

    async def answer(request: Request) -> Response:
        requests.append(request.url.path)
        name = request.url.path.removeprefix("/")
        if name not in contents:
            return Response(status_code=404)
        text, media_type = contents[name]
        return Response(text, media_type=media_type, headers={"Content-Security-Policy": policy})

    site = Starlette()
    site.add_route("/{path:path}", answer)
    return site


class Host:
    """A page that is a host, with the view in it once it was started."""

    def __init__(self, page: browser.Page, proxy: str, requests: list[str]) -> None:
        self.page, self._proxy, self.requests = page, proxy, requests
        self.view: Any = None

    async def start(
        self, html: str, capabilities: dict[str, Any] | None = None, context: dict[str, Any] | None = None
    ) -> None:
        arguments = ", ".join(json.dumps(one) for one in (self._proxy, html, capabilities or {}, context or {}))
        assert (await self.page.value(f"host.start({arguments})"))["name"] == "xmcp-display"
        self.view = await self.page.frame("about:srcdoc")

    async def refuse(self, html: str) -> None:
        """Put the view into its frame, and refuse its handshake."""
        await self.page.value(f"host.refuse({json.dumps(self._proxy)}, {json.dumps(html)})")
        self.view = await self.page.frame("about:srcdoc")

    async def show(self, result: dict[str, Any], until: str) -> None:
        """Send a result, and wait until the view has a text."""
        await self.page.value(f"host.show({json.dumps(result)})")
        await self.view.until(f"{TEXT}.includes({json.dumps(until)})")

    async def sent(self) -> list[dict[str, Any]]:
        """Return every message that came out of the frame."""
        return list(await self.page.value("host.wire"))


@pytest.fixture
async def host(host_script: str) -> AsyncIterator[Host]:
    requests: list[str] = []
    page_files = {
        "host.html": ((HOST / "host.html").read_text(), "text/html"),
        "host.js": (host_script, "text/javascript"),
    }
    proxy_files = {"proxy.html": ((HOST / "proxy.html").read_text(), "text/html")}
    async with AsyncExitStack() as stack:
        page_url = await stack.enter_async_context(hosted(files(requests, "frame-ancestors 'none'", **page_files)))
        proxy_url = await stack.enter_async_context(hosted(files(requests, DEFAULT_POLICY, **proxy_files)))
        page = await stack.enter_async_context(browser.page())
        await page.show(f"{page_url}/host.html", width=900)
        yield Host(page, f"{proxy_url}/proxy.html", requests)


@pytest.fixture
async def html() -> str:
    """The view, as a client reads it from a server that runs."""
    async with hosted(sales.http_app()) as url, client(url) as session:
        return str((await session.read_resource(VIEW_URI)).contents[0].text)


def client(url: str, *, documents: bool = False) -> Client:
    """Return a client of the sample server that announces MCP Apps. `documents`: and that reads documents."""
    announced = [advertise("io.modelcontextprotocol/ui", MCP_APPS)]
    announced += [advertise(EXTENSION_ID, {"versions": ["1.0"]})] if documents else []
    return Client(f"{url}/mcp", extensions=announced)


@asynccontextmanager
async def called(tool: str, *, documents: bool = False, **arguments: Any) -> AsyncIterator[dict[str, Any]]:
    """Call a tool of the sample server that names the view, over HTTP."""
    async with hosted(sales.http_app()) as url, client(url, documents=documents) as session:
        listed = {one.name: one for one in (await session.list_tools()).tools}
        assert (listed[tool].meta or {})["ui"] == {"resourceUri": VIEW_URI}
        result = await session.call_tool(tool, arguments)
        yield result.model_dump(by_alias=True, mode="json", exclude_none=True)


def text(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": one} for one in texts], **more}


def display(envelope: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**text("said to the model"), "_meta": {DISPLAY_META_KEY: envelope}, **more}


async def test_a_chart_of_the_sample_server_is_drawn_in_the_colours_and_the_language_of_the_host(
    host: Host, html: str
) -> None:
    await host.start(html, context={"theme": "dark", "locale": "de-DE", **FULLSCREEN})
    async with called("sales_chart", show_user=True) as result:
        await host.show(result, "Revenue")
    assert await host.view.value(f"{DRAWN}.querySelectorAll('svg path, svg line, svg polyline').length") > 4
    assert await host.view.value("[document.documentElement.lang, document.documentElement.style.colorScheme]") == [
        "de-DE",
        "dark",
    ]
    sizes = await host.page.value("host.sizes")
    assert sizes
    assert all(0 < size["height"] < 5000 for size in sizes)
    # The frame is as high as the view wants it: nothing is cut, and nothing scrolls.
    await host.view.until("document.documentElement.scrollHeight <= innerHeight")


async def test_where_the_host_drops_meta_the_chart_is_drawn_from_the_text(host: Host, html: str) -> None:
    await host.start(html)
    async with called("sales_chart", documents=True, show_user=True) as result:
        assert result["content"][0]["text"].startswith("<tool_response")
        await host.show({name: value for name, value in result.items() if name != "_meta"}, "Revenue")
    assert await host.view.value(f"{DRAWN}.querySelectorAll('svg path, svg line, svg polyline').length") > 4


async def test_the_host_opens_links_and_saves_files(host: Host, html: str) -> None:
    await host.start(html, ALL_CAPABILITIES)
    await host.show(display({"type": "markdown", "payload": "[the report](https://a.example/r?q=1)"}), "the report")
    await host.view.value(f"{DRAWN}.querySelector('a').click()")
    await host.page.until("host.links.length === 1")
    assert await host.page.value("host.links") == ["https://a.example/r?q=1"]
    assert await host.view.value("location.href") == "about:srcdoc"
    await host.show(display({"type": "table", "title": "Sales", "payload": [{"region": "EMEA", "n": 1}]}), "EMEA")
    await host.view.value(f"{button('CSV')}.click()")
    await host.page.until("host.files.length === 1")
    (saved,) = await host.page.value("host.files")
    assert saved["type"] == "resource"
    assert saved["resource"]["uri"].endswith(".csv")
    assert "EMEA" in saved["resource"]["text"]


async def test_a_host_that_opens_no_links_gets_no_request_and_the_frame_goes_nowhere(host: Host, html: str) -> None:
    await host.start(html)
    await host.show(display({"type": "markdown", "payload": "[the report](https://a.example/r)"}), "the report")
    await host.view.value("addEventListener('click', (click) => (window.goesNowhere = click.defaultPrevented))")
    await host.view.value(f"{DRAWN}.querySelector('a').click()")
    assert await host.view.value("window.goesNowhere")
    assert await host.view.value("location.href") == "about:srcdoc"
    assert await host.page.value("host.links") == []
    # Nor is there a button that would save a file where no file can be saved.
    await host.show(display({"type": "table", "title": "Sales", "payload": [{"region": "EMEA", "n": 1}]}), "EMEA")
    assert await host.view.value(f"{button('CSV')} === undefined")


async def test_after_a_refused_handshake_nothing_is_saved_or_opened_by_the_view(host: Host, html: str) -> None:
    await host.refuse(html)
    shown = {"type": "group", "payload": [{"type": "table", "payload": [{"n": 1}]}]}
    said = {"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": display(shown)}
    await host.page.value(f"host.say({json.dumps(said)})")
    await host.view.until(f"{TEXT}.includes('1')")
    assert await host.view.value(f"{button('Copy')} !== undefined")
    assert await host.view.value(f"{button('CSV')} === undefined")
    assert await host.view.value(f"{button('screen')} === undefined")


async def test_what_the_person_opened_stays_open_whatever_the_host_says_again(host: Host, html: str) -> None:
    context = {"locale": "de", "theme": "dark", **FULLSCREEN}
    await host.start(html, context=context)
    await host.show(display({"type": "json", "payload": {"a": {"b": {"c": {"d": {"e": "innermost"}}}}}}), "a")
    opened = f"[...{DRAWN}.querySelectorAll('details')].map((one) => one.open)"
    await host.view.value(f"[...{DRAWN}.querySelectorAll('summary')].at(-1).click()")
    before = await host.view.value(opened)
    await host.view.value("window.drawn = 0, addEventListener('xmcp-rendered', () => window.drawn++)")
    for _ in range(50):
        await host.page.value(f"host.context({json.dumps(context)})")
    await host.page.value("host.context({displayMode: 'fullscreen', theme: 'light'})")
    await host.view.until("document.querySelector('xmcp-display').theme === 'light'")
    assert [await host.view.value(opened), await host.view.value("window.drawn")] == [before, 0]
    # What it offers anew has its button.
    await host.page.value("host.context({availableDisplayModes: []})")
    await host.view.until(f"{button('screen')} === undefined")


async def test_the_host_gives_the_view_the_whole_screen(host: Host, html: str) -> None:
    await host.start(html, context=FULLSCREEN)
    await host.show(display({"type": "table", "payload": [{"n": 1}]}), "1")
    await host.view.value(f"{button('screen')}.click()")
    await host.page.until("host.modes.length === 1")
    assert await host.page.value("host.modes") == ["fullscreen"]


async def test_the_style_of_the_host_changes_while_the_view_is_there(host: Host, html: str) -> None:
    await host.start(html, context={"theme": "light"})
    await host.show(display({"type": "text", "payload": "seen"}), "seen")
    change = {
        "theme": "dark",
        "locale": "fr",
        "styles": {
            "variables": {
                "--color-text-primary": "rgb(1, 2, 3)",
                "--color-ring-primary": "url(https://evil.example/a)",
            },
            "css": {"fonts": "@import url('https://evil.example/b')"},
        },
    }
    await host.page.value(f"host.context({json.dumps(change)})")
    await host.view.until("document.documentElement.lang === 'fr'")
    root = "getComputedStyle(document.documentElement)"
    assert await host.view.value(f"{root}.getPropertyValue('--color-text-primary')") == "rgb(1, 2, 3)"
    assert await host.view.value(f"{root}.getPropertyValue('--color-ring-primary')") == ""
    assert await host.view.value("document.querySelector('xmcp-display').theme") == "dark"


@pytest.mark.parametrize(
    ("theme", "variables", "ground"),
    [
        ("light", {}, "rgba(0, 0, 0, 0)"),  # the page of the host is seen around the card
        # Around a dark card, a frame in a page of the other scheme would have a colour of the browser.
        ("dark", {}, "that of the card"),
        ("dark", {"--color-background-primary": "light-dark(#faf9f5, #262624)"}, "rgb(38, 38, 36)"),
    ],
)
async def test_no_colour_of_the_browser_is_seen_around_a_card(
    host: Host, html: str, theme: str, variables: dict[str, str], ground: str
) -> None:
    await host.start(html, context={"theme": theme, "styles": {"variables": variables}})
    await host.show(display({"type": "table", "payload": [{"n": 1}]}), "1")
    behind = await host.view.value("getComputedStyle(document.documentElement).backgroundColor")
    card = await host.view.value(f"getComputedStyle({DRAWN}.querySelector('.card')).backgroundColor")
    assert behind == (card if ground == "that of the card" else ground)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (text("12 orders are open."), "12 orders are open."),
        (text("NOT_FOUND: x", isError=True, _meta={ERROR_META_KEY: {"message": "There is no such order."}}), "no such"),
        (text("it broke", isError=True), "it broke"),
        ({}, "(the tool returned no text)"),
    ],
)
async def test_a_result_without_a_display_is_not_an_empty_frame(
    host: Host, html: str, result: dict[str, Any], words: str
) -> None:
    await host.start(html)
    await host.show({"content": [], **result}, words)


async def test_a_call_that_was_cancelled_says_so(host: Host, html: str) -> None:
    await host.start(html)
    await host.page.value("host.cancel()")
    await host.view.until(f"{TEXT}.includes('cancelled')")


async def test_a_message_from_another_window_than_the_host_is_ignored(host: Host, html: str) -> None:
    """A window can get at any frame of a page; here it is the host's own, past the proxy, and the view itself."""
    await host.start(html)
    await host.show(display({"type": "text", "payload": "the truth"}), "the truth")
    forged = {
        "jsonrpc": "2.0",
        "method": "ui/notifications/tool-result",
        "params": display({"type": "text", "payload": "a lie"}),
    }
    requests = [{"jsonrpc": "2.0", "id": "forged", "method": "ping"}, forged]
    inner = "document.querySelector('iframe').contentWindow[0]"
    for message in requests:
        await host.page.value(f"{inner}.postMessage({json.dumps(message)}, '*')")
        await host.view.value(f"window.postMessage({json.dumps(message)}, '*')")
    await host.page.value(f"host.say({json.dumps({'jsonrpc': '2.0', 'id': 'ours', 'method': 'ping'})})")
    await host.page.until("host.wire.some(({ id }) => id === 'ours')")
    assert "a lie" not in await host.view.value(TEXT)
    assert not [message for message in await host.sent() if message.get("id") == "forged"]


async def test_the_view_says_nothing_to_the_model_whatever_a_display_says(host: Host, html: str) -> None:
    everything = {**ALL_CAPABILITIES, "serverTools": {}, "message": {"text": {}}, "updateModelContext": {"text": {}}}
    await host.start(html, {**everything, "sampling": {}, "serverResources": {}, "logging": {}}, FULLSCREEN)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay"}}
    hostile = [
        {
            "type": "markdown",
            "payload": "[go](ui://x)[call](mcp:tools/call)<img src=x onerror=parent.postMessage(1)>",
        },
        {
            "type": "html",
            "payload": f"<script>parent.postMessage({json.dumps(call)},'*')</script>",
        },
        {"type": "image", "payload": "https://evil.example/a.png", "alt": "a picture"},
        {"type": "file", "payload": {"uri": "javascript:parent.postMessage(1,'*')", "name": "a"}},
        {"type": "json", "payload": {"jsonrpc": "2.0", "method": "ui/message", "params": {"role": "user"}}},
        {"type": "x-acme-map", "payload": {}, "alt": "a map"},
    ]
    for number, envelope in enumerate(hostile):
        await host.show(display({**envelope, "title": f"display {number}"}), f"display {number}")
        clicks = f"for (const one of {DRAWN}.querySelectorAll('a, button, summary')) one.click()"
        await host.view.value(f"(() => {{ {clicks} }})()")
    assert await host.page.value("host.teardown()") == {}
    sent = await host.sent()
    assert {message.get("method") for message in sent} <= SPEAKS_TO_NOBODY
    assert "evil.example" not in json.dumps([one for one in sent if one.get("method") != "ui/open-link"])
    assert set(host.requests) <= {"/host.html", "/host.js", "/proxy.html", "/favicon.ico"}


async def test_the_page_can_connect_to_nothing(host: Host, html: str) -> None:
    await host.start(html)
    tried = "fetch('https://evil.example').then(() => 'sent', (error) => error.name)"
    assert await host.view.value(tried) == "TypeError"


async def test_after_the_teardown_the_view_is_silent(host: Host, html: str) -> None:
    await host.start(html)
    assert await host.page.value("host.teardown()") == {}
    sent = len(await host.sent())
    await host.view.value("document.body.append('a line of text'.repeat(1000))")
    await host.view.value("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    assert len(await host.sent()) == sent
