import { FONT, draw, labelOf, make, tokenText } from "tensorboard_attention/static/charts.js";
import { pageHost } from "tensorboard_attention/static/data.js";
import { BEGIN_ID, PADDING_ID, Translator, UNKNOWN_ID, likeliest } from "./model.js";
import { formatNumber, mount, picker } from "tensorboard_attention/static/viewer.js";

// The page that translates: another word or other weights at a position, one step of the decoder, the search tree.

// ---- Another word at a position of the translation, or other weights

const NUM_LIKELY = 10;

// Weights that sum to one with the one at a place set to a value; the others keep their proportions.
function withWeight(weights, place, value) {
  const rest = weights.reduce((sum, weight, at) => (at === place ? sum : sum + weight), 0);
  const share = (weight) => (rest > 0 ? (weight / rest) * (1 - value) : (1 - value) / Math.max(1, weights.length - 1));
  return weights.map((weight, at) => (at === place ? value : share(weight)));
}

const even = (weights) => weights.map(() => 1 / weights.length);

// The changes so far: ids that the translation begins with, weights by place, places of words that were set.
function nothingAsked() {
  return { prefix: [], weights: new Map(), words: new Set() };
}

function isAsked({ prefix, weights }) {
  return prefix.length > 0 || weights.size > 0;
}

// A change at a place removes those at later places, whose words it may change.
function asking({ weights, words }, ids, row) {
  const before = (place) => place < row;
  const kept = { prefix: ids.slice(0, row), weights: new Map([...weights].filter(([place]) => before(place))), words: new Set([...words].filter(before)) };
  return {
    weights: (given) => ({ ...kept, weights: kept.weights.set(row, given) }),
    words: (tokens) => ({
      prefix: [...kept.prefix, ...tokens],
      weights: weights.has(row) ? kept.weights.set(row, weights.get(row)) : kept.weights,
      words: new Set([...kept.words, ...tokens.map((_, place) => row + place)]),
    }),
    nothing: () => (kept.weights.size || kept.words.size ? kept : nothingAsked()),
  };
}

// question = {row, made, plain, tokens, translation}: the step that chose a word, and what it would
// have been without given weights. act = {words(ids), text(text), weights(weights), nothing()}.
class AskPanel {
  constructor(act) {
    this.act = act;
    this.title = make("h2", {});
    this.likely = make("ol", { class: "likely" });
    this.typed = make("input", { type: "text", placeholder: "another word", "aria-label": "another word", autocomplete: "off", dir: "auto" });
    const form = make("form", { onsubmit: (event) => this.submit(event) }, this.typed, make("button", { type: "submit" }, "use this word"));
    this.places = make("ol", { class: "places" });
    this.even = make("button", { type: "button", onclick: () => act.weights(even(this.question.made.weights)) }, "uniform weights");
    this.back = make("button", { type: "button", onclick: act.nothing }, "original weights");
    const says = make("section", {}, make("h3", {}, "Most probable words at this position"), this.likely, form);
    const looks = make("section", {}, make("h3", {}, "Attention weights at this position: change them to change the translation"), this.places, make("div", { class: "choices" }, this.even, this.back));
    this.node = make("div", { class: "panel", hidden: true }, this.title, make("div", { class: "two" }, says, looks));
  }

  submit(event) {
    event.preventDefault();
    if (this.typed.value.trim()) this.act.text(this.typed.value.trim());
    this.typed.value = "";
  }

  show(question) {
    this.node.hidden = !question;
    if (!question) return;
    const isOther = JSON.stringify(question.translation.source) !== this.sources;
    this.question = question;
    const { row, translation, isTouched } = question;
    this.title.replaceChildren(`Word ${row + 1}: `, tokenText(translation.target[row]));
    this.back.disabled = !isTouched;
    this.showLikely();
    if (isOther) this.makePlaces();
    this.showPlaces();
  }

  showLikely() {
    const { made, plain, tokens, translation, row } = this.question;
    const isWord = (id) => id !== PADDING_ID && id !== BEGIN_ID;
    const lines = likeliest(made.logProbabilities, NUM_LIKELY, isWord).map(([id, log]) => {
      const before = plain === made ? null : make("small", {}, `was ${formatNumber(Math.exp(plain.logProbabilities[id]), 4)}`);
      const said = id === translation.ids[row];
      return make("li", {}, make("button", { type: "button", "data-token": id, "aria-pressed": String(said), onclick: () => this.act.words([id]) }, tokenText(tokens[id])), barOf(Math.exp(log)), make("span", { class: "number" }, formatNumber(Math.exp(log), 4)), before);
    });
    this.likely.replaceChildren(...lines);
  }

