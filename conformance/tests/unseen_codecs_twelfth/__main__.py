"""Run one of the codecs: `python -m unseen_codecs_twelfth NAME`."""

from __future__ import annotations

import sys

from unseen_codecs.serving import serve

from unseen_codecs_twelfth.codecs import CODECS


def main() -> None:
    """Let the suite drive the codec of this name."""
    if len(sys.argv) != 2 or sys.argv[1] not in CODECS:
        sys.exit(f"usage: python -m unseen_codecs_twelfth NAME, with a NAME of: {', '.join(CODECS)}")
    serve(CODECS[sys.argv[1]](), sys.argv[1])


main()
