
// The model of a page that translates: tokenizers, GRU encoder and Bahdanau decoder, beam search.

// ---- The special tokens, which begin every vocabulary: seq2seq.data.vocabulary

export const [UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID] = [0, 1, 2, 3];
const NUM_SPECIALS = 4;

// ---- Arrays and their operations

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = text.charCodeAt(place);
  return bytes;
}

function floatsOf(base64) {
  return new Float32Array(bytesOf(base64).buffer);
}

const ABREAST = 4; // rows of a product that are summed beside each other: they share what is read

// A vector, or a matrix in the format of seq2seq.models.int8: whole numbers -127..127 times a scale of the row.
// Rows of zeros fill up the last rows abreast.
function arrayOf({ shape, numbers, scales }) {
  if (scales === null) return floatsOf(numbers);
  const whole = new Int8Array(bytesOf(numbers).buffer);
  const [rows, columns] = shape;
  const values = new Float32Array(Math.ceil(rows / ABREAST) * ABREAST * columns);
  floatsOf(scales).forEach((scale, row) => {
    for (let place = row * columns; place < (row + 1) * columns; place += 1) values[place] = whole[place] * scale;
  });
  return { rows, columns, values };
}

function rowAt({ columns, values }, row) {
  return Float64Array.from(values.subarray(row * columns, (row + 1) * columns));
}

function product({ rows, columns, values }, vector) {
  const found = new Float64Array(values.length / columns);
  const [second, third, fourth] = [columns, 2 * columns, 3 * columns];
  for (let row = 0; row < rows; row += ABREAST) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let place = 0, at = row * columns; place < columns; place += 1, at += 1) {
      const number = vector[place];
      a += values[at] * number;
      b += values[at + second] * number;
      c += values[at + third] * number;
      d += values[at + fourth] * number;
    }
    found.set([a, b, c, d], row);
  }
  return found.subarray(0, rows);
}

function plus(first, ...others) {
  const sum = Float64Array.from(first);
  for (const other of others) for (let place = 0; place < sum.length; place += 1) sum[place] += other[place];
  return sum;
}

function inner(first, second) {
  return first.reduce((sum, number, place) => sum + number * second[place], 0);
}

function joined(...vectors) {
  return Float64Array.from(vectors.flatMap((vector) => [...vector]));
}

function weightedMean(vectors, weights) {
  const mean = new Float64Array(vectors[0].length);
  for (let number = 0; number < vectors.length; number += 1) {
    const [vector, weight] = [vectors[number], weights[number]];
    for (let place = 0; place < mean.length; place += 1) mean[place] += weight * vector[place];
  }
  return mean;
}

function logSoftmax(scores) {
  const maximum = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - maximum), 0);
  return scores.map((score) => score - maximum - Math.log(total));
}

function sigmoid(number) {
  return 1 / (1 + Math.exp(-number));
}

// ---- The network: a GRU encoder, and the decoder of seq2seq.models.bahdanau step by step

// a(q, k) of seq2seq.attention.other_scores, of a query and the key as `project` made it.
const SCORES = {
  additive: (query, key, { scoreWeight }) => query.reduce((sum, number, place) => sum + scoreWeight[place] * Math.tanh(number + key[place]), 0),
  average: () => 0,
  bilinear: inner,
  dot: inner,
  gaussian: (query, key, { inverseWidth }) => -0.5 * inverseWidth ** 2 * query.reduce((sum, number, place) => sum + (number - key[place]) ** 2, 0),
  scaled_dot: (query, key) => inner(query, key) / Math.sqrt(query.length),
};

const MOST_GATES = 2000; // of tokens, that are kept

class Network {
  constructor({ spec, parameters, ties }) {
    this.spec = spec;
    this.arrays = new Map(Object.entries(parameters).map(([name, array]) => [name, arrayOf(array)]));
    for (const [name, owner] of Object.entries(ties)) this.arrays.set(name, this.arrays.get(owner));
    this.numParameters = [...new Set(this.arrays.values())].reduce((sum, array) => sum + (array.rows ? array.rows * array.columns : array.length), 0);
    this.scoreWeight = this.arrays.get("decoder.attention.score.score_weight");
    this.inverseWidth = spec.inverse_width; // of the score gaussian
    this.tokenGates = new Map();
    this.layers = Array.from({ length: spec.decoder_layers }, (_, layer) => `decoder.stack.cells.${layer}`);
  }

