// What stands beside the charts: the sentence, its figures, and the weights of one token.

import { columnOf, entropyOf, figuresOf, rowOf } from "./frames.js";
import { draw, make } from "./paint.js";
import { UNKNOWN, labelOf, sentenceOf } from "./tokens.js";

const FIGURES = [
  ["entropy", "entropy", "Mean over the target tokens, 0 sharp to 1 even: nats / log(source length)", 3],
  ["peak", "peak weight", "Mean over the target tokens of their greatest weight", 3],
  ["score", "log-probability", "Of the target tokens given the source, in nats", 2],
  ["perToken", "… per token", "Log-probability divided by the number of target tokens", 3],
  ["bleu", "BLEU", "Of this sentence, 0 to 100", 1],
];

const NOTHING = [
  "No attention has been recorded in this log folder yet.",
  "Runs of seq2seq record it at every validation; from any other PyTorch model:",
];
const EXAMPLE = `from tensorboard_attention import add_attention

add_attention(writer, "attention/0", weights, source_tokens, target_tokens, step)`;

export function formatNumber(value, digits) {
  if (value === null || value === undefined) return "–";
  return value.toFixed(digits).replace("-", "−");
}

// shown = [{name, frame}, …], one or two.
export function sentencePart(shown) {
  const [first] = shown;
  const lines = [make("dt", {}, "source"), spoken(first.frame.source)];
  const targets = new Map();
  for (const { name, frame } of shown) {
    const text = sentenceOf(frame.target);
    targets.set(text, [...(targets.get(text) ?? []), { name, frame }]);
  }
  for (const sharing of targets.values()) {
    const names = targets.size > 1 ? ` ${sharing.map(({ name }) => name).join(", ")}` : "";
    lines.push(make("dt", {}, `target${names}`), spoken(sharing[0].frame.target));
  }
  return make("dl", { class: "sentence" }, ...lines);
}

function spoken(tokens) {
  const text = sentenceOf(tokens);
  const known = tokens.includes(UNKNOWN) ? text.split(UNKNOWN) : [text];
  const unknown = () => make("mark", { title: "a word that the model does not know" }, UNKNOWN);
  return make("dd", { dir: "auto" }, ...known.flatMap((part, place) => (place ? [unknown(), part] : [part])));
}

export function figuresPart(shown) {
  const head = shown.length > 1 ? [make("tr", {}, make("th"), ...shown.map(({ name }) => make("th", { scope: "col" }, name)))] : [];
  const rows = FIGURES.filter(([key]) => shown.some(({ frame }) => figuresOf(frame)[key] !== null));
  const body = rows.map(([key, name, meaning, digits]) => {
    const cells = shown.map(({ frame }) =>
      make("td", { "data-figure": key }, formatNumber(figuresOf(frame)[key], digits)),
    );
    return make("tr", { title: meaning }, make("th", { scope: "row" }, name), ...cells);
  });
  return make("table", { class: "figures" }, ...head, ...body);
}

// The weights of the token under the pointer, in the order of the sentence, with bars.
export function weightsPart(shown, focus, theme) {
  const [{ frame }] = shown;
  if (!focus || (focus.row ?? 0) >= frame.target.length || (focus.column ?? 0) >= frame.source.length) {
    return make("p", { class: "hint" }, "Point at a target token to see where it looks, at a source token to see who looks at it.");
  }
  const isRow = focus.row !== null;
  const token = isRow ? frame.target[focus.row] : frame.source[focus.column];
  const others = isRow ? frame.source : frame.target;
  const series = shown.map((each) =>
    isRow ? rowOf(each.frame, focus.row) : columnOf(each.frame, focus.column),
  );
  const marked = isRow ? focus.column : null;
  const lines = others.map((other, place) => weightLine(other, series, place, place === marked, theme));
  const total = series[0].reduce((sum, weight) => sum + weight, 0);
  const note = isRow
    ? `entropy ${formatNumber(entropyOf(series[0]), 3)}, sum ${formatNumber(total, 3)}`
    : `attended to ${formatNumber(total, 3)} in all`;
  return make(
    "div",
    { class: "weights" },
    make("h3", {}, make("bdi", {}, labelOf(token)), make("small", {}, isRow ? "looks at" : "is looked at by")),
    make("ol", {}, ...lines),
    make("p", { class: "hint" }, note),
  );
}

function weightLine(token, series, place, marked, theme) {
  const bars = series.map((weights, number) => {
    const colour = number ? theme.grey : theme.ribbon;
    const bar = make("i", { class: "bar" });
    bar.style.width = `${100 * (weights[place] ?? 0)}%`;
    bar.style.background = colour;
    return bar;
  });
  const numbers = series.map((weights) =>
    make("span", { class: "number" }, formatNumber(weights[place], 4)),
  );
  return make(
    "li",
    { class: marked ? "marked" : null },
    make("bdi", { title: token }, labelOf(token)),
    make("span", { class: "bars" }, ...bars),
    ...numbers,
  );
}

// Entropy over the steps that are here, as wide as the slider below it.
export function historyLine(frames, theme) {
  const last = Math.max(1, frames.length - 1);
  const points = frames.flatMap((frame, place) => (frame.weights || frame.figures ? [[place / last, 1 - figuresOf(frame).entropy]] : []));
  const line = points.map(([x, y]) => `${(1000 * x).toFixed(1)},${(2 + 24 * y).toFixed(2)}`).join(" ");
  return draw(
    "svg",
    { class: "history", viewBox: "0 0 1000 28", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("polygon", { points: `${(1000 * points[0][0]).toFixed(1)},28 ${line} ${(1000 * points.at(-1)[0]).toFixed(1)},28`, fill: theme.ribbon, opacity: 0.16 }),
    draw("polyline", { points: line, fill: "none", stroke: theme.ribbon, "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }),
  );
}

// Of a log folder without records.
export function emptyPart(problems) {
  const lines = problems.map((problem) => make("li", {}, problem));
  return make("div", { class: "nothing" }, make("h2", {}, NOTHING[0]), make("p", {}, NOTHING[1]), make("pre", {}, EXAMPLE), lines.length ? make("ul", { class: "problems" }, ...lines) : null);
}
