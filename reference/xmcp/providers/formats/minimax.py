"""What MiniMax's chat completions have besides OpenAI's, without I/O: what the model thinks, and codes of errors.

MiniMax wants an answer back with all that the model thought. It is asked to write that apart from the text
(`reasoning_split`); a server that does not know how writes it at the beginning of the text, in `<think>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from xmcp.chat.completions import Completion, VendorState
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.untrusted_text import printable
from xmcp.providers.base import Piece, Reasoning, Received
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.chat_shapes import can_be_written
from xmcp.providers.formats.files import refuse_files

NAME: Final = "minimax"

LEAST_TEMPERATURE: Final = 0.01
MOST_TEMPERATURE: Final = 1.0


def request_body(model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig) -> bytes:
    """Return the body of a streaming request.

    Raises:
        TypeError: the messages hold something that JSON cannot.
        ProviderError: they hold a file.
    """
    refuse_files(messages, "MiniMax")
    options = replace(sampler, extra_body={"reasoning_split": True, **(sampler.extra_body or {})})
    if options.temperature is not None:
        # MiniMax refuses what is outside, 0 included.
        options = replace(options, temperature=min(max(options.temperature, LEAST_TEMPERATURE), MOST_TEMPERATURE))
    if options.response_format is not None and not takes_schema(model):
        told = chat_completions.schema_in_words(options.response_format)
        messages = [*messages, {"role": "system", "content": told}]
        options = replace(options, response_format=None)
    return chat_completions.request_body(model, messages, tools, options, vendor=NAME)


def takes_schema(model: str) -> bool:
    """Return whether a model is held to the schema of an answer; the others leave it unread, without a word."""
    return model.startswith("MiniMax-Text")


_CATEGORIES: Final[dict[int, ErrorCategory]] = {
    1002: ErrorCategory.RATE_LIMIT,
    1004: ErrorCategory.AUTH,
    1008: ErrorCategory.BALANCE,
    1026: ErrorCategory.CONTENT,
    1027: ErrorCategory.CONTENT,
    1039: ErrorCategory.RATE_LIMIT,
    1041: ErrorCategory.RATE_LIMIT,
    2045: ErrorCategory.RATE_LIMIT,
    2049: ErrorCategory.AUTH,
    2056: ErrorCategory.QUOTA,
    **dict.fromkeys((1000, 1001, 1024, 1033), ErrorCategory.NETWORK),
}
"""Of the codes in `base_resp`, with which MiniMax refuses under the status of an answer."""


def _check(chunk: Mapping[str, Any], provider: str) -> None:
    facts = chunk.get("base_resp")
    if not isinstance(facts, Mapping) or not isinstance(code := facts.get("status_code"), int) or code == 0:
        return
    said = facts.get("status_msg")
    reason = printable(said[: chat_completions.MAX_REASON]) if isinstance(said, str) and said else "no reason given"
    raise ProviderError(
        f"{provider} refused the request: {reason} ({code})",
        category=_CATEGORIES.get(code, ErrorCategory.UNKNOWN),
        provider=provider,
    )


class Assembly(chat_completions.Assembly):
    """Builds one completion as its chunks arrive; what the model thinks becomes its state."""

    reasons_in: ClassVar[frozenset[str]] = chat_completions.Assembly.reasons_in | {"reasoning_details"}

    def __init__(self, provider: str, received: Received) -> None:
        super().__init__(provider, received)
        self._beside: list[str] = []
        """`reasoning_content`."""
        self._details: dict[Any, _Detail] = {}
        self._tag = _ThinkTag()

    def take(self, chunk: Mapping[str, Any]) -> Sequence[Piece]:
        """Add one chunk; return the pieces in it, of which there is often none.

        Raises:
            ProviderError: the answer grew above its limit (category `too_large`), or MiniMax refuses the request.
        """
        _check(chunk, self._provider)
        pieces = super().take(chunk)
        if not pieces or not isinstance(text := pieces[-1], str):
            return pieces
        thought, said = self._tag.take(text)
        self._received.bytes += len(text) - len(thought) - len(said)  # what is held back, and tags
        return [*pieces[:-1], *([Reasoning(thought)] if thought else []), *([said] if said else [])]

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: the vendor marked the end of the stream (`[DONE]`).

        Raises:
            ProviderError: the stream broke off before a finish reason.
        """
        written = super().finish(done=done)
        text = self._tag.text_of(written.text)
        state: dict[str, Any] = {}
        if self._details:
            state["reasoning_details"] = [detail.whole() for detail in self._details.values()]
        elif self._beside:
            state["reasoning_content"] = "".join(self._beside)
        elif text != written.text:
            state["content"] = written.text
        return replace(written, text=text, vendor_state=VendorState(NAME, state) if state else None)

    def rest(self) -> Sequence[Piece]:
        """Return what was held back, since it could have been the beginning of a tag."""
        thought, said = self._tag.rest()
        return [*([Reasoning(thought)] if thought else []), *([said] if said else [])]

    def _reasoning(self, delta: Mapping[str, Any]) -> str:
        if isinstance(details := delta.get("reasoning_details"), list) and details:
            return "".join([self._take_detail(detail) for detail in details])
        if thought := super()._reasoning(delta):
            self._grow(len(thought))
            self._beside.append(thought)
        return thought

    def _take_detail(self, detail: Any) -> str:
        """Add a part of an entry; return the text in it that is new."""
        if not isinstance(detail, Mapping) or not can_be_written(detail):
            return ""
        key = detail.get("index")
        if not isinstance(key, int):
            key = str(detail.get("id"))
        if key not in self._details:
            self._grow(chat_completions.CALL_COUNTS_AS)
            self._details[key] = _Detail()
        size, text = self._details[key].take(detail)
        self._received.bytes += size - len(text)
        self._grow(size)
        return text


