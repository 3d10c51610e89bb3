"""A small client that obeys the specification, and variants of it that break one sentence each.

It is written from chapter 11 alone, and proves that the protocol of adapters needs no particular client. It calls the
tools of one turn at the same time, tries each call once, and has none of the optional features but cancellation.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from xml.sax.saxutils import quoteattr

from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.profiles.client.adapter import (
    Application,
    ChatOutcome,
    ChatRequest,
    ConnectionLost,
    Json,
    Model,
    OutsideProtocol,
    ProtocolError,
    ServerUnreachable,
    ToolServer,
)
from xmcp_conformance.profiles.client.driver import observe
from xmcp_conformance.profiles.client.messages import text_of
from xmcp_conformance.profiles.client.scenario import Feature
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.trace import Setup, Trace
from xmcp_conformance.reader import read
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_CODES, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

from .trace_builder import NO_OBJECT, error, result

_INVALID_PARAMS: Final = -32602
_DISPLAY: Final = re.compile(r"<display>.*?</display>", re.DOTALL)
FEATURES: Final[frozenset[Feature]] = frozenset({"cancellation", "chats_at_the_same_time"})


@dataclass(frozen=True)
class OfferedTool:
    """A tool as its server listed it. `xmcp`: the server announced the extension."""

    server: ToolServer
    xmcp: bool
    listed: Json


@dataclass(frozen=True)
class Reply:
    """What a call came to: the document for the model, the display for the person, and what is for the user alone."""

    document: str
    failed: bool = True
    display: Any = None
    for_user: Sequence[Any] = ()


class Miniature:
    """The client: one loop, with its options in `setup`."""

    def __init__(self, setup: Setup, model: Model, application: Application) -> None:
        self.setup, self.model, self.application = setup, model, application
        self.tools: dict[str, OfferedTool] = {}
        self._slots = asyncio.Semaphore(setup.max_concurrency)
        # One call of each tenant at a time waits for a slot, so that the tenants get them in turn.
        self._next_of: defaultdict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def find_tools(self, servers: Sequence[ToolServer]) -> None:
        """List the tools of the servers that can be reached, and name them."""
        for index, (server, known) in enumerate(zip(servers, self.setup.servers, strict=True)):
            with suppress(ServerUnreachable):
                for tool in await server.list_tools():
                    name = f"{known.given_name}__{tool['name']}" if known.given_name else tool["name"]
                    free_name = name if name not in self.tools else f"server{index}__{name}"
                    self.tools[free_name] = OfferedTool(server, known.xmcp, tool)

    async def chat(self, request: ChatRequest) -> ChatOutcome:
        """Run a chat."""
        if not _is_in_order(request.history):
            return ChatOutcome(history=request.history, failure="refused")  # as it was given
        history = [*map(self._fitted, request.history), {"role": "user", "content": request.query}]
        try:
            return await self._loop(history, request.tenant)
        except asyncio.CancelledError:
            return ChatOutcome(history=history, failure="cancelled")

    async def refresh_tools(self) -> None:
        """Do nothing: the feature is missing."""

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def _loop(self, history: list[Json], tenant: str | None) -> ChatOutcome:
        displays: list[Any] = []
        text = ""
        for _ in range(self.setup.max_turns):
            answer = await self.model.answer(history, self._offered())
            if answer.failure is not None:
                return ChatOutcome(history=history, failure="provider")
            text = "".join(answer.pieces)
            if answer.stalls:
                await self._wait_for_more(history, text)
            if not answer.calls:
                said = text if text.strip() else ""
                if said:
                    history.append({"role": "assistant", "content": said})
                return _ended(history, answer.finish or ("stop" if said else "empty"), said, displays)
            replies = await self._make_calls(history, text, answer.calls, tenant)
            shown = [reply.display for reply in replies if reply.display is not None and not reply.failed]
            for reply in replies:
                displays += [*([reply.display] if reply.display is not None else []), *reply.for_user]
            if self.setup.display == "exit" and len(shown) == len(replies):
                return _ended(history, "display", "", displays)
        return _ended(history, "max_turns", text, displays)

    async def _wait_for_more(self, history: list[Json], text: str) -> None:
        """Wait for an answer that does not go on; if the chat is cancelled, keep what there is of it."""
        try:
            await asyncio.Event().wait()
        finally:
            history.append({"role": "assistant", "content": text})

    def _offered(self) -> list[Json]:
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": tool.listed["description"],
                    "parameters": tool.listed["inputSchema"],
                },
            }
            for name, tool in self.tools.items()
        ]

    async def _make_calls(
        self, history: list[Json], text: str, calls: Sequence[Mapping[str, str]], tenant: str | None
    ) -> list[Reply]:
        """Make the calls of a turn and write them into the history, even if the chat is cancelled meanwhile."""
        replies = [Reply(error("CANCELLED", "The chat was cancelled.", name=call["name"])) for call in calls]

        async def make(place: int) -> None:
            replies[place] = await self._reply(calls[place], tenant)

        try:
            await asyncio.gather(*map(make, range(len(calls))))
        finally:
            asked = _with_ids(history, calls)
            history.append(self.assistant_message(text, asked))
            answers = zip(asked, replies, strict=True)
            history += [{"role": "tool", "tool_call_id": c["id"], "content": reply.document} for c, reply in answers]
        self._call_back(history, replies)
        return replies

    def _call_back(self, history: list[Json], replies: Sequence[Reply]) -> None:
        for reply in replies:
            with suppress(Exception):
                if reply.failed:
                    self.application.on_error(history)
                if reply.display is not None:
                    self.application.on_display(history)

    async def _reply(self, call: Mapping[str, str], tenant: str | None) -> Reply:
        name, arguments = call["name"], _arguments(call["arguments"])
        if name not in self.tools:
            return Reply(error("UNKNOWN_TOOL", "There is no such tool.", name=name))
        if arguments is None:
            return Reply(error("VALIDATION_FAIL", "The arguments are not one JSON object.", name=name, meta=NO_OBJECT))
        tool = self.tools[name]
        try:
            async with self._slot(tenant), asyncio.timeout(self.setup.tool_timeout):
                answered = await tool.server.call_tool(self.name_at_server(name, tool), arguments)
        except TimeoutError:
            return Reply(error("TIMEOUT", "The tool did not answer in time.", name=name))
        except ProtocolError as exc:
            return Reply(error("VALIDATION_FAIL" if exc.code == _INVALID_PARAMS else "TOOL_ERROR", str(exc), name=name))
        except OutsideProtocol as exc:
            code = "AUTH_REQUIRED" if exc.status in (401, 403) else "CONNECTION_FAILED"
            return Reply(error(code, "The server gave no answer of MCP.", name=name))
        except (ServerUnreachable, ConnectionLost) as exc:
            return Reply(error("CONNECTION_FAILED", self.words_for(exc), name=name))
        return replace(self._read(name, tool, answered), for_user=_for_user(answered))

    @asynccontextmanager
    async def _slot(self, tenant: str | None) -> AsyncIterator[None]:
        async with self._next_of[tenant]:
            await self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release()

    def _read(self, name: str, tool: OfferedTool, answered: Json) -> Reply:
        meta, failed = answered.get("_meta", {}), answered.get("isError") is True
        plain = tool.xmcp and meta.get(RESULT_META_KEY, {}).get("form") == "plain"
        blocks = [one for one in answered["content"] if not (plain and _is_about_values(one))]
        if tool.xmcp and not plain:
            return self._read_document(name, blocks, failed)
        text = "\n".join(_words_of(one) for one in blocks if not _is_for_user(one))
        data = answered.get("structuredContent")
        if failed and not (plain and ERROR_META_KEY in meta):
            return Reply(_foreign_error(data, text, blocks, name))
        if not text and data is not None and not _repeats(data, blocks):
            text = json.dumps(data)
        return self._read_plain(name, text, meta) if plain else Reply(_result(text, name=name), failed=False)

    def _read_document(self, name: str, blocks: Sequence[Json], failed: bool) -> Reply:
        written = blocks[0].get("text", "") if blocks and not _is_for_user(blocks[0]) else ""
        reading = read(written)
        document = reading.document
        has_bad_values = "<server_populated" in written and not isinstance(document and document.server_populated, dict)
        is_misbuilt = any(one.requirement == "XMCP-RSP-009" and not one.ok for one in reading.observations)
        if document is None or has_bad_values or is_misbuilt:
            return Reply(error("INVALID_XML", "The server's answer cannot be read.", name=name))
        display = _envelope(document.display)
        fitted = self._for_the_model(display)
        shown = "" if fitted is None else _element("display", fitted)
        if document.error is None and failed:
            words = (document.llm_output or "").strip() or "TOOL_ERROR"
            end = "</tool_response>"
            return Reply(error("TOOL_ERROR", words, name=name).replace(end, shown + end), display=display)
        if not shown and document.llm_output is None and document.error is None:
            shown = "<llm_output></llm_output>"
        written = _DISPLAY.sub(lambda _: shown, written)
        return Reply(written, failed=document.error is not None, display=display)

    def _read_plain(self, name: str, text: str, meta: Mapping[str, Any]) -> Reply:
        display = _envelope(meta.get(DISPLAY_META_KEY))
        if (failed := meta.get(ERROR_META_KEY)) is not None:
            return Reply(_plain_error(failed, name), display=display)
        document = _result(text, self._for_the_model(display), name)
        end = "</tool_response>"
        document = f"{document.removesuffix(end)}{self.filled_in(meta.get(POPULATED_META_KEY))}{end}"
        return Reply(document, failed=False, display=display)

    def _for_the_model(self, display: Any) -> Any:
        """Return a display, or a reference in its place if it is too large (XMCP-DSP-041)."""
        if display is None or len(json.dumps(display)) <= self.setup.display_budget:
            return display
        length = len(json.dumps(display, ensure_ascii=False, separators=(",", ":")).encode())
        payload = {"type": display.get("type"), "bytes": length}
        titled = {"title": display["title"]} if "title" in display else {}
        reference = {"type": "x-xmcp-reference", **titled, "payload": payload}
        return reference if len(json.dumps(reference)) <= self.setup.display_budget else None

    def _fitted(self, message: Json) -> Json:
        """Return a message of a given history, with a reference in the place of a display that is too large."""
        content = text_of(message)
        if message.get("role") != "tool" or "<display>" not in content:
            return message
        document = read(content).document
        if document is None or document.display is None:
            return message
        display = self._for_the_model(document.display)
        return {**message, "content": result(document.llm_output, display, document.tool_name)}

    # What the variants below do in another way.

    def filled_in(self, told: Any) -> str:
        """Return what a plain result says that the server filled in, as an element; empty where it says nothing."""
        return "" if told is None else _element("server_populated", told)

    def assistant_message(self, text: str, calls: Sequence[Json]) -> Json:
        """Return the message of a turn with calls."""
        return {"role": "assistant", "content": text or None, "tool_calls": list(calls)}

    def name_at_server(self, name: str, tool: OfferedTool) -> str:
        """Return the name by which to call a tool that is offered as `name`."""
        return str(tool.listed["name"])

    def words_for(self, exc: ConnectionError) -> str:
        """Return the model's error for a server that was not reached."""
        return "The server could not be asked."


