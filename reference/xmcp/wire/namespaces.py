"""Namespaces in XML 1.0: which names of a start tag have none, and which tags break the rules.

expat can do this itself, and must not for a stranger's document: it writes the whole namespace name in
front of every attribute name, so that 450 kB of document take 4 GB of memory (libexpat 2.5) before the
first handler can object. Here a namespace name is kept once.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping

_XML = "http://www.w3.org/XML/1998/namespace"
_XMLNS = "http://www.w3.org/2000/xmlns/"
# NameChar that is no NameStartChar (XML 1.0, productions 4 and 4a): expat has checked the rest of the name.
_NOT_A_START = re.compile("[-.0-9\u00b7\u0300-\u036f\u203f\u2040]")

Scope = ChainMap[str, str]
"""Prefix to namespace name, innermost element first; the default namespace stands under the empty prefix."""

OUTERMOST: Scope = ChainMap({"": "", "xml": _XML})


class NamespaceError(ValueError):
    """A start tag that is not namespace-well-formed."""


def declares_or_uses_prefixes(attributes: Mapping[str, str]) -> bool:
    """Whether the attributes of a start tag need `resolve` at all; cheap, for nearly all do not."""
    return bool(attributes) and ("xmlns" in attributes or ":" in "".join(attributes))


def resolve(scope: Scope, name: str, attributes: Mapping[str, str]) -> tuple[Scope, bool, dict[str, str]]:
    """The scope inside an element, whether the element has no namespace, and its attributes that have none.

    Raises NamespaceError for a malformed or unbound prefix, a forbidden declaration, or two attributes that
    are the same once their prefixes are resolved.
    """
    declared = _declarations(attributes)
    if declared:
        scope = scope.new_child(declared)
    plain: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for attribute, value in attributes.items():
        prefix, local = _split(attribute)
        if prefix == "xmlns" or attribute == "xmlns":
            continue
        if not prefix:
            plain[attribute] = value
            continue
        expanded = (_namespace(scope, prefix), local)
        if expanded in seen:
            raise NamespaceError("two attributes of one element are the same: their prefixes mean one namespace")
        seen.add(expanded)
    prefix, _ = _split(name)
    return scope, not _namespace(scope, prefix), plain


def _declarations(attributes: Mapping[str, str]) -> dict[str, str]:
    declared: dict[str, str] = {}
    for attribute, uri in attributes.items():
        left, prefix = _split(attribute)
        if attribute == "xmlns":
            prefix = ""
        elif left != "xmlns":
            continue
        elif not uri:
            raise NamespaceError("a prefix cannot be bound to no namespace")
        if prefix == "xmlns" or uri == _XMLNS or (prefix == "xml") != (uri == _XML):
            raise NamespaceError("the prefixes xml and xmlns and their namespaces are reserved")
        declared[prefix] = uri
    return declared


def _split(name: str) -> tuple[str, str]:
    prefix, colon, local = name.partition(":")
    if not colon:
        return "", name
    if not prefix or not local or ":" in local or _NOT_A_START.match(local):
        raise NamespaceError("a name has one colon at most, with a name before and after it")
    return prefix, local


def _namespace(scope: Scope, prefix: str) -> str:
    try:
        return scope[prefix]
    except KeyError:
        raise NamespaceError("a prefix is not bound to a namespace") from None
