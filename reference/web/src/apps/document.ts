// The parts of a document of XMCP (spec chapter 2), for a host that passes on the text of a result and nothing else.
//
// A reader for this one purpose, in linear time: it checks that tags match, and nothing else of the document. A browser's
// own parser would be refused by hosts that allow no Trusted Types.

const SPACE = /\s*/y;
const DECLARATION = /<\?xml\s[^?>]*\?>/y;
const TAG = /<(\/?)([A-Za-z_][\w.-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(lt|gt|amp|quot|apos));/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
const ROOT = "tool_response";
const DEEPEST = 64;

/**
 * Returns the text of each child of the root by the child's name, the first one of each name; null if the text is no
 * document. The text of elements within a child, such as the `meta` of an error, is no part of it.
 */
export function partsOf(text: string): ReadonlyMap<string, string> | null {
  let at = after(SPACE, text, 0);
  at = after(SPACE, text, after(DECLARATION, text, at));
  if (!text.startsWith(`<${ROOT}`, at)) return null;
  const open: string[] = [];
  const parts = new Map<string, string>();
  let said = "";
  while (at < text.length) {
    const next = text.indexOf("<", at);
    if (next < 0) return null;
    if (open.length === 2) said += unescaped(text.slice(at, next));
    at = next;
    if (text.startsWith("<![CDATA[", at)) {
      const end = text.indexOf("]]>", at);
      if (end < 0) return null;
      if (open.length === 2) said += text.slice(at + "<![CDATA[".length, end);
      at = end + "]]>".length;
      continue;
    }
    if (text.startsWith("<!--", at)) {
      const end = text.indexOf("-->", at + "<!--".length);
      if (end < 0) return null;
      at = end + "-->".length;
      continue;
    }
    TAG.lastIndex = at;
    const [tag = "", closes, name = "", , isEmpty] = TAG.exec(text) ?? [];
    if (tag === "") return null;
    at += tag.length;
    if (!closes) {
      open.push(name);
      if (open.length > DEEPEST || (open.length === 1 && name !== ROOT)) return null;
      if (open.length === 2) said = "";
    }
    if (closes || isEmpty) {
      if (open.at(-1) !== name) return null;
      if (open.length === 2 && !parts.has(name)) parts.set(name, said);
      open.pop();
      if (open.length === 0) return text.slice(at).trim() === "" ? parts : null;
    }
  }
  return null;
}

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function unescaped(text: string): string {
  return text.replace(REFERENCE, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number.parseInt(decimal, 10);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
