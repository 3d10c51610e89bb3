"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from pathlib import Path

DATA = Path(__file__).parent / "data"
"""Folder of the schemas and the registries, for programs that read them."""

__all__ = ["DATA"]
