"""The file of a gateway's configuration: reading TOML, saying what is wrong in it, and writing one with comments."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from xmcp.chat.untrusted_text import printable
from xmcp.gateway.config import GatewayConfig

LARGEST: Final = 1_000_000
"""Maximum size of a file, in bytes."""


class BadConfig(ValueError):
    """A configuration that cannot be used; each line of the message has the place and what to do."""


def read_config(path: Path) -> GatewayConfig:
    """Return the configuration in a file.

    Raises:
        BadConfig: it cannot be read, is not TOML, or has a setting that is wrong.
    """
    shown = printable(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise BadConfig(f"{shown} cannot be read: {error.strerror}. `xmcp gateway init {shown}` writes one.") from error
    if len(data) > LARGEST:
        raise BadConfig(f"{shown} has more than {LARGEST:,} bytes.")
    try:
        value = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise BadConfig(f"{shown} is not UTF-8: byte {error.start} is none of it.") from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{shown} is not TOML: {printable(str(error))}.") from error
    except RecursionError as error:
        raise BadConfig(f"{shown} is nested too deep.") from error
    return config_of(value, shown)


def config_of(value: Mapping[str, Any], shown: str) -> GatewayConfig:
    """Return the configuration that a TOML document means; `shown` is the name of the file for messages.

    Raises:
        BadConfig: a setting is wrong; there is a line for each.
    """
    try:
        return GatewayConfig.model_validate(value)
    except ValidationError as error:
        # Without the values that were given: one may be a key in the wrong place.
        found = error.errors(include_url=False, include_input=False)
        raise BadConfig("\n".join(f"{shown}: {line}" for line in map(_line, found))) from None


def _line(error: Any) -> str:
    """Return what is wrong with one setting, and what it is for."""
    location = error["loc"]
    name, place = str(location[-1]) if location else "", _place(location)
    if error["type"] == "extra_forbidden":
        table = _table_at(location[:-1])
        near = get_close_matches(name, table.model_fields, n=1) if table is not None else []
        known = ", ".join(table.model_fields) if table is not None else ""
        return f"there is no {place}. " + (f"Did you mean {near[0]}?" if near else f"There are: {known}.")
    if error["type"] == "missing":
        return f"{place} is missing. {_purpose(location)}"
    if error["type"] == "value_error":
        return f"{place} {printable(str(error['ctx']['error']))}. {_purpose(location)}".rstrip()
    if error["type"] in ("model_type", "dict_type", "mapping_type"):
        return f"{place} must be a table."
    words = error["msg"].replace("Input should be", "must be").replace("a valid integer", "an integer")
    return f"{place} {printable(words.replace('a valid ', 'a '))}. {_purpose(location)}".rstrip()


def _place(location: tuple[str | int, ...]) -> str:
    """Return where a setting stands, as one writes it: `[runs] max_running`, `[[models]] 2, id`."""
    match location:
        case ():
            return "the file"
        case (str(name),):
            return printable(name)
        case (str(table), int(index), *rest):
            inside = f", {printable('.'.join(map(str, rest)))}" if rest else ""
            return f"[[{printable(table)}]] {index + 1}{inside}"
        case _:
            names = [printable(str(name)) for name in location]
            return f"[{names[0]}] {'.'.join(names[1:])}"


def _field_at(location: tuple[str | int, ...]) -> FieldInfo | None:
    table: type[BaseModel] | None = _table_at(location[:-1])
    return None if table is None or not location else table.model_fields.get(str(location[-1]))


def _table_at(location: tuple[str | int, ...]) -> type[BaseModel] | None:
    table: type[BaseModel] = GatewayConfig
    for name in location:
        if isinstance(name, int):
            continue
        field = table.model_fields.get(name)
        inner = None if field is None else _table_of(field)
        if inner is None:
            return None
        table = inner
    return table


def _table_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the type of the table, or of each table of a list, that a field is."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _purpose(location: tuple[str | int, ...]) -> str:
    field = _field_at(location)
    if field is None or not field.description:
        return ""
    default = (
        "" if field.default in (None, PydanticUndefined) or _table_of(field) else f" Default: {_toml(field.default)}."
    )
    return f"It is: {field.description}{default}"


_EXAMPLES: Final = """
# The models that callers can name. NAME:plain is the same model without tools. The key of a vendor stands in the
# environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...). "demo" is a script and needs no key.
[[models]]
id = "assistant"
provider = "demo"
# model = "..."      # the vendor's name of the model
# base_url = "..."   # another server with the provider's API

# The tool servers, as other hosts have them: a command or a url. ${NAME} is a variable of the environment.
# [servers.shop]
# url = "https://shop.example/mcp"
# headers = { Authorization = "Bearer ${SHOP_TOKEN}" }
# tenants.acme.headers = { Authorization = "Bearer ${SHOP_TOKEN_OF_ACME}" }   # in place of those, for a tenant
[servers.sales]
command = "xmcp"
args = ["serve", "xmcp.samples.sales:mcp", "--transport", "stdio"]

# Who may call. `xmcp gateway key` prints a new key and these lines.
# [[keys]]
# name = "front-end"
# tenant = "acme"
# hash = "sha256:..."
# scopes = ["chat", "read"]   # and "admin"
# events = "xmcp"             # as in [openai], for this key
# models = ["assistant"]      # and tools = [...]; left out: all
# requests_per_minute = 60    # and tokens_per_day, tokens_per_month, usd_per_month; [[tenants]] has the same
"""


def commented_config() -> str:
    """Return a file with every setting at its default, what it is, and one model and server to begin with."""
    lines = ["# The configuration of an XMCP gateway. What stands behind a # is the default."]
    for name, field in GatewayConfig.model_fields.items():
        table = _table_of(field)
        if table is not None and isinstance(field.default, BaseModel):
            lines += ["", f"# {field.description}", f"[{name}]", *_settings(table)]
    return "\n".join(lines) + "\n" + _EXAMPLES


def _settings(table: type[BaseModel]) -> Iterator[str]:
    for name, field in table.model_fields.items():
        yield f"# {field.description}"
        yield f"# {name} = {_toml(field.default)}" if field.default is not None else f"# {name} ="


def _toml(value: Any) -> str:
    """Return a default as TOML writes it; texts and numbers have the form of JSON."""
    return json.dumps(value, ensure_ascii=False)
