// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;
import java.util.Map;

/**
 * The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of
 * the wrong type. The name of a member that is not listed has a vendor prefix,
 * `vendor/name`.
 */
public class ErrorMeta {
    private Cause cause;
    private String errorID;
    private List<FieldError> fields;
    private List<HelpLink> help;
    private Limit limit;
    private List<LocalizedMessage> localized;
    private Map<String, Object> params;
    private Recovery recovery;
    private SideEffects sideEffects;
    private Long upstreamStatus;

    @JsonProperty("cause")
    public Cause getCause() { return cause; }
    @JsonProperty("cause")
    public void setCause(Cause value) { this.cause = value; }

    /**
     * Id under which the server's log has this failure.
     */
    @JsonProperty("error_id")
    public String getErrorID() { return errorID; }
    @JsonProperty("error_id")
    public void setErrorID(String value) { this.errorID = value; }

    /**
     * One entry for each argument that was refused.
     */
    @JsonProperty("fields")
    public List<FieldError> getFields() { return fields; }
    @JsonProperty("fields")
    public void setFields(List<FieldError> value) { this.fields = value; }

    /**
     * Pages that explain the failure.
     */
    @JsonProperty("help")
    public List<HelpLink> getHelp() { return help; }
    @JsonProperty("help")
    public void setHelp(List<HelpLink> value) { this.help = value; }

    @JsonProperty("limit")
    public Limit getLimit() { return limit; }
    @JsonProperty("limit")
    public void setLimit(Limit value) { this.limit = value; }

    /**
     * The message for the person, by language.
     */
    @JsonProperty("localized")
    public List<LocalizedMessage> getLocalized() { return localized; }
    @JsonProperty("localized")
    public void setLocalized(List<LocalizedMessage> value) { this.localized = value; }

    /**
     * Every variable part of the message, so that no program has to parse the message.
     */
    @JsonProperty("params")
    public Map<String, Object> getParams() { return params; }
    @JsonProperty("params")
    public void setParams(Map<String, Object> value) { this.params = value; }

    /**
     * What helps; if absent, the category decides.
     */
    @JsonProperty("recovery")
    public Recovery getRecovery() { return recovery; }
    @JsonProperty("recovery")
    public void setRecovery(Recovery value) { this.recovery = value; }

    /**
     * Whether the failed call changed anything. Only with `none` is it safe to repeat the call
     * of any tool.
     */
    @JsonProperty("side_effects")
    public SideEffects getSideEffects() { return sideEffects; }
    @JsonProperty("side_effects")
    public void setSideEffects(SideEffects value) { this.sideEffects = value; }

    /**
     * HTTP status of the service behind the tool, when there was one.
     */
    @JsonProperty("upstream_status")
    public Long getUpstreamStatus() { return upstreamStatus; }
    @JsonProperty("upstream_status")
    public void setUpstreamStatus(Long value) { this.upstreamStatus = value; }
}
