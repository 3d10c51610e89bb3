// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

public enum SnapshotFormat {
    XMCP_CONVERSATION;

    @JsonValue
    public String toValue() {
        switch (this) {
            case XMCP_CONVERSATION: return "xmcp-conversation";
        }
        return null;
    }

    @JsonCreator
    public static SnapshotFormat forValue(String value) throws IOException {
        if (value.equals("xmcp-conversation")) return XMCP_CONVERSATION;
        throw new IOException("Cannot deserialize SnapshotFormat");
    }
}
