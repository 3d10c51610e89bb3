/** The display in the `_meta`, or in the structured content, of a result. */
export const DISPLAY_META_KEY = "io.github.xmcp-spec/display";
/** The error in the `_meta` of a plain result. */
export const ERROR_META_KEY = "io.github.xmcp-spec/error";
