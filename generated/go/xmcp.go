// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

// Code generated from JSON Schema using quicktype. DO NOT EDIT.
// To parse and unparse this JSON data, add this code to your project and do:
//
//    announcement, err := UnmarshalAnnouncement(bytes)
//    bytes, err = announcement.Marshal()
//
//    auditRecord, err := UnmarshalAuditRecord(bytes)
//    bytes, err = auditRecord.Marshal()
//
//    chatEvent, err := UnmarshalChatEvent(bytes)
//    bytes, err = chatEvent.Marshal()
//
//    conformanceEmit, err := UnmarshalConformanceEmit(bytes)
//    bytes, err = conformanceEmit.Marshal()
//
//    declaration, err := UnmarshalDeclaration(bytes)
//    bytes, err = declaration.Marshal()
//
//    displayEnvelope, err := UnmarshalDisplayEnvelope(bytes)
//    bytes, err = displayEnvelope.Marshal()
//
//    errorMeta, err := UnmarshalErrorMeta(bytes)
//    bytes, err = errorMeta.Marshal()
//
//    runEvent, err := UnmarshalRunEvent(bytes)
//    bytes, err = runEvent.Marshal()
//
//    serverPopulated, err := UnmarshalServerPopulated(bytes)
//    bytes, err = serverPopulated.Marshal()
//
//    snapshot, err := UnmarshalSnapshot(bytes)
//    bytes, err = snapshot.Marshal()
//
//    toolMetadata, err := UnmarshalToolMetadata(bytes)
//    bytes, err = toolMetadata.Marshal()
//
//    usageRecord, err := UnmarshalUsageRecord(bytes)
//    bytes, err = usageRecord.Marshal()

package xmcp

import "bytes"
import "errors"

import "encoding/json"

func UnmarshalAnnouncement(data []byte) (Announcement, error) {
	var r Announcement
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *Announcement) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalAuditRecord(data []byte) (AuditRecord, error) {
	var r AuditRecord
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *AuditRecord) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalChatEvent(data []byte) (ChatEvent, error) {
	var r ChatEvent
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *ChatEvent) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalConformanceEmit(data []byte) (ConformanceEmit, error) {
	var r ConformanceEmit
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *ConformanceEmit) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalDeclaration(data []byte) (Declaration, error) {
	var r Declaration
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *Declaration) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalDisplayEnvelope(data []byte) (DisplayEnvelope, error) {
	var r DisplayEnvelope
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *DisplayEnvelope) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalErrorMeta(data []byte) (ErrorMeta, error) {
	var r ErrorMeta
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *ErrorMeta) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalRunEvent(data []byte) (RunEvent, error) {
	var r RunEvent
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *RunEvent) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalServerPopulated(data []byte) (ServerPopulated, error) {
	var r ServerPopulated
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *ServerPopulated) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalSnapshot(data []byte) (Snapshot, error) {
	var r Snapshot
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *Snapshot) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalToolMetadata(data []byte) (ToolMetadata, error) {
	var r ToolMetadata
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *ToolMetadata) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

func UnmarshalUsageRecord(data []byte) (UsageRecord, error) {
	var r UsageRecord
	err := json.Unmarshal(data, &r)
	return r, err
}

func (r *UsageRecord) Marshal() ([]byte, error) {
	return json.Marshal(r)
}

// What a server puts under the extension identifier into its capabilities (section 6.1).
// Unknown members are ignored.
type Announcement struct {
	// Versions of the specification that the server emits.
	Versions                                               []string `json:"versions"`
	// Which clients get documents (XMCP-MCP-005).
	Wire                                                   Wire     `json:"wire"`
}

