"""Count the tokens of a text, without a network: exactly where a tokenizer with its files is installed, else about."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

CHARACTERS_PER_TOKEN: Final = 4
"""The usual estimate for English text; data in JSON has fewer characters for each token."""

COUNTED: Final = 400_000
"""Maximum number of characters that are counted; the rest is estimated from them."""

ENCODING: Final = "o200k_base"

# The name that `tiktoken` gives the file of this encoding: it loads a file of that name and downloads it otherwise.
_RANKS: Final = "fb374d419588a4632f3f557e76b4b70aebbca790"


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How tokens are counted. `name` is that of the encoding; `exact` is false for the estimate."""

    name: str
    exact: bool
    _count: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        counted = self._count(text[:COUNTED])
        return counted if len(text) <= COUNTED else counted * len(text) // COUNTED


ESTIMATE: Final = Tokenizer("about, from characters / 4", False, lambda text: -(-len(text) // CHARACTERS_PER_TOKEN))


@cache
def tokenizer() -> Tokenizer:
    """Return the best tokenizer that is here: `tiktoken` if its file is here too, else the estimate."""
    folder = next((folder for folder in _folders() if (folder / _RANKS).is_file()), None)
    if folder is None or find_spec("tiktoken") is None:
        return ESTIMATE
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        import tiktoken  # type: ignore[import-not-found, unused-ignore]

        encoding: Any = tiktoken.get_encoding(ENCODING)
    except Exception:  # whatever is wrong with an optional library, an estimate is possible
        return ESTIMATE
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    return Tokenizer(ENCODING, True, lambda text: len(encoding.encode_ordinary(text)))


def _folders() -> list[Path]:
    """Return where the file may be: where `tiktoken` looks and keeps it, and in the wheel of `litellm`."""
    named = [os.environ[name] for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR") if os.environ.get(name)]
    folders = [Path(name) for name in named] + [Path(tempfile.gettempdir()) / "data-gym-cache"]
    litellm = find_spec("litellm")
    if litellm is not None and litellm.submodule_search_locations:
        folders.append(Path(litellm.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers")
    return folders
