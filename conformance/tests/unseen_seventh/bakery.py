"""A right server of a bakery, the base of the seventh set: a table of functions, and what is done around each of them.

It shares no code with the reference package, the suite, or the other sets. A server of the set overrides a step on the
way of an order, an element of the documents, a part of the plain result, or what the bakery says of itself.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from copy import deepcopy
from typing import Any

import jsonschema_rs
import mcp_types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from unseen_seventh.counter import WARES
from unseen_seventh.kit import PREFIX, Goods, Json, Order, Refusal, Ware, whole
from unseen_seventh.writer import Writer

EXTENSION = f"{PREFIX}tool-response"
CUSTOMER: Json = {
    "customer_id": "k-161803",
    "shop": "Crust & Crumb",
    "credit_cents": 1250075,
    "token": "tok-saffron-27182",
}
SECRET = ("token",)
LIMIT = 8 * 1024 * 1024


class _Open(Server[Any]):
    """Says what the bakery announces, at the place that the era has for it."""

    bakery: Bakery

    def get_capabilities(self, *positional: Any, **named: Any) -> mcp_types.ServerCapabilities:
        handshake = named.get("protocol_version") is None
        said = super().get_capabilities(*positional, **named)
        return said.model_copy(update=self.bakery.announced(handshake=handshake))


class Bakery(Writer):
    """A bakery with the wire `always`."""

    wire = "always"

    def __init__(self) -> None:
        self.book: list[str] = []
        self.seen: Counter[str] = Counter()

    def wares(self) -> dict[str, Ware]:
        """Return the tools by their names."""
        return deepcopy(WARES)

    # -- the way of an order -------------------------------------------------------------------------------------

    async def outcome(self, order: Order) -> Goods | Refusal:
        """Return what became of an order."""
        outcome: Goods | Refusal
        try:
            outcome = self.serve(order)
        except Refusal as refusal:
            outcome = refusal
            if not self.keeps(order, refusal.display):
                refusal.display = None
        except MCPError:
            raise
        except Exception as error:
            outcome = self.surprise(order, error)
        if outcome.display is not None:
            outcome.display = self.understood(order, outcome.display)
        return outcome

    def serve(self, order: Order) -> Goods:
        """Call a tool."""
        wares = self.wares()
        if order.tool not in wares:
            return self.stranger(order)
        ware = wares[order.tool]
        self.set_aside(order, ware)
        faults = self.faults(order, ware)
        if faults:
            raise self.unfit(order, faults)
        goods = self.served(order, ware.run(order))
        if ware.meta.get("server_populated"):
            goods.filled = self.disclosed(order)
        if not self.keeps(order, goods.display):
            goods.display = None
        goods.text += self.hint(order, goods)
        return goods

    def stranger(self, order: Order) -> Goods:
        """Refuse the order of a tool that the bakery does not have."""
        if not order.tool:
            raise MCPError(-32602, "A call names a tool.")
        raise Refusal("UNKNOWN_TOOL", "The bakery has no such tool.", {"side_effects": "none"})

    def surprise(self, order: Order, error: Exception) -> Refusal:
        """Write a failure that nobody foresaw into the book."""
        number = uuid.uuid4().hex
        self.book.append(f"{number} {type(error).__name__} in {order.tool}")
        return Refusal("INTERNAL", "Something was burnt.", {"error_id": number})

    def set_aside(self, order: Order, ware: Ware) -> None:
        """Fill in what the caller cannot say, and take a `show_user` that is null for an absent one."""
        for name in ware.meta.get("server_populated", []):
            order.filled[name] = CUSTOMER[name]
            if name in order.args:
                order.forged[name] = order.args.pop(name)
        if ware.meta.get("display") and order.args.get("show_user", "") is None:
            del order.args["show_user"]
        order.wanted = ware.meta.get("display") is True and order.args.get("show_user") is True

    def faults(self, order: Order, ware: Ware) -> list[tuple[list[str | int], str]]:
        """Return the path of each argument that does not fit, and why it does not."""
        found: list[tuple[list[str | int], str]] = []
        judge = jsonschema_rs.validator_for(ware.takes, validate_formats=True)
        for error in judge.iter_errors(whole(order.args)):
            kind: Any = error.kind
            reason = type(kind).__name__.rpartition("_")[2].lower()
            names = [*getattr(kind, "unexpected", [])]
            missing = getattr(kind, "property", None)
            names += [missing] if isinstance(missing, str) else []
            path = [*error.instance_path]
            found += [([*path, name], reason) for name in names] or [(path, reason)]
        return found

    def unfit(self, order: Order, faults: list[tuple[list[str | int], str]]) -> Refusal:
        """Return the refusal of arguments that do not fit."""
        named = [self.named(order, path, why) for path, why in faults]
        meta: Json = {"fields": named, "side_effects": "none"}
        return Refusal("VALIDATION_FAIL", f"{len(faults)} arguments do not fit.", meta)

    def named(self, order: Order, path: list[str | int], why: str) -> Json:
        """Return one entry of `fields`."""
        return {"pointer": self.pointer(path), "reason": why, "message": f"This does not fit: {why}."}

    def pointer(self, path: list[str | int]) -> str:
        """Return a JSON Pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)

    def served(self, order: Order, goods: Goods) -> Goods:
        """Return what a tool returned."""
        return goods

    def keeps(self, order: Order, display: Any) -> bool:
        """Return whether a display is sent."""
        return display is not None and order.wanted

    def hint(self, order: Order, goods: Goods) -> str:
        """Return what a client that did not declare the extension is told about a display."""
        if goods.display is None or order.client:
            return ""
        return "\n(A display was sent for the person. This client perhaps cannot show it.)"

    def understood(self, order: Order, display: Any) -> Any:
        """Return a display with a fallback for each type that the client does not know."""
        types = order.client.get("displayTypes")
        if not isinstance(types, list):
            return display
        if display["type"] == "group":
            display = {**display, "payload": [self.understood(order, one) for one in display["payload"]]}
        known = display["type"] in types or "fallback" in display
        return display if known else {**display, "fallback": self.fallback(order, display)}

    def fallback(self, order: Order, display: Any) -> Json:
        """Return what is shown in the place of a display."""
        return {"type": "text", "payload": display.get("alt") or f"There is a {display['type']} here."}

    def disclosed(self, order: Order) -> Json:
        """Return what is said of the parameters that the bakery filled in."""
        said: Json = {
            "values": {name: one for name, one in order.filled.items() if name not in SECRET},
            "redacted": [name for name in order.filled if name in SECRET],
        }
        return {**said, "overridden": sorted(order.forged)} if order.forged else said

    # -- sizes ---------------------------------------------------------------------------------------------------

    def fitting(self, order: Order, outcome: Goods | Refusal) -> tuple[str, Goods | Refusal]:
        """Return a document that is small enough, and what it says."""
        written = self.document(order, outcome)
        if self.size(written) <= self.room(order):
            return written, outcome
        outcome = self.too_large(order) if isinstance(outcome, Goods) else self.shorter(outcome)
        return self.document(order, outcome), outcome

    def room(self, order: Order) -> int:
        """Return the bytes that the client accepts."""
        most = order.client.get("maxBytes")
        if isinstance(most, bool) or not isinstance(most, int | float):
            return LIMIT
        return int(min(max(most, 4096), LIMIT))

    def too_large(self, order: Order) -> Refusal:
        """Return the failure in the place of an answer that is too large."""
        return Refusal("RESULT_TOO_LARGE", "The answer is too large for this client.", {"side_effects": "none"})

    def shorter(self, refusal: Refusal) -> Refusal:
        """Return a failure that fits into 4,096 bytes."""
        old = refusal.meta or {}
        meta: Json = {name: one for name, one in old.items() if name in ("error_id", "side_effects", "recovery")}
        fields: list[Json] = []
        for one in old.get("fields", []):
            slim = {"pointer": one["pointer"], "message": "Bad."}
            if len(json.dumps([*fields, slim])) <= 2000:
                fields.append(slim)
        meta |= {"fields": fields} if fields else {}
        short = Refusal(refusal.code, refusal.message[:200], meta, category=refusal.category, wait=refusal.wait)
        short.retryable = refusal.retryable
        return short

    # -- results -------------------------------------------------------------------------------------------------

    async def answer(self, order: Order) -> mcp_types.CallToolResult:
        """Answer an order."""
        outcome = await self.outcome(order)
        return self.as_document(order, outcome) if order.documents else self.as_plain(order, outcome)

    def as_document(self, order: Order, outcome: Goods | Refusal) -> mcp_types.CallToolResult:
        """Return a result with a document."""
        written, outcome = self.fitting(order, outcome)
        aside = outcome.aside if isinstance(outcome, Goods) else ""
        return mcp_types.CallToolResult(
            content=[self.first_block(order, written), *([block(whole(aside), "user")] if aside else [])],
            is_error=self.failed(order, outcome),
            structured_content=self.structured(order, outcome),
            _meta={f"{PREFIX}result": {"version": "1.0", "form": "document"}},
        )

    def first_block(self, order: Order, written: str) -> Any:
        """Return the block with the document."""
        return block(written)

    def failed(self, order: Order, outcome: Goods | Refusal) -> bool:
        """Return what `isError` says."""
        return isinstance(outcome, Refusal)

    def structured(self, order: Order, outcome: Goods | Refusal) -> Any:
        """Return the structured content."""
        return whole(outcome.data) if isinstance(outcome, Goods) else None

    def as_plain(self, order: Order, outcome: Goods | Refusal) -> mcp_types.CallToolResult:
        """Return a plain result."""
        return mcp_types.CallToolResult(
            content=self.plain_blocks(order, outcome),
            is_error=self.failed(order, outcome),
            structured_content=self.structured(order, outcome),
            _meta=self.plain_meta(order, outcome),
        )

    def plain_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        """Return the blocks of a plain result."""
        return [*self.text_blocks(order, outcome), *self.more_blocks(order, outcome)]

    def text_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        """Return the blocks that are the text for the model."""
        if isinstance(outcome, Refusal):
            return [block(f"{outcome.code}: {self.legal(outcome.message)}")]
        return [block(self.legal(outcome.text))]

    def more_blocks(self, order: Order, outcome: Goods | Refusal) -> list[Any]:
        """Return the other blocks of a plain result."""
        blocks: list[Any] = []
        if isinstance(outcome, Goods):
            blocks += [self.filled_block(order, outcome.filled)] if outcome.filled is not None else []
            blocks += [block(whole(outcome.aside), "user")] if outcome.aside else []
        alt = self.alt(order, outcome.display)
        return [*blocks, block(whole(alt), "user")] if alt else blocks

    def filled_block(self, order: Order, filled: Json) -> mcp_types.TextContent:
        """Return the block that names what the bakery filled in."""
        said = [f"{name}: {self.filled_value(one)}" for name, one in filled.get("values", {}).items()]
        said += [f"{name}: (secret)" for name in filled.get("redacted", [])]
        said += [f"{name} as you sent it was not used" for name in filled.get("overridden", [])]
        line = "The bakery filled in: " + "; ".join(said)
        return mcp_types.TextContent(type="text", text=line, _meta={f"{PREFIX}server_populated": True})

    def filled_value(self, value: Any) -> str:
        """Return a value as a text."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def alt(self, order: Order, display: Any) -> str:
        """Return a display in words."""
        return "" if display is None else str(display.get("alt", ""))[:500]

    def plain_meta(self, order: Order, outcome: Goods | Refusal) -> Json:
        """Return the `_meta` of a plain result."""
        mark: Json = {"version": "1.0", "form": "plain"}
        meta: Json = {f"{PREFIX}result": mark}
        if outcome.display is not None:
            meta[f"{PREFIX}display"] = self.numbers(whole(outcome.display))
        if isinstance(outcome, Refusal):
            meta[f"{PREFIX}error"] = self.plain_error(order, outcome)
            return meta
        if outcome.media:
            mark["format"] = outcome.media
        if outcome.cut:
            mark["truncated"] = True
        if self.legal(outcome.text) != outcome.text:
            mark["lossy"] = True
        if outcome.filled is not None:
            meta[f"{PREFIX}server_populated"] = self.numbers(whole(outcome.filled))
        return meta

    def plain_error(self, order: Order, refusal: Refusal) -> Json:
        """Return a failure as JSON."""
        said: Json = {
            "code": refusal.code,
            "message": self.legal(refusal.message),
            "category": refusal.category,
            "retryable": refusal.retryable,
        }
        if refusal.retryable and refusal.wait is not None:
            said["retry_after_ms"] = refusal.wait
        return said if refusal.meta is None else {**said, "meta": self.numbers(whole(refusal.meta))}

    # -- MCP -----------------------------------------------------------------------------------------------------

    def announced(self, *, handshake: bool) -> Json:
        """Return what the capabilities say of the extension."""
        return {"experimental" if handshake else "extensions": {EXTENSION: self.announcement(handshake=handshake)}}

    def announcement(self, *, handshake: bool) -> Json:
        """Return the announcement."""
        return {"versions": ["1.0"], "wire": self.wire}

    def declaration(self, context: Any) -> Json:
        """Return what the client declared; nothing where it reads other versions alone."""
        for place in ("extensions", "experimental"):
            said = (getattr(context.session.client_capabilities, place, None) or {}).get(EXTENSION)
            versions = said.get("versions") if isinstance(said, dict) else None
            if isinstance(versions, list) and any(re.fullmatch(r"1\.[0-9]{1,4}", str(one)) for one in versions):
                return {**said} if isinstance(said, dict) else {}
        return {}

    def gets_documents(self, order: Order) -> bool:
        """Return whether the client gets documents."""
        if self.wire == "negotiated":
            return bool(order.client) and order.client.get("documents") is not False
        return self.wire == "always"

    def listed(self, name: str, ware: Ware, *, declared: bool, handshake: bool) -> mcp_types.Tool:
        """Return a tool as the list has it."""
        return mcp_types.Tool(
            name=name,
            description=ware.title,
            input_schema=ware.takes,
            output_schema=ware.gives,
            annotations=self.annotations(ware),
            _meta={f"{PREFIX}tool": ware.meta} if ware.meta else None,
        )

    def annotations(self, ware: Ware) -> mcp_types.ToolAnnotations | None:
        """Return the annotations of a tool."""
        return mcp_types.ToolAnnotations(read_only_hint=ware.reads, idempotent_hint=ware.idempotent)

    def page(self, params: Any, tools: list[mcp_types.Tool]) -> mcp_types.ListToolsResult:
        """Return the list of tools, or a page of it."""
        return mcp_types.ListToolsResult(tools=tools)

    def server(self) -> Server[Any]:
        """Return the server object of the MCP SDK."""

        def old(context: Any) -> bool:
            return not str(context.protocol_version).startswith("2026")

        async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
            how = {"declared": bool(self.declaration(context)), "handshake": old(context)}
            return self.page(params, [self.listed(name, ware, **how) for name, ware in self.wares().items()])

        async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            args = dict(params.arguments or {})
            same = f"{params.name} {json.dumps(args, sort_keys=True)}"
            self.seen[same] += 1
            order = Order(params.name, args, self.declaration(context), old(context), times=self.seen[same])
            order.documents = self.gets_documents(order)
            return await self.answer(order)

        server = _Open("bakery", on_list_tools=list_tools, on_call_tool=call_tool)
        server.bakery = self
        return server


class NegotiatedBakery(Bakery):
    """The bakery with the wire `negotiated`."""

    wire = "negotiated"


class PlainBakery(Bakery):
    """The bakery with the wire `plain`."""

    wire = "plain"


def block(said: str, *audience: Any) -> mcp_types.TextContent:
    """Return a text block."""
    noted = mcp_types.Annotations(audience=[*audience]) if audience else None
    return mcp_types.TextContent(type="text", text=said, annotations=noted)
