"""Speaks the codec protocol for one of the codecs: `python -m unseen_codecs NAME`."""

from __future__ import annotations

import sys

from unseen_codecs.codecs import CODECS
from unseen_codecs.serving import serve

if __name__ == "__main__":
    serve(CODECS[sys.argv[1]](), sys.argv[1])
