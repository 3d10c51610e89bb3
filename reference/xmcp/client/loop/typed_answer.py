"""Typed answers: the JSON Schema that a model's answer is to fit, and the value in its text. No I/O.

Where a vendor takes no schema, the model is offered one more tool, the final one, whose parameters are the answer.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ProviderError
from xmcp.chat.json_values import encode_json
from xmcp.client.loop.recursive_unions import recursive_union
from xmcp.client.loop.stop_reason import CUT
from xmcp.client.tools.meta_tools import ANSWER

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

MAX_CHARACTERS: Final = 2 * 1024 * 1024
"""Maximum size of a typed answer, several times what models write."""

MAX_PARTS: Final = 10_000
"""Maximum number of values in a typed answer. Each may have several faults, and pydantic makes an object for each."""

MAX_FAULTS: Final = 10
"""Maximum number of faults of an answer that are told."""

MAX_FAULT: Final = 300
"""Maximum number of characters of each."""

_MANY: Final = 1000
"""With more faults only their number is told: pydantic makes an object for each."""

_IN_MESSAGE: Final = 3
"""Maximum number of faults in the message of an exception."""


class AnswerInvalid(ProviderError):
    """The model's answer is not of the type that `answer_type` asks for, and neither was the one before it.

    Attributes:
        text: The last answer.
        faults: What is wrong with it, each with its place.
    """

    def __init__(self, name: str, text: str, faults: Sequence[str], *, provider: str = "", model: str | None = None):
        """`name` is that of the type."""
        said = "; ".join(faults[:_IN_MESSAGE])
        super().__init__(f"The model's answer is not a valid {name}: {said}.", provider=provider, model=model)
        self.text = text
        self.faults = tuple(faults)

    def ui_message(self) -> str:
        """See `ProviderError.ui_message`."""
        return (
            "The AI model's answer does not have the form that this application needs. Ask in other words, or tell "
            "whoever runs the application."
        )


@dataclass(frozen=True, slots=True)
class AnswerType:
    """A type of answers. Vendors take the schema of an object only: another type is the member `value` of one."""

    name: str
    schema: Mapping[str, Any]
    adapter: TypeAdapter[Any]
    wrapper: TypeAdapter[Any] | None

    def read(self, text: str) -> tuple[Any, list[str]]:
        """Return the value in an answer, and what is wrong with the answer: nothing, or else there is no value.

        Many models put their JSON between two lines of ``` and some words around it.
        """
        if len(text) > MAX_CHARACTERS or sum(map(text.count, "{[,")) > MAX_PARTS:
            return None, [f"the whole: it has more than {MAX_CHARACTERS} characters, or {MAX_PARTS} parts"]
        fenced = _fenced(text)
        faults: list[str] = []
        for written in [text] if fenced is None else [text, fenced]:
            value, faults = self._read(written)
            if not faults:
                return value, []
        return None, faults

    def _read(self, text: str) -> tuple[Any, list[str]]:
        try:
            return self._validated(text)
        except Exception as exc:  # of a validator of the application
            return None, [f"the whole: {type(exc).__name__}"]

    def _validated(self, text: str) -> tuple[Any, list[str]]:
        from pydantic import ValidationError

        faults: list[str] = []
        if self.wrapper is not None:
            try:
                return self.wrapper.validate_json(text)["value"], []
            except ValidationError as exc:
                faults = _faults(exc)
        try:
            return self.adapter.validate_json(text), []
        except ValidationError as exc:
            return None, faults or _faults(exc)

    @property
    def tool(self) -> dict[str, Any]:
        """The final tool, in the OpenAI format: its call is the answer, where a vendor takes no schema."""
        return {
            "type": "function",
            "function": {
                "name": ANSWER,
                "description": "Give your final answer by calling this tool, alone and after all other calls. Write no "
                "final answer as text.",
                "parameters": dict(self.schema),
            },
        }

    def complaint(self, faults: Sequence[str]) -> str:
        """Return what the model is told about an answer with these faults."""
        listed = "\n".join(f"- {fault}" for fault in faults)
        return (
            f"Your answer cannot be used:\n{listed}\n"
            f"Answer again: with JSON alone, which fits this JSON Schema: {encode_json(dict(self.schema)).decode()}"
        )


def answered_by_tool(completion: Completion) -> Completion:
    """Return a completion whose final answer is a call of the final tool as one whose answer is a text.

    Beside other calls it is too early: they are made, and the model answers when it has their results.
    """
    others = tuple(call for call in completion.tool_calls if call.name != ANSWER)
    if len(others) == len(completion.tool_calls):
        return completion
    # State of the vendor may tell of calls by their places.
    if others:
        return replace(completion, tool_calls=others, vendor_state=None)
    reason = "stop" if completion.finish_reason == "tool_calls" else completion.finish_reason
    text = completion.tool_calls[-1].arguments.strip()
    if reason not in CUT:
        text = text or "{}"  # as a call of any tool without arguments
    return replace(completion, text=text, tool_calls=(), finish_reason=reason, vendor_state=None)


_FENCE_BEGINS: Final = re.compile(r"```(?:json)?[ \t\r]*(?=\n)", re.IGNORECASE)
_FENCE_ENDS: Final = re.compile(r"\n[ \t]*```")


