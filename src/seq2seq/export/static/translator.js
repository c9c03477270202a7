
// What a page of your own imports: import { load } from "./translator.js".

const DEFAULTS = { beam: 5, penalty: "average", alpha: 0.6 };

// Read the model of a folder. An address is relative to the page.
export async function load(folder) {
  const address = new URL(`${folder.replace(/\/*$/u, "")}/model.json`, globalThis.document?.baseURI ?? import.meta.url);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  return new Loaded(new Translator(await answer.json()));
}

class Loaded {
  constructor(translator) {
    this.translator = translator;
  }

  // The translation of a text. options: beam, 1 for greedy search; penalty, "none", "average" or "gnmt" with alpha.
  async translate(text, options = {}) {
    return (await this.explain(text, options)).map(({ gap, text: found }) => gap + found).join("");
  }

  // For each sentence of a text {gap, text, source, target, weights, left}: the white space before its translation, its tokens, a row of
  // weights over the source for each target token, and the number of source tokens that were left out, of more than 200.
  async explain(text, options = {}) {
    return this.translator.split(text).map((part) => {
      const read = this.translator.read(part.text);
      const { source, target, text: found, weights } = this.translator.translate(read, { ...DEFAULTS, ...options });
      const rows = target.map((_, row) => [...weights.subarray(row * source.length, (row + 1) * source.length)]);
      return { gap: part.gap, text: found, source, target, weights: rows, left: read.numLeft };
    });
  }
}
