"""Hold the text of the specification, the registry, the checks, the mutants and the vectors against each other.

    python -m tools.lint.spec_lint            exit 1 where they disagree, a line for each
    python -m tools.lint.spec_lint --accept   copy quote, level and section from the text into the registry, and
                                              write the checksum of every normative file to spec/SHA256SUMS

The functions are pure, so that the tests run them on fake chapters.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from tools import ROOT
from tools.generate.embedded_examples import MARK
from tools.lint import manifest, released
from xmcp_conformance.core.checks import checks_by_requirement
from xmcp_conformance.wrong.registry import wrong_implementations

REGISTRY = ROOT / "spec" / "requirements.yaml"
VECTORS = ROOT / "conformance" / "vectors" / "wire.json"
CHECKS = (
    "xmcp_conformance.profiles.server.blackbox",
    "xmcp_conformance.profiles.document.checks",
    "xmcp_conformance.profiles.codec.vector_checks",
    "xmcp_conformance.profiles.client.judge",
    "xmcp_conformance.profiles.gateway.checks",
)
"""The modules whose import registers the checks of the profiles."""
MUTANTS_OF_CLIENT = (ROOT / "reference" / "tests" / "client", "mutants", "all_mutants")
"""Where the registry of the mutants of the reference client is: a folder, a module in it, and a function in that."""

_HEADING = re.compile(r"#+ (\d+(?:\.\d+)?)\b")
_REQUIREMENT = re.compile(r"- (?P<quote>.*\S) \[(?P<id>XMCP-[A-Z]{3}-\d{3})\]")
_KEY_WORD = re.compile(r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|REQUIRED|RECOMMENDED|MAY|OPTIONAL)\b")
_LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY")
_LOWER_CASE = re.compile(r"\b(must|shall|should|may|required|recommended|optional)\b", re.IGNORECASE)
_FIELDS = ("id", "level", "role", "section", "from_level", "quote", "verified_by", "excluded", "status")
_ROLES_WITH_LEVELS = ("server", "emitter", "reader", "client")
_CHAPTERS_WITH_LEVELS = ("1", "2", "3", "4", "5", "6", "8", "9")
_EXEMPT = "<!-- key words are explained here, not used -->"
_INCLUDE_MARK = "--8<--"


@dataclass(frozen=True)
class Sentence:
    """A normative sentence where it stands."""

    id: str
    quote: str
    section: str
    chapter: str
    line: int

    @property
    def levels(self) -> list[str]:
        """The key words in it."""
        return _KEY_WORD.findall(self.quote)


@dataclass
class Evidence:
    """The ids of the requirements that each kind of means verifies.

    `documents`: checks of files. `client_checks` and `client_mutants`: checks of the traces of clients, and mutants of
    the reference client.
    """

    checks: set[str] = field(default_factory=set)
    mutants: set[str] = field(default_factory=set)
    fixture_checks: set[str] = field(default_factory=set)
    fixture_mutants: set[str] = field(default_factory=set)
    vectors: set[str] = field(default_factory=set)
    codec_checks: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    client_checks: set[str] = field(default_factory=set)
    client_mutants: set[str] = field(default_factory=set)
    gateway_checks: set[str] = field(default_factory=set)
    gateway_mutants: set[str] = field(default_factory=set)


def _lines(text: str) -> Iterator[tuple[int, str, str, bool]]:
    """(line number, line, section, whether the rules for prose apply)."""
    section, fenced, exempt = "", False, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif heading := _HEADING.match(line):
            section, exempt = heading[1], False
        elif line == _EXEMPT:
            exempt = True
        yield number, line, section, not (fenced or exempt or line.startswith("```"))


def sentences(chapters: Mapping[str, str]) -> list[Sentence]:
    """Every normative sentence, in order."""
    return [
        Sentence(match["id"], match["quote"], section, chapter, number)
        for chapter, text in chapters.items()
        for number, line, section, prose in _lines(text)
        if prose and (match := _REQUIREMENT.fullmatch(line))
    ]


def lint_text(chapters: Mapping[str, str], root: Path, prefix: str) -> Iterator[str]:
    """Faults of the text alone."""
    seen: dict[str, str] = {}
    for sentence in sentences(chapters):
        where = f"{sentence.chapter}:{sentence.line}"
        if sentence.id in seen:
            yield f"{where}: {sentence.id} stands already at {seen[sentence.id]}; an id is never used twice"
        seen[sentence.id] = where
        if len(sentence.levels) != 1 or sentence.levels[0] not in _LEVELS:
            yield f"{where}: {sentence.id} has the key words {sentence.levels}; one of {', '.join(_LEVELS)}, once"
    for chapter, text in chapters.items():
        for number, line, _, prose in _lines(text):
            where = f"{chapter}:{number}"
            if line.startswith(_INCLUDE_MARK):
                yield f"{where}: a code host shows this mark in the place of the file; write <!-- example: PATH -->"
                continue
            if example := MARK.match(line):
                if not (root / example["path"]).is_file():
                    yield f"{where}: the example {example['path']} does not exist"
                continue
            if not prose:
                continue
            plain = re.sub(r"`[^`]*`", "", line)
            if not _REQUIREMENT.fullmatch(line):
                if word := _KEY_WORD.search(plain):
                    yield f"{where}: {word[0]} outside a requirement; write `- … [XMCP-ABC-001]`"
                elif "[XMCP-" in line:
                    yield f"{where}: an id that ends no list item of one line"
            if word := _LOWER_CASE.search(_KEY_WORD.sub("", plain)):
                yield f"{where}: the word `{word[0]}` in lower case; say it as a requirement or in other words"
            for name in re.findall(r"`([a-z0-9.-]+/)(?:tool-response|tool|version)`", line):
                if name != prefix:
                    yield f"{where}: the prefix `{name}` is not the one of schemas/names.json, `{prefix}`"


def lint_registry(chapters: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where text and registry differ."""
    stated = {sentence.id: sentence for sentence in sentences(chapters)}
    listed = [entry["id"] for entry in entries]
    for id_ in stated:
        if id_ not in listed:
            yield f"{id_}: stands in {stated[id_].chapter} and not in the registry"
    for id_ in listed:
        if id_ not in stated:
            yield f"{id_}: is in the registry and stands in no chapter"
        if listed.count(id_) > 1:
            yield f"{id_}: twice in the registry"
    if not set(listed) ^ set(stated) and listed != list(stated):
        yield "the registry is not in the order of the text"
    for entry in entries:
        if (sentence := stated.get(entry["id"])) is None:
            continue
        for name, value in (("quote", sentence.quote), ("section", sentence.section), ("level", sentence.levels[:1])):
            expected = value[0] if isinstance(value, list) and value else value
            if entry.get(name) != expected:
                yield f"{entry['id']}: {name} is stale: the registry has {entry.get(name)!r}, the text {expected!r}"


