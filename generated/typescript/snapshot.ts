/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { Message, UsageTotal } from "./chat_event.js";

/**
 * A stored conversation (spec section 10.5), which another process can continue. Unknown members are ignored.
 */
export interface Snapshot {
  format: "xmcp-conversation";
  /**
   * Version of this format; this schema describes version 1.
   */
  version: number;
  created_at: string;
  session_id?: string | null;
  tenant_id?: string | null;
  history: Message[];
  usage?: UsageTotal;
  /**
   * Data of the application.
   */
  metadata?: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
