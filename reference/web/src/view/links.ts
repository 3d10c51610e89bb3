/**
 * Addresses that a person may open (spec section 8.4), as xmcp/render/view/links.py.
 *
 * What is shown is what is opened: a host in another script stands in punycode in the address itself, so that no letter
 * can pass for another one.
 */

import { lengthOf } from "./code_points.ts";
import { UNFIT } from "./tables.generated.ts";

const LONGEST_HOST = 253;
const UNFIT_CHARACTER = new RegExp(`[${UNFIT}]`, "u");
const WEB = /^(https?):\/\/([^/?#@]+)([/?#].*)?$/i;
const MAIL = /^mailto:([^/].*)$/i;
const AUTHORITY = /^(\[[0-9a-f:.]{2,45}\]|[^:[\]]+)(?::([0-9]{1,5}))?$/i;
const NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?$/;
const NUMERIC = /^(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?$/;
const OCTET = "(?:0|[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);

/**
 * Return the address to open and to show if `uri` is an `http`, `https` or `mailto` link without hidden parts.
 *
 * Its host is in lower case and in punycode. Null for every other scheme, for `//host`, for a user name or password, for
 * a host that programs read in more than one way, and for the characters of `UNFIT`.
 */
export function link(uri: string): string | null {
  if (UNFIT_CHARACTER.test(uri)) return null;
  const mail = MAIL.exec(uri);
  if (mail) return `mailto:${mail[1]}`;
  const web = WEB.exec(uri);
  const authority = web && authorityOf(web[2]!);
  return web && authority ? `${web[1]!.toLowerCase()}://${authority}${web[3] ?? ""}` : null;
}

/** Return where a link leads, to be shown beside its words. `address` is what `link` returned. */
export function hostOf(address: string): string {
  return address.replace(/^(?:https?:\/\/|mailto:)/, "").split(/[/?#]/, 1)[0]!;
}

function authorityOf(written: string): string | null {
  const parts = lengthOf(written) <= LONGEST_HOST + 6 ? AUTHORITY.exec(written) : null;
  if (!parts || Number(parts[2] ?? 0) > 65535) return null;
  const host = written.startsWith("[") ? parts[1]!.toLowerCase() : hostName(parts[1]!);
  return host && host + (parts[2] ? `:${parts[2]}` : "");
}

function hostName(written: string): string | null {
  const folded = written.normalize("NFKC").toLowerCase().normalize("NFKC");
  const name = folded.replaceAll("\u3002", ".").split(".").map(inAscii).join(".");
  if (name.length > LONGEST_HOST || !NAME.test(name)) return null;
  return NUMERIC.test(name) && !IPV4.test(name) ? null : name;
}

/** Return a part of a host name in ASCII; what is not a letter, a digit, `_` or `-` refuses the whole name later. */
function inAscii(part: string): string {
  return /^[\0-\x7f]*$/.test(part) || lengthOf(part) > 63 ? part : `xn--${punycode(part)}`;
}

/** Return `text` in punycode (RFC 3492). Its time is quadratic: for parts of a name only, which are short. */
function punycode(text: string): string {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  const basic = points.filter((point) => point < 0x80);
  let encoded = String.fromCharCode(...basic) + (basic.length ? "-" : "");
  let [next, delta, bias, handled] = [0x80, 0, 72, basic.length];
  while (handled < points.length) {
    const least = Math.min(...points.filter((point) => point >= next));
    delta += (least - next) * (handled + 1);
    next = least;
    for (const point of points) {
      if (point < next) delta++;
      if (point !== next) continue;
      encoded += digits(delta, bias);
      bias = adapted(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    next++;
  }
  return encoded;
}

function digits(delta: number, bias: number): string {
  let text = "";
  let rest = delta;
  for (let place = 36; ; place += 36) {
    const threshold = Math.min(Math.max(place - bias, 1), 26);
    if (rest < threshold) return text + digit(rest);
    text += digit(threshold + ((rest - threshold) % (36 - threshold)));
    rest = Math.floor((rest - threshold) / (36 - threshold));
  }
}

function digit(value: number): string {
  return "abcdefghijklmnopqrstuvwxyz0123456789"[value]!;
}

function adapted(delta: number, count: number, first: boolean): number {
  let rest = Math.floor(delta / (first ? 700 : 2));
  rest += Math.floor(rest / count);
  let bias = 0;
  for (; rest > 455; bias += 36) rest = Math.floor(rest / 35);
  return bias + Math.floor((36 * rest) / (rest + 38));
}
