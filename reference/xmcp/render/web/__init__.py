"""The custom element `<xmcp-display>`, built: what a web page loads to draw displays.

    Route("/xmcp_display.js", lambda request: FileResponse(SCRIPT, media_type=MEDIA_TYPE))

The page then has `<script type="module" src="/xmcp_display.js"></script>`. The sources are in `reference/web` of the
repository; whoever installs the package needs no Node.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SCRIPT: Final = Path(__file__).with_name("xmcp_display.js")
"""The path of the module: importing it in a page defines the element."""

VEGA_SCRIPT: Final = Path(__file__).with_name("xmcp_display_vega.js")
"""The path of a second module, for pages that also show charts beyond those that the element draws itself."""

VEGA_WORKER: Final = Path(__file__).with_name("xmcp_display_vega_worker.js")
"""The path of what `VEGA_SCRIPT` starts to draw such a chart: it is served beside it, under this name."""

MEDIA_TYPE: Final = "text/javascript"
"""The media type of these files: a browser runs none that is served as another."""

__all__ = ["MEDIA_TYPE", "SCRIPT", "VEGA_SCRIPT", "VEGA_WORKER"]
