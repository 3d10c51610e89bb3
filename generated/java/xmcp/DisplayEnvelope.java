// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;
import java.util.Map;

/**
 * The display to show to the person now.
 *
 * A display for a person (spec chapter 3). Unknown members are ignored.
 *
 * Shown instead where the type is unknown.
 */
public class DisplayEnvelope {
    private String alt;
    private DisplayEnvelope fallback;
    private String id;
    private Map<String, Object> meta;
    private DisplayPayload payload;
    private String title;
    private String type;

    /**
     * The display in words, for terminals and screen readers.
     */
    @JsonProperty("alt")
    public String getAlt() { return alt; }
    @JsonProperty("alt")
    public void setAlt(String value) { this.alt = value; }

    /**
     * Shown instead where the type is unknown.
     */
    @JsonProperty("fallback")
    public DisplayEnvelope getFallback() { return fallback; }
    @JsonProperty("fallback")
    public void setFallback(DisplayEnvelope value) { this.fallback = value; }

    /**
     * A later display with the same id replaces this one.
     */
    @JsonProperty("id")
    public String getID() { return id; }
    @JsonProperty("id")
    public void setID(String value) { this.id = value; }

    /**
     * Additional information; absent rather than null.
     */
    @JsonProperty("meta")
    public Map<String, Object> getMeta() { return meta; }
    @JsonProperty("meta")
    public void setMeta(Map<String, Object> value) { this.meta = value; }

    /**
     * The data to render, in the shape the type prescribes.
     */
    @JsonProperty("payload")
    public DisplayPayload getPayload() { return payload; }
    @JsonProperty("payload")
    public void setPayload(DisplayPayload value) { this.payload = value; }

    /**
     * Heading, plain text.
     */
    @JsonProperty("title")
    public String getTitle() { return title; }
    @JsonProperty("title")
    public void setTitle(String value) { this.title = value; }

    /**
     * Kind of display: a registered type, or `x-vendor-name`.
     */
    @JsonProperty("type")
    public String getType() { return type; }
    @JsonProperty("type")
    public void setType(String value) { this.type = value; }
}
