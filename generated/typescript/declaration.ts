/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * What a client puts under the extension identifier into its capabilities (section 6.1). Unknown members are ignored.
 */
export interface Declaration {
  /**
   * Versions of the specification that the client reads.
   *
   * @minItems 1
   */
  versions: [string, ...string[]];
  /**
   * False if the client reads plain results only (section 1.6). Absent means true.
   */
  documents?: boolean;
  /**
   * The display types that the client's renderer knows.
   */
  displayTypes?: string[];
  /**
   * The size in bytes of UTF-8 of the largest document that the client accepts.
   */
  maxBytes?: number;
  [k: string]: unknown;
}
