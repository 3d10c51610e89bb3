"""Fixtures that ask the client for input: during a call, or between two calls."""

from __future__ import annotations

import json
from typing import Any, Final

import mcp_types as mt
from fastmcp import Context

# ---- questions during a call (handshake eras) ----


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_OPTIONS: Final = ["option1", "option2", "option3"]
_TITLED: Final = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]

QUESTIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "test_elicitation": (
        "Please answer",
        _object(
            username={"type": "string", "description": "User's response"},
            email={"type": "string", "description": "User's email address"},
        ),
    ),
    "test_elicitation_sep1034_defaults": (
        "Please review the defaults",
        _object(
            name={"type": "string", "default": "John Doe"},
            age={"type": "integer", "default": 30},
            score={"type": "number", "default": 95.5},
            status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            verified={"type": "boolean", "default": True},
        ),
    ),
    "test_elicitation_sep1330_enums": (
        "Please choose",
        _object(
            untitledSingle={"type": "string", "enum": _OPTIONS},
            titledSingle={"type": "string", "oneOf": _TITLED},
            legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
            titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
        ),
    ),
}
"""The question and the schema of the answer of each of these tools, by the name of the tool."""


def eliciting(question: str, schema: dict[str, Any]) -> Any:
    """Return a tool that asks the person `question` during its call."""

    async def elicit(ctx: Context, message: str = question) -> str:
        answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
        return f"User response: action={answer.action}, content={json.dumps(answer.content)}"

    return elicit


# ---- questions between two calls (2026-07-28) ----

Requests = dict[str, mt.InputRequest]


def elicit_request(message: str, **properties: dict[str, Any]) -> mt.ElicitRequest:
    """Return a request for values from the person."""
    params = mt.ElicitRequestFormParams(message=message, requested_schema=_object(**properties))
    return mt.ElicitRequest(params=params)


def sample_request(prompt: str, max_tokens: int = 100) -> mt.CreateMessageRequest:
    """Return a request for an answer of the client's model."""
    message = mt.SamplingMessage(role="user", content=mt.TextContent(type="text", text=prompt))
    params = mt.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return mt.CreateMessageRequest(params=params)


STRING: Final = {"type": "string"}
NAME: Final = elicit_request("What is your name?", name=STRING)
CAPITAL: Final = sample_request("What is the capital of France?")
CONFIRM: Final[Requests] = {"confirm": elicit_request("Please confirm", ok={"type": "boolean"})}

ROUNDS: Final[dict[str, tuple[tuple[Requests, str | None], ...]]] = {
    "test_input_required_result_elicitation": (({"user_name": NAME}, None),),
    "test_input_required_result_sampling": (({"capital_question": CAPITAL}, None),),
    "test_input_required_result_list_roots": (({"client_roots": mt.ListRootsRequest()}, None),),
    "test_input_required_result_request_state": ((CONFIRM, "asked to confirm"),),
    "test_input_required_result_tampered_state": ((CONFIRM, "asked to confirm"),),
    "test_input_required_result_multiple_inputs": (
        (
            {
                "user_name": NAME,
                "greeting": sample_request("Generate a greeting", 50),
                "client_roots": mt.ListRootsRequest(),
            },
            "asked for all three",
        ),
    ),
    "test_input_required_result_multi_round": (
        ({"step1": elicit_request("Step 1: What is your name?", name=STRING)}, "asked for step 1"),
        ({"step2": elicit_request("Step 2: What is your favorite color?", color=STRING)}, "asked for step 2"),
    ),
    "test_streaming_elicitation": (({"user_name": NAME}, None),),
}
"""The rounds of each tool: its requests, and the state that the client sends back with its next call."""


def asking(*rounds: tuple[Requests, str | None]) -> Any:
    """Return a tool that ends its call with requests and is called again with the answers, once for each round."""

    def ask(ctx: Context) -> str | mt.InputRequiredResult:
        states = [state for _, state in rounds]
        reached = states.index(ctx.request_state) if ctx.request_state in states else 0
        for requests, state in rounds[reached:]:
            result = next_round(ctx, requests, state)
            if isinstance(result, mt.InputRequiredResult):
                return result
        return f"{result} {'state-ok' if ctx.request_state == states[-1] else ''}"

    return ask


def next_round(ctx: Context, requests: Requests, state: str | None) -> str | mt.InputRequiredResult:
    """Return the requests, or, if every one is answered, a text with the answers."""
    answers = ctx.input_responses or {}
    if not requests.keys() <= answers.keys():
        return mt.InputRequiredResult(input_requests=requests, request_state=state)
    sent = {key: answers[key].model_dump(mode="json", exclude_none=True) for key in requests}
    return f"Answers: {json.dumps(sent)}"
