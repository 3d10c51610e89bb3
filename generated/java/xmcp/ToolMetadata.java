// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * What a server says about a tool beyond MCP, under `<prefix>tool` in the tool's `_meta`
 * (spec chapter 5). Unknown members are ignored.
 */
public class ToolMetadata {
    private Boolean cacheable;
    private List<String> dependsOn;
    private Boolean display;
    private String provides;
    private List<String> serverPopulated;
    private String wrappedIn;
    private String xmlFormatter;

    /**
     * True when a call with the same arguments can be answered from a cache.
     */
    @JsonProperty("cacheable")
    public Boolean getCacheable() { return cacheable; }
    @JsonProperty("cacheable")
    public void setCacheable(Boolean value) { this.cacheable = value; }

    /**
     * Names of tools of the same server; their calls in the same turn come before a call of
     * this tool.
     */
    @JsonProperty("depends_on")
    public List<String> getDependsOn() { return dependsOn; }
    @JsonProperty("depends_on")
    public void setDependsOn(List<String> value) { this.dependsOn = value; }

    /**
     * True when the tool can answer with a display; then its input schema has the boolean
     * property `show_user`.
     */
    @JsonProperty("display")
    public Boolean getDisplay() { return display; }
    @JsonProperty("display")
    public void setDisplay(Boolean value) { this.display = value; }

    /**
     * Name of the parameter through which tools that depend on this one get its whole result.
     */
    @JsonProperty("provides")
    public String getProvides() { return provides; }
    @JsonProperty("provides")
    public void setProvides(String value) { this.provides = value; }

    /**
     * Parameters that the server fills in. They are not in the input schema.
     */
    @JsonProperty("server_populated")
    public List<String> getServerPopulated() { return serverPopulated; }
    @JsonProperty("server_populated")
    public void setServerPopulated(List<String> value) { this.serverPopulated = value; }

    /**
     * Name of the member of `structuredContent` that holds the tool's value, where the value is
     * no object.
     */
    @JsonProperty("wrapped_in")
    public String getWrappedIn() { return wrappedIn; }
    @JsonProperty("wrapped_in")
    public void setWrappedIn(String value) { this.wrappedIn = value; }

    /**
     * Name of the formatter that writes `llm_output`, for people who read the list of tools.
     */
    @JsonProperty("xml_formatter")
    public String getXMLFormatter() { return xmlFormatter; }
    @JsonProperty("xml_formatter")
    public void setXMLFormatter(String value) { this.xmlFormatter = value; }
}
