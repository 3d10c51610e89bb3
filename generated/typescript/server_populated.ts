/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * The JSON object in `<server_populated>` of a tool response (spec section 2.7): which parameters the server filled in for this call. Unknown members are ignored.
 */
export interface ServerPopulated {
  /**
   * Maps the name of a parameter to the value with which the tool was called.
   */
  values?: {
    [k: string]: unknown;
  };
  /**
   * Parameters that were filled in and whose value is not disclosed.
   */
  redacted?: string[];
  /**
   * Parameters for which the caller sent a value that was not used.
   */
  overridden?: string[];
  [k: string]: unknown;
}
