"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class JsonText:
    """
    One JSON value, written so that it needs no XML escaping.
    """

    value: str = field(default="")
    lossy: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    other_attributes: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "type": "Attributes",
            "namespace": "##other",
        },
    )


@dataclass(kw_only=True)
class ModelText:
    """
    Text for the model, exactly as it stands.
    """

    value: str = field(default="")
    format: None | str = field(
        default=None,
        metadata={
            "type": "Attribute",
            "max_length": 127,
            "pattern": r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]*",
        },
    )
    truncated: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    lossy: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    other_attributes: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "type": "Attributes",
            "namespace": "##other",
        },
    )


@dataclass(kw_only=True)
class Error:
    """
    A failure: the message as text, then `meta` for programs.
    """

    code: str = field(
        metadata={
            "type": "Attribute",
            "pattern": r"[A-Z][A-Z0-9_]{0,62}",
        }
    )
    retryable: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    retry_after_ms: None | int = field(
        default=None,
        metadata={
            "type": "Attribute",
            "max_inclusive": 9007199254740991,
        },
    )
    category: None | str = field(
        default=None,
        metadata={
            "type": "Attribute",
            "pattern": r"[a-z][a-z0-9_]{0,62}",
        },
    )
    lossy: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    other_attributes: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "type": "Attributes",
            "namespace": "##other",
        },
    )
    content: list[object] = field(
        default_factory=list,
        metadata={
            "type": "Wildcard",
            "namespace": "##any",
            "mixed": True,
            "choices": (
                {
                    "name": "meta",
                    "type": JsonText,
                    "namespace": "",
                },
            ),
        },
    )


@dataclass(kw_only=True)
class ToolResponse:
    class Meta:
        name = "tool_response"

    llm_output: None | ModelText = field(
        default=None,
        metadata={
            "type": "Element",
            "namespace": "",
        },
    )
    display: None | JsonText = field(
        default=None,
        metadata={
            "type": "Element",
            "namespace": "",
        },
    )
    error: None | Error = field(
        default=None,
        metadata={
            "type": "Element",
            "namespace": "",
        },
    )
    server_populated: None | JsonText = field(
        default=None,
        metadata={
            "type": "Element",
            "namespace": "",
        },
    )
    other_element: list[object] = field(
        default_factory=list,
        metadata={
            "type": "Wildcard",
            "namespace": "##other",
            "process_contents": "skip",
        },
    )
    tool_name: str = field(
        metadata={
            "type": "Attribute",
            "min_length": 1,
            "max_length": 128,
        }
    )
    version: str = field(
        default="1.0",
        metadata={
            "type": "Attribute",
            "pattern": r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})",
        },
    )
    call_id: None | str = field(
        default=None,
        metadata={
            "type": "Attribute",
            "min_length": 1,
            "max_length": 256,
        },
    )
    lossy: bool = field(
        default=False,
        metadata={
            "type": "Attribute",
        },
    )
    other_attributes: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "type": "Attributes",
            "namespace": "##other",
        },
    )
