/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * What a server says of a tool beyond MCP, under `<prefix>tool` in the tool's `_meta` (spec chapter 5). Unknown keys are ignored.
 */
export interface ToolMetadata {
  /**
   * True when the tool can answer with a display; then its input schema has the boolean property `show_user`.
   */
  display?: boolean;
  /**
   * Names of tools of the same server whose results, when called in the same turn, come first.
   */
  depends_on?: string[];
  /**
   * The parameter name under which this tool's whole result is offered to the tools that depend on it.
   */
  provides?: string;
  /**
   * Parameters that the server fills itself. They are not in the input schema.
   */
  server_populated?: string[];
  /**
   * Name of the formatter that writes `llm_output`, for people who read the catalogue.
   */
  xml_formatter?: string;
  /**
   * True when the same arguments may be answered from a cache.
   */
  cacheable?: boolean;
  [k: string]: unknown;
}
