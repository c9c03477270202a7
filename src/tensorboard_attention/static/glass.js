// One step of the decoder under the glass: every number of it beside its formula.

import { formatNumber } from "./facts.js";
import { draw, make } from "./paint.js";
import { labelOf } from "./tokens.js";
import { barOf } from "./asking.js";

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
export function glassParts({ row, made, tokens, translation, memory, network }, focused, choose, theme) {
  const { spec } = network;
  const line = (name, formula, vector) => vectorPart(name, formula, vector, theme);
  const place = focused ?? made.weights.indexOf(Math.max(...made.weights));
  const source = labelOf(translation.source[place]);
  const before = row ? labelOf(translation.target[row - 1]) : "<bos>";
  const withToken = spec.query === "state_and_token";
  const additive = spec.score === "additive";
  return [
    make("p", { class: "hint" }, "Every vector in full: open its line. j runs over the source tokens; choose one in the table to see its key."),
    line("word before", `e = embedding of ${before}`, made.embedded),
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
    line(name("state before"), "sₜ₋₁", before),
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
  const greatest = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - greatest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const isGiven = powers.some((power, place) => Math.abs(power / total - weights[place]) > 1e-9);
  const heads = ["token j", formula, "eᵃʲ⁻ᵐᵃˣ", "softmax", isGiven ? "wⱼ, as set" : "wⱼ", ""];
  const rows = source.map((token, place) => {
    const numbers = [scores[place], powers[place], powers[place] / total, weights[place]].map((number) => make("td", {}, formatNumber(number, DIGITS)));
    const button = make("button", { type: "button", "aria-pressed": String(place === chosen), onclick: () => choose(place) }, make("bdi", {}, labelOf(token)));
    return make("tr", {}, make("th", { scope: "row" }, button), ...numbers, make("td", { class: "wide" }, barOf(weights[place])));
  });
  return make("div", { class: "scrolled" }, make("table", { class: "steps-of" }, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head))), ...rows));
}
