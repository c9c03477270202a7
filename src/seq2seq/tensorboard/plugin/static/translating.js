// The page that translates: a line to type into, what the model makes of it, and the viewer below.

import { Translator } from "./translator.js";
import { pageHost } from "./address.js";
import { picker } from "./controls.js";
import { formatNumber } from "./facts.js";
import { make } from "./paint.js";
import { labelOf } from "./tokens.js";
import { mount } from "./viewer.js";

const [ALONE, ASKED] = ["the model alone", "as asked"];
const BEAMS = { greedy: 1, beam: 5 };
const ALPHA = 0.6; // of the penalty gnmt

export function translating(root) {
  const data = JSON.parse(document.getElementById("attention-data").textContent);
  return new TranslatingPage(root, data);
}

class TranslatingPage {
  constructor(root, data) {
    this.translator = new Translator(data.model);
    this.data = data;
    this.turn = 0;
    this.build(root);
    this.read(pageHost().read().get("text") ?? data.sentence);
    this.viewer = mount(this.below, this.source(), this.host());
  }

  build(root) {
    const { model } = this.data;
    this.line = make("textarea", { rows: 2, "aria-label": "sentence to translate", placeholder: "Type a sentence", spellcheck: "false", lang: model.source.language, oninput: () => this.type(this.line.value) });
    this.said = make("output", { class: "said", lang: model.target.language, dir: "auto" });
    this.words = make("div", { class: "words", role: "group", "aria-label": "words of the translation" });
    this.warning = make("p", { class: "message", role: "status", hidden: true });
    this.penalty = picker("length penalty of the beam", () => this.type(this.line.value));
    this.penalty.set("average", ["average", "none", "gnmt"].map((name) => [name, name]));
    this.below = make("div", {});
    const size = `${(this.translator.network.numParameters / 1e6).toFixed(1)} million weights in this page; nothing leaves it`;
    const sides = make("div", { class: "sides" }, make("label", {}, make("span", {}, model.source.language), this.line), make("div", {}, make("span", {}, model.target.language), this.said));
    const head = make("div", { class: "head" }, make("h1", {}, document.title), make("span", {}, size), make("span", { class: "space" }), this.penalty.node);
    root.append(make("div", { class: "translating" }, make("section", { class: "attention asks" }, head, sides, this.warning, this.words), this.below));
  }

  type(text) {
    this.read(text);
    return this.viewer.load();
  }

  read(text) {
    if (this.line.value !== text) this.line.value = text;
    this.sentence = this.translator.read(text.replace(/\s*\n\s*/gu, " "));
    this.refresh();
    this.warn();
    if (this.sentence) return;
    this.said.textContent = "";
    this.words.replaceChildren();
  }

  // What was found so far is of the past.
  refresh() {
    this.turn += 1;
    this.found = new Map();
  }

  warn() {
    const { unknown = [], numLeft = 0 } = this.sentence ?? {};
    const parts = [unknown.length ? `The model does not know ${unknown.join(", ")}.` : "", numLeft ? `The last ${numLeft} tokens are left out.` : ""];
    this.warning.textContent = parts.join(" ");
    this.warning.hidden = !parts.some(Boolean);
  }

  // Each translation is made when the viewer asks for it.
  translation(run, kind) {
    const key = `${run} ${kind}`;
    if (!this.found.has(key)) this.found.set(key, this.translator.translate(this.sentence, { beam: BEAMS[kind], penalty: this.penalty.node.querySelector("select").value, alpha: ALPHA }));
    return this.found.get(key);
  }

  source() {
    const tag = (kind) => ({ tag: kind, kind, sentence: "", rank: 0, text: "", max_step: null, wall_time: this.turn });
    const { colours, difference } = this.data.colours;
    return {
      grows: false,
      nothing: "Its attention appears here while you type.",
      index: async () => ({ problems: [], colours, difference, runs: this.runs().map((run) => ({ run, tags: Object.keys(BEAMS).map(tag) })) }),
      view: async (run, kind) => {
        const { source, target, weights, score } = this.translation(run, kind);
        return { problems: [], steps: [null], frames: [{ step: null, score, bleu: null, source, target, links: null, weights }] };
      },
    };
  }

  runs() {
    return this.sentence ? [ALONE] : [];
  }

  host() {
    const host = pageHost();
    const write = (parameters) => {
      if (this.line.value !== this.data.sentence) parameters.set("text", this.line.value);
      host.write(parameters);
    };
    const onAddress = (react) =>
      host.onAddress(() => {
        this.read(host.read().get("text") ?? this.data.sentence);
        react();
      });
    return { ...host, write, onAddress, onPoint: (viewer) => this.show(viewer) };
  }

  // What the viewer shows, word by word; the one that it points at stands out.
  show({ shown: [{ run }], selection, focus, pinned }) {
    const translation = this.translation(run, selection.kind);
    const row = pinned ? (focus?.row ?? null) : null;
    this.penalty.node.hidden = selection.kind === "greedy";
    this.said.textContent = translation.text;
    const words = translation.path.map(({ score, parent, token }, place) => {
      const probability = Math.exp(score - parent.score);
      return make("button", { type: "button", class: "word", "aria-pressed": String(place === row), title: `probability ${formatNumber(probability, 4)}`, onclick: () => this.choose(place === row ? null : place) }, make("bdi", {}, labelOf(translation.target[place])), make("small", {}, `${Math.round(100 * probability)} %`));
    });
    const held = [...this.words.children].indexOf(document.activeElement);
    this.words.replaceChildren(...words);
    words[held]?.focus();
  }

  choose(row) {
    this.viewer.pinned = row !== null;
    this.viewer.point(row === null ? null : { row, column: null });
  }
}
