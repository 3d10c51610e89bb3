// The parts of the view for hosts of MCP Apps that need no page; `test_apps_parts.py` runs this file in Node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "../../../web/src/apps/document.ts";
import { HostConnection, type View } from "../../../web/src/apps/host.ts";
import { afterChange, type HostContext, NO_CONTEXT } from "../../../web/src/apps/host_context.ts";
import { shownResult } from "../../../web/src/apps/shown_result.ts";
import { DISPLAY_META_KEY as DISPLAY, ERROR_META_KEY as ERROR } from "../../../web/src/view/tables.generated.ts";


// -- the conversation ------------------------------------------------------------------------------------------------

type Sent = {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number };
};

class Conversation implements View {
  readonly sent: Sent[] = [];
  readonly results: unknown[] = [];
  readonly contexts: HostContext[] = [];
  cancelled = 0;
  closed = 0;
  readonly host = new HostConnection((message) => this.sent.push(message), this);

  resultArrived(result: unknown): void {
    this.results.push(result);
  }
  callCancelled(): void {
    this.cancelled++;
  }
  contextChanged(context: HostContext): void {
    this.contexts.push(context);
  }
  closing(): void {
    this.closed++;
  }
  hears(message: object): void {
    this.host.receive({ jsonrpc: "2.0", ...message });
  }
  get last(): Sent | undefined {
    return this.sent.at(-1);
  }
}

function opened(hostCapabilities: object = {}, hostContext: object = {}): Conversation {
  const view = new Conversation();
  view.host.open("1");
  view.hears({ id: view.last?.id, result: { protocolVersion: "2026-01-26", hostCapabilities, hostContext } });
  return view;
}

const ALL = { openLinks: {}, downloadFile: {} };
const FULLSCREEN = { availableDisplayModes: ["inline", "fullscreen"] };

test("the view shakes hands, and says what it can", () => {
  const view = opened({}, { theme: "dark" });
  assert.deepEqual(view.sent, [
    {
      jsonrpc: "2.0",
      id: 1,
      method: "ui/initialize",
      params: {
        protocolVersion: "2026-01-26",
        appInfo: { name: "xmcp-display", version: "1" },
        appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
      },
    },
    { jsonrpc: "2.0", method: "ui/notifications/initialized", params: {} },
  ]);
  assert.deepEqual(
    view.contexts.map(({ theme }) => theme),
    ["dark"],
  );
});

test("a host that answers nothing, or nonsense, breaks nothing", () => {
  for (const result of [undefined, null, "yes", [], {}, { hostCapabilities: 7, hostContext: [] }]) {
    const view = new Conversation();
    view.host.open("1");
    view.hears({ id: 1, result });
    assert.equal(view.host.canOpenLinks || view.host.canSaveFiles || view.host.canFillTheScreen, false);
  }
  const view = new Conversation();
  for (const message of [null, 7, "x", [], {}, { jsonrpc: "1.0", method: "ping", id: 1 }]) view.host.receive(message);
  view.hears({ id: 99, result: {} });
  view.hears({ method: 7 });
  view.hears({ id: {}, method: "ping" });
  assert.deepEqual(view.sent, []);
});

test("what the host tells reaches the view", () => {
  const view = opened();
  view.hears({ method: "ui/notifications/tool-input", params: { arguments: {} } });
  view.hears({ method: "ui/notifications/tool-input-partial", params: { arguments: {} } });
  view.hears({ method: "ui/notifications/tool-result", params: { content: [] } });
  view.hears({ method: "ui/notifications/tool-cancelled", params: { reason: "stopped" } });
  view.hears({ method: "ui/notifications/host-context-changed", params: { locale: "de" } });
  view.hears({ method: "ui/notifications/no-such-thing" });
  assert.deepEqual(view.results, [{ content: [] }]);
  assert.equal(view.cancelled, 1);
  assert.equal(view.contexts.at(-1)?.locale, "de");
});

test("requests of the host are answered, those that nobody knows with -32601", () => {
  const view = opened();
  view.hears({ id: "a", method: "ping" });
  assert.deepEqual(view.last, { jsonrpc: "2.0", id: "a", result: {} });
  for (const method of ["tools/call", "tools/list", "ui/open-link", "sampling/createMessage", "__proto__"]) {
    view.hears({ id: 5, method, params: {} });
    assert.equal(view.last?.error?.code, -32601);
    assert.equal(view.last?.id, 5);
  }
});

test("after the teardown nothing is sent or heard", () => {
  const view = opened(ALL, FULLSCREEN);
  view.hears({ id: 1, method: "ui/resource-teardown", params: {} });
  assert.deepEqual(view.last, { jsonrpc: "2.0", id: 1, result: {} });
  const sent = view.sent.length;
  view.hears({ method: "ui/notifications/tool-result", params: {} });
  view.hears({ id: 2, method: "ping" });
  view.host.openLink("https://a.example");
  view.host.sizeChanged(1, 1);
  assert.equal(view.sent.length, sent);
  assert.deepEqual([view.closed, view.results.length], [1, 0]);
});

