// Markdown: from the tokens of markdown-it to elements. Raw HTML is text, an address becomes a link only if links.ts allows it.
import MarkdownIt from "markdown-it";
import { first } from "../view/code_points.ts";
import { link } from "../view/links.ts";
import { measured } from "../view/markdown_size.ts";
import { LIMITS, MARKDOWN_DEEPEST } from "../view/tables.generated.ts";
import { isBlank, visible } from "../view/untrusted.ts";
import { beginning } from "../view/wording.ts";
import { html } from "./dom.ts";
import type { Drawing, Drawn } from "./drawing.ts";
import { linked } from "./link.ts";
import { sourceCode } from "./long_text.ts";

type Token = ReturnType<typeof parser.parse>[number];

/** What every text has room for, however much stands before it in the display. */
const LEAST_ROOM = { characters: 2_000, elements: 50 };
/** Characters of one paragraph that are parsed at once; what follows in it is plain text. */
const LONGEST_PARAGRAPH = 10_000;
/** From this number of blocks on, the browser lays out only those in sight. */
const BLOCKS_OUT_OF_SIGHT = 60;

// CommonMark with tables and strikethrough. The build leaves out its other rules, and what refuses or rewrites addresses:
// every address becomes a token as it is written, and links.ts decides what can be followed.
const parser = new MarkdownIt({ html: false, linkify: false, maxNesting: MARKDOWN_DEEPEST });
// Words are parsed block by block in `drawMarkdown`, so that the page can answer in between.
parser.core.ruler.enableOnly(["normalize", "block"]);

const BLOCKS = new Set("p h1 h2 h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td".split(" "));
const INLINE = new Set(["em", "strong", "s"]);

/** Returns the text drawn. One that is nested so deep that words would be lost, or draws nothing, is shown as it is written. */
export async function drawMarkdown(source: string, drawing: Drawing): Promise<Drawn> {
  const { room } = drawing;
  const characters = Math.max(room.characters, LEAST_ROOM.characters);
  const [most, cut] = beginning(source);
  const whole = visible(first(most, characters));
  const shown = first(whole, characters);
  room.characters -= shown.length;
  const env = {}; // the addresses of its links, where they stand apart
  const [drawn] = measured(shown, LIMITS.MARKDOWN_PIECES);
  const tokens = parser.parse(shown.slice(0, drawn), env);
  const deepest = tokens.reduce((level, token) => Math.max(level, token.level), 0);
  const written = async (): Promise<Drawn> => ({
    body: html("p", { class: "words", dir: "auto" }, shown),
    copied: () => source,
  });
  if (deepest >= MARKDOWN_DEEPEST - 1) return written();
  const writer = new Writer(drawing);
  await writer.write(tokens, env);
  if (drawn < shown.length && !writer.full) writer.code(shown.slice(drawn));
  if (isBlank(writer.root.textContent ?? "") && !writer.root.querySelector("hr")) return written();
  if (writer.root.childElementCount > BLOCKS_OUT_OF_SIGHT) writer.root.classList.add("long");
  const notices =
    writer.full || shown !== whole || most.length > characters ? ["the text is long; not all of it is shown"] : cut === null ? [] : [cut];
  return { body: writer.root, copied: () => source, notices };
}

class Writer {
  readonly root = html("div", { class: "markdown" });
  #at: HTMLElement = this.root;
  readonly #most: number;
  #elements = 0;
  #level = 0;

  constructor(private readonly drawing: Drawing) {
    this.#most = Math.max(drawing.room.elements, LEAST_ROOM.elements);
  }

  get full(): boolean {
    return this.#elements >= this.#most;
  }

  async write(tokens: readonly Token[], env: Record<string, unknown>): Promise<void> {
    for (const token of tokens) {
      if (this.full) return;
      if (token.type === "inline") {
        const children: Token[] = [];
        parser.inline.parse(token.content.slice(0, LONGEST_PARAGRAPH), parser, env, children);
        await this.drawing.pause();
        this.#inline(children);
        if (token.content.length > LONGEST_PARAGRAPH) this.#at.append(visible(token.content.slice(LONGEST_PARAGRAPH)));
        await this.drawing.pause();
      } else this.#block(token);
    }
  }

