/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * What a server says about a tool beyond MCP, under `<prefix>tool` in the tool's `_meta` (spec chapter 5). Unknown members are ignored.
 */
export interface ToolMetadata {
  /**
   * True when the tool can answer with a display; then its input schema has the boolean property `show_user`.
   */
  display?: boolean;
  /**
   * Names of tools of the same server; their calls in the same turn come before a call of this tool.
   */
  depends_on?: string[];
  /**
   * Name of the parameter through which tools that depend on this one get its whole result.
   */
  provides?: string;
  /**
   * Parameters that the server fills in. They are not in the input schema.
   */
  server_populated?: string[];
  /**
   * Name of the formatter that writes `llm_output`, for people who read the list of tools.
   */
  xml_formatter?: string;
  /**
   * True when a call with the same arguments can be answered from a cache.
   */
  cacheable?: boolean;
  /**
   * Name of the member of `structuredContent` that holds the tool's value, where the value is no object.
   */
  wrapped_in?: string;
  [k: string]: unknown;
}
