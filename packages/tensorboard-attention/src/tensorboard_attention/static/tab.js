// The module that TensorBoard loads in a frame of its page; it calls `render`.

import { make } from "./charts.js";
import { pageHost, servedSource } from "./data.js";
import { mount } from "./viewer.js";

const PREFIX = "p.attention.";

export async function render() {
  const source = servedSource(import.meta.url);
  const ahead = [source.index()]; // requested while the style sheet loads
  ahead[0].catch(() => {}); // the viewer says it
  await styled("viewer.css");
  const index = () => ahead.pop() ?? source.index();
  new Tab(document.body, { ...source, index }, isFramed() ? tabHost() : pageHost());
}

function styled(name) {
  const style = make("link", { rel: "stylesheet", href: new URL(name, import.meta.url) });
  document.head.append(style);
  return new Promise((resolve) => {
    style.onload = resolve;
    style.onerror = resolve;
  });
}

// The viewer of what was recorded, below a line to type into where the run has a model. The page of a model comes from the
// program that trained it, and lives in a frame that shares nothing with this one.
class Tab {
  constructor(root, source, host) {
    Object.assign(this, { root, source });
    this.field = make("input", { type: "text", dir: "auto", "aria-label": "sentence for the model of this run", placeholder: "Type a sentence for the model of this run", spellcheck: "false" });
    const onsubmit = (event) => {
      event.preventDefault();
      this.ask();
    };
    this.line = make("form", { class: "attention typed", hidden: true, onsubmit }, this.field, make("button", {}, "ask the model"));
    this.below = make("div", {});
    root.replaceChildren(this.line, this.below);
    this.viewer = mount(this.below, source, { ...host, onPoint: (viewer) => this.offer(viewer) });
  }

  offer({ index, selection: { run } }) {
    this.run = run;
    this.line.hidden = !index.runs.find((each) => each.run === run).model;
  }

  ask() {
    const back = make("button", { type: "button", class: "back", onclick: () => this.goBack() }, "back to the records");
    const address = `${this.source.modelAddress(this.run)}#${new URLSearchParams({ text: this.field.value })}`;
    const frame = make("iframe", { title: `the model of ${this.run}`, src: address, sandbox: "allow-scripts allow-downloads" });
    this.root.replaceChildren(make("div", { class: "attention asked" }, make("div", { class: "typed" }, back, make("b", {}, `The model of ${this.run}`)), frame));
  }

  goBack() {
    this.root.replaceChildren(this.line, this.below);
    this.viewer.paint();
  }
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
