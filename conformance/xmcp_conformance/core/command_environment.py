"""What a command that is judged runs in: its variables, its folder, and where its standard error is kept."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class CommandEnvironment:
    """What the command line says of a command. It has the variables `env` besides those of this process.

    Attributes:
        env: names and values, which are not printed.
        cwd: its folder; `None`: that of this process.
        log: the file to which its standard error is added.
    """

    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cwd: str | None = None
    log: str | None = None

    def variables(self) -> dict[str, str]:
        """Return all variables of the command."""
        return {**os.environ, **dict(self.env)}

    def has(self, word: str) -> bool:
        """Return whether the first word of a command names a program that can be run there."""
        in_folder = self.cwd is not None and os.path.dirname(word) != ""
        name = os.path.join(self.cwd or "", word) if in_folder else word
        return shutil.which(name, path=self.variables().get("PATH")) is not None


OURS: Final = CommandEnvironment()
"""That of this process, with nothing added."""