// One audit record of a chat (spec section 10.4); a log has one on each line. Unknown
// members are ignored, and so are records of an unknown kind.
type AuditRecord struct {
	ChatID                                                             string          `json:"chat_id"`
	// Why the chat failed, or that it was cancelled.
	Error                                                              *ErrorInfo      `json:"error,omitempty"`
	// `chat_started`, `message`, `tool_call`, `usage` or `chat_ended`.
	Kind                                                               string          `json:"kind"`
	// A message of the history that the chat returned.
	Message                                                            *Message        `json:"message,omitempty"`
	// Counts the records of a chat from 0, without gaps.
	Sequence                                                           int64           `json:"sequence"`
	SessionID                                                          *string         `json:"session_id"`
	// Why the chat ended; null where it failed or was cancelled.
	StopReason                                                         *string         `json:"stop_reason,omitempty"`
	TenantID                                                           *string         `json:"tenant_id"`
	Timestamp                                                          string          `json:"timestamp"`
	ToolCall                                                           *ToolInvocation `json:"tool_call,omitempty"`
	Usage                                                              *UsageRecord    `json:"usage,omitempty"`
}

// Why the chat failed, or that it was cancelled.
//
// An error (spec chapter 4) as JSON.
type ErrorInfo struct {
	Category     string     `json:"category"`
	Code         string     `json:"code"`
	Message      string     `json:"message"`
	Meta         *ErrorMeta `json:"meta,omitempty"`
	RetryAfterMS *int64     `json:"retry_after_ms,omitempty"`
	Retryable    bool       `json:"retryable"`
}

// The JSON object in `<meta>` of an error (spec chapter 4). A reader ignores a member of
// the wrong type. The name of a member that is not listed has a vendor prefix,
// `vendor/name`.
type ErrorMeta struct {
	Cause                                                                                      *Cause                 `json:"cause,omitempty"`
	// Id under which the server's log has this failure.
	ErrorID                                                                                    *string                `json:"error_id,omitempty"`
	// One entry for each argument that was refused.
	Fields                                                                                     []FieldError           `json:"fields,omitempty"`
	// Pages that explain the failure.
	Help                                                                                       []HelpLink             `json:"help,omitempty"`
	Limit                                                                                      *Limit                 `json:"limit,omitempty"`
	// The message for the person, by language.
	Localized                                                                                  []LocalizedMessage     `json:"localized,omitempty"`
	// Every variable part of the message, so that no program has to parse the message.
	Params                                                                                     map[string]interface{} `json:"params,omitempty"`
	// What helps; if absent, the category decides.
	Recovery                                                                                   *Recovery              `json:"recovery,omitempty"`
	// Whether the failed call changed anything. Only with `none` is it safe to repeat the call
	// of any tool.
	SideEffects                                                                                *SideEffects           `json:"side_effects,omitempty"`
	// HTTP status of the service behind the tool, when there was one.
	UpstreamStatus                                                                             *int64                 `json:"upstream_status,omitempty"`
}

type Cause struct {
	Code string `json:"code"`
}

type FieldError struct {
	// What is wrong, for the model.
	Message                                                                                     string  `json:"message"`
	// JSON Pointer (RFC 6901) into the arguments; the empty string is the arguments as a whole.
	Pointer                                                                                     string  `json:"pointer"`
	// Short word for programs, for example `missing` or `wrong_type`.
	Reason                                                                                      *string `json:"reason,omitempty"`
}

type HelpLink struct {
	Title *string `json:"title,omitempty"`
	URL   string  `json:"url"`
}

type Limit struct {
	// What is counted, for example `requests` or `tokens`.
	Dimension                                              *string  `json:"dimension,omitempty"`
	Max                                                    *float64 `json:"max,omitempty"`
	ResetAt                                                *string  `json:"reset_at,omitempty"`
	// Whose limit it is, for example `tenant` or `server`.
	Scope                                                  *string  `json:"scope,omitempty"`
}

type LocalizedMessage struct {
	Locale  string `json:"locale"`
	Message string `json:"message"`
}

// A message of the history that the chat returned.
//
// One message in the format of OpenAI's chat completions.
type Message struct {
	Content    *MessageContent `json:"content,omitempty"`
	Role       MessageRole     `json:"role"`
	ToolCallID *string         `json:"tool_call_id,omitempty"`
	ToolCalls  []ToolCall      `json:"tool_calls,omitempty"`
}

