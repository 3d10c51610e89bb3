"""`import xmcp` costs nothing until a name is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import xmcp

HEAVY = "{'fastmcp', 'mcp', 'openai', 'uvicorn', 'starlette', 'lxml', 'anthropic'}"


@pytest.mark.parametrize(
    "statement",
    [
        "import xmcp",
        "from xmcp import DisplayEnvelope, ToolResponse, ErrorInfo, DecodeError",
        "from xmcp.xml_formatters import default_formatter",
        "import xmcp; xmcp.__version__",
    ],
)
def test_the_light_names_load_no_framework_and_no_sdk(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint(sorted({HEAVY} & {{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["XMCP", "XMCPError", "DisplayEnvelope", "ToolResponse", "ErrorInfo", "DecodeError"])
def test_a_public_name_is_there_and_listed(name: str) -> None:
    assert getattr(xmcp, name).__name__ == name
    assert name in dir(xmcp)
    assert name in xmcp.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsuch'"):
        _ = xmcp.Nonsuch


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert xmcp.__version__ == version("xmcp")
