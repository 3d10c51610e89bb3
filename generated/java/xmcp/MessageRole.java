// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

public enum MessageRole {
    ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER;

    @JsonValue
    public String toValue() {
        switch (this) {
            case ASSISTANT: return "assistant";
            case DEVELOPER: return "developer";
            case SYSTEM: return "system";
            case TOOL: return "tool";
            case USER: return "user";
        }
        return null;
    }

    @JsonCreator
    public static MessageRole forValue(String value) throws IOException {
        if (value.equals("assistant")) return ASSISTANT;
        if (value.equals("developer")) return DEVELOPER;
        if (value.equals("system")) return SYSTEM;
        if (value.equals("tool")) return TOOL;
        if (value.equals("user")) return USER;
        throw new IOException("Cannot deserialize MessageRole");
    }
}
