// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.Map;

/**
 * One tool call, with all its attempts.
 */
public class ToolInvocation {
    private Map<String, Object> arguments;
    private long attempts;
    private Boolean cached;
    private String callID;
    private Boolean displayed;
    private double durationMS;
    private String errorCode;
    private Outcome outcome;
    private String server;
    private String toolName;

    /**
     * Arguments as the model wrote them; null if it did not write a JSON object.
     */
    @JsonProperty("arguments")
    public Map<String, Object> getArguments() { return arguments; }
    @JsonProperty("arguments")
    public void setArguments(Map<String, Object> value) { this.arguments = value; }

    /**
     * How many attempts were begun, with or without an answer; 0 if there was none.
     */
    @JsonProperty("attempts")
    public long getAttempts() { return attempts; }
    @JsonProperty("attempts")
    public void setAttempts(long value) { this.attempts = value; }

    @JsonProperty("cached")
    public Boolean getCached() { return cached; }
    @JsonProperty("cached")
    public void setCached(Boolean value) { this.cached = value; }

    @JsonProperty("call_id")
    public String getCallID() { return callID; }
    @JsonProperty("call_id")
    public void setCallID(String value) { this.callID = value; }

    @JsonProperty("displayed")
    public Boolean getDisplayed() { return displayed; }
    @JsonProperty("displayed")
    public void setDisplayed(Boolean value) { this.displayed = value; }

    @JsonProperty("duration_ms")
    public double getDurationMS() { return durationMS; }
    @JsonProperty("duration_ms")
    public void setDurationMS(double value) { this.durationMS = value; }

    @JsonProperty("error_code")
    public String getErrorCode() { return errorCode; }
    @JsonProperty("error_code")
    public void setErrorCode(String value) { this.errorCode = value; }

    @JsonProperty("outcome")
    public Outcome getOutcome() { return outcome; }
    @JsonProperty("outcome")
    public void setOutcome(Outcome value) { this.outcome = value; }

    /**
     * The server whose tool it is; null where no server has it.
     */
    @JsonProperty("server")
    public String getServer() { return server; }
    @JsonProperty("server")
    public void setServer(String value) { this.server = value; }

    /**
     * The tool as the model knows it.
     */
    @JsonProperty("tool_name")
    public String getToolName() { return toolName; }
    @JsonProperty("tool_name")
    public void setToolName(String value) { this.toolName = value; }
}
