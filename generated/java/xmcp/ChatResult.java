// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * The result of a chat.
 */
public class ChatResult {
    private String answer;
    private DisplayEnvelope display;
    private List<DisplayEnvelope> displays;
    private List<Message> history;
    private String stopReason;
    private UsageTotal usage;

    /**
     * The model's final text; null if there is none.
     */
    @JsonProperty("answer")
    public String getAnswer() { return answer; }
    @JsonProperty("answer")
    public void setAnswer(String value) { this.answer = value; }

    /**
     * The first of `displays` that a tool answered with; null if there is none.
     */
    @JsonProperty("display")
    public DisplayEnvelope getDisplay() { return display; }
    @JsonProperty("display")
    public void setDisplay(DisplayEnvelope value) { this.display = value; }

    /**
     * All displays of the chat, by turn and, within a turn, in call order.
     */
    @JsonProperty("displays")
    public List<DisplayEnvelope> getDisplays() { return displays; }
    @JsonProperty("displays")
    public void setDisplays(List<DisplayEnvelope> value) { this.displays = value; }

    /**
     * The conversation, to be passed to the next chat; absent where the reader is not to see it.
     */
    @JsonProperty("history")
    public List<Message> getHistory() { return history; }
    @JsonProperty("history")
    public void setHistory(List<Message> value) { this.history = value; }

    /**
     * `stop`, `tool_calls`, `display`, `clarify`, `max_turns`, `timeout`, `length`,
     * `content_filter` or `empty`.
     */
    @JsonProperty("stop_reason")
    public String getStopReason() { return stopReason; }
    @JsonProperty("stop_reason")
    public void setStopReason(String value) { this.stopReason = value; }

    @JsonProperty("usage")
    public UsageTotal getUsage() { return usage; }
    @JsonProperty("usage")
    public void setUsage(UsageTotal value) { this.usage = value; }
}
