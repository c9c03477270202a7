// Text to words and back, as seq2seq.data and seq2seq.data do. JavaScript's own \w, \s
// and \b differ from Python's, so they are spelt out.

const LETTER = String.raw`[\p{L}\p{N}_]`;
const NO_LETTER = String.raw`(?!${LETTER})`;
const SPACE = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;

const WORD = new RegExp(String.raw`${LETTER}+(?:-${LETTER}+)*['’]?|(?:(?!${LETTER}|${SPACE}).)`, "gsu");
const SPACES = new RegExp(`${SPACE}+`, "gu");
export const LETTERS = new RegExp(`${LETTER}+`, "gu");

const CLOSING = / ([.,;:!?…)\]}%»])/gu;
const OPENING = /([([{«]) /gu;
const APOSTROPHE = new RegExp(`(?<=${LETTER})(['’]) `, "gu");
const OCLOCK = `(?<=(?<!${LETTER})o)`;
const SHORTENED = `(?<=${LETTER})(?=['’] (?:s|t|d|m|ll|re|ve)${NO_LETTER})`;
const ENGLISH_APOSTROPHE = new RegExp(`(?:${OCLOCK}|${SHORTENED})(['’]) `, "giu");
const SPACED_APOSTROPHE = new RegExp(`(?<=${LETTER}) (?=')`, "gu");

function joinWords(words, language) {
  const text = words.join(" ").replace(CLOSING, "$1").replace(OPENING, "$1").replace(language === "en" ? ENGLISH_APOSTROPHE : APOSTROPHE, "$1");
  return language === "fr" ? text.replace(/(«) ?/gu, "$1 ").replace(/ ?([;:!?»])/gu, " $1") : text;
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

const splitSpaces = (text) => text.split(SPACES).filter(Boolean);

export const SPLITTERS = {
  word: { split: (text) => text.match(WORD) ?? [], join: joinWords },
  basic_english: {
    split: (text) => splitSpaces(BASIC.reduce((changed, [sign, put]) => changed.replace(sign, put), text.toLowerCase())),
    join: (words) => joinWords(words.join(" ").replace(SPACED_APOSTROPHE, "").split(" "), "en"),
  },
  character: { split: (text) => Array.from(text), join: (signs) => signs.join("") },
  whitespace: { split: splitSpaces, join: (words) => words.join(" ") },
};
