// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

/**
 * One audit record of a chat (spec section 10.4); a log has one on each line. Unknown
 * members are ignored, and so are records of an unknown kind.
 */
public class AuditRecord {
    private String chatID;
    private ErrorInfo error;
    private String kind;
    private Message message;
    private long sequence;
    private String sessionID;
    private String stopReason;
    private String tenantID;
    private String timestamp;
    private ToolInvocation toolCall;
    private UsageRecord usage;

    @JsonProperty("chat_id")
    public String getChatID() { return chatID; }
    @JsonProperty("chat_id")
    public void setChatID(String value) { this.chatID = value; }

    /**
     * Why the chat failed, or that it was cancelled.
     */
    @JsonProperty("error")
    public ErrorInfo getError() { return error; }
    @JsonProperty("error")
    public void setError(ErrorInfo value) { this.error = value; }

    /**
     * `chat_started`, `message`, `tool_call`, `usage` or `chat_ended`.
     */
    @JsonProperty("kind")
    public String getKind() { return kind; }
    @JsonProperty("kind")
    public void setKind(String value) { this.kind = value; }

    /**
     * A message of the history that the chat returned.
     */
    @JsonProperty("message")
    public Message getMessage() { return message; }
    @JsonProperty("message")
    public void setMessage(Message value) { this.message = value; }

    /**
     * Counts the records of a chat from 0, without gaps.
     */
    @JsonProperty("sequence")
    public long getSequence() { return sequence; }
    @JsonProperty("sequence")
    public void setSequence(long value) { this.sequence = value; }

    @JsonProperty("session_id")
    public String getSessionID() { return sessionID; }
    @JsonProperty("session_id")
    public void setSessionID(String value) { this.sessionID = value; }

    /**
     * Why the chat ended; null where it failed or was cancelled.
     */
    @JsonProperty("stop_reason")
    public String getStopReason() { return stopReason; }
    @JsonProperty("stop_reason")
    public void setStopReason(String value) { this.stopReason = value; }

    @JsonProperty("tenant_id")
    public String getTenantID() { return tenantID; }
    @JsonProperty("tenant_id")
    public void setTenantID(String value) { this.tenantID = value; }

    @JsonProperty("timestamp")
    public String getTimestamp() { return timestamp; }
    @JsonProperty("timestamp")
    public void setTimestamp(String value) { this.timestamp = value; }

    @JsonProperty("tool_call")
    public ToolInvocation getToolCall() { return toolCall; }
    @JsonProperty("tool_call")
    public void setToolCall(ToolInvocation value) { this.toolCall = value; }

    @JsonProperty("usage")
    public UsageRecord getUsage() { return usage; }
    @JsonProperty("usage")
    public void setUsage(UsageRecord value) { this.usage = value; }
}
