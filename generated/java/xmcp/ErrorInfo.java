// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import com.fasterxml.jackson.annotation.*;

/**
 * Why the chat failed, or that it was cancelled.
 *
 * An error (spec chapter 4) as JSON.
 */
public class ErrorInfo {
    private String category;
    private String code;
    private String message;
    private ErrorMeta meta;
    private Long retryAfterMS;
    private boolean retryable;

    @JsonProperty("category")
    public String getCategory() { return category; }
    @JsonProperty("category")
    public void setCategory(String value) { this.category = value; }

    @JsonProperty("code")
    public String getCode() { return code; }
    @JsonProperty("code")
    public void setCode(String value) { this.code = value; }

    @JsonProperty("message")
    public String getMessage() { return message; }
    @JsonProperty("message")
    public void setMessage(String value) { this.message = value; }

    @JsonProperty("meta")
    public ErrorMeta getMeta() { return meta; }
    @JsonProperty("meta")
    public void setMeta(ErrorMeta value) { this.meta = value; }

    @JsonProperty("retry_after_ms")
    public Long getRetryAfterMS() { return retryAfterMS; }
    @JsonProperty("retry_after_ms")
    public void setRetryAfterMS(Long value) { this.retryAfterMS = value; }

    @JsonProperty("retryable")
    public boolean getRetryable() { return retryable; }
    @JsonProperty("retryable")
    public void setRetryable(boolean value) { this.retryable = value; }
}
