"""What is shown of a display: decided once, as data, for every renderer. No drawing library is imported here."""

from __future__ import annotations

from xmcp.render.view.content import View
from xmcp.render.view.fallback_ladder import plan

__all__ = ["View", "plan"]
