/** What drawing a Markdown text costs, before it is parsed, as xmcp/render/view/markdown_size.py. */

/**
 * Return how many UTF-16 units of `source` have at most `most` pieces, and how many these are.
 *
 * A line is as many pieces as it has cells or opening brackets, at least one. Empty lines do not count. Every
 * line up to an empty one counts as a row below the line of dashes, also where it is none.
 */
export function measured(source: string, most: number): readonly [length: number, pieces: number] {
  let [at, pieces, columns, before] = [0, 0, 0, ""];
  for (const line of source.split(/[\n\u2028\u2029]/)) {
    let cost = 0;
    if (!/[^ \t\r>]/.test(line)) columns = 0;
    else {
      if (before.includes("|") && /^[ \t>]*[-:|][-:| \t\r]*$/.test(line)) {
        columns = Math.max(columns, line.split(/-+/).length - 1);
      }
      cost = Math.max(columns, line.split("[").length - 1, 1);
    }
    if (pieces + cost > most) return [at, pieces];
    pieces += cost;
    at += line.length + 1;
    before = line;
  }
  return [source.length, pieces];
}