type ToolCall struct {
	Function FunctionCall `json:"function"`
	ID       string       `json:"id"`
	Type     ToolCallType `json:"type"`
}

type FunctionCall struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

// One tool call, with all its attempts.
type ToolInvocation struct {
	// Arguments as the model wrote them; null if it did not write a JSON object.
	Arguments                                                                       map[string]interface{} `json:"arguments"`
	// How many attempts were begun, with or without an answer; 0 if there was none.
	Attempts                                                                        int64                  `json:"attempts"`
	Cached                                                                          *bool                  `json:"cached,omitempty"`
	CallID                                                                          string                 `json:"call_id"`
	Displayed                                                                       *bool                  `json:"displayed,omitempty"`
	DurationMS                                                                      float64                `json:"duration_ms"`
	ErrorCode                                                                       *string                `json:"error_code,omitempty"`
	Outcome                                                                         Outcome                `json:"outcome"`
	// The server whose tool it is; null where no server has it.
	Server                                                                          *string                `json:"server"`
	// The tool as the model knows it.
	ToolName                                                                        string                 `json:"tool_name"`
}

// What one request to a model used (spec section 10.3). A count or price that is not known
// is null. Unknown members are ignored.
type UsageRecord struct {
	// How many of the input tokens came from the vendor's cache.
	CachedTokens                                                                              *int64   `json:"cached_tokens"`
	// Price in US dollars; null where the price of the model is not known.
	CostUsd                                                                                   *float64 `json:"cost_usd"`
	// True where a count is an estimate of the client, because the vendor did not give it, as
	// for an answer that was not received to its end.
	Estimated                                                                                 *bool    `json:"estimated,omitempty"`
	// Tokens of the request, cached ones included. They are those that the vendor counted,
	// unless `estimated` is true.
	InputTokens                                                                               *int64   `json:"input_tokens"`
	Model                                                                                     string   `json:"model"`
	// Tokens of the answer, those of reasoning included.
	OutputTokens                                                                              *int64   `json:"output_tokens"`
	Provider                                                                                  string   `json:"provider"`
	// How many of the output tokens the model spent on reasoning. A record that lacks it says
	// as much as one with null.
	ReasoningTokens                                                                           *int64   `json:"reasoning_tokens,omitempty"`
	SessionID                                                                                 *string  `json:"session_id"`
	TenantID                                                                                  *string  `json:"tenant_id"`
	// When the request ended.
	Timestamp                                                                                 string   `json:"timestamp"`
}

// One event of a chat (spec section 10.2). Unknown members are ignored, and so are events
// of an unknown type.
type ChatEvent struct {
	// Arguments of a call; null if the model did not write a JSON object.
	Arguments                                                                                   map[string]interface{} `json:"arguments,omitempty"`
	// How many attempts have failed so far.
	Attempt                                                                                     *int64                 `json:"attempt,omitempty"`
	// The call the event is about.
	CallID                                                                                      *string                `json:"call_id,omitempty"`
	// The display to show to the person now.
	Envelope                                                                                    *DisplayEnvelope       `json:"envelope,omitempty"`
	Error                                                                                       *ErrorInfo             `json:"error,omitempty"`
	// The conversation up to the failure, to be passed to the next chat; absent where the
	// reader is not to see it.
	History                                                                                     []Message              `json:"history,omitempty"`
	// How far an attempt of the call is, in units of the server's own.
	Progress                                                                                    *float64               `json:"progress,omitempty"`
	Result                                                                                      *ChatResult            `json:"result,omitempty"`
	// Depends on the type: the next piece of the model's text or of its reasoning, the
	// arguments of a call as the model wrote them, what a server says of its progress, the text
	// of a result, or a warning.
	Text                                                                                        *string                `json:"text,omitempty"`
	// The tool as the model knows it.
	ToolName                                                                                    *string                `json:"tool_name,omitempty"`
	// What `progress` will be at the end, where the server knows it.
	Total                                                                                       *float64               `json:"total,omitempty"`
	// Number of the turn, counted from 1; 0 before the first request to the model.
	Turn                                                                                        int64                  `json:"turn"`
	// `llm_delta`, `llm_reasoning`, `tool_call`, `tool_started`, `tool_progress`,
	// `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage`, `done` or
	// `failed`.
	Type                                                                                        string                 `json:"type"`
	Usage                                                                                       *UsageRecord           `json:"usage,omitempty"`
	// The wait before the next attempt that the client plans, in milliseconds; a wait for a
	// slot comes on top.
	WaitMS                                                                                      *int64                 `json:"wait_ms,omitempty"`
}

