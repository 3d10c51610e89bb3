"""Namespaces in XML 1.0: which names of a start tag have no namespace, and which tags break the rules.

expat could do this, but not for an untrusted document: it writes the whole namespace name in front of every attribute
name, so that a document of 450 kB takes 4 GB of memory (libexpat 2.5) before the first handler is called. Here each
namespace name is kept once.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping

_XML = "http://www.w3.org/XML/1998/namespace"
_XMLNS = "http://www.w3.org/2000/xmlns/"
# A NameChar that is not a NameStartChar (XML 1.0, productions 4 and 4a): expat has checked the rest of the name.
_NOT_A_START = re.compile("[-.0-9\u00b7\u0300-\u036f\u203f\u2040]")

Scope = ChainMap[str, str]
"""Prefix to namespace name, innermost element first; the default namespace stands under the empty prefix."""

OUTERMOST: Scope = ChainMap({"": "", "xml": _XML})


class NamespaceError(ValueError):
    """A start tag that is not namespace-well-formed."""


def declares_or_uses_prefixes(attributes: Mapping[str, str]) -> bool:
    """Tell whether the attributes of a start tag need `resolve`; most do not, so this is a cheap check."""
    return bool(attributes) and ("xmlns" in attributes or ":" in "".join(attributes))


def resolve(scope: Scope, name: str, attributes: Mapping[str, str]) -> tuple[Scope, bool, dict[str, str]]:
    """Return the scope inside an element, whether the element has no namespace, and its attributes without one.

    Raises:
        NamespaceError: A prefix is malformed or unbound, a declaration is forbidden, or two attributes are the same
            after their prefixes are resolved.
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
            raise NamespaceError("two attributes of one element are the same: their prefixes have the same namespace")
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
            raise NamespaceError("a prefix must not be bound to an empty namespace")
        if prefix == "xmlns" or uri == _XMLNS or (prefix == "xml") != (uri == _XML):
            raise NamespaceError("the prefixes xml and xmlns and their namespaces are reserved")
        declared[prefix] = uri
    return declared


def _split(name: str) -> tuple[str, str]:
    prefix, colon, local = name.partition(":")
    if not colon:
        return "", name
    if not prefix or not local or ":" in local or _NOT_A_START.match(local):
        raise NamespaceError("a name must have at most one colon, with a name before and after it")
    return prefix, local


def _namespace(scope: Scope, prefix: str) -> str:
    try:
        return scope[prefix]
    except KeyError:
        raise NamespaceError("a prefix is not bound to a namespace") from None
