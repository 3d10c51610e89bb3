// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

/**
 * The text for the model or an error, and a display with either.
 */
public class EmittedResponse {
    private DisplayEnvelope display;
    private ErrorInfo error;
    private String format;
    private LlmOutput llmOutput;
    private Boolean lossy;
    private Boolean truncated;

    @JsonProperty("display")
    public DisplayEnvelope getDisplay() { return display; }
    @JsonProperty("display")
    public void setDisplay(DisplayEnvelope value) { this.display = value; }

    @JsonProperty("error")
    public ErrorInfo getError() { return error; }
    @JsonProperty("error")
    public void setError(ErrorInfo value) { this.error = value; }

    /**
     * The media type of that text; absent means `text/plain`.
     */
    @JsonProperty("format")
    public String getFormat() { return format; }
    @JsonProperty("format")
    public void setFormat(String value) { this.format = value; }

    /**
     * The text for the model; or, where it has surrogates that are not paired, its code units.
     */
    @JsonProperty("llm_output")
    public LlmOutput getLlmOutput() { return llmOutput; }
    @JsonProperty("llm_output")
    public void setLlmOutput(LlmOutput value) { this.llmOutput = value; }

    /**
     * Whether characters were replaced before the values reached the tool.
     */
    @JsonProperty("lossy")
    public Boolean getLossy() { return lossy; }
    @JsonProperty("lossy")
    public void setLossy(Boolean value) { this.lossy = value; }

    /**
     * Whether that text was cut.
     */
    @JsonProperty("truncated")
    public Boolean getTruncated() { return truncated; }
    @JsonProperty("truncated")
    public void setTruncated(Boolean value) { this.truncated = value; }
}
