// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

use serde::{Serialize, Deserialize};
use std::collections::HashMap;

/// What a server puts under the extension identifier into its capabilities (section 6.1).
/// Unknown members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Announcement {
    /// Versions of the specification that the server emits.
    pub versions: Vec<String>,

    /// Which clients get documents (XMCP-MCP-005).
    pub wire: Wire,
}

/// Which clients get documents (XMCP-MCP-005).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    Always,

    Negotiated,

    Plain,
}

/// One audit record of a chat (spec section 10.4); a log has one on each line. Unknown
/// members are ignored, and so are records of an unknown kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AuditRecord {
    pub chat_id: String,

    /// Why the chat failed, or that it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,

    /// `chat_started`, `message`, `tool_call`, `usage` or `chat_ended`.
    pub kind: String,

    /// A message of the history that the chat returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,

    /// Counts the records of a chat from 0, without gaps.
    pub sequence: i64,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,

    /// Why the chat ended; null where it failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,

    pub timestamp: String,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolInvocation>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageRecord>,
}

/// Why the chat failed, or that it was cancelled.
///
/// An error (spec chapter 4) as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorInfo {
    pub category: String,

    pub code: String,

    pub message: String,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<ErrorMeta>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<i64>,

    pub retryable: bool,
}

/// The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of
/// the wrong type. The name of a member that is not listed has a vendor prefix,
/// `vendor/name`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,

    /// Id under which the server's log has this failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_id: Option<String>,

    /// One entry for each argument that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldError>>,

    /// Pages that explain the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Vec<HelpLink>>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,

    /// The message for the person, by language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub localized: Option<Vec<LocalizedMessage>>,

    /// Every variable part of the message, so that no program has to parse the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<HashMap<String, Option<serde_json::Value>>>,

    /// What helps; if absent, the category decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,

    /// Whether the failed call changed anything. Only with `none` is it safe to repeat the call
    /// of any tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<SideEffects>,

    /// HTTP status of the service behind the tool, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_status: Option<i32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cause {
    pub code: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FieldError {
    /// What is wrong, for the model.
    pub message: String,

    /// JSON Pointer (RFC 6901) into the arguments; the empty string is the arguments as a whole.
    pub pointer: String,

    /// Short word for programs, for example `missing` or `wrong_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HelpLink {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,

    pub url: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Limit {
    /// What is counted, for example `requests` or `tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<String>,

    /// Whose limit it is, for example `tenant` or `server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalizedMessage {
    pub locale: String,

    pub message: String,
}

/// What helps; if absent, the category decides.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    #[serde(rename = "ask_user")]
    AskUser,

    #[serde(rename = "fix_input")]
    FixInput,

    #[serde(rename = "give_up")]
    GiveUp,

    Retry,
}

/// Whether the failed call changed anything. Only with `none` is it safe to repeat the call
/// of any tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    Partial,

    #[serde(rename = "none")]
    SideEffectsNone,

    Unknown,
}

