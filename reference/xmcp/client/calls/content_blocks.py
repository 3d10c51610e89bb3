"""What the model and what the person gets of the blocks of a result (XMCP-MCP-045, XMCP-MCP-046). Pure.

The audience of a block is a hint by its author. A block for the user alone is shown to the person, and is no part of
the text for the model. So is a picture, which no chat message can carry, unless it is for the model alone. All other
blocks are text for the model, or a note in the place of what is no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xmcp.wire import DisplayEnvelope

if TYPE_CHECKING:
    from mcp_types import ContentBlock

MAX_SHOWN: Final = 64
"""Maximum number of displays from the blocks of one result: each is an event, and a call of `on_display`."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The text for the model, the displays for the person, and what the application should know of the rest."""

    text: str
    displays: tuple[DisplayEnvelope, ...] = ()
    warnings: tuple[str, ...] = ()


def divide(blocks: Sequence[ContentBlock]) -> Parts:
    """Divide the blocks of a result between the model and the person. No block for the user alone is in the text."""
    texts: list[str] = []
    displays: list[DisplayEnvelope] = []
    no_pictures = too_many = 0
    for block in blocks:
        alone, picture = is_for_user_alone(block), _picture_for_person(block)
        display = None
        if len(displays) == MAX_SHOWN:
            too_many += alone or picture is not None
        else:
            if picture is not None:
                display = _image(*picture)
                no_pictures += display is None
            if alone and display is None:
                display = _words(block)
        if display is not None:
            displays.append(display)
        elif not alone:
            texts.append(_text(block))
    warnings = []
    if no_pictures:
        warnings.append(f"{no_pictures} × image not shown: it is no PNG, JPEG, GIF, WebP or AVIF picture in base64")
    if too_many:
        warnings.append(f"{too_many} blocks for the person were not shown: the result has more than {MAX_SHOWN}")
    return Parts("\n".join(texts), tuple(displays), tuple(warnings))


def is_for_user_alone(block: ContentBlock) -> bool:
    """Return whether the author of a block meant it for the person, and not for the model."""
    return _audience(block) == {"user"}


def held(block: ContentBlock) -> str:
    """Return the text or the data (base64) of a block, or for a link its address."""
    # `vars`, because pydantic takes microseconds to find out that there is no such member.
    members = vars(block.resource if block.type == "resource" else block)
    return members.get("text") or members.get("data") or members.get("blob") or str(members.get("uri") or "")


def _audience(block: ContentBlock) -> set[str]:
    return set((block.annotations and block.annotations.audience) or ())


def _picture_for_person(block: ContentBlock) -> tuple[str, str] | None:
    """Return the media type and the data (base64) of a block that is a picture, unless it is for the model alone."""
    if block.type == "image":
        mime, data = block.mime_type, block.data
    elif block.type == "resource":
        mime, data = block.resource.mime_type or "", vars(block.resource).get("blob", "")
    else:
        return None
    is_picture = block.type == "image" or (data and mime.lower().startswith("image/"))
    return (mime, data) if is_picture and _audience(block) != {"assistant"} else None


def _image(mime: str, data: str) -> DisplayEnvelope | None:
    """Return a picture as a display; `None` if a display cannot have it (XMCP-DSP-013)."""
    kind = mime.partition(";")[0].strip().lower()  # parameters could carry any text to the model
    try:
        return DisplayEnvelope(type="image", payload={"src": f"data:{kind};base64,{data}", "mime": kind})
    except ValueError:
        return None


def _words(block: ContentBlock) -> DisplayEnvelope | None:
    """Return the text of a block, or what names the block, as a display; `None` if there is nothing to show."""
    mime = getattr(block.resource, "mime_type", None) if block.type == "resource" else None
    markdown = (mime or "").partition(";")[0].strip().lower() == "text/markdown"
    text = _text(block)
    return DisplayEnvelope(type="markdown" if markdown else "text", payload=text) if text else None


def _text(block: ContentBlock) -> str:
    """Return text as it is, and a note in the place of anything else, which a chat message cannot carry."""
    if block.type == "text":
        return block.text
    if block.type == "resource":
        text: str | None = vars(block.resource).get("text")
        return f"[resource {block.resource.uri}]" if text is None else text
    if block.type == "resource_link":
        return f"[link to the resource {block.name}: {block.uri}]"
    return f"[{block.type} {block.mime_type}]"
