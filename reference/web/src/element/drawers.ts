// One drawer for each kind of content.
import type { Code, Content, Facts, File, Metrics, Notification, Text, View } from "../view/content.ts";
import { link } from "../view/links.ts";
import { isBlank, label, visible } from "../view/untrusted.ts";
import {
  LEVELS,
  WORDS,
  amount,
  beginning,
  change,
  codeHeading,
  fileFacts,
  fileName,
  itemsMissing,
  message,
  scalar,
} from "../view/wording.ts";
import { drawChart } from "./charts/chart.ts";
import { html } from "./dom.ts";
import type { Drawing, Drawn } from "./drawing.ts";
import { icon } from "./icons.ts";
import { drawImage } from "./image.ts";
import { piecesOf, sourceCode } from "./long_text.ts";
import { jsonTree } from "./json_tree.ts";
import { linked } from "./link.ts";
import { drawMarkdown } from "./markdown.ts";
import { drawTable } from "./table/table.ts";

/** Every kind but a group, whose members are views of their own. */
export type Leaf = Exclude<Content, { kind: "group" }>;

/** Returns the content of a view drawn. `path` is its place in the display. */
export async function draw(content: Leaf, drawing: Drawing, view: View, path: string): Promise<Drawn> {
  switch (content.kind) {
    case "text":
      return text(content);
    case "markdown":
      return isBlank(content.source) ? nothing() : drawMarkdown(content.source, drawing);
    case "code":
      return code(content);
    case "html":
      return {
        ...code({ ...content, kind: "code", language: "html", filename: null }),
        notices: [WORDS.HTML_IS_SOURCE],
      };
    case "json":
      return { body: jsonTree(content.value), ...savedJson(content.value, view) };
    case "table":
      return drawTable(content, drawing, path, label(content.caption ?? view.title ?? "", 80) || "Table");
    case "bars":
    case "plot":
    case "pie":
    case "heat":
      return drawChart(content, drawing, view, path);
    case "image":
      return drawImage(content, drawing);
    case "notification":
      return notification(content, drawing);
    case "facts":
      return facts(content, drawing);
    case "metrics":
      return metrics(content, drawing);
    case "file":
      return file(content, drawing);
  }
}

function nothing(): Drawn {
  return { body: html("p", { class: "nothing" }, WORDS.NOTHING) };
}

function text({ text: written }: Text): Drawn {
  if (isBlank(written)) return nothing();
  const [start, cut] = beginning(written);
  const paragraphs = piecesOf(visible(start)).map((piece) => html("p", { class: "piece", dir: "auto" }, piece));
  return {
    body: html("div", { class: "words" }, ...paragraphs),
    copied: () => written,
    notices: cut === null ? [] : [cut],
  };
}

function code(content: Code): Drawn {
  if (isBlank(content.source)) return nothing();
  const heading = codeHeading(content);
  const [start, cut] = beginning(content.source);
  const block = html(
    "pre",
    { class: "code", tabindex: 0, dir: "ltr", role: "group", "aria-label": heading || "Source text" },
    sourceCode(visible(start), content.language),
  );
  const name = label(content.filename ?? "", 80) || "source.txt";
  return {
    body: html("div", {}, heading ? html("p", { class: "code-head" }, heading) : null, block),
    copied: () => content.source,
    downloads: [{ label: "Download", file: () => ({ name, mediaType: "text/plain", text: content.source }) }],
    notices: cut === null ? [] : [cut],
  };
}

function savedJson(value: unknown, view: View): Pick<Drawn, "copied" | "downloads"> {
  const written = (): string => JSON.stringify(value, null, 2) ?? "null";
  const name = `${label(view.title ?? "", 60) || "data"}.json`;
  return {
    copied: written,
    downloads: [{ label: "Download JSON", file: () => ({ name, mediaType: "application/json", text: written() }) }],
  };
}

function notification(content: Notification, { live }: Drawing): Drawn {
  const { level } = content;
  const [words, cut] = message(content);
  const role = live ? (level === "error" ? "alert" : "status") : undefined;
  const said = isBlank(words)
    ? html("span", { class: "nothing" }, WORDS.NOTHING)
    : html("span", { class: "words", dir: "auto" }, words);
  const sentence = html("div", {}, html("span", { class: "level" }, LEVELS[level]), " ", said);
  const body = html(
    "div",
    { class: `notification ${level}`, role },
    html("span", { class: "sign" }, icon(level)),
    sentence,
  );
  return { body, copied: () => content.message, notices: cut === null ? [] : [cut] };
}

/** A longer fact is laid out when it comes into sight. */
const SHORT_FACT = 600;
/** About as many stand in a line. */
const CHARACTERS_OF_LINE = 60;

async function facts(content: Facts, { pause }: Drawing): Promise<Drawn> {
  const { items } = content;
  const cut = itemsMissing(content);
  if (items.length === 0) return nothing();
  const list = html("dl", { class: "facts" });
  for (const [name, value] of items) {
    await pause();
    const words = scalar(value);
    const kind = words === null ? "absent" : words.length > SHORT_FACT && "long";
    const shown = html("dd", { dir: "auto", class: kind }, words ?? WORDS.NO_VALUE);
    shown.style.containIntrinsicBlockSize = `auto ${Math.ceil((words?.length ?? 1) / CHARACTERS_OF_LINE) * 1.5}em`;
    list.append(html("dt", { dir: "auto" }, label(name) || WORDS.NO_VALUE), shown);
  }
  const copied = (): string =>
    items.map(([name, value]) => `${label(name)}: ${scalar(value) ?? WORDS.NO_VALUE}`).join("\n");
  return { body: list, copied, notices: cut === null ? [] : [cut] };
}

const ARROWS = { up: "▲ ", down: "▼ " } as const;

async function metrics(content: Metrics, { quantity, pause }: Drawing): Promise<Drawn> {
  const { items } = content;
  const cut = itemsMissing(content);
  if (items.length === 0) return nothing();
  const lines: string[] = [];
  const list = html("dl", { class: "metrics" });
  for (const metric of items) {
    await pause();
    const [value, unit] = amount(metric, quantity);
    const [words, direction] = change(metric, quantity);
    const name = label(metric.label);
    lines.push([`${name}: ${value}`, unit, words && `(${words})`].filter(Boolean).join(" "));
    const number = html(
      "dd",
      { class: "amount", dir: "auto" },
      value || WORDS.NO_VALUE,
      unit ? html("span", { class: "unit" }, ` ${unit}`) : null,
    );
    const trend = html(
      "dd",
      { class: `change ${direction ?? ""}`.trim(), dir: "auto" },
      direction ? ARROWS[direction] : "",
      words,
    );
    list.append(html("div", {}, html("dt", { dir: "auto" }, name || WORDS.NO_VALUE), number, words ? trend : null));
  }
  return {
    body: list,
    copied: () => lines.join("\n"),
    notices: cut === null ? [] : [cut],
  };
}

function file(content: File, { partial, quantity }: Drawing): Drawn {
  const name = fileName(content);
  const about = fileFacts(content, quantity);
  const words = html("span", { class: "file-name", dir: "auto" }, name);
  const lines = html(
    "div",
    {},
    html("div", {}, ...linked([words], name, link(content.uri), partial)),
    about ? html("div", { class: "facts-line" }, about) : null,
  );
  return { body: html("div", { class: "file" }, icon("file"), lines), copied: () => content.uri };
}
