// Several displays in one place, as in a chat: a later one with the same `id` takes the place of the earlier.
import type { XmcpDisplay } from "./xmcp_display.ts";

const shown = new WeakMap<Element, Map<string, XmcpDisplay>>();

/** Shows an envelope at the end of `container`, or in the place of the display with the same `id` in it; returns its element. */
export function showDisplay(container: Element, envelope: unknown): XmcpDisplay {
  const id = idOf(envelope);
  const ids = shown.get(container) ?? new Map<string, XmcpDisplay>();
  shown.set(container, ids);
  const earlier = id === undefined ? undefined : ids.get(id);
  const display = earlier?.parentElement === container ? earlier : document.createElement("xmcp-display");
  display.envelope = envelope;
  if (display !== earlier) container.append(display);
  if (id !== undefined) ids.set(id, display);
  return display;
}

function idOf(envelope: unknown): string | undefined {
  const id = typeof envelope === "object" && envelope !== null && "id" in envelope ? envelope.id : undefined;
  return typeof id === "string" && id ? id : undefined;
}
