// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

public class ToolCall {
    private FunctionCall function;
    private String id;
    private ToolCallType type;

    @JsonProperty("function")
    public FunctionCall getFunction() { return function; }
    @JsonProperty("function")
    public void setFunction(FunctionCall value) { this.function = value; }

    @JsonProperty("id")
    public String getID() { return id; }
    @JsonProperty("id")
    public void setID(String value) { this.id = value; }

    @JsonProperty("type")
    public ToolCallType getType() { return type; }
    @JsonProperty("type")
    public void setType(ToolCallType value) { this.type = value; }
}