  #open<E extends HTMLElement>(element: E): E {
    this.#elements++;
    this.drawing.room.elements--;
    this.#at.append(element);
    this.#at = element;
    return element;
  }

  #close(): void {
    this.#at = this.#at.parentElement ?? this.root;
  }

  code(source: string, language?: string): void {
    this.#open(html("pre", { class: "code", tabindex: 0, dir: "ltr" }, sourceCode(source, language)));
    this.#close();
  }

  #block(token: Token): void {
    const { type, tag, nesting, hidden } = token;
    if (type === "fence" || type === "code_block") {
      this.code(token.content.replace(/\n$/, ""), token.info.trim().split(/\s+/, 1)[0]);
    } else if (type === "hr") {
      this.#open(html("hr"));
      this.#close();
    } else if (hidden || !BLOCKS.has(tag)) return;
    else if (nesting === 1) this.#openBlock(token);
    else if (nesting === -1) {
      this.#close();
      if (tag === "table") this.#close(); // the box in which it scrolls
    }
  }

  #openBlock({ tag, attrs }: Token): void {
    if (tag === "table")
      this.#open(html("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" }));
    const element = this.#open(html(tag as "p", tag === "table" || tag.startsWith("t") ? {} : { dir: "auto" }));
    if (/^h[1-6]$/.test(tag)) this.#heading(element, Number(tag[1]));
    for (const [name, value] of attrs ?? []) {
      if (tag === "ol" && name === "start") element.setAttribute("start", `${Number(value)}`);
      if (name === "style") element.classList.add(`${value}`.replace("text-align:", "").trim());
    }
    if (tag === "th") element.setAttribute("scope", "col");
  }

  /** Says the level to a screen reader so that none is skipped, whatever the author began with. */
  #heading(element: HTMLElement, written: number): void {
    const top = (this.drawing.headingLevel ?? 2) + 1;
    this.#level = Math.min(written, this.#level + 1);
    element.setAttribute("aria-level", `${Math.min(top + this.#level - 1, 6)}`);
  }

  #inline(tokens: readonly Token[]): void {
    const block = this.#at;
    // In a block of `dir="auto"` itself, each node would have the browser look for the direction from its beginning.
    const bottom = (this.#at = html("div"));
    const open: { token: Token; element: HTMLElement }[] = [];
    for (const token of tokens) {
      if (this.full) break;
      const { type, tag, nesting } = token;
      if (type === "text" || type === "text_special") this.#at.append(visible(token.content));
      else if (type === "softbreak") this.#at.append("\n");
      else if (type === "hardbreak") this.#at.append(html("br"));
      else if (type === "code_inline") this.#at.append(html("code", {}, visible(token.content)));
      else if (type === "image") this.#at.append(this.#image(token, open.length > 0));
      else if (type === "link_open") {
        const element = this.#open(html("span"));
        open.push({ token, element });
      } else if (type === "link_close") {
        const begun = open.pop();
        this.#close();
        if (begun && open.length === 0) this.#link(begun.element, `${begun.token.attrGet("href") ?? ""}`);
      } else if (nesting === 1 && INLINE.has(tag)) this.#open(html(tag as "em"));
      else if (nesting === -1 && INLINE.has(tag)) this.#close();
    }
    block.append(...bottom.childNodes);
    this.#at = block;
  }

  /** Puts a link, or the words alone, in place of the span that the words of an outermost link were written into. */
  #link(words: HTMLElement, address: string): void {
    words.replaceWith(...linked([...words.childNodes], words.textContent ?? "", link(address), this.drawing.partial));
  }

  /** Returns the words of a picture; in a link they are no link, because that leads to one place. */
  #image(token: Token, inLink: boolean): HTMLElement {
    const words = visible(token.content) || "no description";
    const address = link(`${token.attrGet("src") ?? ""}`);
    const drawn = inLink ? [words] : linked([words], words, address, this.drawing.partial);
    return html("span", { class: "picture" }, "[image: ", ...drawn, "]");
  }
}