  makePlaces() {
    const { source } = this.question.translation;
    this.sources = JSON.stringify(source);
    const set = (place, value) => this.act.weights(withWeight(this.question.made.weights, place, value));
    this.sliders = source.map((token, place) => {
      const label = labelOf(token);
      const range = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": `weight of ${label}`, oninput: () => set(place, Number(range.value)) });
      const number = make("span", { class: "number" });
      const button = (text, title, value) => make("button", { type: "button", title, "aria-label": `${title}: ${label}`, onclick: () => set(place, value) }, text);
      return { range, number, node: make("li", {}, make("bdi", { title: token }, label), range, number, button("only", "attend only to this", 1), button("erase", "do not attend to this", 0)) };
    });
    this.places.replaceChildren(...this.sliders.map(({ node }) => node));
  }

  showPlaces() {
    this.sliders.forEach(({ range, number }, place) => {
      const weight = this.question.made.weights[place];
      if (document.activeElement !== range || Math.abs(range.value - weight) > 0.006) range.value = weight;
      number.textContent = formatNumber(weight, 4);
    });
  }
}

function barOf(share) {
  const bar = make("i", { class: "bar" });
  bar.style.width = `${100 * share}%`;
  return make("span", { class: "bars" }, bar);
}

// ---- One step of the decoder: every vector beside its formula

const STRIP = 26;
const DIGITS = 4;
const FEW = 4;

const SCORE_FORMULAS = {
  additive: "aⱼ = Σ w · tanh(q′ + k′ⱼ)",
  average: "aⱼ = 0",
  bilinear: "aⱼ = Σ q · k′ⱼ",
  dot: "aⱼ = Σ q · k′ⱼ",
  gaussian: "aⱼ = −½ width⁻² Σ (q − k′ⱼ)²",
  scaled_dot: "aⱼ = Σ q · k′ⱼ / √d",
};

// question: as the panel of asking.js takes it; focused: the source token whose key is shown.
function glassParts({ row, made, tokens, translation, memory, network }, focused, choose, theme) {
  const { spec } = network;
  const line = (name, formula, vector) => vectorPart(name, formula, vector, theme);
  const place = focused ?? made.weights.indexOf(Math.max(...made.weights));
  const source = labelOf(translation.source[place]);
  const before = row ? labelOf(translation.target[row - 1]) : "<bos>";
  const withToken = spec.query === "state_and_token";
  const additive = spec.score === "additive";
  return [
    make("p", { class: "hint" }, "Every vector in full: open its line. j runs over the source tokens; choose one in the table to see its key."),
    line("previous word", `e = embedding of ${before}`, made.embedded),
    line("query", withToken ? "q = [sₜ₋₁; e]" : "q = sₜ₋₁", made.query),
    additive ? line("projected query", "q′ = W q", made.projectedQuery) : null,
    line(`key of ${source}`, additive ? "k′ⱼ = U mⱼ" : "k′ⱼ of mⱼ", memory.projected[place]),
    additive ? line("weight of the score", "w", Float64Array.from(network.scoreWeight)) : null,
    weightTable(made, translation.source, place, choose, SCORE_FORMULAS[spec.score]),
    line("context", "c = Σⱼ wⱼ mⱼ", made.context),
    ...made.cells.flatMap((cell, layer) => gateLines(cell, layer, made.cells.length, line)),
    line("features", spec.readout_size === null ? "o = sₜ" : "o = tanh(W s + V c + U e + b)", made.features),
    line("logarithms of the probabilities", `log softmax(W o + b); ${labelOf(translation.target[row])}: ${formatNumber(made.logProbabilities[translation.ids[row]], DIGITS)}`, made.logProbabilities),
    make("p", { class: "hint" }, `The next word is one of ${tokens.length.toLocaleString("en")}.`),
  ].filter(Boolean);
}

function gateLines({ before, reset, update, candidate, state }, layer, count, line) {
  const name = (text) => (count > 1 ? `${text}, layer ${layer + 1}` : text);
  const input = layer ? "s of the layer below" : "e, c";
  return [
    line(name("previous state"), "sₜ₋₁", before),
    line(name("reset gate"), `r = σ(W [${input}] + U sₜ₋₁ + b)`, reset),
    line(name("update gate"), `z = σ(W [${input}] + U sₜ₋₁ + b)`, update),
    line(name("candidate"), `n = tanh(W [${input}] + b + r · (U sₜ₋₁ + d))`, candidate),
    line(name("state"), "sₜ = (1 − z) · n + z · sₜ₋₁", state),
  ];
}

