// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * What a server puts under the extension identifier into its capabilities (section 6.1).
 * Unknown members are ignored.
 */
public class Announcement {
    private List<String> versions;
    private Wire wire;

    /**
     * Versions of the specification that the server emits.
     */
    @JsonProperty("versions")
    public List<String> getVersions() { return versions; }
    @JsonProperty("versions")
    public void setVersions(List<String> value) { this.versions = value; }

    /**
     * Which clients get documents (XMCP-MCP-005).
     */
    @JsonProperty("wire")
    public Wire getWire() { return wire; }
    @JsonProperty("wire")
    public void setWire(Wire value) { this.wire = value; }
}
