/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * The value under the extension identifier in the capabilities of a server (spec section 1.3) or of a client (section 6.1). Unknown members are ignored.
 */
export interface Capability {
  /**
   * Versions of the specification that the server emits, or the client reads.
   *
   * @minItems 1
   */
  versions: [string, ...string[]];
  /**
   * Server: which clients get documents. Every server has it in its announcement (XMCP-MCP-005).
   */
  wire?: "always" | "negotiated" | "plain";
  /**
   * Client: false if it reads plain results only (section 1.6). Absent means true.
   */
  documents?: boolean;
  /**
   * Client: the display types that its renderer knows.
   */
  displayTypes?: string[];
  /**
   * Client: the size in bytes of UTF-8 of the largest document that it accepts.
   */
  maxBytes?: number;
  [k: string]: unknown;
}