def lint_levels(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where an entry lacks the level of conformance from which its sentence holds, or has one that it cannot have."""
    for entry in entries:
        has_levels = entry["role"] in _ROLES_WITH_LEVELS and entry["section"].split(".")[0] in _CHAPTERS_WITH_LEVELS
        if has_levels and entry.get("from_level") not in (1, 2):
            yield f"{entry['id']}: needs `from_level`, 1 or 2 (section 1.6)"
        if not has_levels and "from_level" in entry:
            yield f"{entry['id']}: has `from_level`, and its role or its chapter has no levels (section 1.6)"


def lint_evidence(entries: Sequence[Mapping[str, Any]], evidence: Evidence) -> Iterator[str]:
    """Where a requirement claims a check, a mutant or a vector that is not there, or the other way round."""
    known = {entry["id"] for entry in entries}
    for name, ids in (
        ("check", evidence.checks),
        ("check of documents", evidence.documents),
        ("mutant", evidence.mutants),
        ("check of the tool of the suite", evidence.fixture_checks),
        ("mutant with the tool of the suite", evidence.fixture_mutants),
        ("vector", evidence.vectors),
        ("check of codecs", evidence.codec_checks),
        ("check of clients", evidence.client_checks),
        ("mutant of the client", evidence.client_mutants),
        ("check of gateways", evidence.gateway_checks),
        ("wrong gateway", evidence.gateway_mutants),
    ):
        for id_ in sorted(ids - known):
            yield f"{id_}: a {name} names it and the registry does not know it"
    for entry in entries:
        id_, means = entry["id"], entry.get("verified_by", [])
        if bool(means) + bool(entry.get("excluded")) + ("status" in entry) != 1:
            yield f"{id_}: needs one of `verified_by`, a reason in `excluded`, and `status: pending`"
        if entry.get("status", "pending") != "pending":
            yield f"{id_}: has the status `{entry['status']}`; the only one is `pending`"
        for mean in means:
            if mean not in ("server", "fixture", "vectors", "document", "client", "gateway"):
                yield f"{id_}: is verified by `{mean}`, which is nothing the suite has"
        for mean, name, ids in (
            ("server", "check", evidence.checks),
            ("server", "mutant", evidence.mutants),
            ("fixture", "check of the tool of the suite", evidence.fixture_checks),
            ("fixture", "mutant with the tool of the suite", evidence.fixture_mutants),
            ("vectors", "vector", evidence.vectors),
            ("vectors", "check of codecs", evidence.codec_checks),
            ("gateway", "check of gateways", evidence.gateway_checks),
            ("gateway", "wrong gateway", evidence.gateway_mutants),
        ):
            if mean in means and id_ not in ids:
                yield f"{id_}: claims `{mean}`, and no {name} names it"
            if mean not in means and id_ in ids:
                yield f"{id_}: a {name} names it, and `verified_by` does not say `{mean}`"
        for name, ids in (("check", evidence.client_checks), ("mutant", evidence.client_mutants)):
            if "client" in means and id_ not in ids:
                yield f"{id_}: claims `client`, and no {name} of clients names it"
        if "client" not in means and id_ in evidence.client_checks & evidence.client_mutants:
            yield f"{id_}: has a check and a mutant of clients, and `verified_by` does not say `client`"
        if "document" in means and id_ not in evidence.documents:
            yield f"{id_}: claims `document`, and no check of documents names it"
        if id_ in evidence.documents and not {"document", "server"} & set(means):
            yield f"{id_}: a check of documents names it, and `verified_by` says neither `document` nor `server`"


def chapters() -> dict[str, str]:
    """The chapters of this repository, by path."""
    paths = sorted((ROOT / "spec").glob("[0-9][0-9]-*.md"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def evidence() -> Evidence:
    """Return what the suite verifies, asked of its registries; an id in a comment or a message is no evidence."""
    for module in CHECKS:
        import_module(module)
    return Evidence(
        checks=set(checks_by_requirement("server")),
        documents=set(checks_by_requirement("document")),
        mutants=set(wrong_implementations("server")),
        fixture_checks=set(checks_by_requirement("fixture")),
        fixture_mutants=set(wrong_implementations("fixture")),
        vectors=vector_requirements(json.loads(VECTORS.read_text(encoding="utf-8"))),
        codec_checks=set(checks_by_requirement("codec")),
        client_checks=set(checks_by_requirement("client")),
        client_mutants=mutants_of_client(),
        gateway_checks=set(checks_by_requirement("gateway")),
        gateway_mutants=set(wrong_implementations("gateway")),
    )


def vector_requirements(vectors: Mapping[str, Any]) -> set[str]:
    """Return the requirements that the vectors of a file name."""
    return {id_ for case in vectors["vectors"] for id_ in case["requirements"]}


def mutants_of_client() -> set[str]:
    """Return the requirements that a mutant of the reference client breaks, as the registry of its tests has them."""
    folder, module, function = MUTANTS_OF_CLIENT
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return set(getattr(import_module(module), function)())


def accept(text: str, current: Mapping[str, str]) -> str:
    """The registry's YAML with quote, level and section of the text; comments at its head stay."""
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    registry = yaml.safe_load(text)
    stated = {sentence.id: sentence for sentence in sentences(current)}
    order = list(stated)
    for entry in registry["requirements"]:
        if sentence := stated.get(entry["id"]):
            entry.update(quote=sentence.quote, level=sentence.levels[0], section=sentence.section)
    registry["requirements"] = [
        {name: entry[name] for name in _FIELDS if name in entry} for entry in registry["requirements"]
    ]
    registry["requirements"].sort(key=lambda entry: order.index(entry["id"]) if entry["id"] in order else len(order))
    return head + yaml.safe_dump(registry, sort_keys=False, allow_unicode=True, width=1000)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="take the text over, and the files as they are")
    arguments = parser.parse_args()
    current = chapters()
    if arguments.accept:
        REGISTRY.write_text(accept(REGISTRY.read_text(encoding="utf-8"), current), encoding="utf-8")
        manifest.write(ROOT)
    entries = yaml.safe_load(REGISTRY.read_text(encoding="utf-8"))["requirements"]
    prefix = json.loads((ROOT / "schemas" / "names.json").read_text(encoding="utf-8"))["prefix"]
    faults = [
        *lint_text(current, ROOT, prefix),
        *lint_registry(current, entries),
        *lint_levels(entries),
        *lint_evidence(entries, evidence()),
        *released.faults(entries, released.read()),
        *manifest.faults(ROOT),
    ]
    if faults:
        sys.exit("\n".join(faults) + f"\n{len(faults)} faults")
    means = [mean for entry in entries for mean in entry.get("verified_by", [])]
    excluded, pending = (sum(name in entry for entry in entries) for name in ("excluded", "status"))
    print(
        f"{len(entries)} requirements: {means.count('server')} verified by server checks and mutants, "
        f"{means.count('fixture')} with the tool of the suite, "
        f"{means.count('vectors')} by vectors, {means.count('document')} by checks of documents, "
        f"{means.count('client')} by checks of clients and mutants of ours, "
        f"{means.count('gateway')} by checks of gateways and wrong ones, "
        f"{excluded} excluded with a reason, {pending} pending"
    )


if __name__ == "__main__":
    main()
