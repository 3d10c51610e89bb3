"""What FastMCP explains to the caller keeps its words, with a code; what an author did not foresee stays hidden."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.dependencies import CurrentAccessToken, TokenClaim
from fastmcp.exceptions import AuthorizationError, InsufficientScopeError, NotFoundError, PromptError, ResourceError
from fastmcp.server import create_proxy
from fastmcp.server.auth import require_scopes
from fastmcp.server.dependencies import get_session
from fastmcp.server.middleware import AuthMiddleware, Middleware
from fastmcp.server.providers.openapi import OpenAPIProvider
from fastmcp.server.providers.proxy import ProxyTool
from fastmcp.server.sessions import SessionId
from fastmcp.server.transforms import PromptsAsTools, ResourcesAsTools
from fastmcp.server.transforms.search import RegexSearchTransform
from fastmcp.utilities.tests import temporary_settings
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, SamplingMessage, TextContent, Tool
from pydantic import TypeAdapter

from xmcp import XMCP
from xmcp.server.responses.explanations import MAX_RETRY_AFTER, retry_after_ms

SECRET = "s3cr3t-t0ken"

# ---- services behind a tool ----

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "AUTH_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    418: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RATE_LIMIT",
    500: "TOOL_ERROR",
    502: "UPSTREAM_UNAVAILABLE",
    503: "UPSTREAM_UNAVAILABLE",
    504: "TIMEOUT",
}
PAGE = "<!doctype html><p>it is plain that this is a page"
TRACE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in handler'


def answered(request: httpx2.Request) -> httpx2.Response:
    match request.url.path.strip("/"):
        case "slow":
            raise httpx2.ReadTimeout(SECRET, request=request)
        case "down":
            raise httpx2.ConnectError(f"{SECRET}.internal: connection refused", request=request)
        case "page":
            return httpx2.Response(502, html=PAGE)
        case "trace":
            return httpx2.Response(500, text=TRACE)
        case "long":
            return httpx2.Response(400, text="x" * 100_000)
        case status:
            body = {"detail": "from must not be after to"}
            return httpx2.Response(int(status), json=body, headers={"retry-after": "7"})


def over_openapi(**options: Any) -> XMCP:
    names = [*map(str, STATUSES), "slow", "down", "page", "trace", "long"]
    paths: dict[str, Any] = {f"/{name}": {"get": {"operationId": f"get_{name}", "responses": {}}} for name in names}
    parameter = {"name": "a/b", "in": "path", "required": True, "schema": {"type": "string"}}
    paths["/item/{a/b}"] = {"get": {"operationId": "item", "parameters": [parameter], "responses": {}}}
    spec = {"openapi": "3.1.0", "info": {"title": "orders", "version": "1"}, "paths": paths}
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answered), base_url="http://orders.test/")
    return XMCP("openapi", providers=[OpenAPIProvider(spec, client=client)], **options)


@pytest.mark.parametrize(("status", "code"), STATUSES.items())
async def test_what_an_http_service_answers_is_told_with_a_code(status: int, code: str, call: Any) -> None:
    reply = await call(over_openapi(), f"get_{status}")
    assert (reply.code, reply.meta["upstream_status"]) == (code, status)
    assert reply.message.startswith(f"HTTP error {status}: ")
    assert "from must not be after to" in reply.message
    assert reply.retry_after_ms == (7000 if reply.retryable else None)


async def test_a_service_that_does_not_answer_is_told_without_its_address(call: Any) -> None:
    mcp = over_openapi()
    for name, code in (("slow", "TIMEOUT"), ("down", "UPSTREAM_UNAVAILABLE")):
        reply = await call(mcp, f"get_{name}")
        assert (reply.code, reply.retryable) == (code, True)
        assert SECRET not in reply.wire
    assert reply.message == "Request error (ConnectError)."


async def test_pages_and_stack_traces_of_a_service_are_not_passed_on(call: Any) -> None:
    mcp = over_openapi()
    assert (await call(mcp, "get_page")).message == "HTTP error 502: Bad Gateway"
    assert (await call(mcp, "get_trace")).message == "HTTP error 500: Internal Server Error"
    assert len((await call(mcp, "get_long")).message) < 2000


@pytest.mark.parametrize(
    "trace",
    [
        TRACE,
        repr({"detail": TRACE}),
        "\tat com.acme.Orders.find(Orders.java:17)",
        "    at find (/srv/orders.js:10:5)",
        "   at Acme.Orders.Find() in C:\\src\\Orders.cs:line 5",
        "goroutine 1 [running]:",
        "thread 'main' panicked at src/main.rs:2:5",
        "/srv/orders.rb:3:in `find'",
    ],
)
async def test_stack_traces_of_many_languages_are_recognized(trace: str, call: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(f"{__name__}.TRACE", f"first line\n{trace}")
    assert (await call(over_openapi(), "get_trace")).message == "HTTP error 500: Internal Server Error"


async def test_arguments_of_which_no_request_can_be_made_are_refused(call: Any) -> None:
    reply = await call(over_openapi(), "item")
    assert (reply.code, reply.meta["side_effects"]) == ("VALIDATION_FAIL", "none")
    assert [field["pointer"] for field in reply.meta["fields"]] == ["/a~1b"]
    reply = await call(over_openapi(), "item", **{"a/b": "../x"})
    assert (reply.code, reply.meta["side_effects"]) == ("INVALID_ARGUMENT", "none")
    assert "dot segments" in reply.message


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("7", 7000),
        ("0", 0),
        (str(MAX_RETRY_AFTER + 1), None),
        ("-1", None),
        ("٣", None),
        ("9" * 5000, None),
        ("", None),
    ],
)
def test_the_wait_that_a_service_asks_for_is_bounded(given: str, milliseconds: int | None) -> None:
    response = httpx2.Response(503, headers=[(b"retry-after", given.encode())])
    assert retry_after_ms(response) == milliseconds


async def test_the_same_exception_of_an_author_is_not_shown(call: Any) -> None:
    mcp = XMCP("own")

    @mcp.tool
    async def asks() -> None:
        request = httpx2.Request("GET", f"http://x/?key={SECRET}")
        raise httpx2.HTTPStatusError(SECRET, request=request, response=httpx2.Response(404, request=request))

    reply = await call(mcp, "asks")
    assert reply.code == "INTERNAL"
    assert SECRET not in reply.wire


class Refusing(Middleware):
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        if context.message.name in REFUSED:
            raise MCPError(code=REFUSED[context.message.name][0], message="no such cursor")
        return await call_next(context)


REFUSED = {
    "argument": (INVALID_PARAMS, "INVALID_ARGUMENT"),
    "method": (METHOD_NOT_FOUND, "NOT_IMPLEMENTED"),
    "broken": (INTERNAL_ERROR, "TOOL_ERROR"),
}


def behind_a_proxy() -> FastMCP[Any]:
    upstream: FastMCP[Any] = FastMCP("upstream", middleware=[Refusing()])
    for name in REFUSED:
        upstream.tool(lambda: "x", name=name)
    return upstream


async def test_what_a_proxied_server_refuses_is_told_with_a_code(call: Any) -> None:
    mcp, hiding = XMCP("front"), XMCP("front", mask_error_details=True)
    for front in (mcp, hiding):
        front.mount(create_proxy(behind_a_proxy()))
    for name, (_, code) in REFUSED.items():
        reply = await call(mcp, name)
        assert (reply.code, reply.message) == (code, "no such cursor")
        reply = await call(hiding, name)
        assert (reply.code, reply.message) == (code, "The server behind this tool refused the call.")


async def test_a_proxied_server_that_is_gone_is_unavailable(call: Any) -> None:
    mcp = XMCP("front")
    listed = Tool(name="gone", input_schema={"type": "object"})
    mcp.add_tool(ProxyTool.from_mcp_tool(lambda: Client("http://127.0.0.1:9/mcp"), listed))

    @mcp.tool
    async def own_client() -> None:
        async with Client("http://127.0.0.1:9/mcp"):
            pass

    reply = await call(mcp, "gone")
    assert (reply.code, reply.retryable) == ("UPSTREAM_UNAVAILABLE", True)
    assert "127.0.0.1" not in reply.wire
    assert (await call(mcp, "own_client")).code == "INTERNAL"


# ---- names that the caller gave ----


def with_names() -> XMCP:
    mcp = XMCP("names")
    mcp.add_transform(ResourcesAsTools(mcp))
    mcp.add_transform(PromptsAsTools(mcp))

    @mcp.resource("data://fails")
    def fails() -> str:
        raise ValueError(SECRET)

    @mcp.resource("data://told")
    def told() -> str:
        raise ResourceError("The file is locked.")

    def orders(day):  # type: ignore[no-untyped-def]
        raise FileNotFoundError(SECRET)

    orders.__annotations__ = {"day": int, "return": str}  # FastMCP converts for real types, not for their names
    mcp.resource("data://{day}/orders")(orders)

    @mcp.prompt
    def greets(times: int) -> str:
        return "hi" * times

    @mcp.prompt
    def crashes() -> str:
        raise ValueError(SECRET)

    @mcp.prompt
    def reads_a_model() -> str:
        return str(TypeAdapter(int).validate_python(SECRET))

    @mcp.prompt
    async def reads_a_model_too(times: int) -> str:
        return str(TypeAdapter(int).validate_json(SECRET))

    @mcp.prompt
    def tells() -> str:
        raise PromptError("No such language.")

    @mcp.tool
    async def reads_its_own(ctx: Context) -> str:
        return str(await ctx.read_resource(f"data://{SECRET}"))

    @mcp.tool
    async def renders_its_own(ctx: Context) -> str:
        return str(await ctx.get_prompt("greets", {"times": SECRET}))

    @mcp.tool
    async def raises_one() -> None:
        raise NotFoundError(SECRET)

    return mcp


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("read_resource", {"uri": "data://nope"}, "NOT_FOUND", "Unknown resource: 'data://nope'"),
        ("read_resource", {"uri": "not a uri"}, "NOT_FOUND", "Unknown resource: 'not a uri'"),
        ("read_resource", {"uri": "data://told"}, "TOOL_ERROR", "The file is locked."),
        ("read_resource", {"uri": "data://monday/orders"}, "INVALID_ARGUMENT", "invalid literal for int()"),
        ("get_prompt", {"name": "nope"}, "NOT_FOUND", "Unknown prompt: 'nope'"),
        ("get_prompt", {"name": "greets"}, "MISSING_ARGUMENT", "Missing required arguments: {'times'}"),
        ("get_prompt", {"name": "greets", "arguments": {"times": "x"}}, "INVALID_ARGUMENT", "argument 'times'"),
        ("get_prompt", {"name": "tells"}, "TOOL_ERROR", "No such language."),
    ],
)
async def test_a_name_that_the_caller_gave_is_answered_in_words(
    tool: str, arguments: dict[str, Any], code: str, words: str, call: Any
) -> None:
    reply = await call(with_names(), tool, **arguments)
    assert (reply.code, words in reply.message) == (code, True)
    assert "pydantic" not in reply.wire


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_resource", {"uri": "data://fails"}),
        ("read_resource", {"uri": "data://1/orders"}),
        ("get_prompt", {"name": "crashes"}),
        ("get_prompt", {"name": "reads_a_model"}),
        ("get_prompt", {"name": "reads_a_model_too", "arguments": {"times": "1"}}),
        ("reads_its_own", {}),
        ("renders_its_own", {}),
        ("raises_one", {}),
    ],
)
async def test_what_an_author_did_not_foresee_stays_hidden(tool: str, arguments: dict[str, Any], call: Any) -> None:
    reply = await call(with_names(), tool, **arguments)
    assert reply.code == "INTERNAL" or (tool, reply.code) == ("renders_its_own", "TOOL_ERROR")
    assert SECRET not in reply.wire


async def test_a_tool_that_was_found_by_a_search_hides_as_much(call: Any) -> None:
    mcp = with_names()
    mcp.add_transform(RegexSearchTransform())
    reply = await call(mcp, "call_tool", name="nope", arguments={})
    assert (reply.code, reply.message) == ("NOT_FOUND", "Unknown tool: 'nope'")
    reply = await call(mcp, "call_tool", name="call_tool", arguments={})
    assert reply.code == "INVALID_ARGUMENT"
    reply = await call(mcp, "call_tool", name="reads_its_own", arguments={})
    assert reply.code == "INTERNAL"
    assert SECRET not in reply.wire


# ---- questions to the client ----


def asking() -> XMCP:
    mcp = XMCP("asking")
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hi"))

    @mcp.tool
    async def elicits(ctx: Context) -> str:
        return str(await ctx.elicit("Your name?", str))

    @mcp.tool
    async def samples(ctx: Context) -> str:
        return str(await ctx.session.create_message([message], max_tokens=5))

    @mcp.tool
    async def samples_with_tools(ctx: Context) -> str:
        tool = Tool(name="t", input_schema={"type": "object"})
        return str(await ctx.session.create_message([message], max_tokens=5, tools=[tool]))

    @mcp.tool
    async def roots(ctx: Context) -> str:
        return str(await ctx.session.list_roots())

    return mcp


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
@pytest.mark.parametrize("tool", ["elicits", "samples", "samples_with_tools", "roots"])
async def test_a_client_that_cannot_be_asked_is_not_a_failure_of_the_tool(tool: str, call: Any) -> None:
    reply = await call(asking(), tool)
    assert (reply.code, reply.category) == ("NOT_IMPLEMENTED", "unsupported")


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")
async def test_an_error_that_the_client_answers_is_told(reply: Any) -> None:
    async def refuses(*_: Any) -> Any:
        raise MCPError(code=-1, message="The person said no.")

    async with Client(asking(), mode="legacy", sampling_handler=refuses) as client:
        answer = reply(await client.call_tool_mcp("samples", {}))
    assert answer.code == "TOOL_ERROR"
    assert answer.message.startswith("The client answered the tool's question with an error")


async def test_an_answer_of_the_client_that_does_not_fit_is_told(reply: Any) -> None:
    mcp = XMCP("counting")

    @mcp.tool
    async def counts(ctx: Context) -> str:
        return str(await ctx.elicit("How many?", int))

    async def answers(*_: Any) -> Any:
        return ElicitResult(action="accept", content={"value": "many"})

    async with Client(mcp, mode="legacy", elicitation_handler=answers) as client:
        answer = reply(await client.call_tool_mcp("counts", {}))
    assert answer.code == "TOOL_ERROR"
    assert answer.message.startswith("The client's answer is not what the tool asked for: Input should be a valid")


# ---- rights, sessions, visibility ----


async def test_missing_rights_are_told(call: Any) -> None:
    mcp = XMCP("rights")

    @mcp.tool
    def scoped() -> None:
        raise InsufficientScopeError(["orders:write"])

    @mcp.tool
    def owner() -> None:
        raise AuthorizationError("Only the owner may close an order.")

    @mcp.tool
    def token(given: Any = CurrentAccessToken()) -> None:  # noqa: B008 - FastMCP's form
        raise AssertionError

    @mcp.tool
    def claim(given: str = TokenClaim("oid")) -> None:
        raise AssertionError

    reply = await call(mcp, "scoped")
    assert (reply.code, reply.meta["params"]) == ("FORBIDDEN", {"required_scopes": ["orders:write"]})
    assert "orders:write" in reply.message
    assert (await call(mcp, "owner")).message == "Only the owner may close an order."
    for name in ("token", "claim"):
        assert (await call(mcp, name)).code == "AUTH_REQUIRED"


async def test_the_server_wide_check_names_no_tool_that_exists(call: Any) -> None:
    mcp = XMCP("rights", middleware=[AuthMiddleware(lambda _: False)])
    mcp.tool(lambda: "x", name="there")
    there, nowhere = await call(mcp, "there"), await call(mcp, "nowhere")
    assert (there.code, nowhere.code) == ("FORBIDDEN", "FORBIDDEN")
    assert there.text == nowhere.text.replace("nowhere", "there")
    scoped = XMCP("rights", middleware=[AuthMiddleware(require_scopes("orders:write"))])
    scoped.tool(lambda: "x", name="there")
    assert (await call(scoped, "there")).code == "FORBIDDEN"


async def test_an_unknown_session_is_not_found(call: Any) -> None:
    mcp = XMCP("sessions")

    @mcp.tool
    async def counts(session_id: SessionId) -> str:
        return str(await get_session(session_id))

    reply = await call(mcp, "counts", session_id="nope")
    assert (reply.code, reply.message) == ("NOT_FOUND", "Invalid or unknown session.")


async def test_a_request_without_an_identity_cannot_have_its_own_list_of_tools(over_http: Any, reply: Any) -> None:
    mcp = XMCP("visibility")

    @mcp.tool
    async def unlocks(ctx: Context) -> None:
        await ctx.enable_components(tags={"orders"})

    async with over_http(mcp.http_app()) as url, Client(f"{url}/mcp", mode="auto") as client:
        answer = reply(await client.call_tool_mcp("unlocks", {}))
    assert answer.code == "NOT_IMPLEMENTED"
    assert "carries no client identity" in answer.message


# ---- mask_error_details ----


def crashing(**options: Any) -> XMCP:
    mcp = XMCP("crashing", **options)

    @mcp.tool
    def crashes() -> None:
        raise ValueError("disk 7 is full")

    return mcp


@pytest.mark.parametrize(("mask", "shown"), [(None, False), (True, False), (False, True)])
async def test_the_switch_of_fastmcp_decides_about_unforeseen_failures(
    mask: bool | None, shown: bool, call: Any
) -> None:
    reply = await call(crashing(mask_error_details=mask), "crashes")
    assert (reply.code, bool(reply.meta["error_id"])) == ("INTERNAL", True)
    assert ("disk 7 is full" in reply.wire) is shown
    if shown:
        assert reply.message == "ValueError: disk 7 is full"


async def test_masking_withholds_what_a_service_said(call: Any) -> None:
    with temporary_settings(mask_error_details=True):
        by_setting = over_openapi()
    for mcp in (by_setting, over_openapi(mask_error_details=True)):
        reply = await call(mcp, "get_404")
        assert (reply.code, reply.message) == ("NOT_FOUND", "HTTP error 404: Not Found")


async def test_only_the_option_discloses_and_not_the_setting(call: Any) -> None:
    with temporary_settings(mask_error_details=False):
        mcp = crashing()
    assert "disk 7 is full" not in (await call(mcp, "crashes")).wire


async def test_the_server_that_the_client_is_connected_to_decides(call: Any) -> None:
    for mask, shown in ((None, False), (False, True)):
        parent = XMCP("parent", mask_error_details=mask)
        parent.mount(crashing(mask_error_details=False))
        assert ("disk 7 is full" in (await call(parent, "crashes")).wire) is shown


async def test_an_unmasked_failure_without_words_is_answered_too(call: Any) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Failing(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise Speechless

    mcp = XMCP("speechless", middleware=[Failing()], mask_error_details=False)
    mcp.tool(lambda: "x", name="any")
    assert (await call(mcp, "any")).code == "INTERNAL"