def _fenced(text: str) -> str | None:
    """Return what stands between the first two lines of ```.

    One pattern for all of it would look for an end once more at each beginning, which takes quadratic time.
    """
    begins = _FENCE_BEGINS.search(text)
    ends = _FENCE_ENDS.search(text, begins.end() + 1) if begins is not None else None
    return text[begins.end() + 1 : ends.start()] if begins is not None and ends is not None else None


def answer_type(given: Any) -> AnswerType:
    """Return the type of answers for a pydantic model, a dataclass, or any type that pydantic can read from JSON.

    Raises:
        TypeError: it is not one; the message says why.
    """
    if isinstance(given, str | Mapping) or inspect.isroutine(given):
        hint = " A JSON Schema is SamplerConfig(response_format=...)." if isinstance(given, Mapping) else ""
        raise TypeError(f"answer_type must be a type, such as a pydantic model, not {given!r}.{hint}")
    try:
        hash(given)
    except TypeError:
        return _made(given)
    return _kept(given)


def _made(given: Any) -> AnswerType:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
    from pydantic_core import SchemaError
    from typing_extensions import TypedDict

    try:
        adapter = TypeAdapter[Any](given)
        schema, wrapper = adapter.json_schema(), None
        if schema.get("type") != "object":
            make: Any = TypedDict  # a type checker reads no type that is a value
            wrapped = make("Answer", {"value": given})
            wrapped.__pydantic_config__ = ConfigDict(extra="forbid")
            wrapper = TypeAdapter[Any](wrapped)
            schema = wrapper.json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError) as exc:
        reason = str(exc).partition("\n")[0]
        raise TypeError(f"answer_type cannot be {given!r}: {reason}") from None
    if (name := recursive_union(schema.get("$defs", {}))) is not None:
        raise TypeError(
            f"answer_type cannot be {given!r}: {name} has a union of types that contain it again, and each of "
            "them would be tried at each level. Give the union a discriminator: Field(discriminator=...)."
        )
    return AnswerType(getattr(given, "__name__", None) or str(given), schema, adapter, wrapper)


_kept = lru_cache(maxsize=64)(_made)
"""An application has few types of answers, and pydantic takes milliseconds for one."""


def _faults(failure: ValidationError) -> list[str]:
    if (count := failure.error_count()) > _MANY:
        return [f"the whole: it has {count} faults"]
    errors = failure.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{'/'.join(map(str, error['loc'])) or 'the whole'}: {error['msg']}"[:MAX_FAULT]
        for error in errors[:MAX_FAULTS]
    ]
    return [*told, f"and {count - MAX_FAULTS} more"] if count > MAX_FAULTS else told
