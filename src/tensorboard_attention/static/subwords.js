// Text to subwords and back, as SentencePiece does with its identity normaliser and byte fallback.

import { NUM_SPECIALS } from "./vocabulary.js";

const MARK = "▁";
const BYTE = /^<0x[0-9A-F]{2}>$/u;
const UNKNOWN_PENALTY = 10;
const UNKNOWN_SURFACE = " ⁇ ";

export class Subwords {
  // kind: unigram or bpe; scores: of each token.
  constructor({ kind, tokens, scores }) {
    const places = tokens.map((token, id) => [token, id]);
    const isPiece = ([token, id]) => id >= NUM_SPECIALS && !BYTE.test(token);
    this.pieces = new Map(places.filter(isPiece));
    this.scores = scores;
    this.longest = Math.max(...[...this.pieces.keys()].map((piece) => Array.from(piece).length));
    const least = [...this.pieces.values()].reduce((least, id) => Math.min(least, scores[id]), Infinity);
    this.unknownScore = Math.fround(least - UNKNOWN_PENALTY);
    this.cut = kind === "bpe" ? merged : likeliestPath;
  }

  split(text) {
    return this.cutUp(text).flatMap((piece) => (this.pieces.has(piece) ? [piece] : byteTokens(piece)));
  }

  // Characters that are spelt in bytes.
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

// Neighbours are merged, those of the greatest score first, the leftmost of these (Sennrich 2016).
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
