"""The checks of a gateway, one subject a module. Importing this package registers all of them."""

from __future__ import annotations

from . import chunks, credentials, native_streams, resumed_streams, runs, whole_answers

__all__ = ["chunks", "credentials", "native_streams", "resumed_streams", "runs", "whole_answers"]
