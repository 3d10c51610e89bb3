// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

/** The names that XMCP adds to MCP. */
public final class Names {
    /** Prefix of everything XMCP adds to MCP. */
    public static final String PREFIX = "io.github.xmcp-spec/";
    /** The MCP extension identifier. */
    public static final String EXTENSION_ID = "io.github.xmcp-spec/tool-response";
    /** Key of the tool metadata in a tool's `_meta`. */
    public static final String TOOL_META_KEY = "io.github.xmcp-spec/tool";
    /** Key of form and version in a result's `_meta`. */
    public static final String RESULT_META_KEY = "io.github.xmcp-spec/result";
    /** Key of the display in the `_meta` of a plain result. */
    public static final String DISPLAY_META_KEY = "io.github.xmcp-spec/display";
    /** Key of the error in a plain result's `_meta`. */
    public static final String ERROR_META_KEY = "io.github.xmcp-spec/error";
    /** Key of `server_populated` in a plain result's `_meta`. */
    public static final String POPULATED_META_KEY = "io.github.xmcp-spec/server_populated";
    /** URI of the view for hosts of MCP Apps (section 6.7). */
    public static final String VIEW_URI = "ui://xmcp/display";
    /** The version of the specification these models are for. */
    public static final String VERSION = "1.0";
    /** Regular expression of a name with a vendor prefix, whole. */
    public static final String VENDOR_KEY = "[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+";
}
