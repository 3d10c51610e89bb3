"""Where `xmcp render` gets displays from: a file, a URL or standard input, with a document or JSON in it.

How much is read, and how long that may take, is bounded. What is wrong is said in one line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.untrusted_text import without_secrets
from xmcp.cli.named_files import STANDARD_INPUT, reason_of
from xmcp.wire import DEFAULT_LIMITS, DecodeError, decode
from xmcp_conformance.core.untrusted_text import printable

MOST_READ: Final = DEFAULT_LIMITS.document_bytes
"""Bytes that are read of a file or of an answer."""
_REDIRECTS: Final = 5


class CannotRead(Exception):
    """There is nothing to read; the message says why."""


class NoDisplay(Exception):
    """What was read holds no display; the message says what it holds."""


@dataclass(frozen=True, slots=True)
class Found:
    """The displays of a document or of a JSON text. `tool_name` is that of the document."""

    displays: tuple[Mapping[str, Any], ...]
    tool_name: str | None = None


def read(source: str, seconds: float) -> bytes:
    """Return what a file, a URL or standard input (`-`) holds.

    Args:
        source: As it stands in the command line.
        seconds: Maximum time for the answer of a URL.

    Raises:
        CannotRead: It cannot be read, or is larger than `MOST_READ`.
    """
    if source.lower().startswith(("http://", "https://")):
        data = asyncio.run(_fetched(source, seconds))
    else:
        data = _of_file(source)
    if len(data) > MOST_READ:
        raise CannotRead(f"more than {MOST_READ // 2**20} MiB, which no reader of XMCP has to accept")
    return data


def _of_file(path: str) -> bytes:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise CannotRead("standard input is closed")
        return sys.stdin.buffer.read(MOST_READ + 1)
    if os.path.isdir(path):
        raise CannotRead("it is a folder; name a file in it")
    try:
        with open(path, "rb") as file:
            return file.read(MOST_READ + 1)
    except OSError as error:
        raise CannotRead(reason_of(error).lower()) from None
    except ValueError as error:  # a NUL in the name
        raise CannotRead(str(error)) from None


async def _fetched(url: str, seconds: float) -> bytes:
    import httpx2

    from xmcp import http_bodies

    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                timeout=seconds,
                follow_redirects=True,
                max_redirects=_REDIRECTS,
                event_hooks={"request": [http_bodies.ask_uncompressed]},
            ) as client,
            client.stream("GET", url) as response,
        ):
            if not response.is_success:
                raise CannotRead(f"the server answered with {response.status_code} {printable(response.reason_phrase)}")
            http_bodies.refuse_compressed(response)
            http_bodies.limit(response, MOST_READ)
            return await response.aread()
    except TimeoutError:
        raise CannotRead(f"no answer within {seconds:g} seconds; --timeout allows more") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        reason = without_secrets(printable(str(error))) or type(error).__name__
        raise CannotRead(f"{reason[:1].lower()}{reason[1:300]}") from None


def displays_in(data: bytes) -> Found:
    """Return the displays in a document, or in JSON: an envelope or a list of them.

    An error in a document is shown as a notification.

    Raises:
        NoDisplay: There is none in it.
    """
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:200]
    if not start:
        raise NoDisplay("it is empty")
    if start.startswith(b"<"):
        return _of_document(data, start)
    if start[:1] in b"{[":
        return _of_json(data)
    raise NoDisplay("it is neither a document (XML that begins with <tool_response>) nor an envelope (JSON)")


def _of_document(data: bytes, start: bytes) -> Found:
    if start.lower().startswith((b"<!doctype html", b"<html")):
        raise NoDisplay("it is a page of HTML, not a document; give the address of the document itself")
    try:
        response = decode(data)
    except DecodeError as error:
        raise NoDisplay(f"it is no document that a reader accepts: {error}") from None
    found = [display.to_dict() for display in response.displays]
    if response.error is not None:
        message = f"{response.error.code}: {response.error.message}"
        found.append({"type": "notification", "payload": {"message": message, "level": "error"}})
    if not found:
        raise NoDisplay("the document has no display: it holds only text for the model")
    return Found(tuple(found), response.tool_name)


def _of_json(data: bytes) -> Found:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NoDisplay(f"it is not UTF-8: byte {error.start} cannot be read") from None
    except RecursionError:
        raise NoDisplay("its JSON is nested too deep") from None
    except ValueError as error:
        raise NoDisplay(f"it is not JSON: {printable(str(error))[:200]}") from None
    given = value if isinstance(value, list) else [value]
    for at, one in enumerate(given):
        if not isinstance(one, dict) or "type" not in one or "payload" not in one:
            where = f"item {at} of the list" if isinstance(value, list) else "it"
            raise NoDisplay(f"{where} is no envelope: it must be an object with `type` and `payload`")
    if not given:
        raise NoDisplay("the list is empty")
    return Found(tuple(given))
