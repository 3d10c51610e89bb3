// A view: its title, its buttons, its content, and what the renderer says about it.
import type { Content, View } from "../view/content.ts";
import { label } from "../view/untrusted.ts";
import { html } from "./dom.ts";
import { draw } from "./drawers.ts";
import type { Drawing, Drawn } from "./drawing.ts";
import { drawnElsewhere, type Planned } from "./more_charts.ts";
import { type Button, toolbar } from "./toolbar.ts";

/** A view that stands in the page. */
export interface ShownView {
  readonly root: HTMLElement;
  readonly head: HTMLElement;
  readonly body: HTMLElement;
  readonly kind: string;
  /** What was shown, which the view that was asked for says only of what this file draws. */
  readonly view: View;
  /** The contents in it that are no groups. */
  readonly leaves: readonly Drawn[];
}

/** Returns the buttons of a content. */
export type ButtonsOf = (drawn: Drawn, kind: Content["kind"], outermost: boolean) => readonly Button[];

const CARDS = new Set([
  "code",
  "html",
  "json",
  "table",
  "bars",
  "plot",
  "pie",
  "heat",
  "image",
  "facts",
  "metrics",
  "file",
]);

/**
 * Returns a view drawn. `begun` gets its element before the content is complete, so that a long group can be seen growing.
 */
export async function drawView(
  view: Planned,
  drawing: Drawing,
  buttonsOf: ButtonsOf,
  begun?: (root: HTMLElement) => void,
  path = "",
): Promise<ShownView> {
  await drawing.pause();
  if (view.elsewhere) {
    begun?.(html("p", { class: "note" }, "The chart is being drawn …"));
    view = await drawnElsewhere(view, drawing, path);
  }
  const { content } = view;
  const title = view.title ? label(view.title) : "";
  const outermost = path === "";
  const far = drawing.room.views-- > 0 ? "" : " far";
  const root = html("div", { class: `view${CARDS.has(content.kind) ? " card" : ""} of-${content.kind}${far}` });
  if (title) {
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", title);
  }
  const leaves: Drawn[] = [];
  let drawn: Drawn;
  if (content.kind === "group") {
    const body = html("div", { class: "group" });
    if (content.views.length === 0) drawn = await draw({ kind: "text", text: "" }, drawing, view, path);
    else drawn = { body, copied: () => leaves.flatMap((leaf) => leaf.copied?.() ?? []).join("\n\n") };
  } else {
    drawn = view.drawn ?? (await draw(content, drawing, view, path));
    leaves.push(drawn);
  }
  const head = html(
    "div",
    { class: title ? "head titled" : "head" },
    toolbar(buttonsOf(drawn, content.kind, outermost)),
    title ? titled(title, drawing) : null,
  );
  root.append(head, drawn.body);
  begun?.(root);
  if (content.kind === "group") {
    for (const [at, member] of content.views.entries()) {
      const shown = await drawView(member, inside(drawing, title), buttonsOf, undefined, `${path}.${at}`);
      drawn.body.append(shown.root);
      leaves.push(...shown.leaves);
    }
  }
  const caption = content.kind === "table" && content.caption ? label(content.caption) : "";
  if (caption && caption !== title) drawn.body.before(html("p", { class: "caption", dir: "auto" }, caption));
  for (const notice of [...view.notices, ...(drawn.notices ?? [])])
    root.append(html("p", { class: "note" }, label(notice, 300)));
  return { root, head, body: drawn.body, kind: content.kind, view, leaves };
}

function titled(title: string, { headingLevel }: Drawing): HTMLElement {
  const heading = headingLevel === undefined ? {} : { role: "heading", "aria-level": headingLevel };
  return html(headingLevel === undefined ? "p" : "div", { class: "title", dir: "auto", ...heading }, title);
}

function inside(drawing: Drawing, title: string): Drawing {
  const { headingLevel } = drawing;
  return title && headingLevel !== undefined ? { ...drawing, headingLevel: Math.min(headingLevel + 1, 6) } : drawing;
}
