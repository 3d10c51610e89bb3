// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

public class Limit {
    private String dimension;
    private Double max;
    private String resetAt;
    private String scope;

    /**
     * What is counted, for example `requests` or `tokens`.
     */
    @JsonProperty("dimension")
    public String getDimension() { return dimension; }
    @JsonProperty("dimension")
    public void setDimension(String value) { this.dimension = value; }

    @JsonProperty("max")
    public Double getMax() { return max; }
    @JsonProperty("max")
    public void setMax(Double value) { this.max = value; }

    @JsonProperty("reset_at")
    public String getResetAt() { return resetAt; }
    @JsonProperty("reset_at")
    public void setResetAt(String value) { this.resetAt = value; }

    /**
     * Whose limit it is, for example `tenant` or `server`.
     */
    @JsonProperty("scope")
    public String getScope() { return scope; }
    @JsonProperty("scope")
    public void setScope(String value) { this.scope = value; }
}