class _ThinkTag:
    """Takes what stands in `<think>` at the beginning of a text out of it, piece by piece."""

    def __init__(self) -> None:
        self._held: str | None = ""
        """What may be the beginning of a tag; `None`: the tag is over, or there is none."""
        self._inside = False
        self._after = False
        self._released = 0

    def take(self, piece: str) -> tuple[str, str]:
        """Return what of the piece, and of what was held back, stands in the tag, and what is text."""
        if self._held is None and not self._after:
            return "", self._release(piece)
        thought = ""
        held, self._held = (self._held or "") + piece, ""
        if not self._inside and not self._after:
            begun = held.lstrip()
            if not begun.startswith(_OPENING):
                if _OPENING.startswith(begun) and len(held) < _MOST_BLANKS:
                    self._held = held
                    return "", ""
                self._held = None
                return "", self._release(held)
            self._inside, held = True, begun.removeprefix(_OPENING)
        if self._inside:
            thought, closing, held_after = held.partition(_CLOSING)
            if not closing:
                self._held = held[1 - len(_CLOSING) :]
                return held[: -len(self._held) or None], ""
            self._inside, self._after, held = False, True, held_after
        self._held = None
        text = held.lstrip()
        self._after = not text
        return thought, self._release(text)

    def rest(self) -> tuple[str, str]:
        """Return what is held back at the end of the text, and is no tag, as `take` does."""
        held, self._held = self._held or "", None
        return (held, "") if self._inside else ("", self._release(held))

    def text_of(self, written: str) -> str:
        """Return the text that was released, given all that was written: its end."""
        self.rest()
        return written[len(written) - self._released :]

    def _release(self, text: str) -> str:
        self._released += len(text)
        return text


_OPENING: Final = "<think>"
_MOST_BLANKS: Final = 1000
"""Maximum number of characters before a tag. A model that writes blanks without end would have all of them held."""
_CLOSING: Final = "</think>"


class _Detail:
    """One entry of `reasoning_details` as its parts arrive.

    Each part has the text that is new, as the service does it, or all of it so far, as its documentation has it.
    """

    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._texts: list[str] = []
        self._grows: bool | None = None
        """Whether each part has all of the text so far; `None`: not known yet."""
        self._size = 0
        """Characters of the text so far, where each part has all of it."""

    def take(self, part: Mapping[str, Any]) -> tuple[int, str]:
        """Add a part; return its size in about bytes, and the text in it that is new."""
        size = 0
        for name, value in part.items():
            if name != "text" and value is not None and self._members.get(name) != value:
                self._members[name] = value
                size += len(encode_json(value))
        text = part.get("text")
        added, new = self._take_text(text) if isinstance(text, str) and text else (0, "")
        return size + added, new

    def _take_text(self, text: str) -> tuple[int, str]:
        if self._grows:
            if len(text) >= self._size:  # or it cannot have all of it, and looking would take quadratic time
                so_far = "".join(self._texts)
                self._texts, text = [so_far], text.removeprefix(so_far)
            self._texts.append(text)
            self._size += len(text)
            return len(text), text
        new = text
        if self._grows is None and self._texts:
            last = self._texts[-1]
            if text.startswith(last):
                new = text[len(last) :]  # most likely all of it so far, but for a text so short
                if new and len(last) >= _BY_CHANCE:
                    self._grows, self._texts, self._size = True, [text], len(text)
                    return len(new), new
            else:
                self._grows = False
        self._texts.append(text)
        return len(text), new

    def whole(self) -> dict[str, Any]:
        """Return the entry as MiniMax wants it back."""
        return {**self._members, "text": "".join(self._texts)} if self._texts else self._members


_BY_CHANCE: Final = 8
"""A text of fewer characters can be repeated by chance at the beginning of the next part."""
