// The page that translates: a line to type into, what the model makes of it, and the viewer below.

import { Translator } from "./translator.js";
import { UNKNOWN_ID } from "./vocabulary.js";
import { pageHost } from "./address.js";
import { AskPanel, asking, isAsked, nothingAsked } from "./asking.js";
import { picker } from "./controls.js";
import { formatNumber } from "./facts.js";
import { glassParts } from "./glass.js";
import { make } from "./paint.js";
import { labelOf } from "./tokens.js";
import { treeChart } from "./tree.js";
import { mount } from "./viewer.js";

const [ALONE, ASKED] = ["the model alone", "as asked"];
const BEAMS = { greedy: 1, beam: 5 };
const ALPHA = 0.6; // of the penalty gnmt

export function translating(root) {
  const data = JSON.parse(document.getElementById("attention-data").textContent);
  return new TranslatingPage(root, { ...data, title: document.title }, pageHost());
}

export class TranslatingPage {
  constructor(root, data, host) {
    this.page = host;
    this.translator = new Translator(data.model);
    this.data = data;
    this.turn = 0;
    this.build(root);
    this.read(host.read().get("text") ?? data.sentence);
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
    this.alone = make("p", { class: "alone", hidden: true });
    this.panel = new AskPanel({
      words: (ids) => this.ask((question) => question.words(ids)),
      text: (text) => this.askText(text),
      weights: (weights) => this.ask((question) => question.weights(weights)),
      nothing: () => this.ask((question) => question.nothing()),
    });
    this.glass = make("details", { class: "more", ontoggle: () => this.showMore() }, make("summary", {}, "One step under the glass"), make("div", {}));
    this.tree = make("details", { class: "more", ontoggle: () => this.showMore() }, make("summary", {}, "The tree of the search"), make("div", {}));
    const size = `${(this.translator.network.numParameters / 1e6).toFixed(1)} million weights in this page; nothing leaves it`;
    const sides = make("div", { class: "sides" }, make("label", {}, make("span", {}, model.source.language), this.line), make("div", {}, make("span", {}, model.target.language), this.said));
    const head = make("div", { class: "head" }, make("h1", {}, this.data.title), make("span", {}, size), make("span", { class: "space" }), this.penalty.node);
    root.append(make("div", { class: "translating" }, make("section", { class: "attention asks" }, head, sides, this.warning, this.words, this.alone, this.panel.node), this.below, make("section", { class: "attention" }, this.glass, this.tree)));
  }

  type(text) {
    this.read(text);
    return this.viewer.load();
  }

  read(text) {
    if (this.line.value !== text) this.line.value = text;
    this.sentence = this.translator.read(text.replace(/\s*\n\s*/gu, " "));
    this.refresh(nothingAsked());
    this.warn();
    if (this.sentence) return;
    this.said.textContent = "";
    this.words.replaceChildren();
    this.panel.show(null);
  }

  // What was found so far is of the past.
  refresh(asks) {
    this.asks = asks;
    this.turn += 1;
    this.found = new Map();
  }

  // Ask something at the word that is chosen; the viewer shows the answer.
  ask(change) {
    const { translation, row } = this.question;
    this.refresh(change(asking(this.asks, translation.ids, row)));
    this.viewer.state.with = isAsked(this.asks) ? ALONE : null;
    this.viewer.state.run = null;
    return this.viewer.load();
  }

  askText(text) {
    const { ids, unknown } = this.translator.target.read(text);
    if (!ids.includes(UNKNOWN_ID)) return this.ask((question) => question.words(ids));
    return this.warn(`It cannot say ${unknown.join(", ")}: the vocabulary lacks that.`);
  }

  warn(more = "") {
    const { unknown = [], numLeft = 0 } = this.sentence ?? {};
    const parts = [more, unknown.length ? `The model does not know ${unknown.join(", ")}.` : "", numLeft ? `The last ${numLeft} tokens are left out.` : ""];
    this.warning.textContent = parts.join(" ");
    this.warning.hidden = !parts.some(Boolean);
  }

