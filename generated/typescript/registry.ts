/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

/** The entries of a registry. A key that is not registered, as any string can be, has the value undefined. */
export type Lookup<Entries, Entry> = Entries & { readonly [key: string]: Entry | undefined };

// Without a prototype: else the keys "constructor" and "__proto__" would have a value.
const lookup = <Entries extends object, Entry>(entries: Entries): Lookup<Entries, Entry> =>
  Object.assign(Object.create(null), entries);

/** Prefix of everything XMCP adds to MCP. */
export const PREFIX = "io.github.xmcp-spec/" as const;

/** The MCP extension identifier. */
export const EXTENSION_ID = "io.github.xmcp-spec/tool-response" as const;

/** Key of the tool metadata in a tool's `_meta`. */
export const TOOL_META_KEY = "io.github.xmcp-spec/tool" as const;

/** Key of form and version in a result's `_meta`. */
export const RESULT_META_KEY = "io.github.xmcp-spec/result" as const;

/** Key of the display in the `_meta` of a plain result. */
export const DISPLAY_META_KEY = "io.github.xmcp-spec/display" as const;

/** Key of the error in a plain result's `_meta`. */
export const ERROR_META_KEY = "io.github.xmcp-spec/error" as const;

/** Key of `server_populated` in a plain result's `_meta`. */
export const POPULATED_META_KEY = "io.github.xmcp-spec/server_populated" as const;

/** URI of the view for hosts of MCP Apps (section 6.7). */
export const VIEW_URI = "ui://xmcp/display" as const;

/** The version of the specification these models are for. */
export const VERSION = "1.0" as const;

/** Regular expression of a name with a vendor prefix, whole. */
export const VENDOR_KEY = "[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+" as const;

