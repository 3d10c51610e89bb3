/** Strings counted, cut and compared by code points, as Python does, and not by the UTF-16 units of JavaScript. */

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Return the number of characters. */
export function lengthOf(text: string): number {
  return text.length - (text.match(PAIR)?.length ?? 0);
}

/** Return the first `count` characters; the same string if it has no more. */
export function first(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return end < text.length ? text.slice(0, end) : text;
}

/** Return a negative number if `a` comes before `b` in the order of their code points, zero if they are equal. */
export function compare(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = inOrder(a.charCodeAt(at)) - inOrder(b.charCodeAt(at));
    if (difference) return difference;
  }
  return a.length - b.length;
}

/** Return a number for a UTF-16 unit in which surrogates come last, because their characters do. */
function inOrder(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
