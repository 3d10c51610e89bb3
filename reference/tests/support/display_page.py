"""A page with `<xmcp-display>` in a browser, under the strictest Content-Security-Policy that the element works under.

What a test does in it is a job of `reference/tests/render/web/page.js`, a served script, because what the DevTools
evaluate is free of that policy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from support import browser
from support.hostile_displays import Case, text
from support.http_host import hosted
from xmcp.render.web import MEDIA_TYPE, SCRIPT, VEGA_SCRIPT, VEGA_WORKER

FOLDER = Path(__file__).resolve().parents[1] / "render" / "web"
POLICY = (
    "default-src 'none'; script-src 'self'; img-src 'self' data:; style-src 'self'; connect-src 'none'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
VEGA_POLICY = POLICY.replace("trusted-types 'none'", "trusted-types xmcp-display-vega; worker-src 'self'")
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Displays</title>
<link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,">
<header><h1>Displays</h1></header>
<main></main>
{vega}<script type="module" src="/page.js"></script>
</html>
"""
_VEGA = '<script type="module" src="/xmcp_display_vega.js"></script>\n'


class DisplayPage:
    """The page; `display_page` opens it."""

    def __init__(self, page: browser.Page, url: str) -> None:
        self.page, self.url = page, url

    async def open(self, **screen: Any) -> None:
        """Load the page anew; `screen` is that of `browser.Page.show`."""
        await self.page.show(f"{self.url}/", **screen)
        await self.page.until("window.ready")

    async def job(self, name: str, **options: Any) -> Any:
        """Run a job of page.js and return its result."""
        await self.page.value(f"start({json.dumps({'name': name, **options})})")
        await self.page.until("window.result !== undefined")
        result = await self.page.value("window.result")
        assert not (isinstance(result, dict) and "failed" in result), result["failed"]
        return result

    async def draw(self, number: int, **attributes: str) -> dict[str, Any]:
        """Draw a case alone in the page and return what page.js saw of it."""
        report: dict[str, Any] = await self.job("draw", number=number, attributes=attributes)
        return report

    async def probe(self, script: str, **options: Any) -> Any:
        """Run the function that a script of the folder `probes` exports, and return its result."""
        return await self.job("run", script=script, **options)

    def foreign_requests(self) -> list[str]:
        """Return the addresses asked so far that are not of this page."""
        asked = [event["params"]["request"]["url"] for event in self.page.seen("Network.requestWillBeSent")]
        return [address for address in asked if not address.startswith((f"{self.url}/", "data:", "blob:", "about:"))]


def _file(path: Path, headers: dict[str, str]) -> Callable[[Request], Response]:
    return lambda _: FileResponse(path, media_type=MEDIA_TYPE, headers=headers)


@asynccontextmanager
async def display_page(
    cases: Sequence[Case] = (), *, vega: bool = False, policy: str = "", worker: str = "", worker_policy: bool = True
) -> AsyncIterator[DisplayPage]:
    """Serve the page with these cases and open it in a browser of its own; with `vega` it loads the second file.

    `worker` is a script in place of the worker of Vega. Without `worker_policy`, the file of the worker is served
    without the policy, and nothing of the browser holds back what runs there.
    """
    policy = policy or (VEGA_POLICY if vega else POLICY)
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
    shown = _PAGE.replace("{vega}", _VEGA if vega else "")

    def script(text: str) -> Response:
        return Response(text, media_type=MEDIA_TYPE, headers=headers)

    def case(request: Request) -> Response:
        return script(f"export default JSON.parse({json.dumps(text(cases[request.path_params['number']]))})")

    def probe(request: Request) -> Response:
        return script((FOLDER / "probes" / f"{request.path_params['name']}.js").read_text(encoding="utf-8"))

    replaced = [Route(f"/{VEGA_WORKER.name}", lambda _: script(worker))] if worker else []
    routes = [
        *replaced,
        Route("/", lambda _: HTMLResponse(shown, headers=headers)),
        Route("/page.css", lambda _: FileResponse(FOLDER / "page.css")),
        Route("/page.js", lambda _: script((FOLDER / "page.js").read_text(encoding="utf-8"))),
        *(Route(f"/{path.name}", _file(path, headers)) for path in (SCRIPT, VEGA_SCRIPT)),
        Route(f"/{VEGA_WORKER.name}", _file(VEGA_WORKER, headers if worker_policy else {})),
        Route("/cases/{number:int}.js", case),
        Route("/probes/{name}.js", probe),
    ]
    async with hosted(Starlette(routes=routes)) as url, browser.page() as page:
        await page.watch("Network", "Page", "Runtime")
        opened = DisplayPage(page, url)
        await opened.open()
        yield opened
