"""Add the pages of the site that come from the repository: the chapters, the requirements, the schemas.

A hook of mkdocs. The chapters stay as they are, but the id of a sentence becomes a link in front of it. Pages link to
files of the repository, as a code host needs it; on the site such a link leads to the page that shows the file.
"""

from __future__ import annotations

import json
import posixpath
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools import ROOT
from tools.generate import export_vectors
from xmcp_conformance.core.requirements import Requirement, registry
from xmcp_conformance.hosts.rules import Host, hosts
from xmcp_conformance.wrong.registry import server_mutants, wrong_implementations

_SENTENCE = re.compile(r"^- (?P<quote>.+) \[(?P<id>XMCP-[A-Z]{3}-\d{3})\]$", re.MULTILINE)
_LINK = re.compile(r"^```.*?^```|`[^`\n]*`|\]\((?P<path>[^)\s#]+)(?P<fragment>#[^)\s]*|)\)", re.MULTILINE | re.DOTALL)
"""A block or a span of code, which has no links; or the end of a link that names a file."""
_EXAMPLES = "guides/examples.md"
_LANGUAGES = {".go": "go", ".py": "python", ".js": "javascript", ".html": "html", ".css": "css", ".yml": "yaml"}
_SEARCH_BOOSTS = {
    "guides/questions.md": 8,
    "guides/examples.md": 1,
    "guides/gateway": 1,
    "guides/": 4,
    "spec/requirements.md": 4,
    "spec/": 0.5,
    "api.md": 0.5,
}
"""How much a hit counts in the search, by the beginning of the page's path: the guides come before the references,
those of the gateway after the others, and an id finds its requirement all the same."""
_MENTION = re.compile(r"(?<![\[`])(XMCP-[A-Z]{3}-\d{3})(?![\]`])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    pages: dict[str, str | bytes] = {
        f"spec/{path.name}": chapter(path.read_text(encoding="utf-8")) for path in _chapters()
    }
    pages["spec/requirements.md"] = requirements()
    pages["spec/schemas.md"] = schemas()
    pages["guides/hosts.md"] = known_hosts()
    pages[_EXAMPLES] = examples()
    for path, content in (pages | vectors()).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Let the links of a page lead to pages of the site, and the search know what the page is for."""
    boost = next((boost for path, boost in _SEARCH_BOOSTS.items() if page.file.src_uri.startswith(path)), 1)
    page.meta["search"] = {"boost": boost}
    return site_links(markdown, page.file.src_uri)


def site_links(text: str, page: str) -> str:
    """Return the text of the page `page` of the site with its links to files of the repository as links to pages."""
    home = "examples/README.md" if page == _EXAMPLES else page if page.startswith("spec/") else f"docs/{page}"

    def link(match: re.Match[str]) -> str:
        if match["path"] is None or "://" in match["path"]:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(home), match["path"]))
        shown, _, anchor = _shown_at().get(path, path.removeprefix("docs/")).partition("#")
        fragment = match["fragment"] or (anchor and f"#{anchor}")
        return f"]({posixpath.relpath(shown, posixpath.dirname(page) or '.')}{fragment})"

    return _LINK.sub(link, text)


@cache
def _shown_at() -> dict[str, str]:
    """Return the page of the site that shows a file or folder, by its path in the repository, where they differ."""
    return {
        "spec/requirements.yaml": "spec/requirements.md",
        "schemas": "spec/schemas.md",
        "schemas/registry/error_codes.json": "spec/schemas.md#error-codes",
        "schemas/registry/display_types.json": "spec/schemas.md#display-types",
        "conformance/xmcp_conformance/hosts/hosts.json": "guides/hosts.md",
        "examples/README.md": _EXAMPLES,
        **{f"examples/{name}": f"{_EXAMPLES}#{_anchor(name)}" for name in _example_programs()},
    }


def examples() -> str:
    """Return the page of the examples: the README of their folder, and each program that it links to."""
    lines = [(ROOT / "examples" / "README.md").read_text(encoding="utf-8")]
    for name in _example_programs():
        content = (ROOT / "examples" / name).read_text(encoding="utf-8").removesuffix("\n")
        lines += [f"## `{name}` {{ #{_anchor(name)} }}", "", f"```{_LANGUAGES[Path(name).suffix]}", content, "```", ""]
    return "\n".join(lines)


def _anchor(name: str) -> str:
    return re.sub(r"\W", "-", name)


def _example_programs() -> list[str]:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    return [match["path"] for match in _LINK.finditer(text) if Path(match["path"] or "").suffix in _LANGUAGES]


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
    """Return the text of a chapter with its ids as links to the page of requirements.

    The id of a sentence stands in front of it, as the anchor: a jump to it shows the sentence from its beginning.
    """
    text = _MENTION.sub(r"[\1](requirements.md#\1-row)", text)
    return _SENTENCE.sub(r"- [\g<id>](requirements.md#\g<id>-row){ #\g<id> .requirement } \g<quote>", text)


def _home() -> dict[str, str]:
    """Return the file name of the chapter of each requirement, by id."""
    return {
        sentence["id"]: path.name
        for path in _chapters()
        for sentence in _SENTENCE.finditer(path.read_text(encoding="utf-8"))
    }


def requirements() -> str:
    """Return the page of requirements: each sentence, whom it binds, and which check verifies it."""
    known, home = registry(), _home()
    counts = {means: len(known.verified_by(means)) for means in ("server", "vectors", "document", "client", "gateway")}
    excluded = sum(1 for requirement in known.requirements.values() if requirement.excluded)
    pending = sum(1 for requirement in known.requirements.values() if requirement.status == "pending")
    lines = [
        "# Requirements",
        "",
        f"Version {known.version}: {len(known.requirements)} sentences. {counts['server']} are verified by checks of "
        f"`xmcp check server`, each with a mutant that breaks it; {counts['vectors']} by vectors; {counts['document']} "
        f"by `xmcp check document` alone; {counts['client']} by checks of what a client did; {counts['gateway']} by "
        f"`xmcp check gateway`, each with wrong gateways; {excluded} are not "
        f"verified yet, with the reason; {pending} are pending, which nothing implements yet. What is not verified "
        "is never counted as tested.",
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
        broken = " ".join((mutant.__doc__ or "").split()).removesuffix(".")
        verified.append(f"a server check, against the mutant `{mutant.__name__}` ({broken})")
    if "vectors" in requirement.verified_by:
        verified.append("vectors")
    if "document" in requirement.verified_by:
        verified.append("`xmcp check document`")
    if "client" in requirement.verified_by:
        verified.append("a check of what a client did, and a mutant of ours that breaks the sentence")
    if "gateway" in requirement.verified_by:
        names = ", ".join(f"`{one.__name__}`" for one in wrong_implementations("gateway")[requirement.id])
        verified.append(f"a check of a gateway's answers, against the wrong gateways {names}")
    if requirement.excluded:
        verified.append(f"*nothing yet*: {requirement.excluded}")
    if requirement.status == "pending":
        verified.append("*nothing yet*: it is pending, and nothing implements it")
    link = f"[Section {requirement.section}]({file}#{requirement.id})"
    # A heading, which the search finds by its title; as HTML, so that the table of contents does not list all of them.
    return [
        f'<h3 id="{requirement.id}-row">{requirement.id}</h3>',
        "",
        f"{link} · {requirement.level} · {requirement.role}",
        "",
        f"> {requirement.quote}",
        "",
        f"Verified by {'; '.join(verified)}.",
    ]


_HELPS = {"fix_input": ", fix the input", "ask_user": ", ask the person", "retry": "", "give_up": ", give up"}
"""What the table of error codes adds to "retryable" or "not retryable", by `recovery`."""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    # The class lets a narrow screen show each row as a block.
    yield from ('<div class="rows" markdown>', "")
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(map(str, cells))} |"
    yield from ("", "</div>")


def _json(path: str) -> Any:
    return json.loads((ROOT / "schemas" / path).read_text(encoding="utf-8"))


def schemas() -> str:
    """Return the page of the registries, as tables, and of the schema files as they are."""
    return "\n".join(_schema_lines()) + "\n"


def _schema_lines() -> Iterator[str]:
    yield from ("# Schemas and registries", "", "## Error codes", "")
    codes = _json("registry/error_codes.json")["codes"]
    yield from _table(
        ("code", "category", "meaning"),
        [
            (
                " or ".join(f"`{name}`" for name in (row["code"], *row.get("aliases", ()))),
                f"`{row['category']}`<br>{'' if row['retryable'] else 'not '}retryable{_HELPS[row['recovery']]}",
                row["description"],
            )
            for row in codes
        ],
    )
    yield from ("", "### In HTTP, JSON-RPC and gRPC", "")
    yield from _table(
        ("code", "HTTP", "JSON-RPC", "gRPC"),
        [(f"`{row['code']}`", row["http_status"], row["jsonrpc_code"], f"`{row['grpc_status']}`") for row in codes],
    )
    yield from ("", "## Display types", "")
    yield from _table(
        ("type", "status", "media type", "meaning"),
        [
            (f"`{row['type']}`", row["status"], row["media_type"] or "", row["description"])
            for row in _json("registry/display_types.json")["types"]
        ],
    )
    for name in ("tool_response.xsd", *sorted(path.name for path in (ROOT / "schemas").glob("*.schema.json"))):
        language = "xml" if name.endswith(".xsd") else "json"
        content = (ROOT / "schemas" / name).read_text(encoding="utf-8").removesuffix("\n")
        yield from ("", f"## `{name}`", "", f"```{language}", content, "```")
