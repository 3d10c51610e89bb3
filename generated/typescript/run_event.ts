/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { ErrorInfo, UsageTotal } from "./chat_event.js";
import type { DisplayEnvelope } from "./display_envelope.js";
import type { UsageRecord } from "./usage_record.js";

/**
 * RunEvent, where its type has a shape of its own; a `switch` on `type` narrows it.
 */
export type KnownRunEvent =
  | RunStartedRunEvent
  | StepStartedRunEvent
  | StepFinishedRunEvent
  | StreamResetRunEvent
  | TextDeltaRunEvent
  | ReasoningDeltaRunEvent
  | ToolStartedRunEvent
  | ToolProgressRunEvent
  | ToolFinishedRunEvent
  | DisplayRunEvent
  | NoticeRunEvent
  | UsageRunEvent
  | SnapshotRunEvent
  | RunFinishedRunEvent
  | RunErrorRunEvent
  | RunCancelledRunEvent
  | RunInterruptedRunEvent;

/**
 * One event of a run of a gateway (spec section 10.6). Unknown members are ignored, and so are events of an unknown type.
 */
export interface RunEvent {
  /**
   * `run.started`, `step.started`, `text.delta`, `tool.started` and so on; section 10.6 has all of them.
   */
  type: string;
  /**
   * Place of the event among those of its attempt.
   */
  seq?: number;
  /**
   * What the event says; its members depend on the type.
   */
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * Data of `run.started`.
 */
export interface RunStarted {
  /**
   * The run. It is in the `id` of each event.
   */
  run_id: string;
  /**
   * The model that was asked for.
   */
  model: string;
  [k: string]: unknown;
}
/**
 * Data of `step.started`, `step.finished` and `stream.reset`.
 */
export interface RunStep {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  [k: string]: unknown;
}
/**
 * Data of `text.delta` and `reasoning.delta`.
 */
export interface RunText {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  /**
   * The next piece.
   */
  text: string;
  [k: string]: unknown;
}
/**
 * Data of `tool.started`.
 */
export interface RunToolStarted {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  /**
   * The call that the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool: string;
  /**
   * The arguments that the model wrote; null if it did not write a JSON object.
   */
  arguments: {
    [k: string]: unknown;
  } | null;
  [k: string]: unknown;
}
/**
 * Data of `tool.progress`.
 */
export interface RunToolProgress {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  /**
   * The call that the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool: string;
  /**
   * How far an attempt of the call is, in units of the server's own.
   */
  progress: number;
  /**
   * What `progress` will be at the end, where the server knows it.
   */
  total?: number;
  /**
   * What the server says of it.
   */
  text?: string;
  [k: string]: unknown;
}
/**
 * Data of `tool.finished`.
 */
export interface RunToolFinished {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  /**
   * The call that the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool: string;
  /**
   * `ok` or `error`.
   */
  status: string;
  /**
   * How long the call took, in milliseconds.
   */
  ms: number;
  /**
   * The text of the result, or the beginning of a long one.
   */
  text?: string;
  error?: ErrorInfo;
  [k: string]: unknown;
}
/**
 * Data of `display`.
 */
export interface RunDisplay {
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step: number;
  /**
   * The call that the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool: string;
  /**
   * The display to show to the person now.
   */
  envelope: DisplayEnvelope;
  [k: string]: unknown;
}
/**
 * Data of `notice`.
 */
export interface RunNotice {
  /**
   * What it is about: `warning`, `model_retry`, `tool_retry` and so on.
   */
  kind: string;
  /**
   * Words for a person.
   */
  text?: string;
  [k: string]: unknown;
}
/**
 * Data of `snapshot`: what the run has come to so far.
 */
export interface RunSnapshot {
  /**
   * `running`, or how the run ended: `finished`, `error`, `cancelled` or `interrupted`.
   */
  status: string;
  /**
   * What was shown so far, in its order.
   */
  segments: RunSegment[];
  /**
   * The calls so far, in the order in which they began.
   */
  tools_used: RunToolUsed[];
  [k: string]: unknown;
}
/**
 * Something that was shown: the text of a step, or a display.
 */
export interface RunSegment {
  text?: string;
  display?: DisplayEnvelope;
  [k: string]: unknown;
}
/**
 * A call of a tool, as far as it is.
 */
export interface RunToolUsed {
  call_id: string;
  tool: string;
  /**
   * `running`, `ok` or `error`.
   */
  status: string;
  [k: string]: unknown;
}
/**
 * Data of `run.finished`.
 */
export interface RunFinished {
  /**
   * Why the chat ended, as in section 10.2.
   */
  stop_reason: string;
  /**
   * The model's final text; null if there is none.
   */
  answer: string | null;
  usage: UsageTotal;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.started`.
 */
export interface RunStartedRunEvent extends RunEvent {
  type: "run.started";
  data: RunStarted;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `step.started`.
 */
export interface StepStartedRunEvent extends RunEvent {
  type: "step.started";
  data: RunStep;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `step.finished`.
 */
export interface StepFinishedRunEvent extends RunEvent {
  type: "step.finished";
  data: RunStep;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `stream.reset`.
 */
export interface StreamResetRunEvent extends RunEvent {
  type: "stream.reset";
  data: RunStep;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `text.delta`.
 */
export interface TextDeltaRunEvent extends RunEvent {
  type: "text.delta";
  data: RunText;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `reasoning.delta`.
 */
export interface ReasoningDeltaRunEvent extends RunEvent {
  type: "reasoning.delta";
  data: RunText;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.started`.
 */
export interface ToolStartedRunEvent extends RunEvent {
  type: "tool.started";
  data: RunToolStarted;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.progress`.
 */
export interface ToolProgressRunEvent extends RunEvent {
  type: "tool.progress";
  data: RunToolProgress;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.finished`.
 */
export interface ToolFinishedRunEvent extends RunEvent {
  type: "tool.finished";
  data: RunToolFinished;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `display`.
 */
export interface DisplayRunEvent extends RunEvent {
  type: "display";
  data: RunDisplay;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `notice`.
 */
export interface NoticeRunEvent extends RunEvent {
  type: "notice";
  data: RunNotice;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `usage`.
 */
export interface UsageRunEvent extends RunEvent {
  type: "usage";
  data: UsageRecord;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `snapshot`.
 */
export interface SnapshotRunEvent extends RunEvent {
  type: "snapshot";
  data: RunSnapshot;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.finished`.
 */
export interface RunFinishedRunEvent extends RunEvent {
  type: "run.finished";
  data: RunFinished;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.error`.
 */
export interface RunErrorRunEvent extends RunEvent {
  type: "run.error";
  data: ErrorInfo;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.cancelled`.
 */
export interface RunCancelledRunEvent extends RunEvent {
  type: "run.cancelled";
  data: ErrorInfo;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.interrupted`.
 */
export interface RunInterruptedRunEvent extends RunEvent {
  type: "run.interrupted";
  data: ErrorInfo;
  [k: string]: unknown;
}
