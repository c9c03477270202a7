// Beam search by the rules of seq2seq.decoding.search; a beam of one is greedy search.

import { BEGIN_ID, END_ID, PADDING_ID } from "./vocabulary.js";

const PENALTIES = {
  none: () => 1,
  average: (length) => length,
  gnmt: (length, alpha) => ((5 + length) / 6) ** alpha,
};

// Both bounds of seq2seq.decoding.search, which count <eos>.
export function boundsOf({ min_ratio, max_ratio, max_extra }, sourceLength) {
  const greatest = Math.max(1, Math.floor(max_ratio * sourceLength) + max_extra);
  return { least: Math.min(Math.floor(min_ratio * sourceLength), greatest), greatest };
}

// The best hypothesis, and all that the search has seen, step by step. A node of it: {parent, token,
// score, step, fate, children, made}; `made` is the step that the network has made after it.
//
// prefix: ids that the translation begins with; weights: step -> what the decoder is to attend to.
export function beamSearch(network, memory, { beam, penalty, alpha, bounds, prefix = [], weights = new Map() }) {
  const within = boundsOf(bounds, memory.states.length);
  const greatest = Math.max(within.greatest, prefix.length + 1);
  const rank = (score, length) => score / PENALTIES[penalty](length, alpha);
  const root = { parent: null, token: BEGIN_ID, score: 0, step: 0, fate: "went on", children: [] };
  const finished = [];
  const levels = [[root]];
  for (let step = 1, live = [root]; live.length; step += 1) {
    for (const node of live) advance(network, memory, node, weights.get(step - 1));
    const allowed = allowedTokens(prefix[step - 1], step < within.least);
    const chosen = best(live.flatMap((node) => continuations(node, beam, allowed)), beam - finished.length);
    for (const node of chosen) {
      node.parent.children.push(node);
      if (node.token === END_ID || step === greatest) finished.push({ ...ended(node), rank: rank(node.score, step) });
    }
    const toBeat = finished.reduce((most, each) => Math.max(most, each.rank), -Infinity);
    for (const node of chosen) if (node.fate !== "ended" && rank(node.score, greatest) <= toBeat) node.fate = "hopeless";
    live = chosen.filter(({ fate }) => fate === "went on");
    levels.push(chosen);
  }
  const winner = finished.reduce((most, each) => (each.rank > most.rank ? each : most));
  return { winner: winner.node, levels, finished };
}

function ended(node) {
  node.fate = "ended";
  return { node };
}

function advance(network, memory, node, given) {
  const before = node.parent ? node.parent.made.states : network.start(memory);
  node.made = network.step(memory, before, node.token, given);
}

function allowedTokens(forced, tooShort) {
  if (forced !== undefined) return (token) => token === forced;
  return (token) => token !== PADDING_ID && token !== BEGIN_ID && !(tooShort && token === END_ID);
}

function continuations(parent, count, allowed) {
  const made = likeliest(parent.made.logProbabilities, count, allowed);
  return made.map(([token, logProbability]) => ({ parent, token, score: parent.score + logProbability, step: parent.step + 1, fate: "went on", children: [] }));
}

// The greatest of many numbers with their places, the greatest first.
export function likeliest(numbers, count, allowed = () => true) {
  const found = [];
  numbers.forEach((number, token) => {
    if ((found.length === count && number <= found.at(-1)[1]) || !allowed(token)) return;
    const place = found.findIndex(([, other]) => number > other);
    found.splice(place < 0 ? found.length : place, 0, [token, number]);
    if (found.length > count) found.pop();
  });
  return found;
}

function best(nodes, count) {
  return nodes.sort((one, other) => other.score - one.score).slice(0, count);
}

// From the first token to this one.
export function pathOf(node) {
  const path = [];
  for (let each = node; each.parent; each = each.parent) path.unshift(each);
  return path;
}
