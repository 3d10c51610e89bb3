"""An MCP server at Level 1 of XMCP, on the official SDK alone: the adapter, then three tools that use it."""

import logging
import uuid
from typing import Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import Annotations, CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

PREFIX = "io.github.xmcp-spec/"
ANNOUNCED = {PREFIX + "tool-response": {"versions": ["1.0"], "wire": "plain"}}


class Failure(ToolError):
    """A failure that a tool foresees. `more` is further members of the error, such as `retry_after_ms`."""

    def __init__(self, code: str, category: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "category": category, "message": message, "retryable": False, **more}


def shown(text: str, envelope: dict[str, Any]) -> CallToolResult:
    """Return a result with a text for the model and a display for the person."""
    content = [TextContent(type="text", text=f"{text}\nThis was also sent as a display, which not every client shows.")]
    if (alt := envelope.get("alt", "")) not in text:
        content.append(TextContent(type="text", text=alt[:500], annotations=Annotations(audience=["user"])))
    return CallToolResult(content=content, _meta={PREFIX + "display": envelope})


async def announce(ctx: Any, call_next: Any) -> Any:
    result = await call_next(ctx)
    if place := {"initialize": "experimental", "server/discover": "extensions"}.get(ctx.method):
        result["capabilities"][place] = {**(result["capabilities"].get(place) or {}), **ANNOUNCED}
    return result


class Level1(MCPServer[Any]):
    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        if arguments.get("show_user", False) is None:  # models write it for "not set"
            arguments = {key: value for key, value in arguments.items() if key != "show_user"}
        try:
            result: Any = await super().call_tool(name, arguments, context)
            if getattr(result, "is_error", False) and PREFIX + "error" not in (result.meta or {}):
                raise Failure("TOOL_ERROR", "internal", getattr(result.content[0], "text", "The tool failed."))
        except ToolError as error:
            failure = as_failure(name, error)
            said = TextContent(type="text", text=f"{failure.error['code']}: {failure}")
            result = CallToolResult(content=[said], is_error=True, _meta={PREFIX + "error": failure.error})
        result.meta = {**(result.meta or {}), PREFIX + "result": {"version": "1.0", "form": "plain"}}
        return result


def as_failure(name: str, error: ToolError) -> Failure:
    cause = error if isinstance(error, Failure) else error.__cause__
    if isinstance(cause, Failure):
        return cause
    if isinstance(error, UnexpectedToolError):
        error_id = str(uuid.uuid4())
        logging.error("%s: %s failed", error_id, name, exc_info=cause)
        return Failure("INTERNAL", "internal", f"The log has the reason: {error_id}", meta={"error_id": error_id})
    if isinstance(cause, ValidationError):
        fields = [{"pointer": pointer(fault["loc"]), "message": fault["msg"]} for fault in cause.errors()]
        said = "; ".join(f"{field['pointer']}: {field['message']}" for field in fields)
        return Failure("VALIDATION_FAIL", "invalid_input", said, meta={"fields": fields, "side_effects": "none"})
    if cause is None:
        return Failure("UNKNOWN_TOOL", "not_found", f"There is no tool {name!r}.")
    return Failure("TOOL_ERROR", "internal", str(cause) or "The tool failed.")


def pointer(steps: tuple[int | str, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


# The adapter ends here. The tools of the server:

server = Level1("shop", middleware=[announce])
READ_ONLY = ToolAnnotations(read_only_hint=True)
SOLD = {"EMEA": 42, "APAC": 17}


@server.tool(annotations=READ_ONLY)
def price(article: str, pieces: int) -> str:
    """Price of so many pieces of an article."""
    if article != "lamp":
        raise Failure("NOT_FOUND", "not_found", f"There is no article {article!r}.")
    return f"{pieces} × lamp: {19 * pieces} €"


@server.tool(annotations=READ_ONLY, meta={PREFIX + "tool": {"display": True}})
def sales(region: Literal["EMEA", "APAC"], show_user: bool = False) -> CallToolResult:
    """Sales of a region. With `show_user` the person gets a table of them."""
    text = f"{region} sold {SOLD[region]} units in May."
    if show_user:
        rows = [{"region": region, "sold": SOLD[region]}]
        return shown(text, {"type": "table", "payload": rows, "alt": f"{SOLD[region]} units in {region}"})
    return CallToolResult(content=[TextContent(type="text", text=text)])


@server.tool(annotations=READ_ONLY)
def stock() -> str:
    """Everything in stock. It always fails, unforeseen."""
    raise OSError("/srv/shop/stock.db is locked")  # for the log; the model gets an id in its place


if __name__ == "__main__":
    server.run()
