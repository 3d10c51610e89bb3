/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { Message, UsageTotal } from "./chat_event.js";

/**
 * A conversation at rest (spec section 10.5): what another process needs to go on. Unknown keys are ignored.
 */
export interface Snapshot {
  format: "xmcp-conversation";
  /**
   * Version of this format; 1 is described here.
   */
  version: number;
  created_at: string;
  session_id?: string | null;
  tenant_id?: string | null;
  history: Message[];
  usage?: UsageTotal;
  /**
   * The application's own facts.
   */
  metadata?: {
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
