// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

/**
 * What helps; if absent, the category decides.
 */
public enum Recovery {
    ASK_USER, FIX_INPUT, GIVE_UP, RETRY;

    @JsonValue
    public String toValue() {
        switch (this) {
            case ASK_USER: return "ask_user";
            case FIX_INPUT: return "fix_input";
            case GIVE_UP: return "give_up";
            case RETRY: return "retry";
        }
        return null;
    }

    @JsonCreator
    public static Recovery forValue(String value) throws IOException {
        if (value.equals("ask_user")) return ASK_USER;
        if (value.equals("fix_input")) return FIX_INPUT;
        if (value.equals("give_up")) return GIVE_UP;
        if (value.equals("retry")) return RETRY;
        throw new IOException("Cannot deserialize Recovery");
    }
}
