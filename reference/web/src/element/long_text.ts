// A long text in pieces: the browser lays out only those elements that are in sight (`.piece` in display.css).
import { html } from "./dom.ts";
import { highlighted } from "./highlight.ts";

/** Lines and characters of one piece; a piece ends with a line. */
const MOST_LINES = 100;
const MOST_CHARACTERS = 10_000;
const BROKEN = /[^]{1,10000}/gu;

/** Returns the text in pieces, without the line breaks between them; a longer line is several. */
export function piecesOf(text: string): string[] {
  return linesOf(text).flatMap((piece) => (piece.includes("\n") ? [piece] : (piece.match(BROKEN) ?? [""])));
}

/** Returns source text in an element, the beginning in colours. */
export function sourceCode(source: string, language?: string | null): HTMLElement {
  const [coloured, ...rest] = linesOf(source);
  return html(
    "code",
    {},
    html("span", { class: "piece" }, ...highlighted(coloured ?? "", language)),
    ...rest.map((piece) => html("span", { class: "piece" }, piece)),
  );
}

function linesOf(text: string): string[] {
  const pieces: string[] = [];
  let [start, lines] = [0, 0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    lines++;
    if (lines < MOST_LINES && end - start < MOST_CHARACTERS) continue;
    pieces.push(text.slice(start, end));
    [start, lines] = [end + 1, 0];
  }
  pieces.push(text.slice(start));
  return pieces;
}
