// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

/**
 * What all requests to models in a chat used: the sums of the figures that are known; null
 * where none is.
 */
public class UsageTotal {
    private Long cachedTokens;
    private Double costUsd;
    private Long inputTokens;
    private long llmCalls;
    private Long outputTokens;
    private Long reasoningTokens;

    @JsonProperty("cached_tokens")
    public Long getCachedTokens() { return cachedTokens; }
    @JsonProperty("cached_tokens")
    public void setCachedTokens(Long value) { this.cachedTokens = value; }

    @JsonProperty("cost_usd")
    public Double getCostUsd() { return costUsd; }
    @JsonProperty("cost_usd")
    public void setCostUsd(Double value) { this.costUsd = value; }

    @JsonProperty("input_tokens")
    public Long getInputTokens() { return inputTokens; }
    @JsonProperty("input_tokens")
    public void setInputTokens(Long value) { this.inputTokens = value; }

    @JsonProperty("llm_calls")
    public long getLlmCalls() { return llmCalls; }
    @JsonProperty("llm_calls")
    public void setLlmCalls(long value) { this.llmCalls = value; }

    @JsonProperty("output_tokens")
    public Long getOutputTokens() { return outputTokens; }
    @JsonProperty("output_tokens")
    public void setOutputTokens(Long value) { this.outputTokens = value; }

    @JsonProperty("reasoning_tokens")
    public Long getReasoningTokens() { return reasoningTokens; }
    @JsonProperty("reasoning_tokens")
    public void setReasoningTokens(Long value) { this.reasoningTokens = value; }
}
