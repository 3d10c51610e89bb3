// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

public enum ToolCallType {
    FUNCTION;

    @JsonValue
    public String toValue() {
        switch (this) {
            case FUNCTION: return "function";
        }
        return null;
    }

    @JsonCreator
    public static ToolCallType forValue(String value) throws IOException {
        if (value.equals("function")) return FUNCTION;
        throw new IOException("Cannot deserialize ToolCallType");
    }
}
