/** How to search. */
export interface Options {
  /** Hypotheses, from 1; 5. */
  beam?: number;
  /** By what the log-probability of a hypothesis is divided; "average": its length. */
  penalty?: "none" | "average" | "gnmt";
  /** Exponent of gnmt; 0.6. */
  alpha?: number;
}

/** The translation of a sentence with its attention. */
export interface Explained {
  /** White space before it. */
  gap: string;
  text: string;
  source: string[];
  target: string[];
  /** For each target token a row of weights over the source tokens. */
  weights: number[][];
  /** Number of source tokens that were left out, of more than 200. */
  left: number;
}

/** A model that was loaded. */
export interface Translator {
  /** The translation of a text. */
  translate(text: string, options?: Options): Promise<string>;
  /** The translations of its sentences, with their tokens and attention. */
  explain(text: string, options?: Options): Promise<Explained[]>;
}

/** Read the model.json of a folder; its address is relative to the page. */
export function load(folder: string): Promise<Translator>;
