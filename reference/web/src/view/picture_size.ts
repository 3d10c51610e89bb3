/**
 * The size in pixels of a picture inside a message, read from its first bytes without unpacking it, as picture_size.py.
 *
 * A picture of a few kilobytes can unpack to gigabytes. PNG, GIF, WebP, JPEG and AVIF say their size near the beginning.
 */

type Size = readonly [width: number, height: number];

const BEGINNING = 65_536;
const DATA = /^data:[^,;]*((?:;[^,;]*)*),/;

/** Return width and height of the picture in a `data:` URI, null if its beginning does not tell. */
export function pictureSize(uri: string): Size | null {
  const data = bytes(uri);
  for (const reader of [png, gif, webp, jpeg, avif]) {
    const size = reader(data);
    if (size) return size;
  }
  return null;
}

/** Return the first bytes, each as a character of a string. */
function bytes(uri: string): string {
  const head = DATA.exec(uri);
  if (!head) return "";
  const base64 = head[1]!.toLowerCase().endsWith(";base64");
  const written = unquoted(uri.slice(head[0].length, head[0].length + (base64 ? 4 : 3) * BEGINNING));
  if (!base64) return written.slice(0, BEGINNING);
  const digits = written.replace(/[^A-Za-z0-9+/]/g, "").slice(0, Math.floor(BEGINNING / 3) * 4);
  return atob(digits.slice(0, Math.floor(digits.length / 4) * 4));
}

function unquoted(text: string): string {
  const inBytes = text.replace(/[^\0-\x7f]/gu, (character) => String.fromCharCode(...new TextEncoder().encode(character)));
  return inBytes.replace(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}

/** Return an unsigned number of `length` bytes; zero beyond the end. */
function number(data: string, at: number, length: number, little = false): number {
  if (at + length > data.length) return 0;
  let value = 0;
  for (let i = 0; i < length; i++) value = value * 256 + data.charCodeAt(little ? at + length - 1 - i : at + i);
  return value;
}

function png(data: string): Size | null {
  return data.startsWith("\x89PNG") ? [number(data, 16, 4), number(data, 20, 4)] : null;
}

function gif(data: string): Size | null {
  return data.startsWith("GIF8") ? [number(data, 6, 2, true), number(data, 8, 2, true)] : null;
}

function webp(data: string): Size | null {
  if (data.slice(0, 4) !== "RIFF" || data.slice(8, 12) !== "WEBP") return null;
  switch (data.slice(12, 16)) {
    case "VP8X":
      return [number(data, 24, 3, true) + 1, number(data, 27, 3, true) + 1];
    case "VP8L": {
      const bits = number(data, 21, 4, true);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    default:
      return [number(data, 26, 2, true) & 0x3fff, number(data, 28, 2, true) & 0x3fff];
  }
}

function jpeg(data: string): Size | null {
  let at = 2;
  while (data.startsWith("\xff\xd8") && at + 9 <= data.length && data.charCodeAt(at) === 0xff) {
    const marker = data.charCodeAt(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return [number(data, at + 7, 2), number(data, at + 5, 2)];
    }
    at += marker === 0xff ? 1 : 2 + Math.max(number(data, at + 2, 2), 2);
  }
  return null;
}

/** Return the largest size of the boxes `ispe`, each of which is that of one picture in the file. */
function avif(data: string): Size | null {
  let largest: Size | null = null;
  let at = data.slice(4, 8) === "ftyp" ? data.indexOf("ispe") : -1;
  for (; at >= 0; at = data.indexOf("ispe", at + 4)) {
    const size: Size = [number(data, at + 8, 4), number(data, at + 12, 4)];
    if (!largest || Math.max(...size) > Math.max(...largest)) largest = size;
  }
  return largest;
}
