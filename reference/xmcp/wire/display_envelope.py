"""The display envelope: the generated model, with checks of the payload by its type."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self

from pydantic import SkipValidation, ValidationError, model_validator

import xmcp_models.display_envelope as generated
from xmcp.wire.display_payload import check_payload

# Minimum and maximum length in characters. Not checked by pydantic, which refuses lone surrogates: the encoder replaces
# them by U+FFFD and marks the response as lossy.
_TEXTS = (("title", 0, 200), ("alt", 0, 4000), ("id", 1, 128))


class DisplayEnvelope(generated.DisplayEnvelope):
    """A display for a person (spec chapter 3): a type, a payload in the shape of that type, and optional texts.

    `payload` is an object, array or string (schemas/display_envelope.schema.json says which for each type); it may
    hold any Python value that has a JSON form. Unknown keys are kept.

    Raises:
        pydantic.ValidationError: A member is not as the schema says (a ValueError).
    """

    payload: SkipValidation[dict[str, Any] | list[Any] | str]
    title: SkipValidation[str | None] = None
    alt: SkipValidation[str | None] = None
    fallback: DisplayEnvelope | None = None
    id: SkipValidation[str | None] = None
    meta: SkipValidation[dict[str, Any] | None] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        members = self.__dict__
        if len(self.__pydantic_fields_set__) > 2:  # more than type and payload
            for name, least, most in _TEXTS:
                text = members[name]
                if text is not None and not (isinstance(text, str) and least <= len(text) <= most):
                    raise ValueError(f"{name} must be a string of {least} to {most} characters")
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise ValueError("meta must be an object")
        check_payload(self.type, self.payload)
        if self.type == "group":
            self._check_members()
        return self

    def _check_members(self) -> None:
        for index, member in enumerate(self.payload):
            if not isinstance(member, DisplayEnvelope):
                try:
                    read_envelope(member)
                except ValueError as fault:
                    raise ValueError(f"payload/{index}: {fault}") from None
                except RecursionError:
                    raise ValueError(f"payload/{index}: groups are nested too deep") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the envelope as the JSON object of the wire: without members that are None, the payload unchanged."""
        members: dict[str, Any] = {name: value for name, value in self.__dict__.items() if value is not None}
        if self.fallback is not None:
            members["fallback"] = self.fallback.to_dict()
        if self.type == "group":
            members["payload"] = [
                member.to_dict() if isinstance(member, DisplayEnvelope) else member for member in self.payload
            ]
        if self.__pydantic_extra__:
            members.update(self.__pydantic_extra__)
        return members

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        """Return what a notebook shows of the display; notebooks call this."""
        # By its name, when a notebook asks: the wire knows no renderer.
        return import_module("xmcp.render.notebook").bundle_of(self)  # type: ignore[no-any-return]


_validate = DisplayEnvelope.__pydantic_validator__.validate_python


def read_envelope(value: Any) -> DisplayEnvelope:
    """Return a JSON value as an envelope. A member that is null does not count as absent.

    Raises:
        ValueError: The value is not a valid envelope; the message is one sentence.
    """
    _refuse_nulls(value)
    try:
        return _validate(value)  # type: ignore[no-any-return]
    except ValidationError as fault:
        raise ValueError(explain(fault)) from None


def _refuse_nulls(value: Any) -> None:
    while isinstance(value, dict):
        if None in value.values():
            for name in generated.DisplayEnvelope.model_fields:
                if value.get(name, ...) is None:
                    raise ValueError(f"{name} must not be null")
        value = value.get("fallback")


def explain(fault: ValidationError) -> str:
    """Return the first fault of an envelope as a sentence, without repeating its content."""
    first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    place = "/".join(str(part) for part in first["loc"])
    return f"{place}: {message}" if place else message
