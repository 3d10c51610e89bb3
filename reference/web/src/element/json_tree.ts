// Any JSON value as a tree. A branch is drawn when it is opened, so that a value of any size and depth is shown at once.
import { label, visible } from "../view/untrusted.ts";
import { html } from "./dom.ts";

const MOST_ITEMS = 200;
const LONGEST_STRING = 2_000;
/** Branches are open from the start as long as this many lines are not exceeded. */
const LINES_AT_FIRST = 40;

interface Budget {
  lines: number;
}

/** Returns the tree. */
export function jsonTree(value: unknown): HTMLElement {
  return html(
    "div",
    { class: "tree", dir: "ltr", tabindex: 0, role: "group", "aria-label": "JSON" },
    node(undefined, value, { lines: LINES_AT_FIRST }),
  );
}

function node(key: string | undefined, value: unknown, budget: Budget): HTMLElement {
  const name = key === undefined ? [] : [html("span", { class: "name" }, label(key, 200)), ": "];
  if (typeof value !== "object" || value === null) return html("div", { class: "leaf" }, ...name, leaf(value));
  const entries = Array.isArray(value) ? value.length : Object.keys(value).length;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries === 0) return html("div", { class: "leaf" }, ...name, `${open}${close}`);
  const count = html("span", { class: "count" }, `${entries} ${entries === 1 ? "item" : "items"}`);
  const branch = html("details", {}, html("summary", {}, ...name, `${open} `, count, ` ${close}`));
  const fits = entries <= budget.lines;
  if (fits) {
    budget.lines -= entries;
    branch.append(inside(value, budget));
    branch.open = true;
  } else branch.addEventListener("toggle", () => branch.append(inside(value, { lines: 0 })), { once: true });
  return branch;
}

function inside(value: object, budget: Budget): HTMLElement {
  const box = html("div", { class: "inside" });
  const entries: [string | undefined, unknown][] = Array.isArray(value)
    ? value.map((item) => [undefined, item])
    : Object.entries(value);
  more(box, entries, 0, budget);
  return box;
}

function more(box: HTMLElement, entries: readonly [string | undefined, unknown][], from: number, budget: Budget): void {
  for (const [key, item] of entries.slice(from, from + MOST_ITEMS)) box.append(node(key, item, budget));
  const left = entries.length - from - MOST_ITEMS;
  if (left <= 0) return;
  const button = html("button", { type: "button", class: "count" }, `${left} more`);
  button.addEventListener("click", () => {
    button.remove();
    more(box, entries, from + MOST_ITEMS, { lines: 0 });
  });
  box.append(button);
}

function leaf(value: unknown): HTMLElement {
  if (typeof value === "string") {
    const cut = value.length > LONGEST_STRING ? `… (${value.length - LONGEST_STRING} more characters)` : "";
    return html("span", { class: "string" }, visible(`${JSON.stringify(value.slice(0, LONGEST_STRING))}${cut}`));
  }
  return html("span", { class: typeof value === "number" ? "number" : "keyword" }, `${value}`);
}