const errorCodes = {
  "VALIDATION_FAIL": {
    "code": "VALIDATION_FAIL",
    "category": "invalid_input",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 400,
    "jsonrpc_code": -32602,
    "grpc_status": "INVALID_ARGUMENT",
    "description": "The arguments do not fit the tool's input schema; `meta.fields` says where.",
    "since": "1.0",
    "status": "active"
  },
  "INVALID_ARGUMENT": {
    "code": "INVALID_ARGUMENT",
    "category": "invalid_input",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 400,
    "jsonrpc_code": -32602,
    "grpc_status": "INVALID_ARGUMENT",
    "description": "The arguments fit the schema but the tool cannot use them.",
    "since": "1.0",
    "status": "active"
  },
  "MISSING_ARGUMENT": {
    "code": "MISSING_ARGUMENT",
    "category": "invalid_input",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 400,
    "jsonrpc_code": -32602,
    "grpc_status": "INVALID_ARGUMENT",
    "description": "An argument that this call needs was not given.",
    "since": "1.0",
    "status": "active"
  },
  "NOT_FOUND": {
    "code": "NOT_FOUND",
    "category": "not_found",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 404,
    "jsonrpc_code": -32602,
    "grpc_status": "NOT_FOUND",
    "description": "What the arguments name does not exist.",
    "since": "1.0",
    "status": "active"
  },
  "UNKNOWN_TOOL": {
    "code": "UNKNOWN_TOOL",
    "category": "not_found",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 404,
    "jsonrpc_code": -32602,
    "grpc_status": "NOT_FOUND",
    "description": "There is no tool of that name; `meta.params` can list the names that exist.",
    "since": "1.0",
    "status": "active"
  },
  "CONFLICT": {
    "code": "CONFLICT",
    "category": "conflict",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 409,
    "jsonrpc_code": -32603,
    "grpc_status": "ABORTED",
    "description": "The state changed meanwhile; read it again and decide again.",
    "since": "1.0",
    "status": "active"
  },
  "PRECONDITION_FAILED": {
    "code": "PRECONDITION_FAILED",
    "category": "conflict",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 412,
    "jsonrpc_code": -32603,
    "grpc_status": "FAILED_PRECONDITION",
    "description": "A condition that the call set for the state is not met.",
    "since": "1.0",
    "status": "active"
  },
  "AUTH_REQUIRED": {
    "code": "AUTH_REQUIRED",
    "category": "unauthenticated",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 401,
    "jsonrpc_code": -32603,
    "grpc_status": "UNAUTHENTICATED",
    "description": "The caller has to sign in first.",
    "since": "1.0",
    "status": "active"
  },
  "AUTH_EXPIRED": {
    "code": "AUTH_EXPIRED",
    "category": "unauthenticated",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 401,
    "jsonrpc_code": -32603,
    "grpc_status": "UNAUTHENTICATED",
    "description": "The caller's sign-in is no longer valid.",
    "since": "1.0",
    "status": "active"
  },
  "FORBIDDEN": {
    "code": "FORBIDDEN",
    "category": "permission_denied",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 403,
    "jsonrpc_code": -32603,
    "grpc_status": "PERMISSION_DENIED",
    "description": "The caller is known but not allowed to do this.",
    "since": "1.0",
    "status": "active"
  },
  "FORBIDDEN_PARAM_OVERRIDE": {
    "code": "FORBIDDEN_PARAM_OVERRIDE",
    "category": "permission_denied",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 403,
    "jsonrpc_code": -32603,
    "grpc_status": "PERMISSION_DENIED",
    "description": "The call has a value for a parameter that only the server fills in.",
    "since": "1.0",
    "status": "active"
  },
  "CONTENT_POLICY": {
    "code": "CONTENT_POLICY",
    "category": "permission_denied",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 403,
    "jsonrpc_code": -32603,
    "grpc_status": "PERMISSION_DENIED",
    "description": "A content rule of the server forbids the request.",
    "since": "1.0",
    "status": "active"
  },
  "RATE_LIMIT": {
    "code": "RATE_LIMIT",
    "category": "rate_limited",
    "retryable": true,
    "recovery": "retry",
    "http_status": 429,
    "jsonrpc_code": -32603,
    "grpc_status": "RESOURCE_EXHAUSTED",
    "description": "Too many calls; `retry_after_ms` says how long to wait.",
    "since": "1.0",
    "status": "active",
    "aliases": [
      "RATE_LIMITED"
    ]
  },
  "QUOTA_EXCEEDED": {
    "code": "QUOTA_EXCEEDED",
    "category": "rate_limited",
    "retryable": false,
    "recovery": "ask_user",
    "http_status": 429,
    "jsonrpc_code": -32603,
    "grpc_status": "RESOURCE_EXHAUSTED",
    "description": "A budget is used up; waiting a moment does not help.",
    "since": "1.0",
    "status": "active"
  },
  "TIMEOUT": {
    "code": "TIMEOUT",
    "category": "timeout",
    "retryable": true,
    "recovery": "retry",
    "http_status": 504,
    "jsonrpc_code": -32603,
    "grpc_status": "DEADLINE_EXCEEDED",
    "description": "The work took longer than it was allowed to.",
    "since": "1.0",
    "status": "active"
  },
  "DB_TIMEOUT": {
    "code": "DB_TIMEOUT",
    "category": "timeout",
    "retryable": true,
    "recovery": "retry",
    "http_status": 504,
    "jsonrpc_code": -32603,
    "grpc_status": "DEADLINE_EXCEEDED",
    "description": "The database took longer than it was allowed to.",
    "since": "1.0",
    "status": "active"
  },
  "UPSTREAM_UNAVAILABLE": {
    "code": "UPSTREAM_UNAVAILABLE",
    "category": "unavailable",
    "retryable": true,
    "recovery": "retry",
    "http_status": 503,
    "jsonrpc_code": -32603,
    "grpc_status": "UNAVAILABLE",
    "description": "A service behind the tool does not answer.",
    "since": "1.0",
    "status": "active"
  },
  "CONNECTION_FAILED": {
    "code": "CONNECTION_FAILED",
    "category": "unavailable",
    "retryable": true,
    "recovery": "retry",
    "http_status": 503,
    "jsonrpc_code": -32603,
    "grpc_status": "UNAVAILABLE",
    "description": "The connection to the server broke or could not be made.",
    "since": "1.0",
    "status": "active"
  },
  "CIRCUIT_OPEN": {
    "code": "CIRCUIT_OPEN",
    "category": "unavailable",
    "retryable": true,
    "recovery": "retry",
    "http_status": 503,
    "jsonrpc_code": -32603,
    "grpc_status": "UNAVAILABLE",
    "description": "The server failed so often that calls are held back for a while.",
    "since": "1.0",
    "status": "active"
  },
  "CANCELLED": {
    "code": "CANCELLED",
    "category": "cancelled",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 499,
    "jsonrpc_code": -32603,
    "grpc_status": "CANCELLED",
    "description": "The call was cancelled before it ended.",
    "since": "1.0",
    "status": "active"
  },
  "NOT_IMPLEMENTED": {
    "code": "NOT_IMPLEMENTED",
    "category": "unsupported",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 501,
    "jsonrpc_code": -32601,
    "grpc_status": "UNIMPLEMENTED",
    "description": "The tool does not support this.",
    "since": "1.0",
    "status": "active"
  },
  "UNSUPPORTED_VERSION": {
    "code": "UNSUPPORTED_VERSION",
    "category": "unsupported",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 501,
    "jsonrpc_code": -32603,
    "grpc_status": "UNIMPLEMENTED",
    "description": "The peer uses a major version that this side does not support.",
    "since": "1.0",
    "status": "active"
  },
  "RESULT_TOO_LARGE": {
    "code": "RESULT_TOO_LARGE",
    "category": "too_large",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 413,
    "jsonrpc_code": -32603,
    "grpc_status": "OUT_OF_RANGE",
    "description": "The result is larger than the limit; ask for less.",
    "since": "1.0",
    "status": "active"
  },
  "CONTEXT_TOO_LARGE": {
    "code": "CONTEXT_TOO_LARGE",
    "category": "too_large",
    "retryable": false,
    "recovery": "fix_input",
    "http_status": 413,
    "jsonrpc_code": -32603,
    "grpc_status": "OUT_OF_RANGE",
    "description": "The conversation does not fit the model.",
    "since": "1.0",
    "status": "active"
  },
  "INTERNAL": {
    "code": "INTERNAL",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "An unexpected failure; the server's log has it under `meta.error_id`.",
    "since": "1.0",
    "status": "active",
    "aliases": [
      "SERVER_ERROR"
    ]
  },
  "TOOL_ERROR": {
    "code": "TOOL_ERROR",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "The tool reports a failure in its own words, without a more specific code.",
    "since": "1.0",
    "status": "active"
  },
  "INVALID_PAYLOAD": {
    "code": "INVALID_PAYLOAD",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "The tool returned no valid display envelope where one was asked for, or could not make the one it wanted.",
    "since": "1.0",
    "status": "active"
  },
  "INVALID_XML": {
    "code": "INVALID_XML",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "The response of the server is not a tool response document.",
    "since": "1.0",
    "status": "active"
  },
  "MISSING_SERVER_PARAM": {
    "code": "MISSING_SERVER_PARAM",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "The server, or the application, has no value for a parameter that it fills in.",
    "since": "1.0",
    "status": "active"
  },
  "UNKNOWN_SERVER_PARAM": {
    "code": "UNKNOWN_SERVER_PARAM",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "The server is configured to fill in a parameter that the tool does not have.",
    "since": "1.0",
    "status": "active"
  },
  "DEPENDENCY_FAILED": {
    "code": "DEPENDENCY_FAILED",
    "category": "internal",
    "retryable": false,
    "recovery": "give_up",
    "http_status": 500,
    "jsonrpc_code": -32603,
    "grpc_status": "INTERNAL",
    "description": "A call that this one depends on failed, or its result does not fit.",
    "since": "1.0",
    "status": "active"
  }
} as const;

