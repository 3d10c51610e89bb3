// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

/**
 * Which clients get documents (XMCP-MCP-005).
 */
public enum Wire {
    ALWAYS, NEGOTIATED, PLAIN;

    @JsonValue
    public String toValue() {
        switch (this) {
            case ALWAYS: return "always";
            case NEGOTIATED: return "negotiated";
            case PLAIN: return "plain";
        }
        return null;
    }

    @JsonCreator
    public static Wire forValue(String value) throws IOException {
        if (value.equals("always")) return ALWAYS;
        if (value.equals("negotiated")) return NEGOTIATED;
        if (value.equals("plain")) return PLAIN;
        throw new IOException("Cannot deserialize Wire");
    }
}
