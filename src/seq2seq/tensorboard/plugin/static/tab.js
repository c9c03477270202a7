// The way into TensorBoard, which shows this module in a frame of its own page and calls `render`.

import { servedSource } from "./frames.js";
import { mount } from "./viewer.js";
import { pageHost } from "./address.js";

const PREFIX = "p.attention.";

export async function render() {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("viewer.css", import.meta.url);
  document.head.append(style);
  await new Promise((resolve) => {
    style.onload = resolve;
    style.onerror = resolve;
  });
  mount(document.body, servedSource(import.meta.url), isFramed() ? tabHost() : pageHost());
}

function isFramed() {
  return window.parent !== window && window.frameElement !== null;
}

// TensorBoard's page: its address carries our state, its class says light or dark, and it tells
// when it has reloaded.
function tabHost() {
  const page = window.parent;
  return {
    read: () => ownParameters(page.location.hash),
    write: (parameters) => page.history.replaceState(page.history.state, "", hashWith(page.location.hash, parameters)),
    link: () => page.location.href,
    isDark: () => page.document.body.classList.contains("dark-mode"),
    onTheme: (react) =>
      new MutationObserver(react).observe(page.document.body, { attributeFilter: ["class"] }),
    onReload: listenForReloads,
    onAddress: (react) => page.addEventListener("hashchange", react),
  };
}

function ownParameters(hash) {
  const own = new URLSearchParams();
  for (const [key, value] of pairsOf(hash)) if (key.startsWith(PREFIX)) own.set(key.slice(PREFIX.length), value);
  return own;
}

function pairsOf(hash) {
  return hash
    .slice(1)
    .split("&")
    .filter((part) => part.includes("="))
    .map((part) => part.split(/=(.*)/s).slice(0, 2).map(decoded));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// TensorBoard's own parts of its hash stay as they are.
function hashWith(hash, parameters) {
  const others = hash.slice(1).split("&").filter((part) => part && !part.startsWith(PREFIX));
  const own = [...parameters].map(([key, value]) => `${PREFIX}${key}=${encodeURIComponent(value)}`);
  return `#${[...(others.length ? others : ["attention"]), ...own].join("&")}`;
}

// TensorBoard's message port for plugins in frames.
function listenForReloads(react) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.isReply) return;
    port1.postMessage(JSON.stringify({ type: message.type, id: message.id, payload: null, error: null, isReply: true }));
    if (message.type === "experimental.DataReloaded") react();
  };
  window.parent.postMessage("experimental.bootstrap", window.location.origin, [port2]);
}
