/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { ErrorInfo } from "./chat_event.js";
import type { DisplayEnvelope } from "./display_envelope.js";

/**
 * The arguments of the tool `xmcp_conformance_emit` (spec section 1.7): what a tool is to return. `response` has the members that a response has in the wire vectors.
 */
export interface ConformanceEmit {
  response: EmittedResponse;
  /**
   * The tool's data for programs. It comes with a `llm_output` alone.
   */
  structured_content?: {
    [k: string]: unknown;
  };
  /**
   * The text of a further block, whose audience is the user alone. It comes with a `llm_output` alone.
   */
  for_user?: string;
  /**
   * As for every display tool. The suite sets it to `true` where the response has a display.
   */
  show_user?: boolean;
}
/**
 * The text for the model or an error, and a display with either.
 */
export interface EmittedResponse {
  /**
   * The text for the model; or, where it has surrogates that are not paired, its code units.
   */
  llm_output?: string | CodeUnits;
  /**
   * The media type of that text; absent means `text/plain`.
   */
  format?: string;
  /**
   * Whether that text was cut.
   */
  truncated?: boolean;
  /**
   * Whether characters were replaced before the values reached the tool.
   */
  lossy?: boolean;
  display?: DisplayEnvelope;
  error?: ErrorInfo;
  [k: string]: unknown;
}
/**
 * Text as its UTF-16 code units in hexadecimal digits.
 */
export interface CodeUnits {
  $surrogates: string[];
}
