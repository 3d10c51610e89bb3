// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * A message of the history that the chat returned.
 *
 * One message in the format of OpenAI's chat completions.
 */
public class Message {
    private MessageContent content;
    private MessageRole role;
    private String toolCallID;
    private List<ToolCall> toolCalls;

    @JsonProperty("content")
    public MessageContent getContent() { return content; }
    @JsonProperty("content")
    public void setContent(MessageContent value) { this.content = value; }

    @JsonProperty("role")
    public MessageRole getRole() { return role; }
    @JsonProperty("role")
    public void setRole(MessageRole value) { this.role = value; }

    @JsonProperty("tool_call_id")
    public String getToolCallID() { return toolCallID; }
    @JsonProperty("tool_call_id")
    public void setToolCallID(String value) { this.toolCallID = value; }

    @JsonProperty("tool_calls")
    public List<ToolCall> getToolCalls() { return toolCalls; }
    @JsonProperty("tool_calls")
    public void setToolCalls(List<ToolCall> value) { this.toolCalls = value; }
}
