// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.Map;

/**
 * The arguments of the tool `xmcp_conformance_emit` (spec section 1.7): what a tool is to
 * return. `response` has the members that a response has in the wire vectors.
 */
public class ConformanceEmit {
    private String forUser;
    private EmittedResponse response;
    private Boolean showUser;
    private Map<String, Object> structuredContent;

    /**
     * The text of a further block, whose audience is the user alone. It comes with a
     * `llm_output` alone.
     */
    @JsonProperty("for_user")
    public String getForUser() { return forUser; }
    @JsonProperty("for_user")
    public void setForUser(String value) { this.forUser = value; }

    @JsonProperty("response")
    public EmittedResponse getResponse() { return response; }
    @JsonProperty("response")
    public void setResponse(EmittedResponse value) { this.response = value; }

    /**
     * As for every display tool. The suite sets it to `true` where the response has a display.
     */
    @JsonProperty("show_user")
    public Boolean getShowUser() { return showUser; }
    @JsonProperty("show_user")
    public void setShowUser(Boolean value) { this.showUser = value; }

    /**
     * The tool's data for programs. It comes with a `llm_output` alone.
     */
    @JsonProperty("structured_content")
    public Map<String, Object> getStructuredContent() { return structuredContent; }
    @JsonProperty("structured_content")
    public void setStructuredContent(Map<String, Object> value) { this.structuredContent = value; }
}
