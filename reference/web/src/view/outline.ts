/**
 * Any value as indented JSON text of bounded size, as xmcp/render/view/outline.py.
 *
 * The bounds keep a hostile value from filling the screen or overflowing the stack.
 */

import { first, lengthOf } from "./code_points.ts";
import { isObject } from "./json.ts";
import { asSent } from "./numerals.ts";

const MAX_DEPTH = 32;
export const MAX_NODES = 500;
const MAX_STRING = 2000;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;

interface Budget {
  left: number;
  readonly afterALongString: number;
}

/**
 * Return `value` as JSON text, and whether something was left out; an ellipsis stands in its place.
 *
 * `indent` is the white space of each level; null is all on one line. After `nodes` values and members the rest is left
 * out.
 */
export function outline(value: unknown, indent: string | null = "  ", nodes = MAX_NODES): [text: string, cut: boolean] {
  const budget = { left: nodes, afterALongString: Math.floor(nodes / 10) };
  const text = written(value, MAX_DEPTH, budget, indent === null ? null : "\n", indent ?? "");
  return [text, budget.left < 0];
}

/** Return how many values a JSON value has, itself and those inside it, but no more than `most`. */
export function nodesOf(value: unknown, most: number): number {
  const waiting = [value];
  let found = 0;
  for (; waiting.length && found + waiting.length < most; found++) {
    const one = waiting.pop();
    if (Array.isArray(one)) waiting.push(...one.slice(0, most));
    else if (isObject(one)) waiting.push(...Object.values(one).slice(0, most));
  }
  return Math.min(found + waiting.length, most);
}

function written(value: unknown, depth: number, budget: Budget, margin: string | null, step: string): string {
  budget.left--;
  if (typeof value === "number") return asSent(value);
  if (value === null || value === undefined || typeof value === "boolean") return String(value ?? null);
  if (!isObject(value) && !Array.isArray(value)) return quoted(String(value), budget);
  if (depth === 0 || budget.left < 0) {
    budget.left = Math.min(budget.left, -1);
    return '"…"';
  }
  const inner = margin === null ? null : margin + step;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) {
      if (budget.left < 0) {
        parts.push(`"… ${value.length - parts.length} more"`);
        break;
      }
      parts.push(written(item, depth - 1, budget, inner, step));
    }
    return enclosed("[", parts, "]", margin, inner);
  }
  const names = Object.keys(value);
  for (const name of names) {
    if (budget.left < 0) {
      parts.push(`"…": "${names.length - parts.length} more"`);
      break;
    }
    parts.push(`${quoted(name, budget)}: ${written(value[name], depth - 1, budget, inner, step)}`);
  }
  return enclosed("{", parts, "}", margin, inner);
}

function enclosed(opening: string, parts: string[], closing: string, margin: string | null, inner: string | null): string {
  if (!parts.length || inner === null) return `${opening}${parts.join(", ")}${closing}`;
  return `${opening}${inner}${parts.join(`,${inner}`)}${margin}${closing}`;
}

function quoted(text: string, budget: Budget): string {
  const start = first(text, MAX_STRING);
  if (start === text) return JSON.stringify(text.replace(LONE_SURROGATE, "\ufffd"));
  budget.left = Math.min(budget.left, budget.afterALongString);
  const more = lengthOf(text) - MAX_STRING;
  return JSON.stringify(`${start}… (${more} more characters)`.replace(LONE_SURROGATE, "\ufffd"));
}
