/** How to search. */
export interface Options {
  /** Hypotheses, from 1; 5. */
  beam?: number;
  /** By what the log-probability of a hypothesis is divided; "average": its length. */
  penalty?: "none" | "average" | "gnmt";
  /** Exponent of gnmt; 0.6. */
  alpha?: number;
}

/** A translation with its attention. */
export interface Explained {
  text: string;
  source: string[];
  target: string[];
  /** For each target token a row of weights over the source tokens. */
  weights: number[][];
}

/** A model that was loaded. */
export interface Translator {
  /** The translation of a sentence. */
  translate(text: string, options?: Options): Promise<string>;
  /** The translation with its tokens and their attention. */
  explain(text: string, options?: Options): Promise<Explained>;
}

/** Read the model.json of a folder; its address is relative to the page. */
export function load(folder: string): Promise<Translator>;
