"""`python -m xmcp`: the command line."""

from __future__ import annotations

from xmcp.cli import main

if __name__ == "__main__":
    main()
