// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

public class FunctionCall {
    private String arguments;
    private String name;

    @JsonProperty("arguments")
    public String getArguments() { return arguments; }
    @JsonProperty("arguments")
    public void setArguments(String value) { this.arguments = value; }

    @JsonProperty("name")
    public String getName() { return name; }
    @JsonProperty("name")
    public void setName(String value) { this.name = value; }
}
