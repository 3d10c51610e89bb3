"""Add the pages of the site that come from the repository: the chapters, the requirements, the schemas.

A hook of mkdocs. The chapters stay as they are, but their ids become links.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools import ROOT
from tools.generate import export_vectors
from xmcp_conformance.core.requirements import Requirement, registry
from xmcp_conformance.hosts.rules import Host, hosts
from xmcp_conformance.wrong.registry import server_mutants

_ID = re.compile(r" \[(XMCP-[A-Z]{3}-\d{3})\]$", re.MULTILINE)
_MENTION = re.compile(r"(?<![\[`])(XMCP-[A-Z]{3}-\d{3})(?![\]`])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    pages: dict[str, str | bytes] = {
        f"spec/{path.name}": chapter(path.read_text(encoding="utf-8")) for path in _chapters()
    }
    pages["spec/requirements.md"] = requirements()
    pages["spec/schemas.md"] = schemas()
    pages["guides/hosts.md"] = known_hosts()
    for path, content in (pages | vectors()).items():
        files.append(File.generated(config, path, content=content))
    return files


_STRUCTURED = {
    "ignored": "not given",
    "replaces_text": "instead of the text",
    "replaces_text_alone": "instead of the text, if there is nothing else",
    "replaces_content": "instead of everything else",
    "if_no_content": "only if there is nothing else",
    "if_no_text": "only if there is no text",
    "beside_content": "after everything else",
}
_USER_ONLY = {"given": "given to the model", "kept_from_model": "kept from the model", "unknown": "not known"}


def known_hosts() -> str:
    """Return the page of the hosts: what each does with a result, since which version, and how that is known."""
    lines = [
        "# What hosts do with a result",
        "",
        "From `conformance/xmcp_conformance/hosts/hosts.json`, which [`xmcp see`](see.md) applies to your results.",
        "",
        "| host | structuredContent goes to the model | images | text for the person only | a failure |",
        "|---|---|---|---|---|",
        *(_row(host) for host in hosts()),
        "",
        "## How that is known",
        "",
    ]
    for host in hosts():
        lines.append(f"- **{host.title}** {host.version} ({host.status}, {host.date}): {'; '.join(host.evidence)}.")
        lines += [f"  {host.note}"] if host.note else []
    return "\n".join(lines) + "\n"


def _row(host: Host) -> str:
    rule = host.model
    form = rule.blocks["image"]
    image = "seen" if form.startswith("seen") else {"dropped": "dropped", "unknown": "not known"}.get(form, "as text")
    told = "not known" if rule.error_marked == "unknown" else "marked"
    if not rule.error_marked and rule.error == rule.result:
        told = "not marked"
    cells = (
        host.title,
        _STRUCTURED[rule.structured],
        image,
        _USER_ONLY[rule.user_only],
        told,
    )
    return f"| {' | '.join(cells)} |"


def vectors() -> dict[str, bytes]:
    """Return the exported vectors and their checksum, for download from the site."""
    with tempfile.TemporaryDirectory() as scratch:
        export_vectors.write(Path(scratch))
        return {f"vectors/{path.name}": path.read_bytes() for path in Path(scratch).iterdir()}


def _chapters() -> list[Path]:
    return sorted((ROOT / "spec").glob("*.md"))


def chapter(text: str) -> str:
    """Return the text of a chapter with its ids as anchors and as links to the page of requirements."""
    text = _MENTION.sub(r"[\1](requirements.md#\1-row)", text)
    return _ID.sub(lambda match: f" [{match[1]}](requirements.md#{match[1]}-row){{ #{match[1]} .requirement }}", text)


def _home() -> dict[str, str]:
    """Return the file name of the chapter of each requirement, by id."""
    return {id_: path.name for path in _chapters() for id_ in _ID.findall(path.read_text(encoding="utf-8"))}


def requirements() -> str:
    """Return the page of requirements: each sentence, whom it binds, and which check verifies it."""
    known, home = registry(), _home()
    counts = {means: len(known.verified_by(means)) for means in ("server", "vectors", "document", "client")}
    excluded = sum(1 for requirement in known.requirements.values() if requirement.excluded)
    lines = [
        "# Requirements",
        "",
        f"Version {known.version}: {len(known.requirements)} sentences. {counts['server']} are verified by checks of "
        f"`xmcp check server`, each with a mutant that breaks it; {counts['vectors']} by vectors; {counts['document']} "
        f"by `xmcp check document` alone; {counts['client']} by checks of what a client did; {excluded} are not "
        "verified yet, with the reason. What is not verified is never counted as tested.",
    ]
    chapter_now = ""
    for requirement in known.requirements.values():
        file = home[requirement.id]
        if file != chapter_now:
            chapter_now = file
            title = (ROOT / "spec" / file).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
            lines += ["", f"## {title}"]
        lines += ["", *_entry(requirement, file)]
    return "\n".join(lines) + "\n"


def _entry(requirement: Requirement, file: str) -> list[str]:
    verified = []
    if "server" in requirement.verified_by:
        mutant = server_mutants()[requirement.id]
        verified.append(
            f"server check, against the mutant `{mutant.__name__}`: {' '.join((mutant.__doc__ or '').split())}"
        )
    if "vectors" in requirement.verified_by:
        verified.append("vectors.")
    if "document" in requirement.verified_by:
        verified.append("`xmcp check document`.")
    if "client" in requirement.verified_by:
        verified.append("a check of what a client did, and a mutant of ours that breaks the sentence.")
    if requirement.excluded:
        verified.append(f"*nothing yet*: {requirement.excluded}.")
    link = f"[{requirement.id}]({file}#{requirement.id})"
    return [
        f'- <span id="{requirement.id}-row"></span>**{link}** · {requirement.level} · {requirement.role}',
        "",
        f"    {requirement.quote}",
        "",
        f"    Verified by {' and '.join(verified)}",
    ]


def _json(path: str) -> Any:
    return json.loads((ROOT / "schemas" / path).read_text(encoding="utf-8"))


def schemas() -> str:
    """Return the page of the registries, as tables, and of the schema files as they are."""
    return "\n".join(_schema_lines()) + "\n"


def _schema_lines() -> Iterator[str]:
    yield from ("# Schemas and registries", "", "## Error codes", "")
    yield from (
        "| code | category | retryable | helps | HTTP | JSON-RPC | gRPC | meaning |",
        "|---|---|---|---|---|---|---|---|",
    )
    for row in _json("registry/error_codes.json")["codes"]:
        names = " ".join(f"`{name}`" for name in (row["code"], *row.get("aliases", ())))
        cells = (
            names,
            f"`{row['category']}`",
            "yes" if row["retryable"] else "no",
            row["recovery"],
            row["http_status"],
            row["jsonrpc_code"],
            f"`{row['grpc_status']}`",
        )
        yield f"| {' | '.join(map(str, cells))} | {row['description']} |"
    yield from ("", "## Display types", "", "| type | status | media type | meaning |", "|---|---|---|---|")
    for row in _json("registry/display_types.json")["types"]:
        yield f"| `{row['type']}` | {row['status']} | {row['media_type'] or ''} | {row['description']} |"
    for name in ("tool_response.xsd", *sorted(path.name for path in (ROOT / "schemas").glob("*.schema.json"))):
        language = "xml" if name.endswith(".xsd") else "json"
        yield from ("", f"## `{name}`", "", f"```{language}", f'--8<-- "schemas/{name}"', "```")
