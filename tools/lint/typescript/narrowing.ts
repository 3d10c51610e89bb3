// What must compile with the generated types, and behind each @ts-expect-error what must not.

import type { AuditRecord, KnownAuditRecord } from "../../../generated/typescript/audit_record.js";
import type { ChatEvent, KnownChatEvent } from "../../../generated/typescript/chat_event.js";
import type { DisplayEnvelope, KnownDisplayEnvelope, Metric } from "../../../generated/typescript/display_envelope.js";
import type { ToolMetadata } from "../../../generated/typescript/tool_metadata.js";
import { DISPLAY_TYPES, ERROR_CODES, PREFIX } from "../../../generated/typescript/registry.js";
import type { ErrorCategory, RegisteredDisplayType, RegisteredErrorCode } from "../../../generated/typescript/registry.js";

declare const envelope: DisplayEnvelope;
declare const known: KnownDisplayEnvelope;
declare const event: KnownChatEvent;
declare const record: KnownAuditRecord;

// A switch on the type narrows the payload, and is exhaustive with these cases.
export function inWords(shown: KnownDisplayEnvelope): string {
  switch (shown.type) {
    case "text":
    case "markdown":
    case "html":
      return shown.payload.trim();
    case "table":
      return Array.isArray(shown.payload) ? `${shown.payload.length} rows` : shown.payload.columns.join();
    case "chart":
      return Object.keys(shown.payload).join();
    case "image":
      return typeof shown.payload === "string" ? shown.payload : shown.payload.src;
    case "notification":
      return typeof shown.payload === "string" ? shown.payload : `${shown.payload.level}: ${shown.payload.message}`;
    case "code":
      return typeof shown.payload === "string" ? shown.payload : shown.payload.code;
    case "facts":
      return Array.isArray(shown.payload) ? shown.payload.map((fact) => fact.label).join() : Object.keys(shown.payload).join();
    case "metric":
      return [shown.payload].flat().map((metric: Metric) => `${metric.label} ${metric.value}`).join();
    case "file":
      return shown.payload.uri;
    case "group":
      return shown.payload.map((part) => part.type).join();
    case "json":
      return JSON.stringify(shown.payload);
    case "x-xmcp-reference":
      return `${shown.payload.type}, ${shown.payload.bytes} bytes`;
    default: {
      const none: never = shown;
      return none;
    }
  }
}

export function alone(shown: KnownDisplayEnvelope): string {
  // @ts-expect-error the payload is narrowed by the type only
  shown.payload.trim();
  if (shown.type === "file") {
    // @ts-expect-error a file has no rows
    shown.payload.rows.length;
    // @ts-expect-error what was narrowed to a file is no table
    if (shown.type === "table") return "";
  }
  return shown.type;
}

// A type that every reader has to survive is an open envelope and no known one.
export const later: DisplayEnvelope = { type: "sparkline", payload: [1, 2, 3] };
// @ts-expect-error sparkline is not registered
export const unknownType: KnownDisplayEnvelope = { type: "sparkline", payload: [1, 2, 3] };
export const open: DisplayEnvelope = known;
// @ts-expect-error nobody has looked at its type
export const closed: KnownDisplayEnvelope = envelope;
export const further: DisplayEnvelope = { type: "text", payload: "a", "acme/hint": 1 };
// @ts-expect-error absent, not undefined
export const titled: DisplayEnvelope = { type: "text", payload: "a", title: undefined };

// Every active type of the registry is a known one.
type Types = Pick<typeof DISPLAY_TYPES, RegisteredDisplayType>;
type Active = { [T in keyof Types]: Types[T]["status"] extends "active" ? T : never }[keyof Types];
declare const active: Active;
export const registered: KnownDisplayEnvelope["type"] = active;

// Events and records.
export function told(): string {
  if (event.type === "tool_display") return `${event.tool_name} shows ${event.envelope.type}`;
  if (event.type === "done") return event.result.stop_reason;
  // @ts-expect-error only some events have a text
  return event.text.trim();
}
export const anyEvent: ChatEvent = event;
// @ts-expect-error a delta without text
export const silent: KnownChatEvent = { type: "llm_delta", turn: 1 };
export const outcome = record.kind === "tool_call" ? record.tool_call.outcome : record.chat_id;
export const anyRecord: AuditRecord = record;

// Metadata of a tool.
export const tool: ToolMetadata = { display: true, depends_on: ["run_query"] };
// @ts-expect-error a list
export const dependsOnText: ToolMetadata = { depends_on: "run_query" };

// The registries are constants, down to their letters.
export const prefix: `${string}/` = PREFIX;
export const code: RegisteredErrorCode = "NOT_FOUND";
// @ts-expect-error no such code
export const noCode: RegisteredErrorCode = "NO_SUCH_CODE";
export const category: ErrorCategory = ERROR_CODES.NOT_FOUND.category;
export const retryable: false = ERROR_CODES.NOT_FOUND.retryable;
// @ts-expect-error a registry is read, not written
ERROR_CODES.NOT_FOUND.retryable = true;
// @ts-expect-error nor is an entry added
ERROR_CODES["X_ACME"] = ERROR_CODES.NOT_FOUND;
