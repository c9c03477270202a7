"""Forms of verbs, as the slots of templates ask for them."""

from seq2seq.grammar.lexicon import Verb
from seq2seq.grammar.phrase import Agreement, Lexeme


def _is_third_singular(agreement: Agreement) -> bool:
    return agreement.person == 3 and not agreement.plural


def _finite_index(agreement: Agreement) -> int:
    """Place among je, il, nous, vous, ils."""
    if agreement.person == 1:
        return 2 if agreement.plural else 0
    if agreement.person == 2:
        return 3
    return 4 if agreement.plural else 1


def verb_forms(verb: Verb, agreement: Agreement) -> Lexeme:
    """`agree`, `base`, `past`, `not` in English; `agree`, `infinitive`, `participle` in French."""
    forms = {
        ("source", "agree"): verb.third if _is_third_singular(agreement) else verb.base,
        ("source", "base"): verb.base,
        ("source", "past"): verb.past,
        ("source", "not"): verb.negative,
        ("target", "agree"): verb.finite[_finite_index(agreement)],
        ("target", "infinitive"): verb.infinitive,
        ("target", "participle"): verb.participle,
    }

    def form(side: str, name: str) -> tuple[str, ...]:
        words = forms[side, name]
        if words is None:
            raise ValueError(f"{verb.base} has no form {name}")
        return tuple(words.split())

    return form


def auxiliary(verb: Verb, agreement: Agreement) -> Lexeme:
    """The finite form of a French auxiliary."""
    return lambda _side, _form: (verb.finite[_finite_index(agreement)],)


def do(agreement: Agreement) -> Lexeme:
    """Do or does; `not`: the don' or doesn' before t."""
    word = "does" if _is_third_singular(agreement) else "do"
    return lambda _side, form: (f"{word}n'" if form == "not" else word,)


def be(agreement: Agreement) -> Lexeme:
    """am, is or are."""
    if agreement.person == 1 and not agreement.plural:
        word = "am"
    else:
        word = "is" if _is_third_singular(agreement) else "are"
    return lambda _side, _form: (word,)
