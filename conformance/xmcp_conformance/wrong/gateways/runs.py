"""Gateways whose events are well sent and wrong (section 10.6)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.wrong.registry import breaks

from .miniature import TEXT, VENDORS_KEY, Draft, Json, Miniature, Run


@breaks("XMCP-REC-001", profile="gateway")
class LeavesTheTimeOut(Miniature):
    """Does not say how long a call took."""

    def call(self) -> list[Draft]:
        return [(type_, {name: one for name, one in data.items() if name != "ms"}) for type_, data in super().call()]


@breaks("XMCP-REC-001", profile="gateway")
class ShowsNoEnvelope(Miniature):
    """Shows a text where an envelope belongs."""

    def call(self) -> list[Draft]:
        return [(t, {**data, "envelope": {"text": "42"}} if t == "display" else data) for t, data in super().call()]


@breaks("XMCP-REC-040", profile="gateway")
class ShowsBeforeTheEnd(Miniature):
    """Shows the display of a call before the call has ended."""

    def call(self) -> list[Draft]:
        *before, finished, display = super().call()
        return [*before, display, finished]


@breaks("XMCP-REC-040", profile="gateway")
class NeverEndsACall(Miniature):
    """Does not say that a call ended."""

    def call(self) -> list[Draft]:
        return [one for one in super().call() if one[0] not in ("tool.finished", "display")]

    def whole(self, run: Run) -> Json:
        return {**super().whole(run), "tools_used": [{"call_id": "c1", "tool": "sales_summary", "status": "running"}]}


@breaks("XMCP-REC-040", profile="gateway")
class BeginsNoCall(Miniature):
    """Does not say that a call began."""

    def call(self) -> list[Draft]:
        return [one for one in super().call() if one[0] not in ("tool.started", "tool.progress")]

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        drafts = super().drafts(prompt, run)
        at = next((n for n, one in enumerate(drafts) if one[0] == "tool.finished"), len(drafts))
        other = {"step": 1, "call_id": "c2", "tool": "sales_summary"}
        began = [("tool.started", {**other, "arguments": self.arguments()}), ("tool.finished", {**other, **_OK})]
        return [*drafts[:at], *began, *drafts[at:]] if at < len(drafts) else drafts

    def whole(self, run: Run) -> Json:
        return {**super().whole(run), "tools_used": [{"call_id": "c2", "tool": "sales_summary", "status": "ok"}]}


_OK: dict[str, Any] = {"status": "ok", "ms": 1}


@breaks("XMCP-REC-041", profile="gateway")
class CountsStepsFromNought(Miniature):
    """Counts steps from 0."""

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        drafts = super().drafts(prompt, run)
        return [(type_, {**data, "step": data["step"] - 1} if "step" in data else data) for type_, data in drafts]


@breaks("XMCP-REC-041", profile="gateway")
class EndsNoStep(Miniature):
    """Does not say that the first step is done."""

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        return [one for one in super().drafts(prompt, run) if one != ("step.finished", {"step": 1})]


@breaks("XMCP-REC-041", profile="gateway")
class WritesAfterTheStep(Miniature):
    """Tells the usage of a request when its step is done."""

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        drafts = super().drafts(prompt, run)
        at = [n for n, one in enumerate(drafts) if one == ("step.finished", {"step": 2})]
        for n in at:
            drafts[n - 1], drafts[n] = drafts[n], drafts[n - 1]
        return drafts


@breaks("XMCP-REC-042", profile="gateway")
class CountsTheLastRequest(Miniature):
    """Says what the last request to the model cost, and not what the run did."""

    def total(self) -> Json:
        return {**super().total(), "input_tokens": 7, "output_tokens": 3}


@breaks("XMCP-REC-042", profile="gateway")
class CountsOneRequest(Miniature):
    """Says that there was one request to the model."""

    def total(self) -> Json:
        return {**super().total(), "llm_calls": 1}


@breaks("XMCP-REC-043", profile="gateway")
class AnswersWithAllTexts(Miniature):
    """Has the texts of all steps as the answer."""

    def final_answer(self) -> str:
        return f"Let me look.{TEXT}"


@breaks("XMCP-REC-043", profile="gateway")
class AnswersWithWhatItNeverTold(Miniature):
    """Has an answer that no event told."""

    def final_answer(self) -> str:
        return f"{TEXT} Is that all?"


@breaks("XMCP-REC-044", profile="gateway")
class LeavesDisplaysOut(Miniature):
    """Has no displays in its answer in one piece."""

    def whole(self, run: Run) -> Json:
        return {**super().whole(run), "displays": []}


@breaks("XMCP-REC-044", profile="gateway")
class ForgetsCalls(Miniature):
    """Names no calls in its answer in one piece."""

    def whole(self, run: Run) -> Json:
        return {**super().whole(run), "tools_used": []}


@breaks("XMCP-REC-044", profile="gateway")
class HasNoUsage(Miniature):
    """Does not say in one piece what a chat cost."""

    def whole(self, run: Run) -> Json:
        return {name: one for name, one in super().whole(run).items() if name != "usage"}


@breaks("XMCP-REC-045", profile="gateway")
class RepeatsTheKeyOfTheCaller(Miniature):
    """Writes who asks into a notice."""

    def drafts(self, prompt: str, run: Run) -> list[Draft]:
        first, *rest = super().drafts(prompt, run)
        return [first, ("notice", {"kind": "caller", "text": run.caller}), *rest]


@breaks("XMCP-REC-045", profile="gateway")
class SaysTheKeyOfTheVendor(Miniature):
    """Repeats in an error what it sent to the vendor."""

    def error(self, message: str) -> Json:
        return super().error(f"{message} It was asked with {VENDORS_KEY}.")


@breaks("XMCP-REC-046", profile="gateway")
class ShowsWhatItFilledIn(Miniature):
    """Tells arguments that the model did not write."""

    def arguments(self) -> Json:
        return {**super().arguments(), "user_id": "u-17"}
