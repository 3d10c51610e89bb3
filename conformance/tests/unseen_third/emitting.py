"""The right yard with the tool for tests."""

from __future__ import annotations

from unseen_third.common import SHOW_USER, TEXT, Answer, Call, Fault, Json, Spec, closed, number
from unseen_third.yard import Yard


class EmittingYard(Yard):
    """The yard with the tool of section 1.7."""

    def tools(self) -> dict[str, Spec]:
        response = {"type": "object", "anyOf": [{"required": ["llm_output"]}, {"required": ["error"]}]}
        properties: Json = {"response": response, "structured_content": {"type": "object"}, "for_user": TEXT}
        takes = closed("response", **properties, show_user=SHOW_USER)
        emit = Spec("Answer what the caller says.", takes, meta={"display": True})
        return {**super().tools(), "xmcp_conformance_emit": emit}

    def xmcp_conformance_emit(self, call: Call) -> Answer:
        response = call.args["response"]
        display = response.get("display")
        if "llm_output" not in response:
            error = response["error"]
            wait = number(error["retry_after_ms"]) if error["retryable"] and "retry_after_ms" in error else None
            said = {"retryable": error["retryable"], "category": error["category"], "wait_ms": wait}
            fault = Fault(error["code"], error["message"], error.get("meta"), **said)
            return Answer(fault=fault, display=display, lossy=response.get("lossy", False))
        if call.shown and display is None:
            raise Fault("INVALID_PAYLOAD", "There is no display.")
        text = response["llm_output"]
        if isinstance(text, dict):
            units = "".join(chr(int(unit, 16)) for unit in text["$surrogates"])
            text = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return Answer(
            text,
            display,
            call.args.get("structured_content"),
            aside=call.args.get("for_user", ""),
            media=response.get("format", ""),
            cut=response.get("truncated", False),
            lossy=response.get("lossy", False),
        )
