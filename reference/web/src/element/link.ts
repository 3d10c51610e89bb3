// A link that says where it leads.
import { hostOf } from "../view/links.ts";
import { WORDS } from "../view/wording.ts";
import { html } from "./dom.ts";

/**
 * Returns the words of a link as an `a`, and behind them the host that it leads to, unless the words are the address.
 *
 * Without an address the words are struck through; while more of the display is to come they are words only.
 */
export function linked(
  words: readonly (Node | string)[],
  text: string,
  address: string | null,
  partial: boolean,
): Node[] {
  if (address === null) return [html("s", { class: "refused", title: WORDS.NO_LINK }, ...words)];
  if (partial) return [html("span", {}, ...words)];
  const target = hostOf(address);
  const safety = { target: "_blank", rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer" };
  const link = html("a", { href: address, ...safety }, ...words);
  const plain = text.trim();
  const said = plain === address || plain === target || `mailto:${plain}` === address;
  return said ? [link] : [link, html("span", { class: "target" }, ` (${target})`)];
}
