// The worker: draws an allowed specification with Vega-Lite and Vega, without a document. It gets data and gives back data.
import * as vega from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";
import type { JsonObject } from "../view/json.ts";
import { inWidth, lookOf } from "./look.ts";
import { namesOf, numbersOf, readable } from "./reader_locale.ts";
import { treeOf, type Tree } from "./tree.ts";

/** What the page asks for. */
export interface Asked {
  readonly specification: JsonObject;
  /** CSS pixels. */
  readonly width: number;
  /** The CSS font family of the page. */
  readonly font: string;
  /** BCP 47: the language of the reader. */
  readonly locale: string;
}

/** The answer: a picture, or why there is none. An empty one comes first: the worker has started. */
export interface Answer {
  readonly tree?: Tree;
  readonly failed?: string;
}

// Nothing in here asks a host. If anything tried to, it would find no way.
for (const name of [
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "EventSource",
  "WebTransport",
  "importScripts",
  "Worker",
  "indexedDB",
  "caches",
  "BroadcastChannel",
]) {
  for (let scope: object | null = self; scope; scope = Object.getPrototypeOf(scope) as object | null)
    Reflect.deleteProperty(scope, name);
}

const LONGEST_MARKUP = 4_000_000;
const silent = {
  level: () => silent,
  error: () => silent,
  warn: () => silent,
  info: () => silent,
  debug: () => silent,
};
const refuse = (): Promise<never> => Promise.reject(new Error("nothing is loaded"));
const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse };
let family = "sans-serif";

vega.scheme("xmcp", ((part: number) => mixed("--series-1", 0.1 + 0.9 * part)) as never);
vega.scheme("xmcp-both", ((part: number) =>
  mixed(part < 0.5 ? "--series-2" : "--series-1", Math.abs(part - 0.5) * 1.8 + 0.1)) as never);

function mixed(colour: string, part: number): string {
  return `color-mix(in srgb, var(${colour}) ${Math.round(part * 100)}%, var(--surface))`;
}

const canvas = new OffscreenCanvas(1, 1).getContext("2d")!;
const metrics = (vega as unknown as { textMetrics: { width: (item: TextItem, text: unknown) => number } }).textMetrics;
interface TextItem {
  readonly fontSize?: number;
  readonly fontStyle?: string;
  readonly fontWeight?: string | number;
}
metrics.width = ({ fontSize = 11, fontStyle = "", fontWeight = "" }, text) => {
  canvas.font = `${fontStyle} ${fontWeight} ${fontSize}px ${family}`;
  return canvas.measureText(String(text ?? "")).width;
};

async function drawn({ specification, width, font, locale }: Asked): Promise<Tree> {
  family = font;
  const { spec } = compile(inWidth(specification, width) as never, {
    config: lookOf(specification, width) as never,
    logger: silent as never,
  });
  const view = new vega.View(vega.parse(spec, undefined, { ast: true } as never), {
    expr: expressionInterpreter,
    loader,
    logger: silent,
    locale: { number: numbersOf(readable(locale)), time: namesOf(readable(locale)) },
    renderer: "none",
  } as never);
  const markup = await view.toSVG();
  view.finalize();
  if (markup.length > LONGEST_MARKUP) throw new Error("the picture is too large");
  return treeOf(markup);
}

function answer(value: Answer): void {
  self.postMessage(value);
}

self.onmessage = async ({ data }: MessageEvent<Asked>) => {
  try {
    answer({ tree: await drawn(data) });
  } catch (error) {
    answer({ failed: String((error as Error).message) });
  }
};
answer({});
