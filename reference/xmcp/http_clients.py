"""The HTTP clients for model and tool traffic: over the transport of `http_transport`, or over one of the application.

What an application hands over (`http_client=`) sends the requests: its proxies, certificates, hooks and whatever
instruments it are used. A client of ours stays in front of it, with the bounds that it has in front of our transport.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import httpx2

from xmcp import http_bodies

ClientT = TypeVar("ClientT", bound=httpx2.AsyncClient)

MAX_COOKIES: Final = 100
"""After how many cookies all that a client of the application has are forgotten: servers set them, and none is sent."""


def check(given: object) -> None:
    """Refuse what cannot be the `http_client` of a provider or a server.

    Raises:
        TypeError: it is no `httpx2.AsyncClient`.
        ValueError: it is closed.
    """
    if isinstance(given, httpx2.AsyncClient):
        if given.is_closed:
            raise ValueError("http_client is closed: whoever makes it closes it, after the last request.")
        return
    kind = given if isinstance(given, type) else type(given)
    what = f"the class {kind.__name__}" if isinstance(given, type) else f"a {kind.__module__}.{kind.__name__}"
    raise TypeError(f"http_client must be an httpx2.AsyncClient, not {what}. {_advice(given, kind)}")


def _advice(given: object, kind: type) -> str:
    if isinstance(given, httpx2.Client):
        return "Requests are sent from an event loop: httpx2.AsyncClient(...) takes the same arguments."
    if isinstance(given, httpx2.BaseTransport | httpx2.AsyncBaseTransport):
        return "Pass httpx2.AsyncClient(transport=...)."
    if kind.__module__.partition(".")[0] == "httpx":
        return "httpx2 is the successor of httpx: its AsyncClient takes the same arguments."
    return "httpx2.AsyncClient(...) takes a proxy, certificates (verify=), a transport and hooks."


def new_client(
    kind: type[ClientT], given: httpx2.AsyncClient | None, *, verify: Any = True, auth: Any = None, **options: Any
) -> ClientT:
    """Return a client of class `kind` that sends through `given`, or through our transport if that is `None`.

    Headers, query parameters and authentication of `given` are used where the request has none of its own; its cookies,
    base URL, time limits and whether it follows redirects are not. `verify` is as for `http_transport.client_options`.
    Closing the client leaves `given` open.
    """
    if given is None:
        from xmcp import http_transport  # which loads aiohttp

        return kind(auth=auth, **options, **http_transport.client_options(verify))
    made = kind(auth=auth or given.auth, params=given.params, transport=_Through(given), **options)
    for name, value in given.headers.items():
        made.headers.setdefault(name, value)
    return made


class _Through(httpx2.AsyncBaseTransport):
    """Sends requests through a client of the application, which stays open."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._client.is_closed:
            raise httpx2.ConnectError("the http_client that sends the requests is closed", request=request)
        if len(self._client.cookies) > MAX_COOKIES:
            self._client.cookies.clear()
        try:
            # The client in front authenticates and follows redirects: it knows which of them lead elsewhere.
            response = await self._client.send(request, stream=True, auth=None, follow_redirects=False)
        except httpx2.HTTPError:
            raise
        except Exception as exc:  # a hook, or a transport of the application
            raise httpx2.ReadError(f"the http_client failed: {type(exc).__name__}: {exc}", request=request) from exc
        response.stream = http_bodies.with_faults_of_httpx2(response.stream)
        return response