/// A message of the history that the chat returned.
///
/// One message in the format of OpenAI's chat completions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    pub content: Option<MessageContent>,

    pub role: MessageRole,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent {
    AnythingArray(Vec<Option<serde_json::Value>>),

    PurpleString(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    Assistant,

    Developer,

    System,

    Tool,

    User,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolCall {
    pub function: FunctionCall,

    pub id: String,

    #[serde(rename = "type")]
    pub tool_call_type: ToolCallType,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FunctionCall {
    pub arguments: String,

    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallType {
    Function,
}

/// One tool call, with all its attempts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolInvocation {
    /// Arguments as the model wrote them; null if it did not write a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<HashMap<String, Option<serde_json::Value>>>,

    /// How many attempts were begun, with or without an answer; 0 if there was none.
    pub attempts: i64,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,

    pub call_id: String,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub displayed: Option<bool>,

    pub duration_ms: f64,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,

    pub outcome: Outcome,

    /// The server whose tool it is; null where no server has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,

    /// The tool as the model knows it.
    pub tool_name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Cancelled,

    Error,

    #[serde(rename = "ok")]
    OutcomeOk,
}

/// What one request to a model used (spec section 10.3). A count or price that is not known
/// is null. Unknown members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UsageRecord {
    /// How many of the input tokens came from the vendor's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<i64>,

    /// Price in US dollars; null where the price of the model is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,

    /// True where a count is an estimate of the client, because the vendor did not give it, as
    /// for an answer that was not received to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated: Option<bool>,

    /// Tokens of the request, cached ones included. They are those that the vendor counted,
    /// unless `estimated` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<i64>,

    pub model: String,

    /// Tokens of the answer, those of reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<i64>,

    pub provider: String,

    /// How many of the output tokens the model spent on reasoning. A record that lacks it says
    /// as much as one with null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<i64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,

    /// When the request ended.
    pub timestamp: String,
}

/// One event of a chat (spec section 10.2). Unknown members are ignored, and so are events
/// of an unknown type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChatEvent {
    /// Arguments of a call; null if the model did not write a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<HashMap<String, Option<serde_json::Value>>>,

    /// How many attempts have failed so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,

    /// The call the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,

    /// The display to show to the person now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Box<DisplayEnvelope>>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,

    /// The conversation up to the failure, to be passed to the next chat; absent where the
    /// reader is not to see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Message>>,

    /// How far an attempt of the call is, in units of the server's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ChatResult>,

    /// Depends on the type: the next piece of the model's text or of its reasoning, the
    /// arguments of a call as the model wrote them, what a server says of its progress, the text
    /// of a result, or a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,

    /// The tool as the model knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,

    /// What `progress` will be at the end, where the server knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,

    /// Number of the turn, counted from 1; 0 before the first request to the model.
    pub turn: i64,

    /// `llm_delta`, `llm_reasoning`, `tool_call`, `tool_started`, `tool_progress`,
    /// `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage`, `done` or
    /// `failed`.
    #[serde(rename = "type")]
    pub chat_event_type: String,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageRecord>,

    /// The wait before the next attempt that the client plans, in milliseconds; a wait for a
    /// slot comes on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<i64>,
}

/// The display to show to the person now.
///
/// A display for a person (spec chapter 3). Unknown members are ignored.
///
/// Shown instead where the type is unknown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DisplayEnvelope {
    /// The display in words, for terminals and screen readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,

    /// Shown instead where the type is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<DisplayEnvelope>>,

    /// A later display with the same id replaces this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,

    /// Additional information; absent rather than null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<HashMap<String, Option<serde_json::Value>>>,

    /// The data to render, in the shape the type prescribes.
    pub payload: DisplayPayload,

    /// Heading, plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,

    /// Kind of display: a registered type, or `x-vendor-name`.
    #[serde(rename = "type")]
    pub display_envelope_type: String,
}

/// The data to render, in the shape the type prescribes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DisplayPayload {
    AnythingArray(Vec<Option<serde_json::Value>>),

    AnythingMap(HashMap<String, Option<serde_json::Value>>),

    PurpleString(String),
}

/// The result of a chat.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChatResult {
    /// The model's final text; null if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,

    /// The first of `displays` that a tool answered with; null if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Box<DisplayEnvelope>>,

    /// All displays of the chat, by turn and, within a turn, in call order.
    pub displays: Vec<DisplayEnvelope>,

    /// The conversation, to be passed to the next chat; absent where the reader is not to see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Message>>,

    /// `stop`, `tool_calls`, `display`, `clarify`, `max_turns`, `timeout`, `length`,
    /// `content_filter` or `empty`.
    pub stop_reason: String,

    pub usage: UsageTotal,
}

/// What all requests to models in a chat used: the sums of the figures that are known; null
/// where none is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UsageTotal {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<i64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<i64>,

    pub llm_calls: i64,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<i64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<i64>,
}

/// The arguments of the tool `xmcp_conformance_emit` (spec section 1.7): what a tool is to
/// return. `response` has the members that a response has in the wire vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConformanceEmit {
    /// The text of a further block, whose audience is the user alone. It comes with a
    /// `llm_output` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_user: Option<String>,

    pub response: EmittedResponse,

    /// As for every display tool. The suite sets it to `true` where the response has a display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show_user: Option<bool>,

    /// The tool's data for programs. It comes with a `llm_output` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<HashMap<String, Option<serde_json::Value>>>,
}