test("links, files and the screen are asked for where the host has them, and nowhere else", () => {
  const without = opened();
  const sent = without.sent.length;
  without.host.openLink("https://a.example");
  without.host.saveFile("a.csv", "text/csv", "a");
  without.host.toggleFullscreen();
  assert.equal(without.sent.length, sent);

  const view = opened(ALL, FULLSCREEN);
  view.host.openLink("https://a.example/?q=1");
  assert.deepEqual(view.last?.params, { url: "https://a.example/?q=1" });
  view.host.saveFile("../a b.csv", "text/csv", "x;y");
  assert.deepEqual(view.last?.params, {
    contents: [{ type: "resource", resource: { uri: "file:///..%2Fa%20b.csv", mimeType: "text/csv", text: "x;y" } }],
  });
  view.host.toggleFullscreen();
  assert.deepEqual([view.last?.method, view.last?.params], ["ui/request-display-mode", { mode: "fullscreen" }]);
  view.hears({ id: view.last?.id, result: { mode: "fullscreen" } });
  view.host.toggleFullscreen();
  assert.deepEqual(view.last?.params, { mode: "inline" });
});

test("a host that never answers is asked again each time that the person presses", () => {
  const view = opened(ALL, FULLSCREEN);
  for (let i = 0; i < 100; i++) {
    view.host.openLink("https://a.example");
    view.host.saveFile("a.csv", "text/csv", "a");
    view.host.toggleFullscreen();
  }
  assert.equal(view.sent.length, 2 + 300);
  view.hears({ id: view.last?.id, result: { mode: "fullscreen" } });
  assert.equal(view.contexts.at(-1)?.displayMode, "fullscreen");
});

// -- what the host says of itself ------------------------------------------------------------------------------------

test("a change of the context has some of its members, and what is not right changes nothing", () => {
  const dark = afterChange(NO_CONTEXT, { theme: "dark", locale: "fr-CA", displayMode: "pip", ...FULLSCREEN });
  const later = afterChange(dark, { theme: "sepia", locale: "fr\n", displayMode: 3, availableDisplayModes: "all" });
  assert.deepEqual(later, dark);
  for (const change of [null, undefined, 7, [], "dark"]) assert.equal(afterChange(dark, change), dark);
  assert.equal(afterChange(dark, { theme: "light" }).locale, "fr-CA");
});

test("variables of the style are taken over one by one, and only harmless ones", () => {
  const variables = {
    "--color-text-primary": "light-dark(#171717, #fafafa)",
    "--font-sans": '"Acme Sans", sans-serif',
    "--shadow-sm": "0 1px 2px rgb(0 0 0 / 0.1)",
  };
  const evil = {
    "--color-a": "url(https://evil.example)",
    "--color-b": "red; background: red",
    "--color-c": "} * { color: red",
    "--color-d": "image-set('https://evil.example' 1x)",
    "--color-e": "u\\72l(https://evil.example)",
    "--color-f": "URL(https://evil.example)",
    "--color-g": "a".repeat(501),
    "--color-h": 7,
    "--color-i": null,
    "--color-J": "red",
    "--x-color": "red",
    color: "red",
    "--color-k": "u/**/rl(https://evil.example)",
  };
  const context = afterChange(NO_CONTEXT, { styles: { variables: { ...variables, ...evil } } });
  assert.deepEqual(Object.fromEntries(context.variables), variables);
  const later = afterChange(context, { styles: { variables: { "--font-sans": "serif" } } });
  assert.deepEqual(Object.fromEntries(later.variables), { ...variables, "--font-sans": "serif" });
  for (const styles of [null, 7, { variables: 7 }, { css: { fonts: "@import url(https://evil.example)" } }]) {
    assert.equal(afterChange(context, { styles }).variables, context.variables);
  }
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`--color-${i}`, "red"]));
  assert.equal(afterChange(NO_CONTEXT, { styles: { variables: many } }).variables.size, 300);
});

test("the safe area is bounded", () => {
  const { safeArea } = afterChange(NO_CONTEXT, { safeAreaInsets: { top: 20, right: -5, bottom: 1e9, left: "8px" } });
  assert.deepEqual(safeArea, { top: 20, right: 0, bottom: 200, left: 0 });
});

// -- which envelope --------------------------------------------------------------------------------------------------

const SHOWN = { type: "markdown", payload: "**a**" };
const text = (...texts: string[]) => texts.map((one) => ({ type: "text", text: one }));
const document = (parts: string) => `<tool_response tool_name="t" version="1.0">${parts}</tool_response>`;
const inDocument = (envelope: unknown) =>
  document(`<llm_output>a</llm_output><display>${JSON.stringify(envelope)}</display>`);