// The display to show to the person now.
//
// A display for a person (spec chapter 3). Unknown members are ignored.
//
// Shown instead where the type is unknown.
type DisplayEnvelope struct {
	// The display in words, for terminals and screen readers.
	Alt                                                       *string                `json:"alt,omitempty"`
	// Shown instead where the type is unknown.
	Fallback                                                  *DisplayEnvelope       `json:"fallback,omitempty"`
	// A later display with the same id replaces this one.
	ID                                                        *string                `json:"id,omitempty"`
	// Additional information; absent rather than null.
	Meta                                                      map[string]interface{} `json:"meta,omitempty"`
	// The data to render, in the shape the type prescribes.
	Payload                                                   *DisplayPayload        `json:"payload"`
	// Heading, plain text.
	Title                                                     *string                `json:"title,omitempty"`
	// Kind of display: a registered type, or `x-vendor-name`.
	Type                                                      string                 `json:"type"`
}

// The result of a chat.
type ChatResult struct {
	// The model's final text; null if there is none.
	Answer                                                                                       *string           `json:"answer"`
	// The first of `displays` that a tool answered with; null if there is none.
	Display                                                                                      *DisplayEnvelope  `json:"display"`
	// All displays of the chat, by turn and, within a turn, in call order.
	Displays                                                                                     []DisplayEnvelope `json:"displays"`
	// The conversation, to be passed to the next chat; absent where the reader is not to see it.
	History                                                                                      []Message         `json:"history,omitempty"`
	// `stop`, `tool_calls`, `display`, `clarify`, `max_turns`, `timeout`, `length`,
	// `content_filter` or `empty`.
	StopReason                                                                                   string            `json:"stop_reason"`
	Usage                                                                                        UsageTotal        `json:"usage"`
}

// What all requests to models in a chat used: the sums of the figures that are known; null
// where none is.
type UsageTotal struct {
	CachedTokens    *int64   `json:"cached_tokens"`
	CostUsd         *float64 `json:"cost_usd,omitempty"`
	InputTokens     *int64   `json:"input_tokens"`
	LlmCalls        int64    `json:"llm_calls"`
	OutputTokens    *int64   `json:"output_tokens"`
	ReasoningTokens *int64   `json:"reasoning_tokens,omitempty"`
}

// The arguments of the tool `xmcp_conformance_emit` (spec section 1.7): what a tool is to
// return. `response` has the members that a response has in the wire vectors.
type ConformanceEmit struct {
	// The text of a further block, whose audience is the user alone. It comes with a
	// `llm_output` alone.
	ForUser                                                                                    *string                `json:"for_user,omitempty"`
	Response                                                                                   EmittedResponse        `json:"response"`
	// As for every display tool. The suite sets it to `true` where the response has a display.
	ShowUser                                                                                   *bool                  `json:"show_user,omitempty"`
	// The tool's data for programs. It comes with a `llm_output` alone.
	StructuredContent                                                                          map[string]interface{} `json:"structured_content,omitempty"`
}

