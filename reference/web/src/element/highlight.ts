// Colours of source text: one regular expression for each family of languages. What it looks ahead for is bounded, so that
// it takes linear time for any text.
import { entry } from "../view/json.ts";
import { LANGUAGES } from "../view/tables.generated.ts";
import { html } from "./dom.ts";

type Colour = "comment" | "string" | "number" | "keyword" | "name" | "added" | "removed";
type Rule = readonly [Colour, RegExp];

const STRING = `"(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?`;
const NUMBER: Rule = ["number", /\b\d[\w.]*/];
const STRINGS: Rule = ["string", new RegExp(STRING)];
const SLASHES: Rule = ["comment", /\/\/.*|\/\*[^]*?(?:\*\/|$)/];
const HASH: Rule = ["comment", /#.*/];
const TEMPLATE: Rule = ["string", /`(?:[^`\\]|\\[^])*`?/];

function words(list: string): Rule {
  return ["keyword", new RegExp(`\\b(?:${list.replaceAll(" ", "|")})\\b`)];
}

const SCRIPT =
  "async await break case catch class const continue default delete do else export extends false finally for from function if " +
  "import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void " +
  "while yield";
const C =
  "auto bool boolean break case catch char class const continue default delete do double else enum extends false final finally " +
  "float for if implements import include int interface long namespace new null nullptr package private protected public return " +
  "short signed sizeof static string struct super switch template this throw throws true try typedef union unsigned using var " +
  "virtual void volatile while";
const PYTHON =
  "and as assert async await break case class continue def del elif else except False finally for from global if import in is " +
  "lambda match None nonlocal not or pass raise return self True try while with yield";
const GO =
  "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range " +
  "return select struct switch true type var";
const RUST =
  "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return " +
  "self Self static struct super trait true type unsafe use where while";
const SQL =
  "all and as asc between by case create cross delete desc distinct drop else end exists from full group having in inner insert into " +
  "is join left like limit not null offset on or order outer right select set table then union update values when where with";
const BASH = "case do done elif else esac export fi for function if in local return then until while";

const script: readonly Rule[] = [SLASHES, STRINGS, TEMPLATE, NUMBER, words(SCRIPT)];
const c: readonly Rule[] = [SLASHES, STRINGS, NUMBER, ["name", /^#\w+/m], words(C)];
const markup: readonly Rule[] = [
  ["comment", /<!--[^]*?(?:-->|$)/],
  ["keyword", /<[/!?]?[\w:.-]+|\/?>/],
  ["name", /\b[\w:-]{1,64}(?==)/],
  ["string", /"[^"<]*"?|'[^'<\n]*'?/],
];
const settings: readonly Rule[] = [
  ["comment", /[#;].*/],
  ["name", /^[ \t]{0,40}(?:- )?[\w."-]{1,64}(?=[ \t]{0,8}[:=])|^[ \t]{0,40}\[.*\]/m],
  STRINGS,
  NUMBER,
  words("true false null yes no"),
];

const RULES: Readonly<Record<string, readonly Rule[]>> = {
  python: [
    HASH,
    ["string", new RegExp(`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${STRING}`)],
    NUMBER,
    words(PYTHON),
    ["name", /@[\w.]+/],
  ],
  json: [["name", /"(?:[^"\\\n]|\\.)*"(?=\s{0,8}:)/], STRINGS, NUMBER, words("true false null")],
  yaml: settings,
  toml: settings,
  ini: settings,
  sql: [["comment", /--.*|\/\*[^]*?(?:\*\/|$)/], STRINGS, NUMBER, ["keyword", new RegExp(words(SQL)[1].source, "i")]],
  bash: [HASH, STRINGS, ["name", /\$\w+|\$\{[^}\n]*\}?/], words(BASH)],
  html: markup,
  xml: markup,
  css: [
    ["comment", /\/\*[^]*?(?:\*\/|$)/],
    STRINGS,
    ["name", /\b[\w-]{1,64}(?=[ \t]{0,8}:)/],
    ["keyword", /@[\w-]+/],
    ["number", /#[\da-f]{3,8}\b|\b\d[\w.%]*/],
  ],
  diff: [
    ["added", /^\+.*/m],
    ["removed", /^-.*/m],
    ["name", /^@@.*/m],
  ],
  javascript: script,
  typescript: script,
  java: c,
  c,
  cpp: c,
  csharp: c,
  go: [SLASHES, STRINGS, TEMPLATE, NUMBER, words(GO)],
  rust: [SLASHES, ["string", /"(?:[^"\\]|\\[^])*"?|'(?:[^'\\\n]|\\.)'/], NUMBER, words(RUST)],
};

/** Characters and words that are coloured; the rest of a longer text is plain. */
const MOST_CHARACTERS = 20_000;
const MOST_PIECES = 2_000;

const patterns = new Map<string, { pattern: RegExp; colours: readonly Colour[] }>();

function patternOf(name: string): { pattern: RegExp; colours: readonly Colour[] } | undefined {
  const language = entry(LANGUAGES, name.toLowerCase());
  const rules = language && entry(RULES, language);
  if (!language || !rules) return undefined;
  let found = patterns.get(language);
  if (!found) {
    const flags = rules.some(([, rule]) => rule.flags.includes("i")) ? "gmi" : "gm";
    // A `$` of a rule is the end of the text, which in a multi-line pattern is `(?![^])`.
    const source = rules.map(([, rule]) => `(${rule.source.replaceAll("|$)", "|(?![^]))")})`).join("|");
    found = { pattern: new RegExp(source, flags), colours: rules.map(([colour]) => colour) };
    patterns.set(language, found);
  }
  return found;
}

/** Returns `source` as text and coloured spans, if the language is one of `LANGUAGES`. */
export function highlighted(source: string, language: string | null | undefined): (string | HTMLElement)[] {
  const known = patternOf(language ?? "");
  if (!known) return [source];
  const start = source.slice(0, MOST_CHARACTERS);
  const pieces: (string | HTMLElement)[] = [];
  let at = 0;
  for (const match of start.matchAll(known.pattern)) {
    if (pieces.length >= MOST_PIECES) break;
    const colour = known.colours[match.slice(1).findIndex((group) => group !== undefined)];
    if (!match[0] || !colour) continue;
    if (match.index > at) pieces.push(source.slice(at, match.index));
    pieces.push(html("span", { class: colour }, match[0]));
    at = match.index + match[0].length;
  }
  pieces.push(source.slice(at));
  return pieces;
}
