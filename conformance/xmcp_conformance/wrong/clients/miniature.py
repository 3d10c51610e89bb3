"""A small client that obeys the specification, and variants of it that break one sentence each.

It is written from chapter 11 alone, and proves that the protocol of adapters needs no particular client. It calls the
tools of one turn at the same time, tries each call once, and has none of the optional features but cancellation.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from xmcp_conformance.profiles.client.adapter import (
    Application,
    ChatOutcome,
    ChatRequest,
    ConnectionLost,
    Json,
    Model,
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
from xmcp_conformance.wrong.registry import breaks
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, RESULT_META_KEY

from .trace_builder import error, result

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
                history.append({"role": "assistant", "content": text})
                return _ended(history, answer.finish or "stop", text, displays)
            replies = await self._make_calls(history, text, answer.calls, tenant)
            shown = [reply.display for reply in replies if reply.display is not None]
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
            return Reply(error("VALIDATION_FAIL", "The arguments are not one JSON object.", name=name))
        tool = self.tools[name]
        try:
            async with self._slot(tenant), asyncio.timeout(self.setup.tool_timeout):
                answered = await tool.server.call_tool(self.name_at_server(name, tool), arguments)
        except TimeoutError:
            return Reply(error("TIMEOUT", "The tool did not answer in time.", name=name))
        except ProtocolError as exc:
            return Reply(error("VALIDATION_FAIL" if exc.code == _INVALID_PARAMS else "TOOL_ERROR", str(exc), name=name))
        except (ServerUnreachable, ConnectionLost) as exc:
            return Reply(error("CONNECTION_FAILED", self.words_for(exc), name=name))
        reply = self._read(name, tool, answered)
        return replace(reply, for_user=[{"type": "text", "payload": text} for text in _for_user(answered)])

    @asynccontextmanager
    async def _slot(self, tenant: str | None) -> AsyncIterator[None]:
        async with self._next_of[tenant]:
            await self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release()

    def _read(self, name: str, tool: OfferedTool, answered: Json) -> Reply:
        blocks, meta = answered["content"], answered.get("_meta", {})
        text = "\n".join(one["text"] for one in blocks if one["type"] == "text" and not _is_for_user(one))
        if tool.xmcp and meta.get(RESULT_META_KEY, {}).get("form") == "plain":
            return self._read_plain(name, text, meta)
        if not tool.xmcp:
            failed = answered["isError"]
            code = _code_in(answered.get("structuredContent")) if failed else ""
            return Reply(error(code, text, name=name) if failed else result(text, name=name), failed)
        written = blocks[0].get("text", "")
        document = read(written).document
        if document is None:
            return Reply(error("INVALID_XML", "The server's answer cannot be read.", name=name))
        if document.error is None and answered["isError"]:
            return Reply(error("TOOL_ERROR", document.llm_output or "", name=name))
        display = document.display
        element = "" if document.llm_output is not None or document.error is not None else "<llm_output></llm_output>"
        if display is not None:
            shown = json.dumps(self._for_the_model(display)).replace("&", "\\u0026").replace("<", "\\u003c")
            element = f"<display>{shown}</display>"
        written = _DISPLAY.sub(lambda _: element, written)
        return Reply(written, failed=document.error is not None, display=display)

    def _read_plain(self, name: str, text: str, meta: Mapping[str, Any]) -> Reply:
        if (failed := meta.get(ERROR_META_KEY)) is not None:
            return Reply(error(failed["code"], failed["message"], name=name))
        display = meta.get(DISPLAY_META_KEY)
        return Reply(result(text, self._for_the_model(display), name), failed=False, display=display)

    def _for_the_model(self, display: Any) -> Any:
        """Return a display, or a reference in its place if it is too large (XMCP-DSP-041)."""
        if display is None or len(json.dumps(display)) <= self.setup.display_budget:
            return display
        return {"type": "x-xmcp-reference", "payload": {}, "title": display.get("title")}

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

    def assistant_message(self, text: str, calls: Sequence[Json]) -> Json:
        """Return the message of a turn with calls."""
        return {"role": "assistant", "content": text or None, "tool_calls": list(calls)}

    def name_at_server(self, name: str, tool: OfferedTool) -> str:
        """Return the name by which to call a tool that is offered as `name`."""
        return str(tool.listed["name"])

    def words_for(self, exc: ConnectionError) -> str:
        """Return the model's error for a server that was not reached."""
        return "The server could not be asked."


def _ended(history: list[Json], stop_reason: str, answer: str, displays: list[Any]) -> ChatOutcome:
    outcome = {"answer": answer or None, "stop_reason": stop_reason, "displays": displays, "history": history}
    return ChatOutcome(history=history, result=outcome)


def _arguments(written: str) -> Json | None:
    try:
        arguments = json.loads(written or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _for_user(answered: Json) -> list[str]:
    """Return the texts whose audience is the user alone (XMCP-MCP-046); the suite puts none of them first."""
    return [block["text"] for block in answered["content"] if block["type"] == "text" and _is_for_user(block)]


def _is_for_user(block: Json) -> bool:
    return bool(block.get("annotations") == {"audience": ["user"]})


def _code_in(structured: Any) -> str:
    """Return the code that a server without the extension names in the data of a failure (XMCP-MCP-040)."""
    for described in (structured.get("error"), structured) if isinstance(structured, dict) else ():
        if isinstance(described, dict) and isinstance(described.get("code"), str):
            code = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in described["code"].upper())
            return code if code[:1].isalpha() and len(code) <= 63 else "TOOL_ERROR"
    return "TOOL_ERROR"


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
