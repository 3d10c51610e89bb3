// The page's end of the worker: one chart at a time, each within its time; a worker that takes longer is ended.
import { LIMITS } from "./allowed.ts";
import type { Tree } from "./tree.ts";
import type { Answer, Asked } from "./worker.ts";

/** Of a chart that is being drawn. */
const DRAWING_MS = 4_000;
/** From the wish until a chart is drawn, with loading the worker and with the charts before it. */
const WAITING_MS = 10_000;

/** What all charts of one display share. */
export interface Budget {
  /** Milliseconds of the worker. */
  ms: number;
  elements: number;
}

const budgets = new WeakMap<object, Budget>();

export function wholeBudget(): Budget {
  return { ms: 2 * DRAWING_MS, elements: LIMITS.elements };
}

/** Returns what is left for the display that has `room`. */
export function budgetOf(room: object): Budget {
  const budget = budgets.get(room) ?? wholeBudget();
  budgets.set(room, budget);
  return budget;
}

const POLICY = "xmcp-display-vega";
const FILE = new URL("./xmcp_display_vega_worker.js", import.meta.url).href;

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;
let started: Promise<Worker> | undefined;
let last: Promise<unknown> = Promise.resolve();

/** Returns the picture of a chart. Rejected if it takes too long, or more than the display still has. */
export function drawnByVega(asked: Asked, budget: Budget): Promise<Tree> {
  const until = performance.now() + WAITING_MS;
  const turn = last.then(() => drawnInTime(asked, budget, until));
  last = turn.catch(() => undefined);
  return turn;
}

async function drawnInTime(asked: Asked, budget: Budget, until: number): Promise<Tree> {
  const left = until - performance.now();
  if (budget.ms <= 0 || left <= 0) throw new Error("Vega has had no time left for it");
  const worker = await within(left, (started ??= start()), "Vega could not be loaded in time");
  const begun = performance.now();
  const most = Math.min(DRAWING_MS, budget.ms);
  try {
    const { tree, failed } = await within(
      most,
      answerOf(worker, asked),
      `Vega has taken longer than ${Math.ceil(most / 1000)} s`,
    );
    if (!tree) throw new Error(`Vega cannot draw it: ${failed}`);
    return tree;
  } finally {
    budget.ms -= performance.now() - begun;
  }
}

function start(): Promise<Worker> {
  return new Promise<Worker>((resolve, reject) => {
    const worker = new Worker(trusted(FILE) as URL);
    worker.onmessage = () => resolve(worker);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error("the page does not let Vega start"));
    };
  }).catch((reason: unknown) => {
    started = undefined;
    throw reason instanceof TypeError ? new Error("the page does not let Vega start") : reason;
  });
}

/** Under Trusted Types, a worker needs a policy; this one knows a single address. */
function trusted(url: string): unknown {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (!trustedTypes) return url;
  policy ??= trustedTypes.createPolicy(POLICY, { createScriptURL: () => FILE });
  return policy.createScriptURL(url);
}

function answerOf(worker: Worker, asked: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Answer>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      end();
      reject(new Error("Vega has failed"));
    };
    worker.postMessage(asked);
  });
}

function within<Value>(ms: number, work: Promise<Value>, why: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      end();
      reject(new Error(why));
    }, ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function end(): void {
  void started?.then(
    (worker) => worker.terminate(),
    () => undefined,
  );
  started = undefined;
}
