/**
 * The fallback ladder: from an envelope to the `View` that is shown (spec section 3.6), as fallback_ladder.py.
 *
 * The payload in its own form if the type is known and the payload fits; else the `fallback` (at most the third), else
 * `alt`, else a string payload as text, else the payload as JSON. A notice says that the type was not supported. No
 * envelope, however broken, leads to an empty view.
 */

import { CannotShow, type View } from "./content.ts";
import { isObject, member, type JsonObject } from "./json.ts";
import { count } from "./numerals.ts";
import { type Pause, read } from "./payloads.ts";
import { type Fitted, Room } from "./room.ts";
import { LIMITS } from "./tables.generated.ts";
import { isBlank, label } from "./untrusted.ts";
import { chartTitle, readChart } from "./vega_lite_charts.ts";
import { firstOf } from "./wording.ts";

/**
 * Return what to show for `envelope`: a decoded display, possibly invalid, or any other value. `pause` is asked between
 * its parts.
 */
export function plan(envelope: unknown, pause: Pause): Promise<View> {
  return planned(isObject(envelope) ? envelope : { payload: envelope }, 1, new Room(), pause);
}

async function planned(envelope: JsonObject, depth: number, room: Room, pause: Pause): Promise<View> {
  const links = chain(envelope);
  let title = words(envelope, "title");
  let refusal: string | null = null;
  for (const link of links) {
    const kind = member(link, "type");
    try {
      let [content, leftOut] = await contentOf(link, depth, room, pause);
      title = words(link, "title") ?? title ?? (kind === "chart" ? chartTitle(member(link, "payload")) : null);
      let alt = words(link, "alt");
      if (alt !== null && kind === "chart") [alt, leftOut] = room.words(alt, LIMITS.MESSAGE);
      const notices = refusal === null ? leftOut : [`${refusal}; showing its fallback`, ...leftOut];
      return { content, renderedAs: String(kind), title, alt, notices };
    } catch (reason) {
      if (!(reason instanceof CannotShow)) throw reason;
      refusal ??= `unsupported display type ${quoted(kind)}: ${reason.message}`;
    }
  }
  const last = lastSteps(links);
  const [content, leftOut] = room.fitted(last.content);
  return { ...last, content, title, alt: null, notices: [refusal!, ...leftOut] };
}

/** Return the envelope and the fallbacks below it. */
function chain(envelope: JsonObject): readonly JsonObject[] {
  const links = [envelope];
  for (let below = member(envelope, "fallback"); isObject(below); below = member(below, "fallback")) {
    if (links.length > LIMITS.FALLBACKS) break;
    links.push(below);
  }
  return links;
}

async function contentOf(envelope: JsonObject, depth: number, room: Room, pause: Pause): Promise<Fitted> {
  const [kind, payload] = [member(envelope, "type"), member(envelope, "payload")];
  await pause();
  if (kind === "group") return group(payload, depth, room, pause);
  if (kind === "chart") return room.fitted(readChart(payload));
  const content = await read(typeof kind === "string" ? kind : "", payload, pause);
  return room.fitted(content.kind === "image" ? { ...content, alt: content.alt || words(envelope, "alt") } : content);
}

async function group(payload: unknown, depth: number, room: Room, pause: Pause): Promise<Fitted> {
  if (depth > LIMITS.GROUP_DEPTH) throw new CannotShow(`groups are nested more than ${LIMITS.GROUP_DEPTH} deep`);
  if (!Array.isArray(payload) || !payload.every(isObject)) throw new CannotShow("the payload is not a list of envelopes");
  if (payload.length > LIMITS.GROUP_ITEMS) {
    throw new CannotShow(`a group has at most ${LIMITS.GROUP_ITEMS} displays, this one has ${count(payload.length)}`);
  }
  const views: View[] = [];
  for (const item of payload) {
    if (!room.hasPart()) return [{ kind: "group", views }, [firstOf(views.length, payload.length, "displays")]];
    views.push(await planned(item, depth + 1, room, pause));
  }
  return [{ kind: "group", views }, []];
}

function lastSteps(links: readonly JsonObject[]): Pick<View, "content" | "renderedAs"> {
  for (const [member, step] of [["alt", "alt"], ["payload", "text"]] as const) {
    for (const link of links) {
      const text = words(link, member);
      if (text !== null) return { content: { kind: "text", text }, renderedAs: step };
    }
  }
  const payload = member(links[0]!, "payload");
  return { content: { kind: "json", value: payload === undefined ? links[0] : payload }, renderedAs: "json" };
}

function words(envelope: JsonObject, name: string): string | null {
  const value = member(envelope, name);
  return typeof value === "string" && !isBlank(value) ? value : null;
}

function quoted(kind: unknown): string {
  return typeof kind === "string" ? `"${label(kind, 64)}"` : "(none)";
}
