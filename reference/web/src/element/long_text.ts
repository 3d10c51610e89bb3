// A long text in pieces: the browser lays out only those elements that are in sight (`.piece` in display.css).

/** Lines and characters of one piece; a piece ends with a line. */
const MOST_LINES = 100;
const MOST_CHARACTERS = 10_000;

/** Returns the text in pieces, without the line breaks between them. */
export function piecesOf(text: string): string[] {
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
