// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;
import java.util.Map;

/**
 * One event of a chat (spec section 10.2). Unknown members are ignored, and so are events
 * of an unknown type.
 */
public class ChatEvent {
    private Map<String, Object> arguments;
    private Long attempt;
    private String callID;
    private DisplayEnvelope envelope;
    private ErrorInfo error;
    private List<Message> history;
    private Double progress;
    private ChatResult result;
    private String text;
    private String toolName;
    private Double total;
    private long turn;
    private String type;
    private UsageRecord usage;
    private Long waitMS;

    /**
     * Arguments of a call; null if the model did not write a JSON object.
     */
    @JsonProperty("arguments")
    public Map<String, Object> getArguments() { return arguments; }
    @JsonProperty("arguments")
    public void setArguments(Map<String, Object> value) { this.arguments = value; }

    /**
     * How many attempts have failed so far.
     */
    @JsonProperty("attempt")
    public Long getAttempt() { return attempt; }
    @JsonProperty("attempt")
    public void setAttempt(Long value) { this.attempt = value; }

    /**
     * The call the event is about.
     */
    @JsonProperty("call_id")
    public String getCallID() { return callID; }
    @JsonProperty("call_id")
    public void setCallID(String value) { this.callID = value; }

    /**
     * The display to show to the person now.
     */
    @JsonProperty("envelope")
    public DisplayEnvelope getEnvelope() { return envelope; }
    @JsonProperty("envelope")
    public void setEnvelope(DisplayEnvelope value) { this.envelope = value; }

    @JsonProperty("error")
    public ErrorInfo getError() { return error; }
    @JsonProperty("error")
    public void setError(ErrorInfo value) { this.error = value; }

    /**
     * The conversation up to the failure, to be passed to the next chat; absent where the
     * reader is not to see it.
     */
    @JsonProperty("history")
    public List<Message> getHistory() { return history; }
    @JsonProperty("history")
    public void setHistory(List<Message> value) { this.history = value; }

    /**
     * How far an attempt of the call is, in units of the server's own.
     */
    @JsonProperty("progress")
    public Double getProgress() { return progress; }
    @JsonProperty("progress")
    public void setProgress(Double value) { this.progress = value; }

    @JsonProperty("result")
    public ChatResult getResult() { return result; }
    @JsonProperty("result")
    public void setResult(ChatResult value) { this.result = value; }

    /**
     * Depends on the type: the next piece of the model's text or of its reasoning, the
     * arguments of a call as the model wrote them, what a server says of its progress, the text
     * of a result, or a warning.
     */
    @JsonProperty("text")
    public String getText() { return text; }
    @JsonProperty("text")
    public void setText(String value) { this.text = value; }

    /**
     * The tool as the model knows it.
     */
    @JsonProperty("tool_name")
    public String getToolName() { return toolName; }
    @JsonProperty("tool_name")
    public void setToolName(String value) { this.toolName = value; }

    /**
     * What `progress` will be at the end, where the server knows it.
     */
    @JsonProperty("total")
    public Double getTotal() { return total; }
    @JsonProperty("total")
    public void setTotal(Double value) { this.total = value; }

    /**
     * Number of the turn, counted from 1; 0 before the first request to the model.
     */
    @JsonProperty("turn")
    public long getTurn() { return turn; }
    @JsonProperty("turn")
    public void setTurn(long value) { this.turn = value; }

    /**
     * `llm_delta`, `llm_reasoning`, `tool_call`, `tool_started`, `tool_progress`,
     * `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage`, `done` or
     * `failed`.
     */
    @JsonProperty("type")
    public String getType() { return type; }
    @JsonProperty("type")
    public void setType(String value) { this.type = value; }

    @JsonProperty("usage")
    public UsageRecord getUsage() { return usage; }
    @JsonProperty("usage")
    public void setUsage(UsageRecord value) { this.usage = value; }

    /**
     * The wait before the next attempt that the client plans, in milliseconds; a wait for a
     * slot comes on top.
     */
    @JsonProperty("wait_ms")
    public Long getWaitMS() { return waitMS; }
    @JsonProperty("wait_ms")
    public void setWaitMS(Long value) { this.waitMS = value; }
}
