"""Servers that behave in unusual ways, and keep every sentence."""

from __future__ import annotations

import random
import time
from collections import defaultdict, deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import jsonschema_rs
import mcp_types

from unseen_third.common import SCHEMAS, Answer, Block, Call, Fault, Json, Spec, closed, picture, words
from unseen_third.registry import permitted
from unseen_third.yard import LoudYard, Yard


@permitted
class BucketOfCalls(Yard):
    """Each tool works six times in a twentieth of a second; what comes too early waits for the rest of it."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=6))

    def work(self, call: Call) -> Answer:
        recent, now = self.recent[call.tool], time.monotonic()
        if len(recent) == 6 and now - recent[0] < 0.05:
            wait = 51 - int((now - recent[0]) * 1000)
            at = (datetime.now(UTC) + timedelta(milliseconds=wait)).isoformat()
            meta = {
                "limit": {"scope": "tool", "dimension": "requests", "max": 6, "reset_at": at},
                "side_effects": "none",
            }
            message = f"Six calls of {call.tool} are enough for now."
            raise Fault("RATE_LIMITED", message, meta, retryable=True, wait_ms=wait, category="rate_limited")
        recent.append(now)
        return super().work(call)


@permitted
class OneDoor(Yard):
    """A single tool calls all others, with their arguments in one of its own."""

    def tools(self) -> dict[str, Spec]:
        inner = [name for name in super().tools() if name != "my_gate_passes"]
        takes = closed("tool", tool=words(*inner), arguments={"type": "object", "default": {}})
        return {"run": Spec("Run a tool of the yard.", takes, reads=False)}

    async def answer(self, call: Call) -> Answer:
        outer = await super().answer(call)
        if outer.fault is not None or call.tool != "run":
            return outer
        inner = replace(call, tool=call.args["tool"], args=call.args.get("arguments", {}))
        spec = super().tools()[inner.tool]
        inner = self.prepared(inner, spec)
        fields = self.misfits(inner, spec)
        if fields:
            inside = [{**one, "pointer": f"/arguments{one['pointer']}"} for one in fields]
            return Answer(fault=self.refusal(inner, inside))
        try:
            return replace(self.finished(inner, super().work(inner)), data=None)
        except Fault as fault:
            return Answer(fault=fault)
        except ArithmeticError as error:
            return Answer(fault=self.unforeseen(inner, error))

    def work(self, call: Call) -> Answer:
        return Answer()


@permitted
class LastComeFirstServed(LoudYard):
    """Calls wait for those that came after them: whoever waits is asked again as long as somebody newer waits too."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[int] = []
        self.ticket = 0

    async def handle(self, call: Call) -> mcp_types.CallToolResult:
        self.ticket += 1
        mine = self.ticket
        self.waiting.append(mine)
        try:
            for _ in range(20):
                await anyio.sleep(0.003)
                if self.waiting[-1] == mine:
                    break
            return await super().handle(call)
        finally:
            self.waiting.remove(mine)


@permitted
class ChecksItsDisplays(Yard):
    """A picture without zoom has the width 0, which the yard notices itself before it sends the display."""

    def show_camera(self, call: Call, src: str, caption: str | None) -> Any:
        show = super().show_camera(call, src, caption)
        show["payload"]["width"] = 320 * int(call.args.get("zoom", 1))
        return show

    def finished(self, call: Call, answer: Answer) -> Answer:
        answer = super().finished(call, answer)
        schema = (SCHEMAS / "display_envelope.schema.json").read_text()
        envelope: list[Json] = []
        if answer.display is not None:
            for error in jsonschema_rs.validator_for(schema).iter_errors(answer.display):
                pointer = "".join(f"/{step}" for step in error.instance_path)
                envelope.append({"pointer": pointer, "reason": "schema", "message": error.message})
        if envelope:
            raise Fault("INVALID_PAYLOAD", "The display is no envelope.", {"params": {"envelope": envelope}})
        return answer


@permitted
class NoKeyForTheRevoked(Yard):
    """Whose passes were revoked has no key any more, so that the yard cannot fill it in; otherwise each value that the
    caller sends is refused."""

    def my_gate_passes(self, call: Call) -> Answer:
        if call.args.get("status") == "revoked":
            raise Fault("MISSING_SERVER_PARAM", "There is no value for gate_key.", {"params": {"name": "gate_key"}})
        if call.forged:
            names = {"names": sorted(call.forged)}
            raise Fault("FORBIDDEN_PARAM_OVERRIDE", "The yard knows who you are.", {"params": names})
        return super().my_gate_passes(call)


@permitted
class ErrorsWithData(Yard):
    """A wagon that is too light comes with the weight that was computed all the same, and a picture of the scale."""

    async def answer(self, call: Call) -> Answer:
        answer = await super().answer(call)
        if answer.fault is not None and answer.fault.code == "PRECONDITION_FAILED":
            answer.data = {"net_kg": round(call.args["gross_kg"] - call.args["tare_kg"], 3)}
        return answer

    def document_blocks(self, call: Call, answer: Answer, document: str) -> list[Block]:
        pictures = [picture()] if answer.fault and answer.data else []
        return [*super().document_blocks(call, answer, document), *pictures]


@permitted
class SeasonalTools(Yard):
    """One tool is listed only every other time, although it always works, and the order is another each time."""

    def page(self, cursor: str | None, *, declared: bool, handshake: bool) -> mcp_types.ListToolsResult:
        tools = super().page(cursor, declared=declared, handshake=handshake).tools
        random.shuffle(tools)
        return mcp_types.ListToolsResult(tools=[one for one in tools if self.lists % 2 or one.name != "gauge_ratio"])
