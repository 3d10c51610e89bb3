/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of the wrong type. The name of a member that is not listed has a vendor prefix, `vendor/name`.
 */
export interface ErrorMeta {
  /**
   * Id under which the server's log has this failure.
   */
  error_id?: string;
  /**
   * Every variable part of the message, so that no program has to parse the message.
   */
  params?: {
    [k: string]: unknown;
  };
  /**
   * One entry for each argument that was refused.
   */
  fields?: FieldError[];
  /**
   * Whether the failed call changed anything. Only with `none` is it safe to repeat the call of any tool.
   */
  side_effects?: "none" | "unknown" | "partial";
  /**
   * What helps; if absent, the category decides.
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
   * Short word for programs, for example `missing` or `wrong_type`.
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