function vectorPart(name, formula, vector, theme) {
  const few = Array.from(vector.slice(0, FEW), (number) => formatNumber(number, 2)).join("  ");
  const numbers = make("p", { class: "numbers" });
  const fill = () => (numbers.textContent = Array.from(vector, (number) => formatNumber(number, DIGITS)).join("  "));
  const title = make("summary", {}, make("b", {}, name), make("span", { class: "formula" }, formula), strip(vector, theme), make("small", {}, `${few} … (${vector.length})`));
  return make("details", { class: "vector", "data-vector": name, ontoggle: fill }, title, numbers);
}

// A bar up or down for each number, the largest as high as the strip.
function strip(vector, theme) {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 1e-12);
  const path = Array.from(vector, (number, place) => `M${place + 0.5} ${STRIP / 2}v${((-number / largest) * STRIP) / 2}`).join("");
  return draw("svg", { class: "strip", viewBox: `0 0 ${vector.length} ${STRIP}`, preserveAspectRatio: "none", "aria-hidden": "true" }, draw("path", { d: path, stroke: theme.ribbon, "stroke-width": 0.8 }));
}

function weightTable({ scores, weights }, source, chosen, choose, formula) {
  const maximum = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - maximum));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const isGiven = powers.some((power, place) => Math.abs(power / total - weights[place]) > 1e-9);
  const heads = ["token j", formula, "eᵃʲ⁻ᵐᵃˣ", "softmax", isGiven ? "wⱼ, as set" : "wⱼ", ""];
  const rows = source.map((token, place) => {
    const numbers = [scores[place], powers[place], powers[place] / total, weights[place]].map((number) => make("td", {}, formatNumber(number, DIGITS)));
    const button = make("button", { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) }, tokenText(token));
    return make("tr", {}, make("th", { scope: "row" }, button), ...numbers, make("td", { class: "wide" }, barOf(weights[place])));
  });
  return make("div", { class: "scrolled" }, make("table", { class: "steps-of" }, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head))), ...rows));
}

// ---- The tree of a beam search: steps across, the hypotheses of a step by their score down

const [WIDTH, HEIGHT, ACROSS, DOWN, MARGIN] = [104, 34, 134, 44, 6];
const LONGEST = 13;

const FATES = {
  ended: "ended",
  hopeless: "pruned: cannot become the best",
  crowded: "pruned: others ranked higher",
  "went on": "",
};

// search: of beamSearch. Nodes say as text whether they ended or were cut, so that colors are not needed.
function treeChart({ levels, winner, finished }, tokens, theme) {
  const best = new Set();
  for (let node = winner; node; node = node.parent) best.add(node);
  const places = new Map(levels.flatMap((nodes, step) => nodes.map((node, row) => [node, { x: MARGIN + step * ACROSS, y: MARGIN + row * DOWN }])));
  const ranks = new Map(finished.map(({ node, rank }) => [node, rank]));
  const width = 2 * MARGIN + (levels.length - 1) * ACROSS + WIDTH;
  const height = 2 * MARGIN + (Math.max(...levels.map(({ length }) => length)) - 1) * DOWN + HEIGHT;
  const nodes = [...places.keys()];
  const edges = nodes.filter(({ parent }) => parent).map((node) => edge(places.get(node.parent), places.get(node), best.has(node), theme));
  const boxes = nodes.map((node) => box(node, places.get(node), { isBest: best.has(node), rank: ranks.get(node), text: labelOf(tokens[node.token]) }, theme));
  return make("div", { class: "scrolled" }, draw("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": 12.5 }, ...edges, ...boxes));
}

function fateOf({ fate, children }) {
  return fate === "went on" && !children.length ? "crowded" : fate;
}

function edge(from, to, isBest, theme) {
  const [x, y] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [right, down] = [to.x, to.y + HEIGHT / 2];
  const middle = (x + right) / 2;
  return draw("path", { d: `M${x} ${y}C${middle} ${y} ${middle} ${down} ${right} ${down}`, fill: "none", stroke: isBest ? theme.accent : theme.gray, "stroke-width": isBest ? 2.5 : 1, opacity: isBest ? 1 : 0.55 });
}

