"""The HTTP clients for model and tool traffic: over the transport of `http_transport`, or over one of the application.

What an application hands over (`http_client=`) sends the requests: its proxies, certificates, hooks and whatever
instruments it are used. A client of ours stays in front of it, with the bounds that it has in front of our transport.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import copy
from typing import Any, Final, TypeVar

import httpx2

from xmcp import http_bodies

ClientT = TypeVar("ClientT", bound=httpx2.AsyncClient)

MAX_COOKIES: Final = 100
"""After how many cookies all that servers set are forgotten. Each request is searched for those that it needs."""


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
    base URL, time limits and whether it follows redirects are not, and its cookies stay as they are. `verify` is as for
    `http_transport.client_options`. Closing the client leaves `given` open.
    """
    if given is None:
        from xmcp import http_transport  # which loads aiohttp

        made = kind(auth=auth, **options, **http_transport.client_options(verify))
    else:
        headers = given.headers.copy()
        headers.update(options.pop("headers", None))
        auth = auth or (given.auth and _WithoutOwn(given.auth))
        made = kind(auth=auth, headers=headers, transport=_Through(given), **options)
        _add_parameters(made, given)
    bound_cookies(made)
    return made


def bound_cookies(client: httpx2.AsyncClient) -> None:
    """Have `client` forget its cookies when servers have set more than `MAX_COOKIES`."""

    async def after(_: httpx2.Response) -> None:
        if len(client.cookies) > MAX_COOKIES:
            client.cookies.clear()

    client.event_hooks.setdefault("response", []).append(after)


def _add_parameters(client: httpx2.AsyncClient, given: httpx2.AsyncClient) -> None:
    """Have each request that `client` builds get those query parameters of `given` that its URL lacks.

    As `params` of the client they would replace those of its URL. Where a redirect leads gets none.
    """
    build = client.build_request

    def with_parameters(*args: Any, **options: Any) -> httpx2.Request:
        request = build(*args, **options)
        own = request.url.params
        if added := tuple((name, value) for name, value in given.params.multi_items() if name not in own):
            query = b"&".join(filter(None, (request.url.query, str(httpx2.QueryParams(added)).encode())))
            request.url = request.url.copy_with(query=query)
        return request

    client.build_request = with_parameters  # type: ignore[method-assign]


class _WithoutOwn(httpx2.Auth):
    """The authentication of the application's client, for requests that have no credentials of their own."""

    def __init__(self, auth: httpx2.Auth) -> None:
        self._auth = auth

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if "authorization" in request.headers or request.url.userinfo:
            yield request
            return
        async with aclosing(self._auth.async_auth_flow(request)) as flow:
            sent = await anext(flow)
            while True:
                response = yield sent
                try:
                    sent = await flow.asend(response)
                except StopAsyncIteration:
                    return


class _Through(httpx2.AsyncBaseTransport):
    """Sends requests through a client of the application, which stays open, and whose cookies stay as they are."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._client.is_closed:
            raise httpx2.ConnectError("the http_client that sends the requests is closed", request=request)
        # A copy has the same transports and hooks, and takes what the answer sets as cookies.
        sending = copy(self._client)
        sending.cookies = httpx2.Cookies()
        try:
            # The client in front authenticates and follows redirects: it knows which of them lead elsewhere.
            response = await sending.send(request, stream=True, auth=None, follow_redirects=False)
        except httpx2.RequestError:
            raise
        except Exception as exc:
            # A hook, or a transport of the application. What it says may quote keys, and the message is shown to many.
            raise httpx2.ReadError(f"the http_client failed: {type(exc).__name__}", request=request) from exc
        response.stream = http_bodies.with_faults_of_httpx2(response.stream)
        return response
