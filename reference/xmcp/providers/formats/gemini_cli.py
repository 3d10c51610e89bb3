"""What the Gemini CLI reads and writes, without I/O: a prompt, and a completion from its `stream-json` output.

Its output is JSON Lines: `init` (`model`), `message` (`role`, `content`, `delta`), `tool_use`, `tool_result`, `error`
(`severity`, `message`) and `result` (`status`, `error`, `stats`). Text of the role `assistant` is the answer; what the
CLI says of tools of its own is left out. Other lines are noise, such as warnings, unless there is no event at all: then
the executable answers in plain text, and they are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message, text_of
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.untrusted_text import printable
from xmcp.chat.usage import Usage
from xmcp.providers.base import Received
from xmcp.providers.errors import classify
from xmcp.providers.formats.chat_completions import MAX_ANSWER_CHARACTERS, MAX_REASON, count, schema_in_words, too_large
from xmcp.providers.formats.files import refuse_files

MAX_PROMPT_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a prompt: the CLI reads no more, and says nothing about it."""

_NO_OPTIONS: Final = SamplerConfig()

_TASK: Final = (
    "This is a conversation, one message on each line, as JSON. Write the next message of the assistant: its text "
    "alone, not as JSON.\n"
)

_NO_INSTRUCTIONS: Final = "You are a helpful assistant."

_NOT_SHOWN: Final = "(something that is no text and cannot be shown here)"


def instructions(messages: Sequence[Message], sampler: SamplerConfig = _NO_OPTIONS) -> str:
    """Return the system messages at the beginning, which take the place of the CLI's own instructions.

    The schema of the answer, if there is one, comes after them.
    """
    given = "\n\n".join(text_of(message) for message in messages[: _begin(messages)]) or _NO_INSTRUCTIONS
    return given if sampler.response_format is None else f"{given}\n\n{schema_in_words(sampler.response_format)}"


def prompt(messages: Sequence[Message]) -> bytes:
    """Return what the CLI is to read.

    As JSON no text of a message can pass for another message. The CLI reads files that are named after an `@`, and
    takes a prompt that begins with `/` for a command of its own, so the one is escaped and the other cannot be.

    Raises:
        TypeError: the messages hold something that JSON cannot.
        ProviderError: they hold a file.
    """
    refuse_files(messages, "the Gemini CLI")
    lines = [encode_json(_written(message)) for message in messages[_begin(messages) :]]
    return _TASK.encode() + b"\n".join(lines).replace(b"@", rb"\u0040") + b"\n"


def _begin(messages: Sequence[Message]) -> int:
    begin = 0
    while begin < len(messages) and messages[begin].get("role") in ("system", "developer"):
        begin += 1
    return begin


def _written(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.get("role"), "content": _text(message.get("content"))}
    for name in ("tool_calls", "tool_call_id"):
        if message.get(name):
            written[name] = message[name]
    return written


def _text(content: Any) -> str:
    if not isinstance(content, list | tuple):
        return content or ""
    texts = (part.get("text") if isinstance(part, Mapping) else None for part in content)
    return "".join(text if isinstance(text, str) else _NOT_SHOWN for text in texts)


class Assembly:
    """Builds one completion as the lines of the output arrive: at most `MAX_ANSWER_CHARACTERS`."""

    def __init__(self, provider: str, received: Received | None = None) -> None:
        self.began = False
        """Whether there was an event: the CLI has started and asks its model."""
        self.ended = False
        self._provider = provider
        self._received = Received() if received is None else received
        self._size = 0
        self._said: list[str] = []
        self._plain: list[str] = []
        """Lines that are no events, until there is an event."""
        self._error = ""

    @property
    def spoke(self) -> bool:
        """Whether some of the answer has arrived."""
        return bool(self._said)

    def take(self, line: bytes) -> str:
        """Add a line; return the text in it, which is often empty.

        Raises:
            ProviderError: the CLI reports an error, the answer grew above its limit (category `too_large`), or the
                event has a member of a wrong type.
        """
        event = _event(line)
        if event is None:
            if not self.began:
                self._plain.append(line.decode("utf-8", "replace"))
                self._grow(len(line) + 1)
            return ""
        if not self.began:
            self.began, self._plain, self._size = True, [], 0
        match event["type"]:
            case "message":
                return self._take_message(event)
            case "init":
                model = event.get("model")
                self._received.model = model if model and isinstance(model, str) else self._received.model
            case "error" if event.get("severity") != "warning" and isinstance(event.get("message"), str):
                self._error = event["message"]
            case "result":
                self._take_result(event)
        return ""

    def finish(self) -> Completion:
        """Return the completion, after the output has ended in good order.

        Raises:
            ProviderError: the CLI did not say how its answer ended.
        """
        if self._error and not self.ended:
            raise failure(self._error, self._provider)
        if self.began and not self.ended:
            raise ProviderError(
                f"{self._provider} broke off in the middle of its answer.", category="network", provider=self._provider
            )
        text = "".join(self._said) if self.began else "\n".join(self._plain).strip()
        return Completion(text, usage=self._received.usage, model=self._received.model)

    def _take_message(self, event: Mapping[str, Any]) -> str:
        if event.get("role") != "assistant":
            return ""
        text = event.get("content")
        if not isinstance(text, str):
            raise self._strange("the `content` of a message is not a text")
        if not text or (not event.get("delta") and text == "".join(self._said)):
            return ""  # the whole of what came in pieces
        self._grow(len(text))
        self._said.append(text)
        return text

    def _take_result(self, event: Mapping[str, Any]) -> None:
        self._take_stats(event.get("stats"))
        status, error = event.get("status"), event.get("error")
        if status == "success":
            self.ended = True
            return
        told = error.get("message") if isinstance(error, Mapping) else error
        if status != "error" and not told:
            raise self._strange("the `status` of its result is neither success nor error")
        raise failure(told if isinstance(told, str) and told else self._error, self._provider)

    def _take_stats(self, stats: Any) -> None:
        if not isinstance(stats, Mapping):
            return
        received = self._received
        received.usage = Usage(
            count(stats.get("input_tokens")), count(stats.get("output_tokens")), count(stats.get("cached"))
        )
        if isinstance(models := stats.get("models"), Mapping):
            # A small model may have chosen the one that answers, which `init` then calls `auto`.
            tokens = {
                name: count(of.get("output_tokens")) or 0 for name, of in models.items() if isinstance(of, Mapping)
            }
            if any(tokens.values()):
                received.model = max(tokens, key=lambda name: tokens[name])

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > MAX_ANSWER_CHARACTERS:
            raise too_large(self._provider)

    def _strange(self, fault: str) -> ProviderError:
        return ProviderError(
            f"{self._provider} answered with something that is not the stream-json output of the Gemini CLI: {fault}.",
            provider=self._provider,
        )