  // W x + b; x itself where the model has no such matrix.
  linear(name, vector) {
    return this.affine(`${name}.weight`, `${name}.bias`, vector);
  }

  affine(weight, bias, vector) {
    const matrix = this.arrays.get(weight);
    if (!matrix) return vector;
    const found = product(matrix, vector);
    return this.arrays.has(bias) ? plus(found, this.arrays.get(bias)) : found;
  }

  // {states, keys, projected, gates, finals}: a vector for each source token; the last states of the
  // layers. W c = sum over j of w_j (W m_j): so what a token gives the gates is the same for all steps
  // and hypotheses.
  encode(ids) {
    let states = ids.map((id) => rowAt(this.arrays.get("source_embedding.weight"), id));
    const finals = Array.from({ length: this.spec.encoder_layers }, (_, layer) => {
      const ways = [this.read(layer, "", states)];
      if (this.spec.bidirectional) ways.push(this.read(layer, "_reverse", [...states].reverse()).reverse());
      states = states.map((_, place) => joined(...ways.map((way) => way[place])));
      return joined(...ways.map((way, number) => way.at(number ? 0 : -1)));
    });
    const keys = states.map((state) => this.linear("decoder.attention.key_projection", state));
    const gates = states.map((state) => this.linear("decoder.context_gates", state));
    return { states, keys, projected: keys.map((key) => this.linear("decoder.attention.score.key_projection", key)), gates, finals };
  }

  // The states of one direction of an encoder's layer, in the order in which it reads.
  read(layer, direction, inputs) {
    const name = (part, kind) => `encoder.layers.${layer}.${part}_${kind}_l0${direction}`;
    const gates = (kind, vector) => this.affine(name("weight", kind), name("bias", kind), vector);
    let state = new Float64Array(this.spec.encoder_hidden_size);
    return inputs.map((input) => (state = gruCell(gates("ih", input), gates("hh", state), state).state));
  }

  // The decoder's state before its first step: a vector for each layer.
  start({ finals }) {
    const size = this.spec.decoder_hidden_size;
    if (this.spec.initial_state === "zeros") return this.layers.map(() => new Float64Array(size));
    const summary = joined(...finals);
    const isLinear = this.arrays.has("decoder.bridge.projection.weight");
    const states = isLinear ? this.linear("decoder.bridge.projection", summary).map(Math.tanh) : summary;
    return this.layers.map((_, layer) => states.slice(layer * size, (layer + 1) * size));
  }

  // One step with everything that it computes; `given` stands in the place of the softmax.
  step(memory, before, token, given = null) {
    const embedded = rowAt(this.arrays.get("decoder.embedding.weight"), token);
    const query = this.spec.query === "state_and_token" ? joined(before.at(-1), embedded) : before.at(-1);
    const projectedQuery = this.linear("decoder.attention.score.query_projection", query);
    const scores = Float64Array.from(memory.projected, (key) => SCORES[this.spec.score](projectedQuery, key, this));
    const weights = given ?? logSoftmax(scores).map(Math.exp);
    const context = weightedMean(memory.states, weights);
    const cells = this.advance(before, plus(this.gatesOf(token, embedded), weightedMean(memory.gates, weights)));
    const states = cells.map(({ state }) => state);
    const features = this.features(states.at(-1), context, embedded);
    const logProbabilities = logSoftmax(this.linear("decoder.output", features));
    return { embedded, query, projectedQuery, scores, weights, context, cells, states, features, logProbabilities };
  }

  // The share of a token in the gates, kept because other hypotheses and sentences have the same token.
  gatesOf(token, embedded) {
    if (this.tokenGates.size === MOST_GATES) this.tokenGates.clear();
    if (!this.tokenGates.has(token)) this.tokenGates.set(token, this.linear("decoder.stack.cells.0.input_gates", embedded));
    return this.tokenGates.get(token);
  }