  // Each translation is made when the viewer asks for it.
  translation(run, kind) {
    const key = `${run} ${kind}`;
    const { prefix, weights } = run === ASKED ? this.asks : nothingAsked();
    const options = { beam: BEAMS[kind], penalty: this.penalty.node.querySelector("select").value, alpha: ALPHA, prefix, weights };
    if (!this.found.has(key)) this.found.set(key, this.translator.translate(this.sentence, options));
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
    if (!this.sentence) return [];
    return isAsked(this.asks) ? [ASKED, ALONE] : [ALONE];
  }

  host() {
    const host = this.page;
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

  // What the viewer shows, word by word; the one that it points at can be asked.
  show({ shown: [{ run }], selection: { kind }, focus, pinned, theme }) {
    const row = pinned ? (focus?.row ?? null) : null;
    const state = JSON.stringify([this.turn, run, kind, row, theme.dark]);
    if (state === this.state) return;
    Object.assign(this, { state, theme, question: this.questionAt(run, kind, row) });
    this.page.onTranslated?.(this.question.translation.source);
    this.penalty.node.hidden = kind === "greedy";
    this.said.textContent = this.question.translation.text;
    this.showWords(row, run === ASKED);
    this.showAlone(run === ASKED, kind);
    this.panel.show(row === null ? null : this.question);
    this.showMore();
  }

  // The step that chose a word, the first where none is chosen.
  questionAt(run, kind, row) {
    const { translator, sentence: { memory }, asks } = this;
    const translation = this.translation(run, kind);
    const { parent } = translation.path[row ?? 0];
    const isGiven = run === ASKED && asks.weights.has(row);
    const before = parent.parent?.made.states ?? translator.network.start(memory);
    const plain = isGiven ? translator.network.step(memory, before, parent.token) : parent.made;
    const isTouched = isGiven || (run === ASKED && asks.words.has(row));
    return { row: row ?? 0, made: parent.made, plain, isTouched, translation, memory, network: translator.network, tokens: translator.target.tokens };
  }

  showWords(row, asked) {
    const { path, target } = this.question.translation;
    const isSet = (place) => asked && (this.asks.words.has(place) || this.asks.weights.has(place));
    const words = path.map(({ score, parent }, place) => {
      const probability = Math.exp(score - parent.score);
      const attributes = { class: isSet(place) ? "word set" : "word", "aria-pressed": String(place === row), title: `probability ${formatNumber(probability, 4)}: click to ask` };
      return make("button", { type: "button", ...attributes, onclick: () => this.choose(place === row ? null : place) }, make("bdi", {}, labelOf(target[place])), make("small", {}, `${Math.round(100 * probability)} %`));
    });
    const held = [...this.words.children].indexOf(document.activeElement);
    const hint = row === null ? make("span", { class: "hint" }, "Click a word to ask about it.") : null;
    this.words.replaceChildren(...[...words, hint].filter(Boolean));
    words[held]?.focus();
  }

  showAlone(asked, kind) {
    this.alone.hidden = !asked;
    if (!asked) return;
    const again = make("button", { type: "button", onclick: () => this.ask(nothingAsked) }, "start again");
    this.alone.replaceChildren("The model alone says ", make("b", { dir: "auto" }, this.translation(ALONE, kind).text), again);
  }

  // The parts below cost time only while they are open.
  showMore(focused = null) {
    const { question, theme } = this;
    if (!question) return;
    if (this.glass.open) this.glass.lastChild.replaceChildren(...glassParts(question, focused, (place) => this.showMore(place), theme));
    if (this.tree.open) this.tree.lastChild.replaceChildren(treeChart(question.translation, question.tokens, theme));
  }

  choose(row) {
    this.viewer.pinned = row !== null;
    this.viewer.point(row === null ? null : { row, column: null });
  }
}
