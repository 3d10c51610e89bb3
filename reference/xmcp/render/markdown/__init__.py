"""Displays as Markdown, for issues, chats and files. `xmcp.render.view` decides what is shown."""

from __future__ import annotations

from xmcp.render.markdown.displays import to_markdown

__all__ = ["to_markdown"]
