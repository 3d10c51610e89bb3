"""A stand-in for the Gemini API: streamGenerateContent as server-sent events, and the list of models."""

from __future__ import annotations

import json
from typing import Any

from support.vendors.stand_in import QUOTED_KEY, StandIn, event, halves
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import ErrorCategory
from xmcp.providers import GeminiProvider, LLMProvider
from xmcp.providers.contract import SECRET, Answer, Asked, Feature, Raw, Refusal, Said, Scripted

MODEL = "gemini-3-test"
SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSBjYWxs"
FOREIGN = "skip_thought_signature_validator"
"""In the vendor's documentation: the signature of a call that it did not write, which it does not check."""

_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
_EXCEEDED = "You exceeded your current quota, please check your plan and billing details."


def quota(limit: str) -> list[dict[str, Any]]:
    """Return the details of an error that say which limit was broken."""
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    return [
        {"@type": _QUOTA, "violations": [{"quotaMetric": metric, "quotaId": limit, "quotaValue": "50"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
    ]


_DAY, _MINUTE = (f"GenerateRequestsPer{span}PerProjectPerModel-FreeTier" for span in ("Day", "Minute"))
_REFUSALS: dict[ErrorCategory, tuple[int, str, str, list[dict[str, Any]]]] = {
    ErrorCategory.QUOTA: (429, "RESOURCE_EXHAUSTED", _EXCEEDED, quota(_DAY)),
    ErrorCategory.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED", _EXCEEDED, quota(_MINUTE)),
    ErrorCategory.AUTH: (
        400,
        "INVALID_ARGUMENT",
        f"API key not valid. Please pass a valid API key. {QUOTED_KEY}",
        [{"@type": _INFO, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
    ),
    ErrorCategory.BALANCE: (429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", []),
    ErrorCategory.NETWORK: (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    ErrorCategory.CONTEXT: (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        [],
    ),
}
_FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_MODES = {"AUTO": "auto", "NONE": "none", "ANY": "required"}


class Gemini(StandIn):
    """The Gemini API, as a `Vendor` of the contract."""

    model = MODEL
    models = (MODEL, "gemini-other")
    ids = True
    """Whether calls have ids."""

    def make(self, url: str) -> LLMProvider:
        """See `StandIn.make`."""
        return GeminiProvider(SECRET, url, self.model)

    def answers(self, *answers: Scripted) -> None:
        """See `StandIn.answers`. A prompt that is refused for its content is an answer without a candidate."""
        blocked = Raw("a blocked prompt", chunk(promptFeedback={"blockReason": "SAFETY"}), self.content_type)
        super().answers(*(blocked if one == Refusal(ErrorCategory.CONTENT) else one for one in answers))

    def read(self, path: str, body: Any) -> Asked:
        """See `StandIn.read`."""
        model, colon, method = path.removeprefix("/v1/models/").partition(":")
        assert path.startswith("/v1/models/"), path
        assert (colon, method) == (":", "streamGenerateContent"), path
        known = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
        assert set(body) <= known, set(body) - known
        said: list[Said] = []
        if (instruction := body.get("systemInstruction")) is not None:
            said.append(Said("system", "".join(part["text"] for part in instruction["parts"])))
        assert body["contents"], "contents are not specified"
        before: dict[str, Any] = {}
        for content in body["contents"]:
            said += _said(content, before, signed=model.startswith("gemini-3"))
            before = content
        declarations = [one for tool in body.get("tools", ()) for one in tool["functionDeclarations"]]
        tools = {one["name"]: one["parametersJsonSchema"] for one in declarations}
        return Asked(model, tuple(said), tools, _options(body))

    def refused(self, category: ErrorCategory, model: str) -> tuple[int, Any]:
        """See `StandIn.refused`."""
        unknown = f"models/{model} is not found for API version v1, or is not supported for generateContent."
        status, state, message, details = _REFUSALS.get(category, (404, "NOT_FOUND", unknown, []))
        error = {"code": status, "message": message, "status": state}
        return status, {"error": {**error, "details": details} if details else error}

    def streamed(self, answer: Answer) -> bytes:
        """See `StandIn.streamed`."""
        parts: list[dict[str, Any]] = []
        if answer.reasoning:
            parts += [{"text": one, "thought": True} for one in halves(answer.reasoning)]
        parts += [{"text": one} for one in halves(answer.text)]
        for place, call in enumerate(answer.calls):
            signed = {"thoughtSignature": SIGNATURE} if answer.reasoning and place == 0 else {}
            named = {"id": call.id} if self.ids else {}
            parts.append({"functionCall": {**named, "name": call.name, "args": json.loads(call.arguments)}, **signed})
        if answer.reasoning and not answer.calls:
            # A signed text without words, as the last thing of a stream.
            parts.append({"text": "", "thoughtSignature": SIGNATURE})
        counted = {
            "promptTokenCount": answer.usage.input_tokens,
            "candidatesTokenCount": (answer.usage.output_tokens or 0) - 1,
            "thoughtsTokenCount": 1,
            "totalTokenCount": (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0),
        }
        if answer.usage.cached_tokens is not None:
            counted["cachedContentTokenCount"] = answer.usage.cached_tokens
        last: dict[str, Any] = {"finishReason": _FINISH[answer.finish_reason], "index": 0}
        return b"".join([*(one_part(part) for part in parts), chunk(candidates=[last], usageMetadata=counted)])

    def begun(self, text: str) -> bytes:
        """See `StandIn.begun`."""
        return one_part({"text": text})

    def listed(self, path: str) -> Any:
        """See `StandIn.listed`."""
        assert path == "/v1/models", path
        listed = [{"name": f"models/{one}", "supportedGenerationMethods": ["generateContent"]} for one in self.models]
        return {"models": [*listed, {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]}]}

    malformed: tuple[Raw, ...] = (
        *(
            Raw(why, json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode())
            for why, content in {
                "a number as the name of a tool": {"parts": [{"functionCall": {"name": 7, "args": {}}}]},
                "a list as arguments": {"parts": [{"functionCall": {"name": "add", "args": [1]}}]},
                "a text as a call": {"parts": [{"functionCall": "add"}]},
                "parts that are no list": {"parts": {"text": "ok"}},
                "a number as a text": {"parts": [{"text": 7}]},
                "a signature that is no base64": {"parts": [{"text": "ok", "thoughtSignature": "###"}]},
                "a content that is a text": "ok",
            }.items()
        ),
        *(
            Raw(why, json.dumps(body).encode())
            for why, body in {
                "candidates that are texts": {"candidates": ["ok"]},
                "an object as the finish reason": {"candidates": [{"finishReason": {"why": "STOP"}}]},
                "a count that is a text": {"candidates": [], "usageMetadata": {"promptTokenCount": "many"}},
                "a list instead of an object": [{"candidates": []}],
                "a number instead of an object": 7,
                "an error that is a text": {"error": "busy"},
                "an error whose code is a text": {"error": {"code": "429", "message": "busy"}},
                "an error that is a list": {"error": [1]},
            }.items()
        ),
        Raw("an array that was opened only", b"[" * 200_000),
        Raw("an object that is nested too deeply", b'{"candidates":' * 100_000),
    )


class OlderGemini(Gemini):
    """The second generation: calls have no ids and need no signature, and pictures stand beside results."""

    model = "gemini-2.5-test"
    ids = False
    lacks: frozenset[Feature] = frozenset({"ids"})


def chunk(**members: Any) -> bytes:
    """Return one event of a stream."""
    return event({**members, "modelVersion": MODEL, "responseId": "r"})


def one_part(part: dict[str, Any], **members: Any) -> bytes:
    """Return an event with one part of an answer."""
    return chunk(candidates=[{"content": {"parts": [part], "role": "model"}, "index": 0, **members}])


def _options(body: dict[str, Any]) -> dict[str, Any]:
    config = body.get("generationConfig", {})
    names = {"temperature": "temperature", "topP": "top_p", "maxOutputTokens": "max_tokens", "stopSequences": "stop"}
    options = {ours: config[theirs] for theirs, ours in names.items() if theirs in config}
    if (choice := body.get("toolConfig")) is not None:
        calling = choice["functionCallingConfig"]
        if (allowed := calling.get("allowedFunctionNames")) is not None:
            assert calling["mode"] == "ANY"
            (options["tool_choice"],) = allowed
        else:
            options["tool_choice"] = _MODES[calling["mode"]]
    return options


def _said(content: dict[str, Any], before: dict[str, Any], *, signed: bool) -> list[Said]:
    assert content["role"] in ("user", "model")
    parts = content["parts"]
    assert parts, "parts are empty"
    for part in parts:
        kinds = {"text", "inlineData", "fileData", "functionCall", "functionResponse"} & set(part)
        assert len(kinds) == 1, part
        assert set(part) <= kinds | {"thought", "thoughtSignature"}, part
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if results:
        assert content["role"] == "user"
        asked = [part["functionCall"] for part in before.get("parts", ()) if "functionCall" in part]
        matched = [[(one.get("id"), one["name"]) for one in many] for many in (results, asked)]
        assert matched[0] == matched[1], "results must match the calls before them"
        beside = [_blob(part) for part in parts if "inlineData" in part]
        return [
            Said(
                "tool",
                one["response"]["output"],
                (*map(_blob, one.get("parts", ())), *beside),
                of=one.get("id") or one["name"],
            )
            for one in results
        ]
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    images = tuple(_blob(part) for part in parts if "inlineData" in part)
    if content["role"] == "user":
        assert not calls
        return [Said("user", text, images)]
    first = next((part for part in parts if "functionCall" in part), None)
    if signed and first is not None:
        assert first.get("thoughtSignature"), "Function call is missing a thought_signature"
    told = [ToolCall(call.get("id", ""), call["name"], json.dumps(call["args"])) for call in calls]
    state = [part["thoughtSignature"] for part in parts if part.get("thoughtSignature") not in (None, FOREIGN)]
    return [Said("assistant", text, images, tuple(told), state=state)]


def _blob(part: dict[str, Any]) -> tuple[str, str]:
    return part["inlineData"]["mimeType"], part["inlineData"]["data"]
