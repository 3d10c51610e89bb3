/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { ErrorInfo, Message } from "./chat_event.js";
import type { UsageRecord } from "./usage_record.js";

/**
 * AuditRecord, where its kind has a shape of its own; a `switch` on `kind` narrows it.
 */
export type KnownAuditRecord = MessageAuditRecord | ToolCallAuditRecord | UsageAuditRecord | ChatEndedAuditRecord;

/**
 * One audit record of a chat (spec section 10.4); a log has one on each line. Unknown members are ignored, and so are records of an unknown kind.
 */
export interface AuditRecord {
  /**
   * `chat_started`, `message`, `tool_call`, `usage` or `chat_ended`.
   */
  kind: string;
  chat_id: string;
  /**
   * Counts the records of a chat from 0, without gaps.
   */
  sequence: number;
  timestamp: string;
  session_id: string | null;
  tenant_id: string | null;
  /**
   * A message of the history that the chat returned.
   */
  message?: Message;
  tool_call?: ToolInvocation;
  usage?: UsageRecord;
  /**
   * Why the chat ended; null where it failed or was cancelled.
   */
  stop_reason?: string | null;
  /**
   * Why the chat failed, or that it was cancelled.
   */
  error?: ErrorInfo;
  [k: string]: unknown;
}
/**
 * One tool call, with all its attempts.
 */
export interface ToolInvocation {
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  /**
   * The server whose tool it is; null where no server has it.
   */
  server: string | null;
  /**
   * Arguments as the model wrote them; null if it did not write a JSON object.
   */
  arguments: {
    [k: string]: unknown;
  } | null;
  outcome: "ok" | "error" | "cancelled";
  error_code?: string;
  duration_ms: number;
  /**
   * How many attempts were begun, with or without an answer; 0 if there was none.
   */
  attempts: number;
  cached?: boolean;
  displayed?: boolean;
  [k: string]: unknown;
}
/**
 * AuditRecord of the kind `message`.
 */
export interface MessageAuditRecord extends AuditRecord {
  kind: "message";
  /**
   * A message of the history that the chat returned.
   */
  message: Message;
  [k: string]: unknown;
}
/**
 * AuditRecord of the kind `tool_call`.
 */
export interface ToolCallAuditRecord extends AuditRecord {
  kind: "tool_call";
  tool_call: ToolInvocation;
  [k: string]: unknown;
}
/**
 * AuditRecord of the kind `usage`.
 */
export interface UsageAuditRecord extends AuditRecord {
  kind: "usage";
  usage: UsageRecord;
  [k: string]: unknown;
}
/**
 * AuditRecord of the kind `chat_ended`.
 */
export interface ChatEndedAuditRecord extends AuditRecord {
  kind: "chat_ended";
  /**
   * Why the chat ended; null where it failed or was cancelled.
   */
  stop_reason: string | null;
  [k: string]: unknown;
}
