"""Fields of a parameter that is a model (`def f(params: Params)`), which the caller does not set.

They are hidden in the input schema, and set in the object that the caller sends.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints

from pydantic import BaseModel

from xmcp.server.errors import XMCPError


@dataclass(frozen=True, slots=True)
class ModelFields:
    """Fields `names` of the parameter `parameter`, whose schema is `schema`."""

    parameter: str
    schema: Mapping[str, Any]
    names: tuple[str, ...]

    def schema_of(self, name: str) -> Mapping[str, Any]:
        """Return the schema of the field `name`."""
        found: Mapping[str, Any] = self.schema["properties"][name]
        return found

    def hidden(self) -> dict[str, Any]:
        """Return the schema of the parameter without the fields."""
        kept = {**self.schema, "properties": _without(self.schema.get("properties", {}), self.names)}
        if required := [name for name in self.schema.get("required", []) if name not in self.names]:
            kept["required"] = required
        else:
            kept.pop("required", None)
        if isinstance(default := self.schema.get("default"), Mapping):
            kept["default"] = _without(default, self.names)
        return kept

    def default_of(self, fn: Callable[..., Any], name: str) -> Callable[[], Any] | None:
        """Return what returns the default of the field `name`, or None if it has none that is known."""
        if name in self.schema.get("required", []):
            return None
        if "default" in (schema := self.schema_of(name)):
            return lambda: schema["default"]
        try:
            model = get_type_hints(fn)[self.parameter]
        except (KeyError, NameError, TypeError):
            return None
        fields = model.model_fields if inspect.isclass(model) and issubclass(model, BaseModel) else {}
        for own_name, field in fields.items():
            if name in (own_name, field.alias, field.validation_alias) and not field.is_required():
                return partial(field.get_default, call_default_factory=True, validated_data={})
        return None


def resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `schema`, or if it refers to one of the `definitions`, that one with the other members of `schema`."""
    found = definitions.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"))
    return schema if found is None else {**found, **{key: part for key, part in schema.items() if key != "$ref"}}


def with_hidden(parameters: Mapping[str, Any], models: Iterable[ModelFields]) -> dict[str, Any]:
    """Return the input schema without those fields of `models`, and without the definitions that nothing uses then."""
    hidden = {model.parameter: model.hidden() for model in models}
    return without_properties({**parameters, "properties": {**parameters.get("properties", {}), **hidden}}, ())


def without_properties(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the input schema without the properties `names` and without the definitions that only they use."""
    gone = set(names)
    kept = dict(parameters)
    kept["properties"] = {name: part for name, part in parameters.get("properties", {}).items() if name not in gone}
    if required := [name for name in parameters.get("required", []) if name not in gone]:
        kept["required"] = required
    else:
        kept.pop("required", None)
    if (definitions := kept.pop("$defs", None)) and (used := _used(kept, definitions)):
        kept["$defs"] = used
    return kept


def _used(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case Mapping() as part:
                name = str(part.get("$ref", "")).removeprefix("#/$defs/")
                if name in definitions and name not in found:
                    found[name] = definitions[name]
                    waiting.append(definitions[name])
                waiting += part.values()
            case list() as parts:
                waiting += parts
    return {name: part for name, part in definitions.items() if name in found}


def object_sent(arguments: Mapping[str, Any], fields: ModelFields) -> dict[str, Any]:
    """Return the object that the caller sent for the parameter, or a copy of the parameter's default.

    Raises:
        XMCPError: It is no object. The model could make one of it, with fields that the caller must not set.
    """
    sent = arguments.get(fields.parameter, fields.schema.get("default", {}))
    if isinstance(sent, Mapping):
        return dict(sent)
    fault = {"pointer": f"/{fields.parameter}", "reason": "wrong_type", "message": "Input should be an object"}
    raise XMCPError(
        "VALIDATION_FAIL",
        f"The arguments do not fit the tool's input schema. {fault['pointer']}: {fault['message']}",
        meta={"fields": [fault], "side_effects": "none"},
    )


def _without(members: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: member for name, member in members.items() if name not in names}
