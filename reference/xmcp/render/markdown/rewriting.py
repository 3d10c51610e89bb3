"""Untrusted Markdown, written anew: raw HTML as text, the target of every link beside its words, no picture."""

from __future__ import annotations

from markdown_it.tree import SyntaxTreeNode

from xmcp.render.markdown.writing import below, code_span, escaped, fenced, grid, heading, linked, paragraphs, quoted
from xmcp.render.view.markdown import loses_words, parse, picture_words
from xmcp.render.view.untrusted import visible


def rewritten(source: str, heading_level: int) -> str:
    """Return CommonMark with GFM tables that shows what `source` shows; its headings are below `heading_level`."""
    tokens = parse(visible(source))
    if loses_words(tokens):
        return paragraphs(source)
    return _blocks(SyntaxTreeNode(tokens), heading_level, "\n\n")


def _blocks(parent: SyntaxTreeNode, level: int, between: str) -> str:
    parts: list[str] = []
    before, alike = "", 0
    for node in parent.children:
        alike = alike + 1 if node.type == before else 0
        before = node.type
        parts.append(_block(node, alike, level))
    return between.join(parts)


def _block(node: SyntaxTreeNode, alike: int, level: int) -> str:
    """Return one block, before which are `alike` of its kind: lists next to each other need different markers."""
    match node.type:
        case "heading":
            return heading(level + int(node.tag[1:]), _words(node, " "))
        case "bullet_list":
            return _list(node, ["-*"[alike % 2] + " "] * len(node.children), level)
        case "ordered_list":
            first = int(node.attrs.get("start", 1))
            sign = ".)"[alike % 2]
            return _list(node, [f"{number}{sign} " for number in range(first, first + len(node.children))], level)
        case "blockquote":
            return quoted(_blocks(node, level, "\n\n"))
        case "fence" | "code_block":
            return fenced(node.content, node.info)
        case "hr":
            return "***"
        case "table":
            return _table(node)
        case _:
            return _words(node, "\n")


def _list(node: SyntaxTreeNode, markers: list[str], level: int) -> str:
    tight = any(child.type == "paragraph" and child.hidden for item in node.children for child in item.children)
    between = "\n" if tight else "\n\n"
    items = zip(markers, node.children, strict=True)
    return between.join(below(marker, _blocks(item, level, between)) for marker, item in items)


def _table(node: SyntaxTreeNode) -> str:
    rows = [row.children for part in node.children for row in part.children]
    aligns = [str(cell.attrs.get("style", "")).rpartition(":")[2] for cell in rows[0]]
    cells = [[_words(cell, " ").replace("\n", " ") for cell in row] for row in rows]
    return grid(cells[0], aligns, cells[1:])


def _words(node: SyntaxTreeNode, line_break: str) -> str:
    """Return the text inside a block; `line_break` stands for a line break that is none of the drawing."""
    return "".join(_inline(child, line_break, in_table=node.type in ("th", "td")) for child in node.children)


def _inline(node: SyntaxTreeNode, line_break: str, *, in_table: bool) -> str:
    def inside() -> str:
        return "".join(_inline(child, line_break, in_table=in_table) for child in node.children)

    match node.type:
        case "text":
            return _said(node.content)
        case "code_inline":
            code = code_span(node.content)
            return code.replace("|", "\\|") if in_table else code
        case "em":
            return f"*{inside()}*"
        case "strong":
            return f"**{inside()}**"
        case "s":
            return f"~~{inside()}~~"
        case "softbreak":
            return line_break
        case "hardbreak":
            return "\\\n" if line_break == "\n" else line_break
        case "link":
            return linked(str(node.attrs["href"]), inside())
        case "image":
            return linked(str(node.attrs["src"]), _said(picture_words(node)))
        case _:
            return inside()


def _said(words: str) -> str:
    """Return the text of a token; a line feed in it, written as `&#10;`, is a space, as a browser shows it."""
    return escaped(visible(words).replace("\n", " "))
