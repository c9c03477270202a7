// The tree of a beam search: steps across, the hypotheses of a step by their score down.

import { draw, make } from "./paint.js";
import { formatNumber } from "./facts.js";
import { FONT, labelOf } from "./tokens.js";

const [WIDTH, HEIGHT, ACROSS, DOWN, MARGIN] = [104, 34, 134, 44, 6];
const LONGEST = 13;

const FATES = {
  ended: "ended",
  hopeless: "cut: cannot come first any more",
  crowded: "cut: better ones took its place",
  "went on": "",
};

// search: of beamSearch. Nodes carry their fate as text, so that colours are not needed to read it.
export function treeChart({ levels, winner, finished }, tokens, theme) {
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

export function fateOf({ fate, children }) {
  return fate === "went on" && !children.length ? "crowded" : fate;
}

function edge(from, to, isBest, theme) {
  const [x, y] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [right, down] = [to.x, to.y + HEIGHT / 2];
  const middle = (x + right) / 2;
  return draw("path", { d: `M${x} ${y}C${middle} ${y} ${middle} ${down} ${right} ${down}`, fill: "none", stroke: isBest ? theme.accent : theme.grey, "stroke-width": isBest ? 2.5 : 1, opacity: isBest ? 1 : 0.55 });
}

function box(node, { x, y }, { isBest, rank, text }, theme) {
  const fate = fateOf(node);
  const isCut = fate === "hopeless" || fate === "crowded";
  const short = Array.from(text).length > LONGEST ? `${Array.from(text).slice(0, LONGEST - 1).join("")}…` : text;
  const frame = { x, y, width: WIDTH, height: HEIGHT, rx: 6, fill: theme.paper, stroke: isBest ? theme.accent : theme.grey, "stroke-width": isBest ? 2 : 1, "stroke-dasharray": isCut ? "4 3" : null };
  const line = (down, size, fill, content) => draw("text", { x: x + 8, y: y + down, "font-size": size, fill, "unicode-bidi": "isolate" }, content);
  const score = rank === undefined ? formatNumber(node.score, 2) : `■ ${formatNumber(node.score, 2)} → ${formatNumber(rank, 3)}`;
  const title = draw("title", {}, `${text}, log-probability ${formatNumber(node.score, 4)}${FATES[fate] && `; ${FATES[fate]}`}${rank === undefined ? "" : `; over the length penalty ${formatNumber(rank, 4)}`}`);
  return draw("g", { class: `node ${fate.replace(" ", "-")}`, "data-best": isBest, opacity: isCut ? 0.75 : 1 }, title, draw("rect", frame), line(14, 12.5, theme.ink, short), line(28, 10.5, theme.grey, isCut ? `✂ ${score}` : score));
}