  advance(before, gates) {
    const cells = [];
    this.layers.forEach((name, layer) => {
      const inputs = layer ? this.linear(`${name}.input_gates`, cells.at(-1).state) : gates;
      cells.push(gruCell(inputs, this.linear(`${name}.state_gates`, before[layer]), before[layer]));
    });
    return cells;
  }

  features(state, context, embedded) {
    if (this.spec.readout_size === null) return state;
    const parts = { state, context, embedded };
    return plus(...Object.keys(parts).map((part) => this.linear(`decoder.readout.${part}`, parts[part]))).map(Math.tanh);
  }
}

// r, z, n and the new state of torch.nn.GRUCell, from the shares that input and state have in the gates.
function gruCell(inputs, gates, before) {
  const size = before.length;
  const part = (number, gate) => inputs[number * size + gate];
  const reset = before.map((_, gate) => sigmoid(part(0, gate) + gates[gate]));
  const update = before.map((_, gate) => sigmoid(part(1, gate) + gates[size + gate]));
  const candidate = before.map((_, gate) => Math.tanh(part(2, gate) + reset[gate] * gates[2 * size + gate]));
  const state = before.map((old, gate) => candidate[gate] + update[gate] * (old - candidate[gate]));
  return { before, reset, update, candidate, state };
}

// ---- Beam search by the rules of seq2seq.decoding.search; a beam of one is greedy search

const PENALTIES = {
  none: () => 1,
  average: (length) => length,
  gnmt: (length, alpha) => ((5 + length) / 6) ** alpha,
};

const PARTS = 10000; // ratios are counted in ten-thousandths

// Both bounds of seq2seq.models.limits, which count <eos>, in whole numbers.
function boundsOf({ min_ratio, max_ratio, max_extra }, sourceLength) {
  const times = (ratio) => Math.floor((Math.floor(PARTS * ratio + 0.5) * sourceLength) / PARTS);
  const maximum = Math.max(1, times(max_ratio) + max_extra);
  return { minimum: Math.min(times(min_ratio), maximum), maximum };
}

// The best hypothesis, and all that the search has seen, step by step. A node of it: {parent, token,
// score, step, fate, children, made}; `made` is the step that the network has made after it.
//
// prefix: ids that the translation begins with; weights: step -> what the decoder is to attend to.
function beamSearch(network, memory, { beam, penalty, alpha, bounds, prefix = [], weights = new Map() }) {
  const within = boundsOf(bounds, memory.states.length);
  const maximum = Math.max(within.maximum, prefix.length + 1);
  const rank = (score, length) => score / PENALTIES[penalty](length, alpha);
  const root = { parent: null, token: BEGIN_ID, score: 0, step: 0, fate: "went on", children: [] };
  const finished = [];
  const levels = [[root]];
  for (let step = 1, live = [root]; live.length; step += 1) {
    for (const node of live) advance(network, memory, node, weights.get(step - 1));
    const allowed = allowedTokens(prefix[step - 1], step < within.minimum);
    const chosen = best(live.flatMap((node) => continuations(node, beam, allowed)), beam - finished.length);
    for (const node of chosen) {
      node.parent.children.push(node);
      if (node.token === END_ID || step === maximum) finished.push({ ...ended(node), rank: rank(node.score, step) });
    }
    const toBeat = finished.reduce((most, each) => Math.max(most, each.rank), -Infinity);
    for (const node of chosen) if (node.fate !== "ended" && rank(node.score, maximum) <= toBeat) node.fate = "hopeless";
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

// The largest numbers with their indices, the largest first.
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
function pathOf(node) {
  const path = [];
  for (let each = node; each.parent; each = each.parent) path.unshift(each);
  return path;
}

// ---- Text to words and back, as the package joined-words. JavaScript's \w, \s and \b differ from Python's, so
// they are spelled out.

const SPACE = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
const SPACES = new RegExp(`${SPACE}+`, "gu");
const INVISIBLE = /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u17b4\u17b5\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0001}]/gu;

const splitSpaces = (text) => text.split(SPACES).filter(Boolean);

// A sentence as every tokenizer reads it.
const clean = (text) => splitSpaces(text.replace(INVISIBLE, "")).join(" ");

const lowered = (text, dotless) => (dotless ? text.replaceAll("I", "ı") : text).replaceAll("İ", "i").toLowerCase();

