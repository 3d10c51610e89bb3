// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

/**
 * Whether the failed call changed anything. Only with `none` is it safe to repeat the call
 * of any tool.
 */
public enum SideEffects {
    NONE, PARTIAL, UNKNOWN;

    @JsonValue
    public String toValue() {
        switch (this) {
            case NONE: return "none";
            case PARTIAL: return "partial";
            case UNKNOWN: return "unknown";
        }
        return null;
    }

    @JsonCreator
    public static SideEffects forValue(String value) throws IOException {
        if (value.equals("none")) return NONE;
        if (value.equals("partial")) return PARTIAL;
        if (value.equals("unknown")) return UNKNOWN;
        throw new IOException("Cannot deserialize SideEffects");
    }
}
