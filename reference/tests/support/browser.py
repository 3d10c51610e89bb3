"""A page in Debian's Chromium without a window, for tests of what a browser shows; driven by the DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

START_SECONDS = 60
WAIT_SECONDS = 60
ANSWER_SECONDS = 5


class RefusedCommand(Exception):
    """The browser refused a command, such as an expression for a page that is being left."""


class Page:
    """One page; every method returns when the browser has done it."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._session: dict[str, str] = {}
        self._last = 0
        self._seen: deque[dict[str, Any]] = deque(maxlen=10_000)

    async def command(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer to a command of the DevTools protocol; `seen` has the events in between."""
        self._last += 1
        await self._connection.send(json.dumps({"id": self._last, "method": method, "params": params, **self._session}))
        while True:
            answer = json.loads(await self._connection.recv())
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RefusedCommand(method, answer["error"])
                return dict(answer["result"])
            if "method" in answer:
                self._seen.append(answer)

    async def watch(self, *domains: str) -> None:
        """Have the browser tell the events of these domains, such as `Network`."""
        for domain in domains:
            await self.command(f"{domain}.enable")

    def seen(self, method: str) -> list[dict[str, Any]]:
        """Return the events of this name, of the last 10,000 that the browser told."""
        return [event for event in self._seen if event["method"] == method]

    async def picture(self, path: Path) -> None:
        """Write a picture of the whole page, a PNG."""
        size = (await self.command("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        shot = await self.command("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(shot["data"]))

    async def attach(self) -> None:
        """Open the page; commands go to it from now on."""
        target = await self.command("Target.createTarget", url="about:blank")
        attached = await self.command("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    async def record_requests(self) -> None:
        """From now on, note each request of the page, and let none of them leave this machine."""
        await self.watch("Network")
        await self.command("Network.setBlockedURLs", urls=["http://*", "https://*"])

    @property
    def requested(self) -> list[str]:
        """The addresses that pages have asked for since `record_requests` or `forget`."""
        return [event["params"]["request"]["url"] for event in self.seen("Network.requestWillBeSent")]

    def forget(self) -> None:
        """Forget the events that were seen so far."""
        self._seen.clear()

    async def frame(self, url: str) -> Page:
        """Return the page in a frame with this URL; the browser runs a frame with a sandbox in another process."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                found = (await self.command("Target.getTargets"))["targetInfos"]
                if frames := [one["targetId"] for one in found if one["type"] == "iframe" and one["url"] == url]:
                    break
                await asyncio.sleep(0.02)
        attached = await self.command("Target.attachToTarget", targetId=frames[0], flatten=True)
        frame = Page(self._connection)
        frame._session = {"sessionId": attached["sessionId"]}
        return frame

    async def show(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page, also where only the fragment of the URL is new."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.command("Emulation.setDeviceMetricsOverride", **screen)
        await self.command("Emulation.setEmulatedMedia", features=[scheme])
        for address in ("about:blank", url):
            await self.command("Page.navigate", url=address)
        await self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, as JSON has it."""
        answer = await self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not await self._is_true(expression):  # noqa: ASYNC110 - it is in another process
                await asyncio.sleep(0.02)

    async def _is_true(self, expression: str) -> bool:
        """Return False also while one page gives way to the next: the browser then refuses, or says nothing."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.value(f"Boolean({expression})") is True
        except (RefusedCommand, TimeoutError):
            return False


@asynccontextmanager
async def page() -> AsyncIterator[Page]:
    """Open a page in a browser of its own; without Chromium on this machine, skip the test."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium here; `apt-get install chromium` installs it")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # CI runs as root in a container, where Chromium has no sandbox and /dev/shm is small.
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
        place = ("--remote-debugging-port=0", f"--user-data-dir={profile}")
        silent = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
        browser = await asyncio.create_subprocess_exec(program, *options, *place, **silent)
        try:
            async with connect(await _address(Path(profile, "DevToolsActivePort")), max_size=None) as connection:
                opened = Page(connection)
                await opened.attach()
                yield opened
        finally:
            browser.terminate()
            await browser.wait()


async def _address(written: Path) -> str:
    """Return where the browser listens, which it writes into a file of its profile: a port and a path."""
    async with asyncio.timeout(START_SECONDS):
        while len(lines := _lines(written)) < 2:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