const UNSPACED_LETTER = String.raw`(?=[\p{L}\p{Nl}])[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\uff70]`;
const LETTER = String.raw`(?:(?!${UNSPACED_LETTER})[\p{L}\p{N}\p{M}_\u200c\u200d՛՜՞])`;
const WITHIN = String.raw`[\-\/&·‘־׳״]|(?<=\p{N})[.,:’'٫٬](?=\p{N})|(?<=\p{L})[:*](?=\p{Ll})|(?<=\p{Script=Hebrew})"(?=\p{Script=Hebrew})`;
const NO_LETTER = `(?!${LETTER})`;
const PATH_END = String.raw`[^\s<>"«»“”„\u3000-\u303f\uff00-\uffef.,;:!?…)\]}'’]`;
const PATH = String.raw`[^\s<>"«»“”„\u3000-\u303f\uff00-\uffef]*${PATH_END}`;
const START = String.raw`(?<![^\s(\[])`;
const MODIFIERS = String.raw`[\p{M}\u200c\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]*`;
const KINDS = [
  String.raw`(?=\S*[@.:]\S)(?:(?:[a-zA-Z][a-zA-Z0-9+.\-]*:\/\/|[wW]{3}\.)${PATH}`,
  String.raw`(?<!${LETTER}[+.\-]?)${LETTER}(?:[.+\-]?${LETTER})*@${LETTER}(?:[.\-]?${LETTER})*\.${LETTER}+`,
  String.raw`(?<!${LETTER}[.\-]?)(?:${LETTER}+(?:-${LETTER}+)*\.)+(?:[cC][oO][mM]|[oO][rR][gG]|[nN][eE][tT])${NO_LETTER}(?:\/${PATH})?`,
  String.raw`(?<!${LETTER})\p{L}\p{M}*(?:\.\p{L}\p{M}*)+\.?${NO_LETTER})`,
  String.raw`%(?:\(${LETTER}+\)|[0-9]+\$)?[sdif]${NO_LETTER}|\$\{${LETTER}+\}`,
  String.raw`(?<!\p{N})%(?:\(${LETTER}+\)|[0-9]+\$)?[\-+#0]*(?:[1-9][0-9]*)?(?:\.[0-9]+)?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcsp@]${NO_LETTER}`,
  String.raw`(?:${START}(?:[\-+−](?=\p{N})|[#@](?=${LETTER})))?${LETTER}+(?:(?:${WITHIN})${LETTER}+)*(?:(?<=\p{N})[°\p{Sc}]${LETTER}*)?(?:['’׳]|-(?!\S))?`,
  String.raw`${UNSPACED_LETTER}[\p{M}\u200c\u200d\uff9e\uff9f]*`,
  String.raw`(?:[\u{1f1e6}-\u{1f1ff}]{2}|\S)${MODIFIERS}(?:\u200d${NO_LETTER}\S${MODIFIERS})*`,
];
const WORD = new RegExp(KINDS.join("|"), "gu");
const LETTERS = new RegExp(`${LETTER}+`, "gu");

const [JOINT, ESCAPED] = ["￭", "\ufff9"];
const shown = (token) => (token.replace(/^￭+|￭+$/gu, "") || token).replaceAll(ESCAPED, JOINT);

// The kind of a word to its right and to its left: 0 as 。, 1 another sign, 2 with a letter, 3 as 漢.
const WIDE = /^[\u3001-\u3003\u3008-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]/u;
const [UNSPACED, LAST_LETTER, SOME_LETTER] = [`^${UNSPACED_LETTER}`, `${LETTER}$`, LETTER].map((each) => new RegExp(each, "u"));
const kinds = (word) => [LAST_LETTER, SOME_LETTER].map((letter) => (UNSPACED.test(word) ? 3 : WIDE.test(word) ? 0 : letter.test(word) ? 2 : 1));
const touch = (left, right) => !left || !right || (left === 3 && right === 3);

