/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { ErrorInfo, UsageTotal } from "./chat_event.js";
import type { DisplayEnvelope } from "./display_envelope.js";
import type { UsageRecord } from "./usage_record.js";

/**
 * Something that was shown: the text of a step, or a display.
 */
export type Segment = Segment1 & Segment2;
export type Segment1 = {
  [k: string]: unknown;
};
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
  data: RunEventData;
  [k: string]: unknown;
}
/**
 * What an event of a run says; which members it has depends on its type.
 */
export interface RunEventData {
  /**
   * The run. It is in the `id` of each event.
   */
  run_id?: string;
  /**
   * The model that was asked for, or the one that a request went to.
   */
  model?: string;
  /**
   * Number of the step, counted from 1; 0 before the first request to the model.
   */
  step?: number;
  /**
   * The next piece of a text, a notice, or the text of a result.
   */
  text?: string;
  /**
   * The call that the event is about.
   */
  call_id?: string;
  /**
   * The tool as the model knows it.
   */
  tool?: string;
  /**
   * The arguments that the model wrote; null if it did not write a JSON object.
   */
  arguments?: {
    [k: string]: unknown;
  } | null;
  /**
   * How far an attempt of the call is, in units of the server's own.
   */
  progress?: number;
  /**
   * What `progress` will be at the end, where the server knows it.
   */
  total?: number;
  /**
   * How a call ended: `ok` or `error`; or how the run is: `running`, `finished`, `error`, `cancelled` or `interrupted`.
   */
  status?: string;
  /**
   * How long the call took, in milliseconds.
   */
  ms?: number;
  error?: null | ErrorInfo;
  /**
   * The display to show to the person now.
   */
  envelope?: DisplayEnvelope;
  /**
   * What a notice is about: `warning`, `model_retry`, `tool_retry` and so on.
   */
  kind?: string;
  /**
   * Why the chat ended, as in section 10.2; null where it did not.
   */
  stop_reason?: string | null;
  /**
   * The model's final text; null if there is none.
   */
  answer?: string | null;
  usage?: null | UsageTotal;
  /**
   * What was shown so far, in its order.
   */
  segments?: Segment[];
  /**
   * The calls so far, in the order in which they began.
   */
  tools_used?: ToolUsed[];
  [k: string]: unknown;
}
export interface Segment2 {
  text?: string;
  display?: DisplayEnvelope;
  [k: string]: unknown;
}
/**
 * A call of a tool, as far as it is.
 */
export interface ToolUsed {
  call_id: string;
  tool: string;
  /**
   * `running`, `ok` or `error`.
   */
  status: string;
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.started`.
 */
export interface RunStartedRunEvent extends RunEvent {
  type: "run.started";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `step.started`.
 */
export interface StepStartedRunEvent extends RunEvent {
  type: "step.started";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `step.finished`.
 */
export interface StepFinishedRunEvent extends RunEvent {
  type: "step.finished";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `stream.reset`.
 */
export interface StreamResetRunEvent extends RunEvent {
  type: "stream.reset";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `text.delta`.
 */
export interface TextDeltaRunEvent extends RunEvent {
  type: "text.delta";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `reasoning.delta`.
 */
export interface ReasoningDeltaRunEvent extends RunEvent {
  type: "reasoning.delta";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.started`.
 */
export interface ToolStartedRunEvent extends RunEvent {
  type: "tool.started";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.progress`.
 */
export interface ToolProgressRunEvent extends RunEvent {
  type: "tool.progress";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `tool.finished`.
 */
export interface ToolFinishedRunEvent extends RunEvent {
  type: "tool.finished";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `display`.
 */
export interface DisplayRunEvent extends RunEvent {
  type: "display";
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `notice`.
 */
export interface NoticeRunEvent extends RunEvent {
  type: "notice";
  data: {
    [k: string]: unknown;
  };
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
  data: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
/**
 * RunEvent of the type `run.finished`.
 */
export interface RunFinishedRunEvent extends RunEvent {
  type: "run.finished";
  data: {
    [k: string]: unknown;
  };
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
