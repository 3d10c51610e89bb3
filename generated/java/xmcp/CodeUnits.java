// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;
import java.util.List;

/**
 * Text as its UTF-16 code units in hexadecimal digits.
 */
public class CodeUnits {
    private List<String> surrogates;

    @JsonProperty("$surrogates")
    public List<String> getSurrogates() { return surrogates; }
    @JsonProperty("$surrogates")
    public void setSurrogates(List<String> value) { this.surrogates = value; }
}