function box(node, { x, y }, { isBest, rank, text }, theme) {
  const fate = fateOf(node);
  const isCut = fate === "hopeless" || fate === "crowded";
  const short = Array.from(text).length > LONGEST ? `${Array.from(text).slice(0, LONGEST - 1).join("")}…` : text;
  const frame = { x, y, width: WIDTH, height: HEIGHT, rx: 6, fill: theme.paper, stroke: isBest ? theme.accent : theme.gray, "stroke-width": isBest ? 2 : 1, "stroke-dasharray": isCut ? "4 3" : null };
  const line = (down, size, fill, content) => draw("text", { x: x + 8, y: y + down, "font-size": size, fill, "unicode-bidi": "isolate" }, content);
  const score = rank === undefined ? formatNumber(node.score, 2) : `■ ${formatNumber(node.score, 2)} → ${formatNumber(rank, 3)}`;
  const title = draw("title", {}, `${text}, log-probability ${formatNumber(node.score, 4)}${FATES[fate] && `; ${FATES[fate]}`}${rank === undefined ? "" : `; divided by the length penalty ${formatNumber(rank, 4)}`}`);
  return draw("g", { class: `node ${fate.replace(" ", "-")}`, "data-best": isBest, opacity: isCut ? 0.75 : 1 }, title, draw("rect", frame), line(14, 12.5, theme.ink, short), line(28, 10.5, theme.gray, isCut ? `✂ ${score}` : score));
}

// ---- The page: a line to type into, its translation, and the viewer below