// The text for the model or an error, and a display with either.
type EmittedResponse struct {
	Display                                                                                    *DisplayEnvelope `json:"display,omitempty"`
	Error                                                                                      *ErrorInfo       `json:"error,omitempty"`
	// The media type of that text; absent means `text/plain`.
	Format                                                                                     *string          `json:"format,omitempty"`
	// The text for the model; or, where it has surrogates that are not paired, its code units.
	LlmOutput                                                                                  *LlmOutput       `json:"llm_output,omitempty"`
	// Whether characters were replaced before the values reached the tool.
	Lossy                                                                                      *bool            `json:"lossy,omitempty"`
	// Whether that text was cut.
	Truncated                                                                                  *bool            `json:"truncated,omitempty"`
}

// Text as its UTF-16 code units in hexadecimal digits.
type CodeUnits struct {
	Surrogates []string `json:"$surrogates"`
}

// What a client puts under the extension identifier into its capabilities (section 6.1).
// Unknown members are ignored.
type Declaration struct {
	// The display types that the client's renderer knows.
	DisplayTypes                                                                     []string `json:"displayTypes,omitempty"`
	// False if the client reads plain results only (section 1.6). Absent means true.
	Documents                                                                        *bool    `json:"documents,omitempty"`
	// The size in bytes of UTF-8 of the largest document that the client accepts.
	MaxBytes                                                                         *int64   `json:"maxBytes,omitempty"`
	// Versions of the specification that the client reads.
	Versions                                                                         []string `json:"versions"`
}

// One event of a run of a gateway (spec section 10.6). Unknown members are ignored, and so
// are events of an unknown type.
type RunEvent struct {
	// What the event says; its members depend on the type.
	Data                                                                                      map[string]interface{} `json:"data"`
	// Place of the event among those of its attempt.
	Seq                                                                                       *int64                 `json:"seq,omitempty"`
	// `run.started`, `step.started`, `text.delta`, `tool.started` and so on; section 10.6 has
	// all of them.
	Type                                                                                      string                 `json:"type"`
}

// The JSON object in `<server_populated>` of a tool response (spec section 2.7): which
// parameters the server filled in for this call. Unknown members are ignored.
type ServerPopulated struct {
	// Parameters for which the caller sent a value that was not used.
	Overridden                                                                  []string               `json:"overridden,omitempty"`
	// Parameters that were filled in and whose value is not disclosed.
	Redacted                                                                    []string               `json:"redacted,omitempty"`
	// Maps the name of a parameter to the value with which the tool was called.
	Values                                                                      map[string]interface{} `json:"values,omitempty"`
}

// A stored conversation (spec section 10.5), which another process can continue. Unknown
// members are ignored.
type Snapshot struct {
	CreatedAt                                                  string                 `json:"created_at"`
	Format                                                     SnapshotFormat         `json:"format"`
	History                                                    []Message              `json:"history"`
	// Data of the application.
	Metadata                                                   map[string]interface{} `json:"metadata,omitempty"`
	SessionID                                                  *string                `json:"session_id,omitempty"`
	TenantID                                                   *string                `json:"tenant_id,omitempty"`
	Usage                                                      *UsageTotal            `json:"usage,omitempty"`
	// Version of this format; this schema describes version 1.
	Version                                                    int64                  `json:"version"`
}

// What a server says about a tool beyond MCP, under `<prefix>tool` in the tool's `_meta`
// (spec chapter 5). Unknown members are ignored.
type ToolMetadata struct {
	// True when a call with the same arguments can be answered from a cache.
	Cacheable                                                                                   *bool    `json:"cacheable,omitempty"`
	// Names of tools of the same server; their calls in the same turn come before a call of
	// this tool.
	DependsOn                                                                                   []string `json:"depends_on,omitempty"`
	// True when the tool can answer with a display; then its input schema has the boolean
	// property `show_user`.
	Display                                                                                     *bool    `json:"display,omitempty"`
	// Name of the parameter through which tools that depend on this one get its whole result.
	Provides                                                                                    *string  `json:"provides,omitempty"`
	// Parameters that the server fills in. They are not in the input schema.
	ServerPopulated                                                                             []string `json:"server_populated,omitempty"`
	// Name of the member of `structuredContent` that holds the tool's value, where the value is
	// no object.
	WrappedIn                                                                                   *string  `json:"wrapped_in,omitempty"`
	// Name of the formatter that writes `llm_output`, for people who read the list of tools.
	XMLFormatter                                                                                *string  `json:"xml_formatter,omitempty"`
}

