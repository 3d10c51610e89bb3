// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.annotation.*;

public enum Outcome {
    CANCELLED, ERROR, OK;

    @JsonValue
    public String toValue() {
        switch (this) {
            case CANCELLED: return "cancelled";
            case ERROR: return "error";
            case OK: return "ok";
        }
        return null;
    }

    @JsonCreator
    public static Outcome forValue(String value) throws IOException {
        if (value.equals("cancelled")) return CANCELLED;
        if (value.equals("error")) return ERROR;
        if (value.equals("ok")) return OK;
        throw new IOException("Cannot deserialize Outcome");
    }
}