const [ALONE, ASKED] = ["original", "changed"];
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
    this.parts = []; // {text, gap, sentence, found}: the sentences as they were read, and their translations
    this.turn = 0;
    this.build(root);
    this.read(host.read().get("text") ?? data.sentence);
    this.viewer = mount(this.below, this.source(), this.host());
  }

  build(root) {
    const { model } = this.data;
    this.line = make("textarea", { rows: 2, "aria-label": "sentence to translate", placeholder: "Type a sentence", spellcheck: "false", lang: model.source.language, dir: "auto", oninput: () => this.type(this.line.value) });
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
    this.glass = make("details", { class: "more", ontoggle: () => this.showMore() }, make("summary", {}, "Details of the decoder step"), make("div", {}));
    this.tree = make("details", { class: "more", ontoggle: () => this.showMore() }, make("summary", {}, "Search tree"), make("div", {}));
    const size = `${(this.translator.network.numParameters / 1e6).toFixed(1)} million weights in this page; it makes no network requests`;
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
    const known = new Map(this.parts.map((part) => [part.text, part]));
    const fresh = (text) => ({ text, sentence: this.translator.read(text), found: new Map() });
    this.parts = this.translator.split(text).map((part) => ({ ...(known.get(part.text) ?? fresh(part.text)), gap: part.gap }));
    this.refresh(nothingAsked());
    this.warn();
    if (this.parts.length) return;
    this.said.textContent = "";
    this.words.replaceChildren();
    this.panel.show(null);
  }

  // Ask something of the sentence at a place; what was asked before is forgotten.
  refresh(asks, place = 0) {
    this.asks = asks;
    this.asked = place;
    this.turn += 1;
    this.changed = new Map();
  }

  // Change something at the chosen word; the viewer shows the result.
  ask(change) {
    const { translation, row, place } = this.question;
    this.refresh(change(asking(place === this.asked ? this.asks : nothingAsked(), translation.ids, row)), place);
    this.viewer.state.with = isAsked(this.asks) ? ALONE : null;
    this.viewer.state.run = null;
    return this.viewer.load();
  }

  askText(text) {
    const { ids, unknown } = this.translator.target.read(text);
    if (!ids.includes(UNKNOWN_ID)) return this.ask((question) => question.words(ids));
    return this.warn(`Not in the vocabulary: ${unknown.join(", ")}.`);
  }

  warn(more = "") {
    const unknown = this.parts.flatMap(({ sentence }) => sentence.unknown);
    const numLeft = this.parts.reduce((sum, { sentence }) => sum + sentence.numLeft, 0);
    const parts = [more, unknown.length ? `Unknown to the model: ${unknown.join(", ")}.` : "", numLeft ? `The end is left out: ${numLeft} token${numLeft === 1 ? "" : "s"}.` : ""];
    this.warning.textContent = parts.join(" ");
    this.warning.hidden = !parts.some(Boolean);
  }

  // Each translation is computed when the viewer first requests it.
  translation(run, place, kind) {
    const isChanged = run === ASKED && place === this.asked;
    const { prefix, weights } = isChanged ? this.asks : nothingAsked();
    const options = { beam: BEAMS[kind], penalty: this.penalty.node.querySelector("select").value, alpha: ALPHA, prefix, weights };
    const { sentence, found } = this.parts[place];
    const [kept, key] = [isChanged ? this.changed : found, `${kind} ${options.penalty}`];
    if (!kept.has(key)) kept.set(key, this.translator.translate(sentence, options));
    return kept.get(key);
  }

  source() {
    const tags = () => this.parts.flatMap(({ text }, place) => Object.keys(BEAMS).map((kind) => ({ tag: `${place} ${kind}`, kind, sentence: this.parts.length > 1 ? `${place + 1}` : "", rank: 0, text, max_step: null, wall_time: this.turn })));
    const { colors, difference } = this.data.colors;
    return {
      grows: false,
      nothing: "Its attention appears here while you type.",
      index: async () => ({ problems: [], colors, difference, runs: this.runs().map((run) => ({ run, tags: tags() })) }),
      view: async (run, tag) => {
        const [place, kind] = tag.split(" ");
        const { source, target, weights, score } = this.translation(run, Number(place), kind);
        return { problems: [], steps: [null], frames: [{ step: null, score, bleu: null, source, target, links: null, weights }] };
      },
    };
  }

  runs() {
    if (!this.parts.length) return [];
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

  // The translation that the viewer shows, word by word; the pinned word is the one that can be changed.
  show({ shown: [{ run }], selection: { sentence, kind }, focus, pinned, theme }) {
    const row = pinned ? (focus?.row ?? null) : null;
    const place = Math.max(0, Number(sentence) - 1);
    const state = JSON.stringify([this.turn, run, place, kind, row, theme.dark]);
    if (state === this.state) return;
    Object.assign(this, { state, theme, question: this.questionAt(run, place, kind, row) });
    this.page.onTranslated?.(this.question.translation.source);
    this.penalty.node.hidden = kind === "greedy";
    this.showText(run, place, kind);
    this.words.dir = getComputedStyle(this.said).direction; // words of Arabic follow each other to the left
    this.showWords(row, run === ASKED && place === this.asked);
    this.showAlone(run === ASKED, kind);
    this.panel.show(row === null ? null : this.question);
    this.showMore();
  }

  // All sentences; of several, the one whose attention is below is marked, and a click chooses another.
  showText(run, shown, kind) {
    const marked = (place) => (this.parts.length > 1 && place === shown ? "shown" : null);
    const choose = (place) => this.viewer.change({ sentence: `${place + 1}`, rank: null });
    const sentences = this.parts.map(({ gap }, place) => [gap, make("span", { class: marked(place), onclick: () => choose(place) }, this.translation(run, place, kind).text)]);
    this.said.replaceChildren(...sentences.flat());
  }

  // The step that chose a word, the first where none is chosen.
  questionAt(run, place, kind, row) {
    const { translator, asks } = this;
    const { memory } = this.parts[place].sentence;
    const translation = this.translation(run, place, kind);
    const { parent } = translation.path[row ?? 0];
    const isChanged = run === ASKED && place === this.asked;
    const isGiven = isChanged && asks.weights.has(row);
    const before = parent.parent?.made.states ?? translator.network.start(memory);
    const plain = isGiven ? translator.network.step(memory, before, parent.token) : parent.made;
    const isTouched = isGiven || (isChanged && asks.words.has(row));
    return { place, row: row ?? 0, made: parent.made, plain, isTouched, translation, memory, network: translator.network, tokens: translator.target.tokens };
  }

  showWords(row, asked) {
    const { path, target } = this.question.translation;
    const isSet = (place) => asked && (this.asks.words.has(place) || this.asks.weights.has(place));
    const words = path.map(({ score, parent }, place) => {
      const probability = Math.exp(score - parent.score);
      const attributes = { class: isSet(place) ? "word set" : "word", "aria-pressed": String(place === row), title: `probability ${formatNumber(probability, 4)}: click to change` };
      return make("button", { type: "button", ...attributes, onclick: () => this.choose(place === row ? null : place) }, tokenText(target[place]), make("small", { dir: "ltr" }, `${Math.round(100 * probability)} %`));
    });
    const held = [...this.words.children].indexOf(document.activeElement);
    const hint = row === null ? make("span", { class: "hint", dir: "ltr" }, "Click a word to change it or its attention.") : null;
    this.words.replaceChildren(...[...words, hint].filter(Boolean));
    words[held]?.focus();
  }

  showAlone(asked, kind) {
    this.alone.hidden = !asked;
    if (!asked) return;
    const again = make("button", { type: "button", onclick: () => this.ask(nothingAsked) }, "start again");
    this.alone.replaceChildren("Original: ", make("b", { dir: "auto" }, this.translation(ALONE, this.asked, kind).text), again);
  }

  // The parts below are drawn only while they are open.
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
