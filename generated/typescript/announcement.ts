/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * What a server puts under the extension identifier into its capabilities (section 6.1). Unknown members are ignored.
 */
export interface Announcement {
  /**
   * Versions of the specification that the server emits.
   *
   * @minItems 1
   */
  versions: [string, ...string[]];
  /**
   * Which clients get documents (XMCP-MCP-005).
   */
  wire: "always" | "negotiated" | "plain";
  [k: string]: unknown;
}