/// The text for the model or an error, and a display with either.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EmittedResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Box<DisplayEnvelope>>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,

    /// The media type of that text; absent means `text/plain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,

    /// The text for the model; or, where it has surrogates that are not paired, its code units.
    pub llm_output: Option<LlmOutput>,

    /// Whether characters were replaced before the values reached the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy: Option<bool>,

    /// Whether that text was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// The text for the model; or, where it has surrogates that are not paired, its code units.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LlmOutput {
    CodeUnits(CodeUnits),

    PurpleString(String),
}

/// Text as its UTF-16 code units in hexadecimal digits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodeUnits {
    #[serde(rename = "$surrogates")]
    pub surrogates: Vec<String>,
}

/// What a client puts under the extension identifier into its capabilities (section 6.1).
/// Unknown members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Declaration {
    /// The display types that the client's renderer knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_types: Option<Vec<String>>,

    /// False if the client reads plain results only (section 1.6). Absent means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<bool>,

    /// The size in bytes of UTF-8 of the largest document that the client accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<i64>,

    /// Versions of the specification that the client reads.
    pub versions: Vec<String>,
}

/// One event of a run of a gateway (spec section 10.6). Unknown members are ignored, and so
/// are events of an unknown type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunEvent {
    /// What the event says; its members depend on the type.
    pub data: HashMap<String, Option<serde_json::Value>>,

    /// Place of the event among those of its attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,

    /// `run.started`, `step.started`, `text.delta`, `tool.started` and so on; section 10.6 has
    /// all of them.
    #[serde(rename = "type")]
    pub run_event_type: String,
}

/// The JSON object in `<server_populated>` of a tool response (spec section 2.7): which
/// parameters the server filled in for this call. Unknown members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerPopulated {
    /// Parameters for which the caller sent a value that was not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Vec<String>>,

    /// Parameters that were filled in and whose value is not disclosed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Vec<String>>,

    /// Maps the name of a parameter to the value with which the tool was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HashMap<String, Option<serde_json::Value>>>,
}

/// A stored conversation (spec section 10.5), which another process can continue. Unknown
/// members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    pub created_at: String,

    pub format: SnapshotFormat,

    pub history: Vec<Message>,

    /// Data of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<HashMap<String, Option<serde_json::Value>>>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageTotal>,

    /// Version of this format; this schema describes version 1.
    pub version: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotFormat {
    #[serde(rename = "xmcp-conversation")]
    XmcpConversation,
}

/// What a server says about a tool beyond MCP, under `<prefix>tool` in the tool's `_meta`
/// (spec chapter 5). Unknown members are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolMetadata {
    /// True when a call with the same arguments can be answered from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cacheable: Option<bool>,

    /// Names of tools of the same server; their calls in the same turn come before a call of
    /// this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,

    /// True when the tool can answer with a display; then its input schema has the boolean
    /// property `show_user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<bool>,

    /// Name of the parameter through which tools that depend on this one get its whole result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provides: Option<String>,

    /// Parameters that the server fills in. They are not in the input schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_populated: Option<Vec<String>>,

    /// Name of the member of `structuredContent` that holds the tool's value, where the value is
    /// no object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrapped_in: Option<String>,

    /// Name of the formatter that writes `llm_output`, for people who read the list of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xml_formatter: Option<String>,
}

/// Prefix of everything XMCP adds to MCP.
pub const PREFIX: &str = "io.github.xmcp-spec/";

/// The MCP extension identifier.
pub const EXTENSION_ID: &str = "io.github.xmcp-spec/tool-response";

/// Key of the tool metadata in a tool's `_meta`.
pub const TOOL_META_KEY: &str = "io.github.xmcp-spec/tool";

/// Key of form and version in a result's `_meta`.
pub const RESULT_META_KEY: &str = "io.github.xmcp-spec/result";

/// Key of the display in the `_meta` of a plain result.
pub const DISPLAY_META_KEY: &str = "io.github.xmcp-spec/display";

/// Key of the error in a plain result's `_meta`.
pub const ERROR_META_KEY: &str = "io.github.xmcp-spec/error";

/// Key of `server_populated` in a plain result's `_meta`.
pub const POPULATED_META_KEY: &str = "io.github.xmcp-spec/server_populated";

/// URI of the view for hosts of MCP Apps (section 6.7).
pub const VIEW_URI: &str = "ui://xmcp/display";

/// The version of the specification these models are for.
pub const VERSION: &str = "1.0";

/// Regular expression of a name with a vendor prefix, whole.
pub const VENDOR_KEY: &str = "[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+";
