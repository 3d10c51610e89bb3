"""Speaks the codec protocol for one of the codecs: `python -m unseen_codecs_third NAME`."""

from __future__ import annotations

import sys

from unseen_codecs.serving import serve

from unseen_codecs_third.codecs import CODECS

if __name__ == "__main__":
    serve(CODECS[sys.argv[1]](), sys.argv[1])