/** Registered error codes. */
export const ERROR_CODES: Lookup<typeof errorCodes, ErrorCodeEntry> = lookup(errorCodes);
export type RegisteredErrorCode = keyof typeof errorCodes;

const errorCategories = {
  "invalid_input": {
    "retryable": false,
    "recovery": "fix_input"
  },
  "not_found": {
    "retryable": false,
    "recovery": "fix_input"
  },
  "conflict": {
    "retryable": false,
    "recovery": "fix_input"
  },
  "unauthenticated": {
    "retryable": false,
    "recovery": "ask_user"
  },
  "permission_denied": {
    "retryable": false,
    "recovery": "ask_user"
  },
  "rate_limited": {
    "retryable": true,
    "recovery": "retry"
  },
  "timeout": {
    "retryable": true,
    "recovery": "retry"
  },
  "unavailable": {
    "retryable": true,
    "recovery": "retry"
  },
  "cancelled": {
    "retryable": false,
    "recovery": "give_up"
  },
  "unsupported": {
    "retryable": false,
    "recovery": "give_up"
  },
  "too_large": {
    "retryable": false,
    "recovery": "fix_input"
  },
  "internal": {
    "retryable": false,
    "recovery": "give_up"
  }
} as const;

/** Defaults of each error category. */
export const ERROR_CATEGORIES: Lookup<typeof errorCategories, ErrorCategoryEntry> = lookup(errorCategories);
export type ErrorCategory = keyof typeof errorCategories;

