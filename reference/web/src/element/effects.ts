// What a display does outside itself when the person presses a button: the clipboard, a file. Nothing else leaves it.
import { html } from "./dom.ts";
import type { Host, SavedFile } from "./drawing.ts";

/** Puts a text on the clipboard; returns whether that was allowed. */
export async function copy(text: string, beside: Node): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, beside);
  }
}

/** The old way, for pages without `navigator.clipboard`, such as those over plain HTTP. */
function copyBySelection(text: string, beside: Node): boolean {
  const field = html("textarea", { class: "said", readonly: true });
  field.value = text;
  beside.appendChild(field);
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
  }
}

const REVOKED_AFTER_MS = 10_000;

/** Lets the person save a file. */
export function save({ name, mediaType, text }: SavedFile, host: Host | undefined): void {
  const safeName =
    name
      .replace(/[^\p{L}\p{N} ._()-]/gu, "_")
      .replace(/^[. ]+/, "")
      .slice(-100) || "display";
  if (host?.download) {
    host.download(safeName, mediaType, text);
    return;
  }
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }));
  html("a", { href: url, download: safeName }).click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKED_AFTER_MS);
}
