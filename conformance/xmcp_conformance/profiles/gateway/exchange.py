"""One request to a gateway and its answer, within bounds: how long, how many bytes, how many events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from xmcp_conformance.core.untrusted_text import quoted

from .event_stream import EventStreamReader, SentEvent
from .json_objects import object_in

MOST_BYTES: Final = 32 * 1024 * 1024
"""Maximum number of bytes of an answer."""
MOST_OF_A_LINE: Final = 8 * 1024 * 1024
"""Maximum number of bytes of a line in a stream."""
MOST_EVENTS: Final = 50_000
"""Maximum number of events of a stream."""
_CONNECT_SECONDS: Final = 10.0
EVENTS: Final = "text/event-stream"


class NotJudged(Exception):
    """An answer that the suite cannot judge. The message says what the gateway does, for the person who runs it."""


class NobodyThere(NotJudged):
    """Nothing accepts connections."""


class Late(NotJudged):
    """An answer that did not come, or did not end, in time."""


@dataclass(slots=True)
class Answer:
    """What a gateway answered, as far as it has come. `body` is empty for a stream of events, and `raw` never is."""

    status: int = 0
    media_type: str = ""
    events: list[SentEvent] = field(default_factory=list)
    fault: str = ""
    """What is wrong with the bytes of the stream, or where it was cut."""
    cut: bool = False
    """Whether the connection ended before the answer did."""
    raw: bytearray = field(default_factory=bytearray)
    headers: str = field(default="", repr=False)
    """All headers, one a line."""

    @property
    def refused(self) -> bool:
        """Whether the status says that there is no result."""
        return self.status >= 400

    @property
    def streams(self) -> bool:
        """Whether the answer says that it is a stream of events."""
        return self.media_type == EVENTS

    @property
    def json(self) -> Mapping[str, Any]:
        """The JSON object that the answer is; empty if it is none."""
        return object_in(self.raw.decode(errors="replace"))[0]

    def __str__(self) -> str:
        begins = quoted(bytes(self.raw[:80]).decode(errors="backslashreplace"))
        return f"status {self.status}, `{quoted(self.media_type)}`, `{begins}`"


class Exchange:
    """A request that was sent, whose answer arrives. Whoever waits for it has `seconds` for the whole."""

    def __init__(self, response: httpx2.Response, deadline: float, seconds: float) -> None:
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
        self.answer = Answer(response.status_code, media_type, headers=headers)
        self._response = response
        self._deadline = deadline
        self._seconds = seconds

    async def events(self) -> AsyncGenerator[SentEvent, None]:
        """Yield the events of a stream as they arrive; nothing where the answer is none.

        Raises:
            NotJudged: the answer crosses a bound.
        """
        reader, answer = EventStreamReader(), self.answer
        async for piece in self._pieces():
            for event in reader.feed(piece) if answer.streams else ():
                answer.events.append(event)
                if len(answer.events) > MOST_EVENTS:
                    raise NotJudged(f"sends more than {MOST_EVENTS:,} events in one stream, which are not read")
                yield event
            answer.fault = reader.fault
            if reader.waiting > MOST_OF_A_LINE:
                raise NotJudged(f"sends a line of more than {MOST_OF_A_LINE // 2**20} MiB, which is not read")
        answer.cut = answer.cut or (answer.streams and reader.is_cut)

    async def whole(self) -> Answer:
        """Return the answer when all of it is there.

        Raises:
            NotJudged: it crosses a bound.
        """
        async for _ in self.events():
            pass
        return self.answer

    async def _pieces(self) -> AsyncIterator[bytes]:
        pieces = self._response.aiter_raw()
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(pieces, None)
            except TimeoutError:
                what = f"has not ended its answer after {self._seconds:g} s"
                raise Late(f"{what}, {len(self.answer.events)} events; --timeout allows it longer") from None
            except httpx2.TransportError:
                self.answer.cut = True
                return
            if piece is None:
                return
            self.answer.raw += piece
            if len(self.answer.raw) > MOST_BYTES:
                raise NotJudged(f"sends more than {MOST_BYTES // 2**20} MiB in one answer, which are not read")
            yield piece


@asynccontextmanager
async def client_of(url: str, headers: tuple[tuple[str, str], ...]) -> AsyncIterator[httpx2.AsyncClient]:
    """Provide the HTTP client of a run."""
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    async with httpx2.AsyncClient(base_url=url.rstrip("/"), headers=list(headers), timeout=timeout) as client:
        yield client


@asynccontextmanager
async def exchange(
    client: httpx2.AsyncClient,
    method: str,
    path: str,
    seconds: float,
    *,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Exchange]:
    """Send a request, and provide its answer when its headers have come; the connection is closed afterwards.

    Raises:
        NotJudged: there is no answer within `seconds`, or none that can be read.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    sent = {"accept-encoding": "identity", **(headers or {})}
    request = client.build_request(method, path, json=body, headers=sent)
    try:
        async with asyncio.timeout_at(deadline):
            response = await client.send(request, stream=True)
    except TimeoutError:
        raise Late(f"has not begun to answer after {seconds:g} s; --timeout allows it longer") from None
    except httpx2.ConnectError:
        raise NobodyThere("cannot be reached: nothing accepts connections there") from None
    except httpx2.HTTPError as error:
        raise NotJudged(f"gives no HTTP answer ({type(error).__name__}: {quoted(str(error))})") from None
    try:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise NotJudged(
                f"compresses its answers ({quoted(encoding[:20])}), although the suite asks for none that are"
            )
        yield Exchange(response, deadline, seconds)
    finally:
        await response.aclose()


async def answer_to(
    client: httpx2.AsyncClient,
    method: str,
    path: str,
    seconds: float,
    *,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return the whole answer to a request.

    Raises:
        NotJudged: there is none within `seconds`, or none that can be read.
    """
    async with exchange(client, method, path, seconds, body=body, headers=headers) as under_way:
        return await under_way.whole()
