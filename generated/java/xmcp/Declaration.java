// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * What a client puts under the extension identifier into its capabilities (section 6.1).
 * Unknown members are ignored.
 */
public class Declaration {
    private List<String> displayTypes;
    private Boolean documents;
    private Long maxBytes;
    private List<String> versions;

    /**
     * The display types that the client's renderer knows.
     */
    @JsonProperty("displayTypes")
    public List<String> getDisplayTypes() { return displayTypes; }
    @JsonProperty("displayTypes")
    public void setDisplayTypes(List<String> value) { this.displayTypes = value; }

    /**
     * False if the client reads plain results only (section 1.6). Absent means true.
     */
    @JsonProperty("documents")
    public Boolean getDocuments() { return documents; }
    @JsonProperty("documents")
    public void setDocuments(Boolean value) { this.documents = value; }

    /**
     * The size in bytes of UTF-8 of the largest document that the client accepts.
     */
    @JsonProperty("maxBytes")
    public Long getMaxBytes() { return maxBytes; }
    @JsonProperty("maxBytes")
    public void setMaxBytes(Long value) { this.maxBytes = value; }

    /**
     * Versions of the specification that the client reads.
     */
    @JsonProperty("versions")
    public List<String> getVersions() { return versions; }
    @JsonProperty("versions")
    public void setVersions(List<String> value) { this.versions = value; }
}
