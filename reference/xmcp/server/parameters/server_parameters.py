"""Which parameters of a function the server fills in (spec section 5.3).

The caller never sees such a parameter, because it is not in the tool's input schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic.fields import FieldInfo

from xmcp.server.parameters.model_fields import ModelFields, resolved, with_hidden, without_properties

MARK: Final = "server_populated"
SENSITIVE_MARK: Final = "sensitive"


class ServerParameter(NamedTuple):
    """A parameter that the server fills in. The values of a `sensitive` one must not be disclosed.

    `default` returns its default, anew for each call; None if it has none. `model` is the parameter of the function in
    whose object it is a field; None if it is itself a parameter.
    """

    sensitive: bool
    accepts_none: bool
    default: Callable[[], Any] | None
    model: ModelFields | None = None

    def place(self, name: str) -> tuple[str, ...]:
        """Return the path to it, if its name is `name`, as pydantic has it in an error."""
        return (name,) if self.model is None else (self.model.parameter, name)


def server_parameters_of(
    fn: Callable[..., Any], parameters: Mapping[str, Any], named: Iterable[str], sensitive: Iterable[str]
) -> dict[str, ServerParameter]:
    """Return the parameters of `fn` that the server fills in.

    These are the ones in `named`, and those that the input schema `parameters` marks with `"server_populated": true`:
    parameters of the function, or fields of a parameter that is a model. Sensitive are the ones in `sensitive`, and
    those that the schema marks with `"sensitive": true`.

    Raises:
        ValueError: A name is not a parameter, a sensitive parameter is not filled in by the server, two that the server
            fills in have the same name, or a mark stands deeper inside a parameter, where it would hide nothing.
    """
    tool_name = getattr(fn, "__name__", type(fn).__name__)
    properties: Mapping[str, Any] = parameters.get("properties", {})
    definitions: Mapping[str, Any] = parameters.get("$defs", {})
    models = [
        ModelFields(name, schema, marked)
        for name, property_schema in properties.items()
        if (marked := _marked_in(schema := resolved(property_schema, definitions)))
    ]
    model_of = {name: model for model in models for name in model.names}
    if len(model_of) < sum(len(model.names) for model in models) or model_of.keys() & properties.keys():
        raise ValueError(
            f"The tool {tool_name!r} marks a field of a parameter as server_populated that has the name of another "
            "parameter or field. Give it a name of its own."
        )
    schemas = {**properties, **{name: model.schema_of(name) for name, model in model_of.items()}}
    filled = dict.fromkeys([*named, *(name for name, schema in schemas.items() if schema.get(MARK) is True)])
    secret = {*sensitive, *(name for name in filled if schemas.get(name, {}).get(SENSITIVE_MARK) is True)}
    for what, names, known in (("server_populated", filled, schemas), ("sensitive", secret, filled)):
        if odd := [name for name in names if name not in known]:
            reason = "is not a parameter" if known is schemas else "is not filled in by the server"
            raise ValueError(f"{what} of the tool {tool_name!r} names {odd[0]!r}, which {reason}.")
    found = {
        name: ServerParameter(
            name in secret,
            _accepts_none(schemas[name]),
            model.default_of(fn, name) if (model := model_of.get(name)) else _default(fn, name, parameters),
            model,
        )
        for name in filled
    }
    if _mentions_mark(hidden_from_caller(parameters, found)):
        raise ValueError(
            f"The tool {tool_name!r} marks a field as server_populated that is too deep inside a parameter to be "
            "hidden from the caller. Mark a parameter of the function, or a field of a parameter that is a model."
        )
    return found


def _marked_in(schema: Mapping[str, Any]) -> tuple[str, ...]:
    fields = {} if schema.get(MARK) is True else schema.get("properties", {})
    return tuple(name for name, part in fields.items() if isinstance(part, Mapping) and part.get(MARK) is True)


def marked_parameters(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters in an input schema that it marks as filled in by the server, or parts of."""
    properties, definitions = parameters.get("properties", {}), parameters.get("$defs", {})
    return [
        name
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and _mentions_mark(resolved(schema, definitions))
    ]


def hidden_from_caller(parameters: Mapping[str, Any], filled: Mapping[str, ServerParameter]) -> dict[str, Any]:
    """Return the input schema without the parameters `filled` and without the definitions that only they use."""
    shown = with_hidden(parameters, [parameter.model for parameter in filled.values() if parameter.model is not None])
    return without_properties(shown, [name for name, parameter in filled.items() if parameter.model is None])


def _default(fn: Callable[..., Any], name: str, parameters: Mapping[str, Any]) -> Callable[[], Any] | None:
    if name in parameters.get("required", []):
        return None
    default = inspect.signature(fn).parameters[name].default
    if isinstance(default, FieldInfo):
        return lambda: default.get_default(call_default_factory=True, validated_data={})
    value = parameters["properties"][name].get("default") if default is inspect.Parameter.empty else default
    return lambda: value


def _accepts_none(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "null" or any(map(_accepts_none, schema.get("anyOf", []))):
        return True
    return not schema.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"}


def _mentions_mark(schema: Any) -> bool:
    match schema:
        case Mapping():
            return schema.get(MARK) is True or any(map(_mentions_mark, schema.values()))
        case list():
            return any(map(_mentions_mark, schema))
        case _:
            return False
