// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;
import java.util.Map;

/**
 * A stored conversation (spec section 10.5), which another process can continue. Unknown
 * members are ignored.
 */
public class Snapshot {
    private String createdAt;
    private SnapshotFormat format;
    private List<Message> history;
    private Map<String, Object> metadata;
    private String sessionID;
    private String tenantID;
    private UsageTotal usage;
    private long version;

    @JsonProperty("created_at")
    public String getCreatedAt() { return createdAt; }
    @JsonProperty("created_at")
    public void setCreatedAt(String value) { this.createdAt = value; }

    @JsonProperty("format")
    public SnapshotFormat getFormat() { return format; }
    @JsonProperty("format")
    public void setFormat(SnapshotFormat value) { this.format = value; }

    @JsonProperty("history")
    public List<Message> getHistory() { return history; }
    @JsonProperty("history")
    public void setHistory(List<Message> value) { this.history = value; }

    /**
     * Data of the application.
     */
    @JsonProperty("metadata")
    public Map<String, Object> getMetadata() { return metadata; }
    @JsonProperty("metadata")
    public void setMetadata(Map<String, Object> value) { this.metadata = value; }

    @JsonProperty("session_id")
    public String getSessionID() { return sessionID; }
    @JsonProperty("session_id")
    public void setSessionID(String value) { this.sessionID = value; }

    @JsonProperty("tenant_id")
    public String getTenantID() { return tenantID; }
    @JsonProperty("tenant_id")
    public void setTenantID(String value) { this.tenantID = value; }

    @JsonProperty("usage")
    public UsageTotal getUsage() { return usage; }
    @JsonProperty("usage")
    public void setUsage(UsageTotal value) { this.usage = value; }

    /**
     * Version of this format; this schema describes version 1.
     */
    @JsonProperty("version")
    public long getVersion() { return version; }
    @JsonProperty("version")
    public void setVersion(long value) { this.version = value; }
}
