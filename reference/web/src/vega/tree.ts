// A picture on its way from the worker to the page: elements as data, so that the page parses no markup.
import { LIMITS } from "./allowed.ts";

/** An element: its name, its attributes, and its children, of which a string is text. */
export type Tree = readonly [
  name: string,
  attributes: Readonly<Record<string, string>>,
  children: readonly (Tree | string)[],
];

const TOKEN = /<(\/?)([A-Za-z]+)((?:\s+[\w:-]+="[^"]*")*)\s*(\/?)>|([^<]+)/gy;
const ATTRIBUTE = /([\w:-]+)="([^"]*)"/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0" };

/** Returns the outermost element of the markup that Vega writes: elements, attributes between `"`, text, nothing else. */
export function treeOf(markup: string): Tree {
  const open: [string, Record<string, string>, (Tree | string)[]][] = [["", {}, []]];
  let [end, elements] = [0, 0];
  for (const [token, closes, name, attributes, empty, text] of markup.matchAll(TOKEN)) {
    end += token.length;
    const around = open.at(-1)!;
    if (text !== undefined) around[2].push(plain(text));
    else if (closes) {
      const element = open.pop()!;
      if (element[0] !== name || !open.length) break;
      open.at(-1)![2].push(element);
    } else {
      if (++elements > LIMITS.elements) throw new Error("the picture has too many parts");
      const pairs = [...attributes!.matchAll(ATTRIBUTE)].map(([, key, value]) => [key!, plain(value!)] as const);
      const element: [string, Record<string, string>, (Tree | string)[]] = [name!, Object.fromEntries(pairs), []];
      if (empty) around[2].push(element);
      else open.push(element);
    }
  }
  const found = open[0]![2][0];
  if (open.length !== 1 || end !== markup.length || !found || typeof found === "string")
    throw new Error("the picture is broken");
  return found;
}

function plain(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|(\w+));/gi, (whole, code: string | undefined, name: string) =>
    code ? String.fromCodePoint(parseInt(code, 16)) : (ENTITIES[name] ?? whole),
  );
}
