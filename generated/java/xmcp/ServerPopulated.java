// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;
import java.util.Map;

/**
 * The JSON object in `<server_populated>` of a tool response (spec section 2.7): which
 * parameters the server filled in for this call. Unknown members are ignored.
 */
public class ServerPopulated {
    private List<String> overridden;
    private List<String> redacted;
    private Map<String, Object> values;

    /**
     * Parameters for which the caller sent a value that was not used.
     */
    @JsonProperty("overridden")
    public List<String> getOverridden() { return overridden; }
    @JsonProperty("overridden")
    public void setOverridden(List<String> value) { this.overridden = value; }

    /**
     * Parameters that were filled in and whose value is not disclosed.
     */
    @JsonProperty("redacted")
    public List<String> getRedacted() { return redacted; }
    @JsonProperty("redacted")
    public void setRedacted(List<String> value) { this.redacted = value; }

    /**
     * Maps the name of a parameter to the value with which the tool was called.
     */
    @JsonProperty("values")
    public Map<String, Object> getValues() { return values; }
    @JsonProperty("values")
    public void setValues(Map<String, Object> value) { this.values = value; }
}
