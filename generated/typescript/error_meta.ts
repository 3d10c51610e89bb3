/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of the wrong type. Keys that are not listed carry a vendor prefix, `vendor/name`.
 */
export interface ErrorMeta {
  /**
   * Finds this very failure in the server's log.
   */
  error_id?: string;
  /**
   * Every variable part of the message, so that nobody has to parse it.
   */
  params?: {
    [k: string]: unknown;
  };
  /**
   * One entry for each argument that was refused.
   */
  fields?: FieldError[];
  /**
   * Whether the failed call changed anything. Only `none` makes a repetition safe for any tool.
   */
  side_effects?: "none" | "unknown" | "partial";
  /**
   * What helps; absent, it follows from the category.
   */
  recovery?: "retry" | "fix_input" | "ask_user" | "give_up";
  limit?: Limit;
  /**
   * The message for the person, by language.
   */
  localized?: LocalizedMessage[];
  /**
   * Pages that explain the failure.
   */
  help?: HelpLink[];
  cause?: Cause;
  /**
   * HTTP status of the service behind the tool, when there was one.
   */
  upstream_status?: number;
  [k: string]: unknown;
}
export interface FieldError {
  /**
   * JSON Pointer (RFC 6901) into the arguments; the empty string is the arguments as a whole.
   */
  pointer: string;
  /**
   * Short machine word, for example `missing` or `wrong_type`.
   */
  reason?: string;
  /**
   * What is wrong, for the model.
   */
  message: string;
  [k: string]: unknown;
}
export interface Limit {
  /**
   * Whose limit it is, for example `tenant` or `server`.
   */
  scope?: string;
  /**
   * What is counted, for example `requests` or `tokens`.
   */
  dimension?: string;
  max?: number;
  reset_at?: string;
  [k: string]: unknown;
}
export interface LocalizedMessage {
  locale: string;
  message: string;
  [k: string]: unknown;
}
export interface HelpLink {
  title?: string;
  url: string;
  [k: string]: unknown;
}
export interface Cause {
  code: string;
  [k: string]: unknown;
}
