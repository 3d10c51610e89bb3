"""What drawn scenarios are about: what each thing in one can be as a rule, and where a theme changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from .scenarios import EARLIER, SHOWN_BEFORE, SHOWN_IN_PARTS

PARAMETERS: Final = ("x", "y", "rows")
VALUES: Final = (
    *(1, "1", True, None, 7, "7", [1, 2], "[1, 2]", {"x": 2}, 2.5, "", "é", "one", False, 0, 2**53 + 1),
    *("e\u0301", "a\r\nb", "w" * 20_000, [[[[[[[[1]]]]]]]]),
)
SCHEMAS: Final[Mapping[str, tuple[Mapping[str, Any], Sequence[Any], Sequence[Any]]]] = {
    "any": ({}, VALUES, ()),
    "integer": ({"type": "integer"}, (5, 17, 2**53 + 1, 3.0, -1), (True, "5", 2.5, None)),
    "string": ({"type": "string"}, ("five", "17", "", "[1, 2]"), (5, None, ["five"])),
    "rows": ({"type": ["array", "null"]}, ([[1], [2]], [], None), ({"rows": []}, "[]", 0)),
    "one of": ({"enum": ["day", "week", 7]}, ("day", 7), ("month", "7", "Day")),
    "at least one": ({"type": "integer", "minimum": 1, "default": 10}, (1, 10), (0, -1, 1.5, None)),
    "at most five": ({"type": "integer", "maximum": 5}, (5, -1), (6, "5")),
    "true or false": ({"type": "boolean"}, (True, False), ("true", 0, None)),
    "object": ({"type": "object"}, ({"a": 1}, {}), ('{"a": 1}', [["a", 1]])),
    "number": ({"type": "number"}, (2.5, -3), ("2.5", True)),
    "just this": ({"const": "EUR"}, ("EUR",), ("eur", None)),
    "just one of two": ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, (3, "three"), (None, 2.5)),
    "two at least": ({"type": "array", "minItems": 2}, ([1, 2], ["a", "b", "c"]), ([1], 7, "[1, 2]")),
    "two letters": ({"type": "string", "pattern": "^[A-Z]{2}$", "default": "DE"}, ("DE", "GB"), ("de", "DEU", "")),
    "either": ({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 4}]}, (3, "three"), ("now", None)),
}
"""The schema of a parameter, values that fit it, and values that nearly do, by a name."""
COLOURED: Final = "\x1b[31mred\x1b[0m"
"""A text with characters that XML does not have, so that no document has it."""
_TEXTS: Final = (
    "",
    " ",
    "17",
    "[1, 2]",
    '{"x": 1}',
    "a <b> & c ]]>",
    "two  spaces\n\n\tand a tab",
    "a\ufffdb",
    COLOURED,
    "a\r\nb",
)
_UNKNOWN: Final = ({"colour": 3}, {"cacheable": "yes"}, {"provides": 7}, {"owner": {"team": ["x"]}, "tags": [1]})
"""Members of a tool's metadata that the specification does not define, or not with this type."""
_UNANSWERED: Final = [*EARLIER, {"role": "user", "content": "a question that nobody answered"}]
_HISTORIES: Final = (EARLIER, SHOWN_BEFORE, SHOWN_IN_PARTS, _UNANSWERED)
_WRITTEN: Final = (
    '"n": 9007199254740993, "m": -0.5e3',
    '"x": {"c": [1, [2, {"d": null}]]}, "e": []',
    '"s": "caf\\u00e9 \\ud83d\\ude00 <b> & \\n"',
    '"": "empty", "a b": true, "__proto__": 1',
)
"""Members of arguments as a model writes them."""
_FOR_USER: Final = "For you alone: 4711."
Choices = Mapping[str, Sequence[Any]]
"""What each thing in a scenario can be, by its name; one of the values is drawn, those that are there twice more often.

Times are in whole seconds, and chats are cancelled between them: a real clock can tell what came first.
"""
USUAL: Final[Choices] = {
    # servers: `documents`, `plain` (section 6.3), or `other`, without the extension
    "servers": (1,),
    "form": ("documents",),
    "named": (False,),
    "reachable": (True,),
    # tools
    "tools": (2, 3),
    "same_names": (False,),
    "name": ("{}",),
    "needs": (0,),
    "provides": (None,),
    "parameters": (1, 1, 2),
    "required": (False,),
    "schema": ("any",),
    "closed": (False,),
    "read_only": (False, False, True),
    "idempotent": (False,),
    "cacheable": (False,),
    "annotations": (None,),
    "wrapped_in": (None,),
    "unknown": ({},),
    # what servers do
    "acts": (2, 3),
    "act": ("ok",),
    "delay": (0.0, 0.0, 1.0, 2.0),
    "shown": ("none", "none", "none", "small"),
    "members": (0, 0, 1),
    "text": (None,),
    "for_user": (None,),
    "as_link": (False,),
    "as_resource": (False,),
    "for_both": (None,),
    "all_parts": (False,),
    "lossy": (False,),
    "code": ("TOOL_ERROR", "NOT_FOUND", "RATE_LIMITED"),
    "retry_after_ms": (None,),
    "side_effects": (None,),
    "category": (None,),
    "error_data": (False,),
    # options
    "display": ("exit", "continue"),
    "display_budget": (4096,),
    "max_turns": (10,),
    "max_calls_per_turn": (None,),
    "max_tools_per_server": (None,),
    "max_concurrency": (16,),
    "max_attempts": (3,),
    "tool_timeout": (5.0, 3.5),  # by a real clock, each late call takes it several times
    "chat_timeout": (None,),
    "breaker_threshold": (None,),
    "breaker_reset_after": (10.4,),
    "cache": ("none",),
    "meta_tools": ((),),
    "params": ({},),
    "of_chat": ({},),
    "approves": (None,),
    "quota": (None,),
    "callbacks_fail": (False,),
    "fallbacks": (0,),
    "change": (None,),
    # chats
    "chats": (1,),
    "tenant": (None,),
    "begins": (8.5,),
    "cancelled": (None,),
    "events": (True, True, False),
    "history": ((),),
    # the model: `calls`, `fails`, `breaks`, `stalls`, `cut`, `stop`, `withheld`, or it `answers`
    "turns": (2, 3),
    "says": ("calls",),
    "failure": ("network",),
    "thinks": (0.0,),
    "beside": ("", "I look."),
    "answer": (None,),
    "tokens": (None, 17),
    "written": (None,),
    "calls": (1, 2, 3),
    "ask": ("tool",),
    "tag": (None,),
    "arguments": (0, 1),
    "id": (None,),
}
_PLAIN_OR_OTHER: Final = ("plain", "other", "documents")
THEMES: Final[Mapping[str, Choices]] = {
    "retries": {
        "read_only": (True, True, False),
        "idempotent": (False, True),
        "annotations": (None, None, None, {}, {"destructiveHint": False}),
        "acts": (2, 3),
        "act": ("retryable", "retryable", "retryable", "lost", "late", "error", "http_401", "http_429", "ok"),
        "code": ("DB_TIMEOUT", "TIMEOUT", "RATE_LIMIT"),
        "retry_after_ms": (None, 700, 1700, 121_000),
        "side_effects": (None, None, "none", "unknown", "partial"),
        "max_attempts": (3, 3, 2, 4),
    },
    "a circuit breaker": {
        "breaker_threshold": (1, 1, 2),
        "breaker_reset_after": (10.4, 4.4),
        "acts": (3, 4, 5),
        "act": ("lost", "lost", "late", "ok", "error", "internal_error", "garbled", "http_429", "http_503"),
        "max_attempts": (1, 3),
        "turns": (2, 3, 4),
        "thinks": (0.0, 0.0, 6.0),
        "chats": (1, 2, 3),
        "calls": (1, 1, 2),
    },
    "failures": {
        "acts": (2, 3),
        "act": (
            *("error", "error", "flagged", "internal_error", "invalid_params", "late", "lost", "garbled", "ok"),
            *("http_403", "http_503", "web_page"),
        ),
        "code": ("TOOL_ERROR", "NOT_FOUND", "CONFLICT", "X_NEW", "AUTH_REQUIRED", "CANCELLED"),
        "category": (None, None, "x_weather"),
        "error_data": (False, True),
        "side_effects": (None, "none", "unknown", "partial"),
    },
    "a cache": {
        "cache": ("declared", "declared", "read-only"),
        "read_only": (True, True, False),
        "cacheable": (True, True, False),
        "acts": (1, 2, 3),
        "tag": ("same", "same", "same", "other", None),
        "turns": (2, 3),
        "chats": (1, 2, 2),
        "tenant": (None, None, "one", "two"),
        "begins": (0.5, 8.5),
    },
    "what is handed on": {
        "tools": (2, 3, 4, 5),
        "needs": (0, 1, 1, 2, 3),
        "provides": (None, None, *PARAMETERS),
        "parameters": (1, 2, 3),
        "required": (False, True),
        "schema": ("any", *SCHEMAS),
        "members": (0, 1, 1, 2),
        "text": (None, None, *_TEXTS),
        "calls": (3, 4, 5, 6, 7),
        "arguments": (0, 0, 1, 2),
        "delay": (0.0, 1.0, 2.0),
        "wrapped_in": (None, None, None, "value"),
    },
    "dependencies": {
        "tools": (2, 3, 4, 5),
        "needs": (1, 1, 2, 3),
        "calls": (2, 3, 4, 6),
        "delay": (0.0, 1.0, 2.0),
        "act": ("ok", "ok", "ok", "error"),
        "members": (0, 1, 1),
    },
    "displays": {
        "display_budget": (4096, 4096, 150),
        "shown": (
            *("small", "small", "large", "wide", "described", "titled", "with_fallback", "none", "transient", "bad"),
            *("small", "nulls", "untitled", "accented", "escaped", "table", "sourced", "with_fallback", "no_payload"),
        ),
        "act": ("ok", "ok", "ok", "ok", "error", "flagged"),
        "text": (None, None, ""),
        "turns": (1, 2),
    },
    "documents": {
        "act": ("ok", "ok", "bad_display", "only_bad_display", "garbled", "garbled_error", "misplaced", "flagged"),
        "all_parts": (False, True),
        "lossy": (False, True),
        "shown": ("none", "small", "large", "transient", "no_payload"),
        "text": (None, *_TEXTS),
    },
    "other servers": {
        "servers": (1, 2),
        "form": _PLAIN_OR_OTHER,
        "act": ("ok", "ok", "ok", "forged", "error", "flagged"),
        "code": ("CONFLICT", "NOT_FOUND", "TIMEOUT"),
        "error_data": (False, True),
        "for_user": (None, _FOR_USER),
        "as_resource": (False, True),
        "for_both": (None, None, "For both: 815."),
        "shown": ("none", "small", "nulls", "table", "no_payload"),
        "members": (0, 0, 1),
        "text": (None, None, *_TEXTS),
    },
    "blocks for the person": {
        "form": _PLAIN_OR_OTHER,
        "for_user": (_FOR_USER, _FOR_USER, None),
        "as_link": (False, True),
        "as_resource": (False, False, True),
        "act": ("ok", "ok", "ok", "error"),
        "shown": ("none", "small"),
        "text": (None, None, ""),
    },
    "a cancelled chat": {
        "cancelled": (1.6, 3.3, 3.3, 5.6),
        "delay": (0.0, 1.0, 2.0, 20.0),
        "thinks": (0.0, 1.0, 2.0),
        "says": ("calls", "calls", "calls", "stalls", "answers"),
    },
    "a chat out of time": {
        "chat_timeout": (6.5,),
        "delay": (0.0, 2.0, 20.0),
        "act": ("ok", "ok", "late"),
        "says": ("calls", "calls", "calls", "stalls"),
        "shown": ("none", "none", "small"),
    },
    "the last turn": {
        "max_turns": (1, 2, 2, 3),
        "turns": (3, 4),
        "beside": ("", " ", "I look.", "  And then?\n"),
        "answer": ("", " \n", "An answer.", "  An answer.\n"),
        "says": (*["calls"] * 6, "cut", "stop", "withheld", "answers"),
    },
    "a model that fails": {
        "says": ("calls", "fails", "breaks", "breaks", "stalls"),
        "failure": ("network", "network", "rate_limit", "content", "auth", "context"),
        "fallbacks": (0, 1, 1),
        "turns": (1, 2, 3),
        "cancelled": (None, None, 12.3),
    },
    "tools of the client's own": {
        "meta_tools": (("__think__", "__clarify__", "__summarize__"),),
        "ask": ("tool", "think", "clarify", "summarize", "unsaid"),
        "history": ((), *_HISTORIES),
        "beside": ("", "I look."),
    },
    "slots": {
        "max_concurrency": (1, 1, 2),
        "delay": (0.0, 1.0, 2.0),
        "calls": (3, 4),
        "chats": (2, 3, 3),
        "tenant": (None, None, "one", "two"),
        "begins": (0.5,),
    },
    "quotas": {
        "quota": (1_000, 2_000),
        "tokens": (None, 600, 1_500),
        "tenant": ("one", "one", "two", None),
        "chats": (1, 2, 3),
        "turns": (2, 3),
        "answer": (None, "word " * 400),
    },
    "tools that change": {
        "change": ("gone", "gone unannounced", "other"),
        "chats": (1, 2),
        "begins": (8.5,),
        "thinks": (0.0, 6.0),
        "turns": (2, 3),
    },
    "what the application fills in": {
        "params": ({"x": "u-1"}, {"x": None}, {"x": False, "y": 0}, {"rows": []}, {"tenant": "t"}),
        "of_chat": ({}, {"x": "u-2"}, {"x": None, "y": 1}),
        "chats": (1, 2),
        "parameters": (1, 2, 3),
        "required": (False, True),
        "arguments": (0, 1, 2),
        "schema": (*SCHEMAS,),
    },
    "approvals": {
        "approves": ((True, False), (False,), (True, True, False), (False, True)),
        "calls": (2, 3),
        "turns": (1, 2),
    },
    "limits": {
        "max_calls_per_turn": (1, 2, 2),
        "max_tools_per_server": (None, 1, 2),
        "tools": (2, 3),
        "calls": (2, 3, 4),
    },
    "calls that cannot be made": {
        "ask": ("tool", "tool", "unknown", "unreadable"),
        "id": (None, None, "", "call_0", "call_0", "call_1", "before-1"),
        "history": ((), SHOWN_BEFORE),
        "turns": (2, 3, 4),
    },
    "arguments": {
        "written": (None, *_WRITTEN),
        "arguments": (1, 2, 3),
        "closed": (False, False, True),
        "schema": ("any", "any", *SCHEMAS),
        "parameters": (1, 2, 3),
        "required": (False, True),
    },
    "names": {
        "servers": (2,),
        "named": (False, True),
        "same_names": (False, True),
        "name": ("{}", "get__{}", "{}.read", "{}__", "s0__{}", "{:a>70}"),
        "reachable": (True, True, False),
        "form": _PLAIN_OR_OTHER,
        "tools": (2, 3, 4),
    },
    "unknown metadata": {
        "unknown": ({}, *_UNKNOWN),
        "cacheable": (False, True),
        "cache": ("none", "declared"),
        "tools": (2, 3),
        "needs": (0, 1),
        "provides": (None, *PARAMETERS),
    },
    "callbacks that fail": {
        "callbacks_fail": (True,),
        "shown": ("none", "small", "large"),
        "act": ("ok", "ok", "error"),
    },
}
"""What a drawn scenario can be about: the things that are then other than usual."""
ABOUT: Final = (*((one,) for one in THEMES), *combinations(THEMES, 2))
"""What the drawn scenarios are about, in turn: each theme by itself, and each pair of them."""