_EVENTS: Final = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


def _event(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    kind = value.get("type") if isinstance(value, dict) else None
    return value if isinstance(kind, str) and kind in _EVENTS else None


# ---- failures

_NOT_SIGNED_IN: Final = 41
"""Exit code of the CLI."""

_SIGNS: Final[tuple[tuple[ErrorCategory, re.Pattern[str]], ...]] = (
    (
        ErrorCategory.AUTH,
        re.compile(r"(?i)api key not valid|api_key_invalid|unauthenticated|auth method|authentication|invalid_grant"),
    ),
    (ErrorCategory.CONTEXT, re.compile(r"(?i)token count.{0,40} exceeds")),
    (ErrorCategory.QUOTA, re.compile(r"(?i)daily quota|daily limit|exhausted your (?:daily )?quota")),
    (
        ErrorCategory.RATE_LIMIT,
        re.compile(
            r"(?i)resource_exhausted|resource has been exhausted|exhausted your capacity|rate.?limit|too many req"
        ),
    ),
    (ErrorCategory.UNKNOWN, re.compile(r"(?i)not found|invalid_argument|unknown argument")),
)
"""What Google and the CLI say where no status does. The first match counts."""

_STATUS: Final = re.compile(r'"code"\s*:\s*([45][0-9][0-9])\b')
_FRAME: Final = re.compile(r"(?i)\[?API Error:?\s*(.*?)\]?", re.DOTALL)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NOISE: Final = re.compile(r"(?i)warning\b|\[warning\]|ripgrep |loaded cached|mcp issues|data collection|[{}\]]*$|\s")


def failure(told: str, provider: str, *, exit_code: int | None = None) -> ProviderError:
    """Return the failure that the CLI describes, in its output or, before it ended with `exit_code`, on stderr."""
    told = _COLOUR.sub("", told)[: MAX_REASON * 4]
    status = int(found[1]) if (found := _STATUS.search(told)) else None
    category = next((one for one, sign in _SIGNS if sign.search(told)), None)
    if exit_code == _NOT_SIGNED_IN:
        category = ErrorCategory.AUTH
    known = classify(status, told)
    if category is None or known in (ErrorCategory.BALANCE, ErrorCategory.CONTENT, ErrorCategory.CONTEXT):
        category = known
    reason = printable(_reason(told)[:MAX_REASON]) or "no reason given"
    return ProviderError(
        f"{provider} refused the request: {reason}", category=category, provider=provider, status=status
    )


def complaint(stderr: bytes) -> str:
    """Return the line of stderr that says what is wrong, without the warnings before and the frames after it."""
    lines = [line for line in _COLOUR.sub("", stderr.decode("utf-8", "replace")).splitlines() if not _NOISE.match(line)]
    wrong = (line for line in lines if re.search(r"(?i)error|fail|invalid|unknown|please|not ", line))
    return next(wrong, lines[-1] if lines else "").strip()


def _reason(told: str) -> str:
    """Return the message inside of what the CLI says, which may be framed, and JSON."""
    if framed := _FRAME.fullmatch(told.strip()):
        told = framed[1]
    begin = told.find("{")
    try:
        value = orjson.loads(told[begin:]) if begin >= 0 else None
    except orjson.JSONDecodeError:
        return told
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else told
