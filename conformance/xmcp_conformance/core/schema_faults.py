"""What is wrong in a value by a JSON Schema, in words for the person who wrote the value."""

from __future__ import annotations

import jsonschema_rs

from .untrusted_text import quoted


def fault_in_words(fault: jsonschema_rs.ValidationError) -> str:
    """Return what a schema says against a value, with the place of it. The validator masks it."""
    where = "".join(f"/{part}" for part in fault.instance_path)
    return f"{f'at `{quoted(where)}`: ' if where else ''}{quoted(fault.message)}"
