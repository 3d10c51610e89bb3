// A web page that is a host of MCP Apps, by the official bridge: the test drives it through `window.host`.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const frame = document.createElement("iframe");
frame.style.cssText = "width: 100%; height: 0; border: 0";

/** Every message of the view, as it came out of the frame. */
const wire = [];
/** What the view asked this host for, and how large it said that it is. */
const links = [];
const files = [];
const modes = [];
const sizes = [];

let bridge;

/** Puts the view into a frame, behind the proxy, and waits until it has shaken hands. */
async function start(proxy, html, capabilities, hostContext) {
  window.addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow && !data.method?.startsWith("ui/notifications/sandbox-")) wire.push(data);
  });
  bridge = new AppBridge(null, { name: "test-host", version: "1" }, capabilities, { hostContext });
  bridge.onopenlink = async ({ url }) => (links.push(url), {});
  bridge.ondownloadfile = async ({ contents }) => (files.push(...contents), {});
  bridge.onrequestdisplaymode = async ({ mode }) => (modes.push(mode), { mode });
  bridge.addEventListener("sizechange", (size) => {
    sizes.push(size);
    frame.style.height = `${size.height}px`;
  });
  const ready = new Promise((resolve) => bridge.addEventListener("sandboxready", resolve));
  const initialized = new Promise((resolve) => bridge.addEventListener("initialized", resolve));
  document.body.append(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = proxy;
  await ready;
  await bridge.sendSandboxResourceReady({ html, sandbox: "allow-scripts" });
  await initialized;
  return bridge.getAppVersion();
}

/** Puts the view into a frame as `start` does, and refuses its handshake. */
async function refuse(proxy, html) {
  document.body.append(frame);
  const refused = new Promise((resolve) => {
    window.addEventListener("message", ({ source, data: { id, method } }) => {
      const say = (message) => source.postMessage({ jsonrpc: "2.0", ...message }, "*");
      if (method === "ui/notifications/sandbox-proxy-ready") {
        say({ method: "ui/notifications/sandbox-resource-ready", params: { html, sandbox: "allow-scripts" } });
      } else if (method === "ui/initialize") {
        say({ id, error: { code: -32602, message: "this host speaks another version" } });
        resolve();
      }
    });
  });
  frame.src = proxy;
  await refused;
}

async function show(result) {
  await bridge.sendToolInput({ arguments: { show_user: true } });
  await bridge.sendToolResult(result);
}

window.host = {
  start,
  refuse,
  show,
  wire,
  links,
  files,
  modes,
  sizes,
  cancel: () => bridge.sendToolCancelled({ reason: "the person stopped it" }),
  context: (change) => bridge.sendHostContextChange(change),
  say: (message) => frame.contentWindow.postMessage(message, "*"),
  teardown: () => bridge.teardownResource({}),
};
