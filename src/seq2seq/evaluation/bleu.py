"""BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018), with the tokenizer for the language."""

import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

CHARACTERS = {"tokenize": "char"}

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages that are written without spaces between words."""


def base_language(code: str) -> str:
    """Return the language of a code without its region or script: zh of zh-TW and zh_Hant."""
    return code.replace("_", "-").partition("-")[0].lower()


def bleu_metric(language: str, *, lowercase: bool = False, effective_order: bool = False) -> "BLEU":
    """Return sacreBLEU's metric for a language: words for zh, ja and ko, else 13a tokens.

    Characters for other languages without spaces, and if the package for the words is missing, which prints a
    warning once. The signature names the tokenizer.

    Args:
        language: Code of the target language.
        lowercase: Lower-case the text first.
        effective_order: Use only the n-gram orders that a sentence is long enough for.
    """
    from sacrebleu.metrics.bleu import BLEU

    tokens = _tokens(base_language(language))
    return BLEU(lowercase=lowercase, effective_order=effective_order, **tokens)


@cache
def _tokens(language: str) -> dict[str, Any]:
    """Return the arguments of sacreBLEU's BLEU: the language, or a tokenizer."""
    from sacrebleu.metrics.bleu import BLEU

    told: dict[str, Any] = {"trg_lang": language}
    try:
        chosen = BLEU(**told).tokenizer_signature
    except RuntimeError:  # the words of Japanese and Korean need MeCab
        package = f"sacrebleu[{language}]"
        print(f"WARNING: BLEU of {language} counts characters: {package} is missing", file=sys.stderr)
        return CHARACTERS
    return CHARACTERS if language in UNSPACED and chosen == "13a" else told


def cased_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """Return the cased corpus BLEU, 0 to 100.

    Raises:
        ValueError: There are no translations, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    return bleu_metric(language).corpus_score(hypotheses, [references]).score


def sentence_bleu_score(hypothesis: str, reference: str, language: str) -> float:
    """Return the smoothed BLEU of one sentence, 0 to 100, over the n-gram orders that its length allows."""
    metric = bleu_metric(language, effective_order=True)
    return metric.sentence_score(hypothesis, [reference]).score


def require_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Check that there is one reference for each translation.

    Raises:
        ValueError: There are no translations, or their numbers differ.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