test("a display is taken from the first place that has one", () => {
  const other = { type: "text", payload: "another" };
  assert.deepEqual(shownResult({ content: text("a"), _meta: { [DISPLAY]: SHOWN } }), SHOWN);
  assert.deepEqual(
    shownResult({
      content: text(inDocument(other)),
      structuredContent: { [DISPLAY]: other },
      _meta: { [DISPLAY]: SHOWN },
    }),
    SHOWN,
  );
  assert.deepEqual(shownResult({ content: text(inDocument(other)), structuredContent: { [DISPLAY]: SHOWN } }), SHOWN);
  assert.deepEqual(shownResult({ content: text(inDocument(SHOWN)), structuredContent: { rows: [] } }), SHOWN);
  assert.deepEqual(shownResult({ content: text(inDocument(SHOWN), "a note"), _meta: { [DISPLAY]: "no" } }), SHOWN);
});

test("a result without a display is shown as its text", () => {
  const say = (payload: string) => ({ type: "text", payload });
  assert.deepEqual(shownResult({ content: text("one", "two") }), say("one\ntwo"));
  assert.deepEqual(shownResult({ content: text(document("<llm_output>a &lt; b</llm_output>")) }), say("a < b"));
  assert.deepEqual(shownResult({ content: [{ type: "image", data: "" }] }), say("(the tool returned no text)"));
  for (const nothing of [undefined, null, 7, "x", [], {}, { content: 7 }, { content: [null, 7, { text: 7 }] }]) {
    assert.deepEqual(shownResult(nothing), say("(the tool returned no text)"));
  }
  const broken = document("<llm_output>a</display>");
  assert.deepEqual(shownResult({ content: text(broken) }), say(broken));
  assert.deepEqual(
    shownResult({ content: text(document("<llm_output>a</llm_output><display>{</display>")) }),
    say("a"),
  );
});

test("a failure is shown as one, in the words of the server", () => {
  const failure = (message: string) => ({ type: "notification", payload: { level: "error", message } });
  const error = { code: "DB_TIMEOUT", message: "too slow", retryable: true };
  assert.deepEqual(
    shownResult({ isError: true, content: text("DB_TIMEOUT: x"), _meta: { [ERROR]: error } }),
    failure("too slow"),
  );
  assert.deepEqual(shownResult({ isError: true, content: text("it broke") }), failure("it broke"));
  const written = document('<error code="X_A" retryable="false">it &amp; all<meta>{}</meta></error>');
  assert.deepEqual(shownResult({ content: text(written) }), failure("it & all"));
  assert.deepEqual(shownResult({ isError: true }), failure("The tool failed."));
  assert.deepEqual(shownResult({ isError: true, _meta: { [ERROR]: { message: 7 } } }), failure("The tool failed."));
});

// -- documents -------------------------------------------------------------------------------------------------------

test("the parts of a document are read as XML has them", () => {
  const read = (xml: string) => Object.fromEntries(partsOf(xml) ?? [["", "no document"]]);
  assert.deepEqual(read(document("<llm_output/><display>{}</display>")), { llm_output: "", display: "{}" });
  assert.deepEqual(read(` <?xml version="1.0" encoding="UTF-8"?>\n${document("<a>x</a>")}\n`), { a: "x" });
  assert.deepEqual(read(document("<a>1<![CDATA[<b>&amp;]]>2</a>")), { a: "1<b>&amp;2" });
  assert.deepEqual(read(document("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&nope;&#x110000;</a>")), {
    a: "<>&\"'A\u{1F600}&nope;&#x110000;",
  });
  assert.deepEqual(read(document(`<a x="1 > 0" y='"'>1<b>2<c/></b>3</a><a>4</a>`)), { a: "13" });
  assert.deepEqual(read(document("<!-- <display>{}</display> --><a>b<!-- c -->d</a>")), { a: "bd" });
  assert.deepEqual(read(document("<__proto__>x</__proto__>")), Object.fromEntries([["__proto__", "x"]]));
});

test("what is no document has no parts", () => {
  for (const xml of [
    "",
    "hello",
    "<display>{}</display>",
    "<tool_responses><display>{}</display></tool_responses>",
    document("<display>{}</display>").slice(0, -1),
    document("<display>{}"),
    document("<a></b>"),
    document("<a><![CDATA[</a>"),
    document("<!-- "),
    document("<a b></a>"),
    document("a < b"),
    `${document("")}<more/>`,
    `${document("")}more`,
    "<tool_response>",
    "<tool_response",
    document("<a>".repeat(100) + "</a>".repeat(100)),
  ]) {
    assert.equal(partsOf(xml), null, xml);
  }
});

test("a hostile document is given up at once", () => {
  // In quadratic time, this would take so long that Node is stopped.
  for (const piece of ["<", "<a ", "<a b='", "&", "&#", "<!--", "<![CDATA[", "<a>", " ", "<a b='c' ", "]]>", "\t\n"]) {
    const hostile = piece.repeat(400_000);
    for (const xml of [hostile, `<tool_response>${hostile}`, `<tool_response ${hostile}`])
      assert.equal(partsOf(xml), null);
  }
});
