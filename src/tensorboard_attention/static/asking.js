// What one asks of a word of the translation: another word in its place, or other weights.

import { likeliest } from "./search.js";
import { BEGIN_ID, PADDING_ID } from "./vocabulary.js";
import { formatNumber } from "./facts.js";
import { make } from "./paint.js";
import { labelOf } from "./tokens.js";

const NUM_LIKELY = 10;

// Weights that sum to one with the one at a place set; the others keep their proportions.
export function withWeight(weights, place, value) {
  const rest = weights.reduce((sum, weight, at) => (at === place ? sum : sum + weight), 0);
  const share = (weight) => (rest > 0 ? (weight / rest) * (1 - value) : (1 - value) / Math.max(1, weights.length - 1));
  return weights.map((weight, at) => (at === place ? value : share(weight)));
}

const even = (weights) => weights.map(() => 1 / weights.length);

// What was asked so far: ids that the translation begins with, weights by place, words that were set.
export function nothingAsked() {
  return { prefix: [], weights: new Map(), words: new Set() };
}

export function isAsked({ prefix, weights }) {
  return prefix.length > 0 || weights.size > 0;
}

// A question at a place forgets those at later places, whose words it may change.
export function asking({ weights, words }, ids, row) {
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
export class AskPanel {
  constructor(act) {
    this.act = act;
    this.title = make("h2", {});
    this.likely = make("ol", { class: "likely" });
    this.typed = make("input", { type: "text", placeholder: "another word", "aria-label": "another word", autocomplete: "off" });
    const form = make("form", { onsubmit: (event) => this.submit(event) }, this.typed, make("button", { type: "submit" }, "say this"));
    this.places = make("ol", { class: "places" });
    this.even = make("button", { type: "button", onclick: () => act.weights(even(this.question.made.weights)) }, "make even");
    this.back = make("button", { type: "button", onclick: act.nothing }, "as it was");
    const says = make("section", {}, make("h3", {}, "What it could say here"), this.likely, form);
    const looks = make("section", {}, make("h3", {}, "Where it looks: set it, and see what it says then"), this.places, make("div", { class: "choices" }, this.even, this.back));
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
    this.title.replaceChildren(`Word ${row + 1}: `, make("bdi", {}, labelOf(translation.target[row])));
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
      return make("li", {}, make("button", { type: "button", "data-token": id, "aria-pressed": String(said), onclick: () => this.act.words([id]) }, make("bdi", {}, labelOf(tokens[id]))), barOf(Math.exp(log)), make("span", { class: "number" }, formatNumber(Math.exp(log), 4)), before);
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
      return { range, number, node: make("li", {}, make("bdi", { title: token }, label), range, number, button("only", "look here only", 1), button("erase", "do not look here", 0)) };
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

export function barOf(share) {
  const bar = make("i", { class: "bar" });
  bar.style.width = `${100 * share}%`;
  return make("span", { class: "bars" }, bar);
}