function splitWithJoints(text) {
  const found = [...text.matchAll(WORD)];
  const tokens = found.map(([word]) => word.replaceAll(JOINT, ESCAPED));
  for (let at = 1; at < found.length; at += 1) {
    const [[left], [, right]] = [kinds(found[at - 1][0]), kinds(found[at][0])];
    if (touch(left, right) !== (text[found[at].index - 1] === " ")) continue;
    if (left < right) tokens[at - 1] += JOINT;
    else tokens[at] = JOINT + tokens[at];
  }
  return tokens;
}

function joinWithJoints(tokens) {
  const words = tokens.map(shown);
  return words.reduce((text, word, at) => {
    const [[left], [, right]] = [kinds(words[at - 1] ?? word), kinds(word)];
    const marked = tokens[at - 1]?.endsWith(JOINT) ? left : tokens[at].startsWith(JOINT) ? right : null;
    return text + (!at || (marked === null ? touch(left, right) : [1, 2].includes(marked)) ? "" : " ") + word;
  }, "");
}

// torchtext's basic_english.
const BASIC = [
  [/'/gu, " '  "],
  [/"/gu, ""],
  [/\./gu, " . "],
  [/<br \/>/gu, " "],
  [/([,()!?])/gu, " $1 "],
  [/[;:]/gu, " "],
];

const withSpaces = (words) => words.join(" ");
const SPLITTERS = {
  joints: { split: splitWithJoints, join: joinWithJoints, shown },
  word: { split: (text) => text.match(WORD) ?? [], join: withSpaces },
  basic_english: { split: (text) => splitSpaces(BASIC.reduce((changed, [sign, put]) => changed.replace(sign, put), text.toLowerCase())), join: withSpaces },
  character: { split: (text) => Array.from(text), join: (signs) => signs.join("") },
  whitespace: { split: splitSpaces, join: withSpaces },
};

// ---- Text to subwords and back, as SentencePiece with its identity normalizer and byte fallback

const MARK = "▁";
const BYTE = /^<0x[0-9A-F]{2}>$/u;
const UNKNOWN_PENALTY = 10;
const UNKNOWN_SURFACE = " ⁇ ";

class Subwords {
  // kind: unigram or bpe; scores: of each token.
  constructor({ kind, tokens, scores }) {
    const places = tokens.map((token, id) => [token, id]);
    const isPiece = ([token, id]) => id >= NUM_SPECIALS && !BYTE.test(token);
    this.pieces = new Map(places.filter(isPiece));
    this.scores = scores;
    this.longest = Math.max(...[...this.pieces.keys()].map((piece) => Array.from(piece).length));
    const lowest = [...this.pieces.values()].reduce((lowest, id) => Math.min(lowest, scores[id]), Infinity);
    this.unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
    this.cut = kind === "bpe" ? merged : likeliestPath;
  }

  split(text) {
    return this.cutUp(text).flatMap((piece) => (this.pieces.has(piece) ? [piece] : byteTokens(piece)));
  }

  // Characters that are spelled in bytes.
  inBytes(text) {
    return this.cutUp(text).filter((piece) => !this.pieces.has(piece));
  }

  cutUp(text) {
    return text ? this.cut(Array.from(MARK + text.replaceAll(" ", MARK)), this) : [];
  }

  join(tokens) {
    let text = "";
    let bytes = [];
    let [atStart, markSeen] = [true, false];
    const flush = () => {
      text += textOf(bytes);
      bytes = [];
    };
    for (const token of tokens) {
      if (BYTE.test(token)) {
        bytes.push(parseInt(token.slice(3, 5), 16));
        continue;
      }
      flush();
      if (markSeen || text) atStart = false;
      markSeen = atStart && token.startsWith(MARK);
      text += token === "<unk>" ? UNKNOWN_SURFACE : (markSeen ? token.slice(1) : token).replaceAll(MARK, " ");
    }
    flush();
    return text;
  }
}

function byteTokens(character) {
  const hexadecimal = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");
  return Array.from(new TextEncoder().encode(character), (byte) => `<0x${hexadecimal(byte)}>`);
}

// The likeliest pieces, by Viterbi (Kudo 2018). Sums are kept in single precision, as SentencePiece
// keeps them: ties fall alike.
function likeliestPath(characters, { pieces, scores, longest, unknownScore }) {
  const ends = characters.map(() => null);
  const offer = (start, piece, score) => {
    const sum = score + (start ? ends[start - 1].sum : 0);
    const end = start + Array.from(piece).length - 1;
    if (!ends[end] || sum > ends[end].sum) ends[end] = { sum: Math.fround(sum), start, piece };
  };
  characters.forEach((character, start) => {
    let piece = "";
    for (const next of characters.slice(start, start + longest)) {
      piece += next;
      if (pieces.has(piece)) offer(start, piece, scores[pieces.get(piece)]);
    }
    if (!pieces.has(character)) offer(start, character, unknownScore);
  });
  const path = [];
  for (let end = characters.length - 1; end >= 0; end = ends[end].start - 1) path.unshift(ends[end].piece);
  return path;
}

// Neighbors are merged, those of the highest score first, the leftmost of these (Sennrich 2016).
function merged(characters, { pieces, scores }) {
  const symbols = [...characters];
  const scoreAt = (place) => (place + 1 < symbols.length ? (scores[pieces.get(symbols[place] + symbols[place + 1])] ?? -Infinity) : -Infinity);
  const pairs = symbols.map((_, place) => scoreAt(place));
  for (;;) {
    const place = pairs.reduce((most, score, at) => (score > pairs[most] ? at : most), 0);
    if (pairs[place] === -Infinity) return symbols;
    symbols.splice(place, 2, symbols[place] + symbols[place + 1]);
    pairs.splice(place, 1);
    pairs[place] = scoreAt(place);
    if (place) pairs[place - 1] = scoreAt(place - 1);
  }
}

// UTF-8, each byte that is none a sign of its own.
function textOf(bytes) {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const character = [1, 2, 3, 4].map((size) => decodedOrNothing(strict, bytes.slice(start, start + size))).find(Boolean);
    text += character ?? "\ufffd";
    start += character ? new TextEncoder().encode(character).length : 1;
  }
  return text;
}

function decodedOrNothing(decoder, bytes) {
  try {
    return decoder.decode(Uint8Array.from(bytes));
  } catch {
    return "";
  }
}

// ---- Sentences, by marks alone, and as seq2seq.decoding.sentences: a line end ends one, a number or marks alone are none

const NEXT = /(?<=[.?!…][\p{Pe}\p{Pf}\p{Pi}"']*\s+|[。！？]|\n)(?=\S)/u;
const [HAS_LETTER, HAS_LETTER_OR_NUMBER, LINE_END] = [/\p{L}/u, /[\p{L}\p{N}]/u, /\n\s*$/u];

// Each with the white space around it: joined, they are the text.
function sentencesOf(text) {
  const found = [""];
  for (const part of text.split(NEXT)) {
    const last = found.at(-1);
    const isNext = LINE_END.test(last) ? clean(last) : HAS_LETTER.test(last) && HAS_LETTER_OR_NUMBER.test(part);
    if (isNext) found.push(part);
    else found[found.length - 1] += part;
  }
  return found;
}

// ---- Text in, translations out

const MOST_TOKENS = 200; // of a sentence: the page answers while one types
const OTHER_LINE_ENDS = /\r(?!\n)|[\v\f\x1c-\x1e\x85\u2028\u2029]/gu;

// One language: seq2seq.data.
class Codec {
  constructor({ kind, dotless, unspaced, lowercase, tokens, scores, casing }) {
    Object.assign(this, { dotless, unspaced, lowercase, vocabulary: tokens, casing });
    this.splitter = SPLITTERS[kind] ?? new Subwords({ kind, tokens, scores: floatsOf(scores) });
    this.shown = this.splitter.shown ?? ((token) => token);
    this.tokens = tokens.map(this.shown);
    const numbered = (each) => each.map((token, id) => [token, id]);
    this.ids = new Map([...numbered(this.tokens).reverse(), ...numbered(tokens)]);
  }

  // {ids, unknown}: special tokens that are written in a text are words like any other.
  read(text) {
    const cleaned = clean(this.splitter instanceof Subwords ? text.replaceAll(MARK, " ") : text);
    const prepared = this.lowercase ? lowered(cleaned, this.dotless) : cleaned;
    const words = this.splitter.split(prepared);
    const known = (id) => (id >= NUM_SPECIALS ? id : UNKNOWN_ID);
    const ids = words.map((word) => known(this.ids.get(word) ?? this.ids.get(this.shown(word)) ?? UNKNOWN_ID));
    return { ids, unknown: this.splitter.inBytes?.(prepared) ?? words.filter((_, place) => ids[place] === UNKNOWN_ID).map(this.shown) };
  }

  write(ids) {
    const kept = ids.filter((id) => id >= NUM_SPECIALS || id === UNKNOWN_ID);
    const text = this.splitter.join(kept.map((id) => this.vocabulary[id])).replace(/[\r\n]/g, " ");
    return this.casing ? restored(text, this.casing, this.dotless) : text;
  }
}

// Capital letters of words, lines and sentences, as they were learned: the package joined-words.
const OPENING_MARKS = String.raw`(?:[\p{Ps}\p{Pi}»”"¿¡] *|\p{Pd} +)*`;
const CLOSING_MARK = String.raw`[\p{Pe}\p{Pf}\p{Pi}"']`;
const LINE_START = new RegExp(`^${OPENING_MARKS}$`, "u");
const SENTENCE_MARK = String.raw`(?:(?<!\.)\.+|(?!\.)[\p{Sentence_Terminal}:;…])${CLOSING_MARK}*(?: [»›]${CLOSING_MARK}*)?`;
const SENTENCE_START = new RegExp(`^(.*?)(${SENTENCE_MARK}) +${OPENING_MARKS}$`, "su");
const NUMBER = /^\p{Nd}+$/u;

function restored(text, { cased_forms, capital_start, sentence_marks }, dotless) {
  let [end, before] = [0, ""];
  const begins = (gap) => {
    if (!end) return capital_start && LINE_START.test(gap);
    const [, sign, mark] = (gap !== " " && gap.match(SENTENCE_START)) || [];
    return Object.hasOwn(sentence_marks, mark) && !sentence_marks[mark].includes(["", " "].includes(sign) ? before : "");
  };
  return text.replace(LETTERS, (word, place) => {
    const form = Object.hasOwn(cased_forms, word) ? cased_forms[word] : word;
    const isLower = lowered(word, dotless) === word;
    const cased = isLower && begins(text.slice(end, place)) ? capitalized(form, dotless) : form;
    [end, before] = [place + word.length, NUMBER.test(word) ? "0" : lowered(word, dotless)];
    return cased;
  });
}

function capitalized(word, dotless) {
  const [start = ""] = word;
  const first = dotless && start === "i" ? "İ" : start.toUpperCase();
  return lowered(first, dotless) === start ? first + word.slice(start.length) : word;
}

export class Translator {
  constructor(model) {
    this.network = new Network(model);
    [this.source, this.target] = [new Codec(model.source), new Codec(model.target)];
    this.bounds = model.bounds;
  }

  // The sentences of a text, each with the white space before it in the translation; of a blank text none.
  split(text) {
    let before = null;
    return sentencesOf(text).filter(clean).map((sentence) => {
      const gap = before === null ? "" : `${before}${sentence.match(/^\s*/u)[0]}`.replace(OTHER_LINE_ENDS, " ") || " ";
      before = sentence.match(/\s*$/u)[0];
      return { text: clean(sentence), gap: gap === " " && this.target.unspaced ? "" : gap };
    });
  }

  // A sentence as the network has read it.
  read(text) {
    const { ids, unknown } = this.source.read(text);
    const kept = [...ids.slice(0, MOST_TOKENS), END_ID];
    return { tokens: kept.map((id) => this.source.tokens[id]), unknown, numLeft: Math.max(0, ids.length - MOST_TOKENS), memory: this.network.encode(kept) };
  }

  // options: of beamSearch.
  translate({ tokens, memory }, options) {
    const search = beamSearch(this.network, memory, { bounds: this.bounds, ...options });
    const path = pathOf(search.winner);
    const ids = path.map(({ token }) => token);
    const weights = Float64Array.from(path.flatMap(({ parent }) => [...parent.made.weights]));
    return { source: tokens, target: ids.map((id) => this.target.tokens[id]), ids, text: this.target.write(ids), score: search.winner.score, weights, path, ...search };
  }
}