def _is_in_order(history: Sequence[Json]) -> bool:
    """Return whether the calls of each message are answered right after it, in their order (XMCP-CLI-002)."""
    waiting: list[str] = []
    for message in history:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
        elif waiting:
            return False
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting


def _ended(history: list[Json], stop_reason: str, answer: str, displays: list[Any]) -> ChatOutcome:
    outcome = {
        "answer": answer if answer.strip() else None,
        "stop_reason": stop_reason,
        "displays": displays,
        "history": history,
    }
    return ChatOutcome(history=history, result=outcome)


def _arguments(written: str) -> Json | None:
    try:
        arguments = json.loads(written.strip() or "{}", parse_constant=_no_constant)
        json.dumps(arguments, ensure_ascii=False).encode()
    except ValueError:
        return None  # `NaN`, half of a surrogate pair and the like are not JSON either (section 11.2)
    return arguments if isinstance(arguments, dict) else None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _for_user(answered: Json) -> list[Json]:
    """Return displays of the texts and the pictures whose audience is the user alone (XMCP-MCP-046)."""
    displays: list[Json] = []
    for block in filter(_is_for_user, answered["content"]):
        if block["type"] == "image":
            displays.append({"type": "image", "payload": f"data:{block['mimeType']};base64,{block['data']}"})
        elif _text_in(block):
            displays.append({"type": "text", "payload": _text_in(block)})
    return displays


