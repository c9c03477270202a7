// Tokens as labels. They come from anybody's text, so they are only ever set as text.

const LONGEST_LABEL = 28;
const SPECIAL = /^<[^<>\s]+>$/u;
export const UNKNOWN = "<unk>"; // what is read of a word that the vocabulary lacks

export const FONT =
  'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, ' +
  '"Noto Sans CJK SC", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans Arabic", ' +
  '"Noto Sans Hebrew", sans-serif';

const pencil = document.createElement("canvas").getContext("2d");

// Spaces and nothing at all are visible; a long token loses its middle.
export function labelOf(token) {
  if (token === "") return '""';
  const characters = Array.from(token.replace(/\s/gu, "␣"));
  if (characters.length <= LONGEST_LABEL) return characters.join("");
  const end = (LONGEST_LABEL - 1) >> 1;
  const start = characters.slice(0, LONGEST_LABEL - 1 - end);
  return `${start.join("")}…${characters.slice(-end).join("")}`;
}

export function isSpecial(token) {
  return SPECIAL.test(token);
}

// As wide as in bold, in which the token under the pointer is set.
export function widthOf(text, size) {
  pencil.font = `bold ${size}px ${FONT}`;
  return pencil.measureText(text).width;
}

export function widest(tokens, size) {
  return tokens.reduce((width, token) => Math.max(width, widthOf(labelOf(token), size)), 0);
}

// Without special tokens at its ends. Subwords that mark the beginning of a word by ▁ are joined as
// the text was.
export function sentenceOf(tokens) {
  const isWord = (token) => token === UNKNOWN || !isSpecial(token);
  const kept = tokens.slice(tokens.findIndex(isWord), tokens.findLastIndex(isWord) + 1);
  const subwords = kept.some((token) => token.startsWith("▁"));
  return subwords ? kept.join("").replaceAll("▁", " ").trim() : kept.join(" ");
}
