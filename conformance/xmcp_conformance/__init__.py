"""The XMCP conformance suite: it judges servers, documents, codecs and clients in any language.

It shares only the generated models and schemas with the reference implementation: a suite that ran the code that it
judges would prove nothing.
"""

from importlib.metadata import PackageNotFoundError, version


def suite_version() -> str:
    """Return the version of the distribution that holds the suite; `unknown` where none is installed."""
    try:
        return version("xmcp")
    except PackageNotFoundError:
        return "unknown"
