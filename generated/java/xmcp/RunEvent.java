// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.Map;

/**
 * One event of a run of a gateway (spec section 10.6). Unknown members are ignored, and so
 * are events of an unknown type.
 */
public class RunEvent {
    private Map<String, Object> data;
    private Long seq;
    private String type;

    /**
     * What the event says; its members depend on the type.
     */
    @JsonProperty("data")
    public Map<String, Object> getData() { return data; }
    @JsonProperty("data")
    public void setData(Map<String, Object> value) { this.data = value; }

    /**
     * Place of the event among those of its attempt.
     */
    @JsonProperty("seq")
    public Long getSeq() { return seq; }
    @JsonProperty("seq")
    public void setSeq(Long value) { this.seq = value; }

    /**
     * `run.started`, `step.started`, `text.delta`, `tool.started` and so on; section 10.6 has
     * all of them.
     */
    @JsonProperty("type")
    public String getType() { return type; }
    @JsonProperty("type")
    public void setType(String value) { this.type = value; }
}
