// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

public class FieldError {
    private String message;
    private String pointer;
    private String reason;

    /**
     * What is wrong, for the model.
     */
    @JsonProperty("message")
    public String getMessage() { return message; }
    @JsonProperty("message")
    public void setMessage(String value) { this.message = value; }

    /**
     * JSON Pointer (RFC 6901) into the arguments; the empty string is the arguments as a whole.
     */
    @JsonProperty("pointer")
    public String getPointer() { return pointer; }
    @JsonProperty("pointer")
    public void setPointer(String value) { this.pointer = value; }

    /**
     * Short word for programs, for example `missing` or `wrong_type`.
     */
    @JsonProperty("reason")
    public String getReason() { return reason; }
    @JsonProperty("reason")
    public void setReason(String value) { this.reason = value; }
}
