"""The tools of this repository, in five rooms.

    generate  write generated/, the examples in pages, the exported test vectors and the pages of the site
    lint      compare the specification, the schemas, the examples and the generated types with each other
    bench     measure the codec, the server and the client
    soak      run one client among honest and hostile peers, and judge whether the honest chats notice
    interop   compare XMCP servers with bare FastMCP servers, with programs of the MCP project

Every tool is a module that runs from the root of the repository: `python -m tools.lint.spec_lint`. `nox -l` lists the
ones that are run often.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""Root of the repository."""