// Which clients get documents (XMCP-MCP-005).
type Wire string

const (
	Always     Wire = "always"
	Negotiated Wire = "negotiated"
	Plain      Wire = "plain"
)

// What helps; if absent, the category decides.
type Recovery string

const (
	AskUser  Recovery = "ask_user"
	FixInput Recovery = "fix_input"
	GiveUp   Recovery = "give_up"
	Retry    Recovery = "retry"
)

// Whether the failed call changed anything. Only with `none` is it safe to repeat the call
// of any tool.
type SideEffects string

const (
	None    SideEffects = "none"
	Partial SideEffects = "partial"
	Unknown SideEffects = "unknown"
)

type MessageRole string

const (
	Assistant MessageRole = "assistant"
	Developer MessageRole = "developer"
	System    MessageRole = "system"
	Tool      MessageRole = "tool"
	User      MessageRole = "user"
)

type ToolCallType string

const (
	Function ToolCallType = "function"
)

type Outcome string

const (
	Cancelled Outcome = "cancelled"
	Error     Outcome = "error"
	Ok        Outcome = "ok"
)

type SnapshotFormat string

const (
	XmcpConversation SnapshotFormat = "xmcp-conversation"
)

type MessageContent struct {
	AnythingArray []interface{}
	String        *string
}

func (x *MessageContent) UnmarshalJSON(data []byte) error {
	x.AnythingArray = nil
	object, err := unmarshalUnion(data, nil, nil, nil, &x.String, true, &x.AnythingArray, false, nil, false, nil, false, nil, true)
	if err != nil {
		return err
	}
	if object {
	}
	return nil
}

func (x *MessageContent) MarshalJSON() ([]byte, error) {
	return marshalUnion(nil, nil, nil, x.String, x.AnythingArray != nil, x.AnythingArray, false, nil, false, nil, false, nil, true)
}

// The data to render, in the shape the type prescribes.
type DisplayPayload struct {
	AnythingArray []interface{}
	AnythingMap   map[string]interface{}
	String        *string
}

func (x *DisplayPayload) UnmarshalJSON(data []byte) error {
	x.AnythingArray = nil
	x.AnythingMap = nil
	object, err := unmarshalUnion(data, nil, nil, nil, &x.String, true, &x.AnythingArray, false, nil, true, &x.AnythingMap, false, nil, false)
	if err != nil {
		return err
	}
	if object {
	}
	return nil
}

func (x *DisplayPayload) MarshalJSON() ([]byte, error) {
	return marshalUnion(nil, nil, nil, x.String, x.AnythingArray != nil, x.AnythingArray, false, nil, x.AnythingMap != nil, x.AnythingMap, false, nil, false)
}

// The text for the model; or, where it has surrogates that are not paired, its code units.
type LlmOutput struct {
	CodeUnits *CodeUnits
	String    *string
}

func (x *LlmOutput) UnmarshalJSON(data []byte) error {
	x.CodeUnits = nil
	var c CodeUnits
	object, err := unmarshalUnion(data, nil, nil, nil, &x.String, false, nil, true, &c, false, nil, false, nil, false)
	if err != nil {
		return err
	}
	if object {
		x.CodeUnits = &c
	}
	return nil
}

func (x *LlmOutput) MarshalJSON() ([]byte, error) {
	return marshalUnion(nil, nil, nil, x.String, false, nil, x.CodeUnits != nil, x.CodeUnits, false, nil, false, nil, false)
}