const displayTypes = {
  "text": {
    "type": "text",
    "description": "Plain text; every renderer can show it.",
    "media_type": "text/plain",
    "payload": "display_envelope.schema.json#/$defs/TextPayload",
    "since": "1.0",
    "status": "active"
  },
  "markdown": {
    "type": "markdown",
    "description": "CommonMark with GFM tables; raw HTML is not rendered.",
    "media_type": "text/markdown",
    "payload": "display_envelope.schema.json#/$defs/TextPayload",
    "since": "1.0",
    "status": "active"
  },
  "table": {
    "type": "table",
    "description": "Columns and rows, or a list of objects whose keys are the columns.",
    "media_type": "application/json",
    "payload": "display_envelope.schema.json#/$defs/TablePayload",
    "since": "1.0",
    "status": "active"
  },
  "chart": {
    "type": "chart",
    "description": "A Vega-Lite specification with its data inside.",
    "media_type": "application/vnd.vegalite.v6.json",
    "payload": "display_envelope.schema.json#/$defs/ChartPayload",
    "since": "1.0",
    "status": "active",
    "inert": {
      "data": [
        "values",
        "datasets"
      ],
      "members": [
        "config",
        "expr",
        "href",
        "params",
        "signal",
        "transform",
        "url",
        "usermeta"
      ],
      "marks": [
        "image"
      ]
    }
  },
  "image": {
    "type": "image",
    "description": "A picture, by https or data URI.",
    "media_type": null,
    "payload": "display_envelope.schema.json#/$defs/ImagePayload",
    "since": "1.0",
    "status": "active"
  },
  "notification": {
    "type": "notification",
    "description": "A short message that needs no place in the layout.",
    "media_type": "text/plain",
    "payload": "display_envelope.schema.json#/$defs/NotificationPayload",
    "since": "1.0",
    "status": "active"
  },
  "code": {
    "type": "code",
    "description": "Source code in a fixed-width font; never executed.",
    "media_type": "text/plain",
    "payload": "display_envelope.schema.json#/$defs/CodePayload",
    "since": "1.0",
    "status": "active"
  },
  "json": {
    "type": "json",
    "description": "Any object or array, as a tree.",
    "media_type": "application/json",
    "payload": "display_envelope.schema.json#/$defs/JsonPayload",
    "since": "1.0",
    "status": "active"
  },
  "facts": {
    "type": "facts",
    "description": "Labels with values.",
    "media_type": "application/json",
    "payload": "display_envelope.schema.json#/$defs/FactsPayload",
    "since": "1.0",
    "status": "active"
  },
  "metric": {
    "type": "metric",
    "description": "One number that matters, or several.",
    "media_type": "application/json",
    "payload": "display_envelope.schema.json#/$defs/MetricPayload",
    "since": "1.0",
    "status": "active"
  },
  "file": {
    "type": "file",
    "description": "A file the person can open or save.",
    "media_type": null,
    "payload": "display_envelope.schema.json#/$defs/FilePayload",
    "since": "1.0",
    "status": "active"
  },
  "group": {
    "type": "group",
    "description": "Several displays in order.",
    "media_type": "application/json",
    "payload": "display_envelope.schema.json#/$defs/GroupPayload",
    "since": "1.0",
    "status": "active"
  },
  "html": {
    "type": "html",
    "description": "HTML source; shown as source text unless the renderer has a sandbox.",
    "media_type": "text/html",
    "payload": "display_envelope.schema.json#/$defs/TextPayload",
    "since": "1.0",
    "status": "active"
  },
  "x-xmcp-reference": {
    "type": "x-xmcp-reference",
    "description": "Sent by a client to a model in place of a large display; a server does not send it.",
    "media_type": null,
    "payload": "display_envelope.schema.json#/$defs/ReferencePayload",
    "since": "1.0",
    "status": "active"
  },
  "app": {
    "type": "app",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "form": {
    "type": "form",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "audio": {
    "type": "audio",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "video": {
    "type": "video",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "map": {
    "type": "map",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "diff": {
    "type": "diff",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  },
  "progress": {
    "type": "progress",
    "description": "Reserved for a later minor version.",
    "media_type": null,
    "since": "1.0",
    "status": "reserved"
  }
} as const;

/** Registered display types. */
export const DISPLAY_TYPES: Lookup<typeof displayTypes, DisplayTypeEntry> = lookup(displayTypes);
export type RegisteredDisplayType = keyof typeof displayTypes;

/** What an emitter keeps to in every display envelope. */
export const ENVELOPE_RULES = {
  "meta": [
    "transient",
    "truncated",
    "source",
    "locale"
  ],
  "deepest_group": 3,
  "deepest_fallback": 3
} as const;

export interface ErrorCodeEntry {
  readonly code: string;
  readonly category:
    | "invalid_input"
    | "not_found"
    | "conflict"
    | "unauthenticated"
    | "permission_denied"
    | "rate_limited"
    | "timeout"
    | "unavailable"
    | "cancelled"
    | "unsupported"
    | "too_large"
    | "internal";
  readonly retryable: boolean;
  readonly recovery: "retry" | "fix_input" | "ask_user" | "give_up";
  readonly http_status: number;
  /**
   * For a program whose only way to fail is a JSON-RPC error; `error.data` can hold the whole error.
   */
  readonly jsonrpc_code: -32601 | -32602 | -32603;
  readonly grpc_status: string;
  readonly description: string;
  readonly aliases?: readonly string[];
  readonly since: string;
  readonly status: "active" | "deprecated";
}
export interface ErrorCategoryEntry {
  readonly retryable: boolean;
  readonly recovery: "retry" | "fix_input" | "ask_user" | "give_up";
}
export interface DisplayTypeEntry {
  readonly type: string;
  readonly description: string;
  readonly media_type: string | null;
  readonly payload?: string;
  readonly since: string;
  readonly status: "active" | "reserved" | "deprecated";
  readonly inert?: {
    /**
     * Members that hold data, in which any name is allowed.
     */
    readonly data: readonly string[];
    /**
     * Members that are not allowed outside the data.
     */
    readonly members: readonly string[];
    /**
     * Marks that are not allowed.
     */
    readonly marks: readonly string[];
  };
}