def _is_for_user(block: Json) -> bool:
    return set((block.get("annotations") or {}).get("audience") or ()) == {"user"}


def _is_about_values(block: Json) -> bool:
    return (block.get("_meta") or {}).get(POPULATED_META_KEY) is True  # XMCP-MCP-048


def _text_in(block: Json) -> str:
    return str(block.get("text") or block.get("resource", {}).get("text", ""))


def _words_of(block: Json) -> str:
    """Return the text of a block, or words in the place of what is no text."""
    is_text = "text" in block or "text" in block.get("resource", {})
    return _text_in(block) if is_text else f"[{block['type']} {block.get('name', '')} {block.get('uri', '')}]"


def _repeats(data: Any, blocks: Sequence[Json]) -> bool:
    """Return whether data have a text, a name or an object that a block for the user alone says (section 6.4)."""
    whole = json.dumps(data, sort_keys=True)
    for said in (_text_in(block).strip() for block in filter(_is_for_user, blocks)):
        value = _arguments(said) if said else None
        if said and (json.dumps(said)[1:-1] in whole or (value and json.dumps(value, sort_keys=True) in whole)):
            return True
    return False


def _envelope(display: Any) -> Any:
    """Return a display; `None` if it is no envelope."""
    return display if validator("display_envelope").is_valid(display) else None


