/**
 * Read requests from standard input, one line of JSON each, and answer each with one line of JSON.
 *
 * `{"envelope": …}` is answered with its view and visible words, `{"error": [message, meta, languages]}` likewise,
 * `{"links": [uri, …]}` with what each opens, `{"numbers": [number, …]}` with how each is written, `{"strings": [text, …]}`
 * with how each is made safe.
 */

import { createInterface } from "node:readline";

import type { View } from "../src/view/content.ts";
import { errorView } from "../src/view/errors.ts";
import { plan } from "../src/view/fallback_ladder.ts";
import { link } from "../src/view/links.ts";
import { asSent, byteSize, english } from "../src/view/numerals.ts";
import { isBlank, label, revealed, visible } from "../src/view/untrusted.ts";
import { visibleWords } from "./visible_words.ts";

type Request = {
  readonly envelope?: unknown;
  readonly error?: readonly [string, unknown, readonly string[]];
  readonly links?: readonly string[];
  readonly numbers?: readonly number[];
  readonly strings?: readonly string[];
};

async function answer(request: Request): Promise<unknown> {
  if (request.error) return shown(errorView(...request.error));
  if (request.links) return request.links.map(link);
  if (request.numbers) return request.numbers.map((one) => [asSent(one), english(one), byteSize(Math.abs(Math.trunc(one)))]);
  if (request.strings) return request.strings.map((one) => [visible(one), revealed(one), label(one, 20), isBlank(one)]);
  return shown(await plan(request.envelope, async () => {}));
}

function shown(view: View): unknown {
  return { view, words: visibleWords(view) };
}

/** Return rows that are made when they are asked for as an array, which JSON can have. */
function asJson(_name: string, value: unknown): unknown {
  return typeof value === "object" && value !== null && Symbol.iterator in value ? [...(value as Iterable<unknown>)] : value;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as Request), asJson)}\n`);
}