func unmarshalUnion(data []byte, pi **int64, pf **float64, pb **bool, ps **string, haveArray bool, pa interface{}, haveObject bool, pc interface{}, haveMap bool, pm interface{}, haveEnum bool, pe interface{}, nullable bool) (bool, error) {
	if pi != nil {
			*pi = nil
	}
	if pf != nil {
			*pf = nil
	}
	if pb != nil {
			*pb = nil
	}
	if ps != nil {
			*ps = nil
	}

	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	tok, err := dec.Token()
	if err != nil {
			return false, err
	}

	switch v := tok.(type) {
	case json.Number:
			if pi != nil {
					i, err := v.Int64()
					if err == nil {
							*pi = &i
							return false, nil
					}
			}
			if pf != nil {
					f, err := v.Float64()
					if err == nil {
							*pf = &f
							return false, nil
					}
					return false, errors.New("Unparsable number")
			}
			return false, errors.New("Union does not contain number")
	case float64:
			return false, errors.New("Decoder should not return float64")
	case bool:
			if pb != nil {
					*pb = &v
					return false, nil
			}
			return false, errors.New("Union does not contain bool")
	case string:
			if haveEnum {
					return false, json.Unmarshal(data, pe)
			}
			if ps != nil {
					*ps = &v
					return false, nil
			}
			return false, errors.New("Union does not contain string")
	case nil:
			if nullable {
					return false, nil
			}
			return false, errors.New("Union does not contain null")
	case json.Delim:
			if v == '{' {
					if haveObject {
							return true, json.Unmarshal(data, pc)
					}
					if haveMap {
							return false, json.Unmarshal(data, pm)
					}
					return false, errors.New("Union does not contain object")
			}
			if v == '[' {
					if haveArray {
							return false, json.Unmarshal(data, pa)
					}
					return false, errors.New("Union does not contain array")
			}
			return false, errors.New("Cannot handle delimiter")
	}
	return false, errors.New("Cannot unmarshal union")
}

func marshalUnion(pi *int64, pf *float64, pb *bool, ps *string, haveArray bool, pa interface{}, haveObject bool, pc interface{}, haveMap bool, pm interface{}, haveEnum bool, pe interface{}, nullable bool) ([]byte, error) {
	if pi != nil {
			return json.Marshal(*pi)
	}
	if pf != nil {
			return json.Marshal(*pf)
	}
	if pb != nil {
			return json.Marshal(*pb)
	}
	if ps != nil {
			return json.Marshal(*ps)
	}
	if haveArray {
			return json.Marshal(pa)
	}
	if haveObject {
			return json.Marshal(pc)
	}
	if haveMap {
			return json.Marshal(pm)
	}
	if haveEnum {
			return json.Marshal(pe)
	}
	if nullable {
			return json.Marshal(nil)
	}
	return nil, errors.New("Union must not be null")
}

// Prefix of everything XMCP adds to MCP.
const Prefix = "io.github.xmcp-spec/"

// The MCP extension identifier.
const ExtensionID = "io.github.xmcp-spec/tool-response"

// Key of the tool metadata in a tool's `_meta`.
const ToolMetaKey = "io.github.xmcp-spec/tool"

// Key of form and version in a result's `_meta`.
const ResultMetaKey = "io.github.xmcp-spec/result"

// Key of the display in the `_meta` of a plain result.
const DisplayMetaKey = "io.github.xmcp-spec/display"

// Key of the error in a plain result's `_meta`.
const ErrorMetaKey = "io.github.xmcp-spec/error"

// Key of `server_populated` in a plain result's `_meta`.
const PopulatedMetaKey = "io.github.xmcp-spec/server_populated"

// URI of the view for hosts of MCP Apps (section 6.7).
const ViewUri = "ui://xmcp/display"

// The version of the specification these models are for.
const Version = "1.0"

// Regular expression of a name with a vendor prefix, whole.
const VendorKey = "[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+"
