/**
 * Untrusted text, made safe to show (spec section 8.4), as xmcp/render/view/untrusted.py.
 *
 * Pure functions from any string to a string that moves no cursor, hides nothing and cannot be mistaken for something else.
 */

import { first, lengthOf } from "./code_points.ts";
import { BIDI, BLANK, HIDDEN, JOINERS } from "./tables.generated.ts";

const NONCHARACTER = /[\p{Cs}\p{NChar}]/gu; // no version of Unicode changes these
const SIGNS = new RegExp(`[\\u{0}-\\u{8}\\u{b}-\\u{1f}\\u{7f}-\\u{9f}\\u{2028}\\u{2029}${BIDI}]`, "gu");
const JOINER = new RegExp(`[${JOINERS}]`, "gu");
const HIDDEN_CHARACTER = new RegExp(`[${HIDDEN}]`, "gu");
const SOMETHING = new RegExp(`[^${BLANK}]`, "u");
const TAB = 4;

/** Return `text` of several lines with control and bidi characters as visible signs, and tabs as spaces. */
export function visible(text: string): string {
  return withoutTabs(text.replace(NONCHARACTER, "\ufffd").replaceAll("\r\n", "\n").replace(SIGNS, sign));
}

/**
 * Return `text` like `visible`, with every other invisible character spelled out as well.
 *
 * For words that a person acts on (titles, messages, names): there a zero-width or tag character is a disguise.
 */
export function revealed(text: string): string {
  return visible(text).replace(JOINER, "").replace(HIDDEN_CHARACTER, spelled);
}

/** Return `revealed(text)` on one line of at most `limit` characters; an ellipsis ends it if it was cut. */
export function label(text: string, limit = 200): string {
  const start = first(text, 4 * limit);
  const line = revealed(start).trim().replace(/\s+/g, " ");
  return first(line, limit) === line && start === text ? line : `${first(line, limit - 1)}…`;
}

/** Tell whether `text` would leave the screen empty. */
export function isBlank(text: string): boolean {
  return !SOMETHING.test(text);
}

function sign(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return code === 0x2028 || code === 0x2029 ? "\n" : spelled(character);
}

function spelled(character: string): string {
  return `<U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}>`;
}

function withoutTabs(text: string): string {
  if (!text.includes("\t")) return text;
  return text.split("\n").map(lineWithoutTabs).join("\n");
}

function lineWithoutTabs(line: string): string {
  let column = 0;
  return line
    .split("\t")
    .map((part, nth) => {
      const gap = nth ? TAB - (column % TAB) : 0;
      column += gap + lengthOf(part);
      return " ".repeat(gap) + part;
    })
    .join("");
}
