/**
 * What a person sees of a failed call: the message in their language, as a notification (spec section 4.1), as errors.py.
 *
 * The message of an error is for the model and for developers. `localized` in its `meta` has messages for the person.
 */

import type { View } from "./content.ts";
import { isObject, member } from "./json.ts";
import { isBlank } from "./untrusted.ts";

/**
 * Return the view of an error.
 *
 * `message` is that of the error; if it is blank, its code. A member of `meta` that is not as the schema says is as if it
 * were absent (XMCP-ERR-009). `languages` are those that the person reads (BCP 47), the best one first.
 */
export function errorView(message: string, meta: unknown = null, languages: readonly string[] = []): View {
  return {
    content: { kind: "notification", message: localized(meta, languages) ?? message, level: "error" },
    renderedAs: "notification",
    title: null,
    alt: null,
    notices: [],
  };
}

/** Return the message in the first of the languages that there is: as a whole, without its ends, or its main part. */
function localized(meta: unknown, languages: readonly string[]): string | null {
  const messages = new Map<string, string>();
  for (const [language, words] of messagesOf(meta)) {
    if (!messages.has(language.toLowerCase())) messages.set(language.toLowerCase(), words);
  }
  for (const wanted of languages) {
    const parts = wanted.toLowerCase().split("-");
    for (let length = parts.length; length > 0; length--) {
      const words = messages.get(parts.slice(0, length).join("-"));
      if (words !== undefined) return words;
    }
    for (const [language, words] of messages) if (language.split("-")[0] === parts[0]) return words;
  }
  return null;
}

function messagesOf(meta: unknown): [language: string, words: string][] {
  const listed = isObject(meta) ? member(meta, "localized") : null;
  if (!Array.isArray(listed)) return [];
  return listed.filter(isObject).flatMap((entry): [string, string][] => {
    const [language, words] = [member(entry, "locale"), member(entry, "message")];
    return typeof language === "string" && typeof words === "string" && !isBlank(words) ? [[language, words]] : [];
  });
}
