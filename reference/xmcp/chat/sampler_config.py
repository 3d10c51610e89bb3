"""How a model is to write its answer: what an application sets for a client, for a chat, or for one request."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

from xmcp.option_names import checking_fields

ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]
ToolChoice: TypeAlias = "Literal['auto', 'none', 'required'] | str"
"""`auto`: the model decides; `none`: no call; `required`: at least one call; else the name of the tool to call."""

NOT_A_NAME: Final = ("auto", "none", "required")
"""The values of `tool_choice` that are no names of tools."""

_EFFORTS: Final = ("none", "minimal", "low", "medium", "high")


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerConfig:
    """Options of a request to a model; `None` leaves one to the vendor. A vendor ignores what it does not have.

    Raises:
        ValueError: a value that no vendor takes; the message says which and what is allowed.
    """

    temperature: float | None = None
    """From 0 (the likeliest word each time) to 2."""
    top_p: float | None = None
    """From 0 to 1: the share of the likeliest words among which is chosen."""
    max_tokens: int | None = None
    """Most tokens of an answer, its reasoning included."""
    stop: Sequence[str] | None = None
    """Texts before which the answer ends."""
    seed: int | None = None
    tool_choice: ToolChoice | None = None
    response_format: Mapping[str, Any] | None = None
    """A JSON Schema, of an object, that the answer is to fit."""
    reasoning_effort: ReasoningEffort | None = None
    extra_body: Mapping[str, Any] | None = None
    """Members that are added to the body of the request as they are, for one vendor."""

    def __post_init__(self) -> None:
        _check_number("temperature", self.temperature, 2)
        _check_number("top_p", self.top_p, 1)
        _check_whole("max_tokens", self.max_tokens, least=1)
        _check_whole("seed", self.seed, least=None)
        if isinstance(self.stop, str) or not all(isinstance(one, str) and one for one in self.stop or ()):
            raise ValueError(f"stop is {self.stop!r}: give a list of texts, none of them empty.")
        if self.reasoning_effort not in (None, *_EFFORTS):
            raise ValueError(f"reasoning_effort is {self.reasoning_effort!r}: it is one of {', '.join(_EFFORTS)}.")
        if self.tool_choice is not None and not (isinstance(self.tool_choice, str) and self.tool_choice):
            raise ValueError(f"tool_choice is {self.tool_choice!r}: auto, none, required, or the name of a tool.")
        for name in ("response_format", "extra_body"):
            if not isinstance(value := getattr(self, name), Mapping | None):
                raise ValueError(f"{name} is a {type(value).__name__}: it is a JSON object.")

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are set."""
        set_ = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: list(value) if name == "stop" else value for name, value in set_ if value is not None}

    def over(self, other: SamplerConfig) -> SamplerConfig:
        """Return these options, and those of `other` where this one sets none."""
        return replace(other, **self.to_dict())


def _check_number(name: str, value: Any, most: float) -> None:
    if value is None:
        return
    ok = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= most
    if not ok:
        raise ValueError(f"{name} is {value!r}: it is a number from 0 to {most}.")


def _check_whole(name: str, value: Any, *, least: int | None) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
        raise ValueError(f"{name} is {value!r}: it is a whole number{'' if least is None else f' from {least} on'}.")
