/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/**
 * What one request to a model used (spec section 10.3). A count or price that is not known is null. Unknown members are ignored.
 */
export interface UsageRecord {
  /**
   * Tokens of the request, cached ones included. They are those that the vendor counted, unless `estimated` is true.
   */
  input_tokens: number | null;
  /**
   * Tokens of the answer, those of reasoning included.
   */
  output_tokens: number | null;
  /**
   * How many of the input tokens came from the vendor's cache.
   */
  cached_tokens: number | null;
  /**
   * How many of the output tokens the model spent on reasoning. A record that lacks it says as much as one with null.
   */
  reasoning_tokens?: number | null;
  /**
   * Price in US dollars; null where the price of the model is not known.
   */
  cost_usd: number | null;
  /**
   * When the request ended.
   */
  timestamp: string;
  session_id: string | null;
  tenant_id: string | null;
  provider: string;
  model: string;
  /**
   * True where a count is an estimate of the client, because the vendor did not give it, as for an answer that was not received to its end.
   */
  estimated?: boolean;
  [k: string]: unknown;
}
