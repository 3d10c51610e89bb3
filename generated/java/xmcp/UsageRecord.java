// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

/**
 * What one request to a model used (spec section 10.3). A count or price that is not known
 * is null. Unknown members are ignored.
 */
public class UsageRecord {
    private Long cachedTokens;
    private Double costUsd;
    private Boolean estimated;
    private Long inputTokens;
    private String model;
    private Long outputTokens;
    private String provider;
    private Long reasoningTokens;
    private String sessionID;
    private String tenantID;
    private String timestamp;

    /**
     * How many of the input tokens came from the vendor's cache.
     */
    @JsonProperty("cached_tokens")
    public Long getCachedTokens() { return cachedTokens; }
    @JsonProperty("cached_tokens")
    public void setCachedTokens(Long value) { this.cachedTokens = value; }

    /**
     * Price in US dollars; null where the price of the model is not known.
     */
    @JsonProperty("cost_usd")
    public Double getCostUsd() { return costUsd; }
    @JsonProperty("cost_usd")
    public void setCostUsd(Double value) { this.costUsd = value; }

    /**
     * True where a count is an estimate of the client, because the vendor did not give it, as
     * for an answer that was not received to its end.
     */
    @JsonProperty("estimated")
    public Boolean getEstimated() { return estimated; }
    @JsonProperty("estimated")
    public void setEstimated(Boolean value) { this.estimated = value; }

    /**
     * Tokens of the request, cached ones included. They are those that the vendor counted,
     * unless `estimated` is true.
     */
    @JsonProperty("input_tokens")
    public Long getInputTokens() { return inputTokens; }
    @JsonProperty("input_tokens")
    public void setInputTokens(Long value) { this.inputTokens = value; }

    @JsonProperty("model")
    public String getModel() { return model; }
    @JsonProperty("model")
    public void setModel(String value) { this.model = value; }

    /**
     * Tokens of the answer, those of reasoning included.
     */
    @JsonProperty("output_tokens")
    public Long getOutputTokens() { return outputTokens; }
    @JsonProperty("output_tokens")
    public void setOutputTokens(Long value) { this.outputTokens = value; }

    @JsonProperty("provider")
    public String getProvider() { return provider; }
    @JsonProperty("provider")
    public void setProvider(String value) { this.provider = value; }

    /**
     * How many of the output tokens the model spent on reasoning. A record that lacks it says
     * as much as one with null.
     */
    @JsonProperty("reasoning_tokens")
    public Long getReasoningTokens() { return reasoningTokens; }
    @JsonProperty("reasoning_tokens")
    public void setReasoningTokens(Long value) { this.reasoningTokens = value; }

    @JsonProperty("session_id")
    public String getSessionID() { return sessionID; }
    @JsonProperty("session_id")
    public void setSessionID(String value) { this.sessionID = value; }

    @JsonProperty("tenant_id")
    public String getTenantID() { return tenantID; }
    @JsonProperty("tenant_id")
    public void setTenantID(String value) { this.tenantID = value; }

    /**
     * When the request ended.
     */
    @JsonProperty("timestamp")
    public String getTimestamp() { return timestamp; }
    @JsonProperty("timestamp")
    public void setTimestamp(String value) { this.timestamp = value; }
}