def _element(name: str, value: Any) -> str:
    inert = json.dumps(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{name}>{inert}</{name}>"


def _result(text: str, display: Any = None, name: str = "") -> str:
    """Return a document with a result, and a mark where XML cannot carry a character of its text."""
    kept = _NOT_IN_XML.sub("\ufffd", text)
    document = result(kept, display, name).replace("\r", "&#13;")
    return document if kept == text else document.replace("<llm_output>", '<llm_output lossy="true">', 1)


def _plain_error(failed: Mapping[str, Any], name: str) -> str:
    """Return the document for an error in the `_meta` of a plain result."""
    code, words, retryable = (
        failed["code"],
        failed["message"].strip() or failed["code"],
        failed.get("retryable") is True,
    )
    wait = failed.get("retry_after_ms") if retryable else None
    document = error(code, words, wait, name, retryable=retryable)
    if "category" in failed and code not in CATEGORY_OF:
        document = document.replace("<error ", f"<error category={quoteattr(failed['category'])} ", 1)
    if (effects := (failed.get("meta") or {}).get("side_effects")) is not None:
        document = document.replace("</error>", f"{_element('meta', {'side_effects': effects})}</error>", 1)
    return document


def _foreign_error(structured: Any, text: str, blocks: Sequence[Json], name: str) -> str:
    """Return the document for a failure that a server without the extension describes in its data (XMCP-MCP-040)."""
    places = (structured.get("error"), structured) if isinstance(structured, dict) else ()
    described = next((p for p in places if isinstance(p, dict) and isinstance(p.get("code"), str)), None)
    if not text.strip():
        message = (described or {}).get("message")
        instead = message if isinstance(message, str) and message.strip() else structured
        said = instead if isinstance(instead, str) else json.dumps(instead)
        text = "The tool failed." if instead is None or _repeats(instead, blocks) else said
    if described is None:
        return error("TOOL_ERROR", text, name=name)
    code = re.sub("[^A-Z0-9]", "_", re.sub("[a-z]", lambda letter: letter[0].upper(), described["code"]))
    code = code if _CODE.fullmatch(code) else "TOOL_ERROR"
    given = described.get("retryable")
    if not (given if isinstance(given, bool) else _is_usually_retryable(code)):
        return error(code, text, name=name)
    waits = [described[key] * factor for key, factor in _WAITS.items() if _is_wait(described.get(key))]
    return error(code, text, math.ceil(waits[0]) if waits else None, name, retryable=True)


def _is_wait(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_usually_retryable(code: str) -> bool:
    """Return what the registry says of a code, or of the one of which it is an alias."""
    return any(row["retryable"] for name, row in ERROR_CODES.items() if code in (name, *row.get("aliases", ())))


_CODE: Final = re.compile("[A-Z][A-Z0-9_]{0,62}")
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_WAITS: Final = {"retry_after_ms": 1, "retry_after_seconds": 1000, "retry_after": 1000}
"""Milliseconds of one, by the member that has a wait, in the order in which they count."""


def _with_ids(history: Sequence[Json], calls: Sequence[Mapping[str, str]]) -> list[Json]:
    """Return the calls for the history; one without an id of its own gets a new one."""
    used = [call["id"] for message in history for call in message.get("tool_calls") or ()]
    entries: list[Json] = []
    for call in calls:
        id_ = call["id"] if call["id"] and call["id"] not in used else f"miniature-{len(used)}"
        used.append(id_)
        arguments = json.dumps(_arguments(call["arguments"]) or {})
        entries.append({"id": id_, "type": "function", "function": {"name": call["name"], "arguments": arguments}})
    return entries


class ForgetsWhatWasFilledIn(Miniature):
    """Does not tell the model what the server of a plain result filled in."""

    def filled_in(self, told: Any) -> str:
        return ""


class LosesText(Miniature):
    """Forgets the text that the model wrote together with its calls."""

    def assistant_message(self, text: str, calls: Sequence[Json]) -> Json:
        return super().assistant_message("", calls)


class CallsByOfferedName(Miniature):
    """Calls a tool by the name that the model knows."""

    def name_at_server(self, name: str, tool: OfferedTool) -> str:
        return name


class QuotesExceptions(Miniature):
    """Tells the model the text of an exception."""

    def words_for(self, exc: ConnectionError) -> str:
        return f"{type(exc).__name__}: {exc}"


@dataclass(frozen=True)
class MiniatureAdapter:
    """Starts the miniature, or a variant of it."""

    client: type[Miniature] = Miniature

    async def start(
        self, setup: Setup, models: Sequence[Model], servers: Sequence[ToolServer], application: Application
    ) -> Miniature:
        """Start a client with the first model."""
        client = self.client(setup, models[0], application)
        await client.find_tools(servers)
        return client


def _trace(scenario: str, variant: type[Miniature], wrong: bool) -> Trace:
    return observe(SCENARIOS[scenario], MiniatureAdapter(variant if wrong else Miniature))


@breaks("XMCP-CLI-006", profile="client")
def the_miniature_loses_text(wrong: bool) -> Trace:
    """Run the miniature where the model writes text beside its calls."""
    return _trace("two calls and text beside them", LosesText, wrong)


@breaks("XMCP-CLI-093", profile="client")
def the_miniature_calls_by_the_offered_name(wrong: bool) -> Trace:
    """Run the miniature where the application gave the servers names."""
    return _trace("names that were given", CallsByOfferedName, wrong)


@breaks("XMCP-CLI-014", profile="client")
def the_miniature_quotes_exceptions(wrong: bool) -> Trace:
    """Run the miniature where connections break."""
    return _trace("every way in which a call can fail", QuotesExceptions, wrong)
