"""Addresses that a person may open (spec section 8.4): a rule about their characters, and their host in ASCII.

What is shown is what is opened: a host in another script stands in punycode in the address itself, so that no letter
can pass for another one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from xmcp.render.view.untrusted import BIDI, BLANK, HIDDEN, JOINERS, Ranges, class_of

UNFIT: Final[Ranges] = (
    *((0x00, 0x20), (0x3C, 0x3C), (0x3E, 0x3E), (0x5C, 0x5C), (0x7F, 0xA0), (0xD800, 0xF8FF), (0xF0000, 0x10FFFF)),
    *(*BIDI, *JOINERS, *HIDDEN, *BLANK),
    *((0x2400, 0x2421), (0xFFFD, 0xFFFF)),
)
"""What no link contains: white space, controls, backslashes, `<`, `>`, invisible and private characters, lone
surrogates, and the signs that `visible` writes for them: with those, the address would be one that nobody wrote."""
LONGEST_HOST: Final = 253

_UNFIT: Final = re.compile(class_of(UNFIT))
_WEB: Final = re.compile(r"(https?)://([^/?#@]+)([/?#].*)?", re.ASCII | re.IGNORECASE)
_MAIL: Final = re.compile(r"mailto:([^/].*)", re.ASCII | re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[^:\[\]]+)(?::([0-9]{1,5}))?", re.ASCII | re.IGNORECASE)
_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
_OCTET = r"(?:0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


def link(uri: str) -> str | None:
    """Return the address to open and to show if `uri` is an `http`, `https` or `mailto` link without hidden parts.

    Its host is in lower case and in punycode. None for every other scheme, for `//host`, for a user name or password,
    for a host that programs read in more than one way, and for the characters of `UNFIT`.
    """
    if _UNFIT.search(uri):
        return None
    if mail := _MAIL.fullmatch(uri):
        return f"mailto:{mail[1]}"
    web = _WEB.fullmatch(uri)
    authority = _authority(web[2]) if web else None
    return f"{web[1].lower()}://{authority}{web[3] or ''}" if web and authority else None


def host_of(address: str) -> str:
    """Return where a link leads, to be shown beside its words. `address` is what `link` returned."""
    return re.split("[/?#]", address.partition("://")[2] or address.removeprefix("mailto:"), maxsplit=1)[0]


def _authority(written: str) -> str | None:
    parts = _AUTHORITY.fullmatch(written) if len(written) <= LONGEST_HOST + 6 else None
    if parts is None or int(parts[2] or 0) > 65535:
        return None
    host = parts[1].lower() if written.startswith("[") else _host(parts[1])
    port = f":{parts[2]}" if parts[2] else ""
    return f"{host}{port}" if host else None


def _host(written: str) -> str | None:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", written).lower())
    name = ".".join(map(_in_ascii, folded.replace("\u3002", ".").split(".")))
    if len(name) > LONGEST_HOST or not _NAME.fullmatch(name):
        return None
    return None if _NUMERIC.fullmatch(name) and not _IPV4.fullmatch(name) else name


def _in_ascii(part: str) -> str:
    """Return a part of a host name in ASCII; what is not a letter, a digit, `_` or `-` refuses the whole name later."""
    return part if part.isascii() or len(part) > 63 else f"xn--{part.encode('punycode').decode('ascii')}"
