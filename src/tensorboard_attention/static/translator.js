// Text in, translations out: the codecs, the network and the search of an exported model.

import { floatsOf } from "./arrays.js";
import { Network } from "./network.js";
import { beamSearch, pathOf } from "./search.js";
import { Subwords } from "./subwords.js";
import { END_ID, NUM_SPECIALS, UNKNOWN_ID } from "./vocabulary.js";
import { LETTERS, SPLITTERS } from "./words.js";

const MOST_TOKENS = 200; // of a sentence: the page answers while one types

// One language: seq2seq.data.
class Codec {
  constructor({ kind, language, lowercase, tokens, scores, casing }) {
    Object.assign(this, { language, lowercase, tokens, casing });
    this.splitter = SPLITTERS[kind] ?? new Subwords({ kind, tokens, scores: floatsOf(scores) });
    this.ids = new Map(tokens.map((token, id) => [token, id]));
  }

  // {ids, unknown}: special tokens that are written in a text are words like any other.
  read(text) {
    const lowered = this.lowercase ? text.toLowerCase() : text;
    const words = this.splitter.split(lowered);
    const known = (id) => (id >= NUM_SPECIALS ? id : UNKNOWN_ID);
    const ids = words.map((word) => known(this.ids.get(word) ?? UNKNOWN_ID));
    return { ids, unknown: this.splitter.inBytes?.(lowered) ?? words.filter((_, place) => ids[place] === UNKNOWN_ID) };
  }

  write(ids) {
    const kept = ids.filter((id) => id >= NUM_SPECIALS || id === UNKNOWN_ID);
    const text = this.splitter.join(kept.map((id) => this.tokens[id]), this.language).replaceAll("\n", " ");
    return this.casing ? restored(text, this.casing) : text;
  }
}

// Capital letters by what is usual: seq2seq.data.tokenizers.
function restored(text, { forms, capital_start }) {
  const cased = text.replace(LETTERS, (word) => (Object.hasOwn(forms, word) ? forms[word] : word));
  const [start = ""] = cased;
  const first = start.toUpperCase();
  return capital_start && first.toLowerCase() === start ? first + cased.slice(start.length) : cased;
}

export class Translator {
  constructor(model) {
    this.network = new Network(model);
    [this.source, this.target] = [new Codec(model.source), new Codec(model.target)];
    this.bounds = model.bounds;
  }

  // A sentence as the network has read it; null of a blank one.
  read(text) {
    if (!text.trim()) return null;
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
