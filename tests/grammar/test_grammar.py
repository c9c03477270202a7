import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from seq2seq.command_line.config_errors import as_config
from seq2seq.errors import InputError
from seq2seq.grammar.french import begins_with_vowel
from seq2seq.grammar.grammar import load_grammar
from seq2seq.grammar.inflection import english_past, english_s, french_plural
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.text.words import split_words
from tests.conftest import composed

NEVER_BEFORE_VOWEL = {"le", "la", "je", "ne", "que", "de", "me", "ce", "ma", "sa"}
GRAMMAR = Path(__file__).parents[2] / "data" / "grammar"
CONTRACTED = re.compile(r"\b(?:de le|de les|à le|à les)\b")


@pytest.fixture(scope="module")
def splits():
    corpus = build_corpus(as_config(composed("data=grammar")).data)
    return {"train": corpus.train, "validation": corpus.validation, "test": corpus.test}


def test_a_seed_gives_the_same_corpus(grammar, splits):
    assert grammar.sample(1000, 1, "test") == splits["test"]
    assert grammar.sample(1000, 2, "test") != splits["test"]


def test_pairs_are_distinct_and_no_split_shares_one(splits):
    sources = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(set(sources)) == len(sources) == 21_500


def test_content_words_are_those_of_the_open_classes(grammar, splits):
    content = grammar.content_words()
    assert {
        "chat",
        "chats",
        "jolie",
        "regarde",
        "regardé",
        "souvent",
        "semaine",
        "terre",
    } <= content
    closed = {
        "le",
        "la",
        "les",
        "une",
        "ces",
        "leur",
        "de",
        "est",
        "a",
        "ont",
        "va",
        "peuvent",
        "ne",
        "pas",
    }
    assert not closed & content
    target = Counter(word.lower() for pair in splits["test"] for word in split_words(pair.target))
    share = sum(count for word, count in target.items() if word in content) / target.total()
    assert 0.3 < share < 0.6


def test_each_number_of_clauses_is_as_frequent_to_a_length(grammar, splits):
    for split in ("train", "test"):
        made = grammar.sample(80, 1, split, clauses=4, max_words=40)
        assert made == grammar.sample(80, 1, split, clauses=4, max_words=40)
        joined = [len(re.findall(r" (?:and|but|because) ", pair.source)) for pair in made]
        # a noun phrase may have an "and" of its own
        assert all(joins >= place % 4 for place, joins in enumerate(joined) if place % 4)
        lengths = [len(split_words(pair.source)) for pair in made]
        assert 30 < max(lengths) <= 40
        assert all(re.fullmatch(r"[^.?!]+[.?!]", pair.source) for pair in made)
        assert all(pair.alignment[-1][1] < len(split_words(pair.target)) for pair in made)
    assert grammar.sample(50, 1, "test", clauses=1) == splits["test"][:50]


def words_of(pairs):
    return Counter(word.lower() for pair in pairs for word in split_words(pair.source))


def test_the_corpus_has_many_words_and_training_has_them_all(splits):
    train = words_of(splits["train"])
    assert len(train) >= 400
    assert words_of(splits["test"]).keys() <= train.keys()
    assert words_of(splits["validation"]).keys() <= train.keys()


def adjective_noun_pairs(pairs, adjectives, nouns):
    found = set()
    for pair in pairs:
        words = [word.lower() for word in split_words(pair.source)]
        found |= {p for p in pairwise(words) if p[0] in adjectives and p[1] in nouns}
    return found


def test_test_sentences_hold_combinations_that_training_lacks(grammar, splits):
    adjectives = {adjective.source for adjective in grammar.lexicon.adjectives}
    nouns = {noun.source[0] for noun in grammar.lexicon.nouns}
    train = adjective_noun_pairs(splits["train"], adjectives, nouns)
    test = adjective_noun_pairs(splits["test"], adjectives, nouns)
    assert len(test - train) >= 40


def test_every_alignment_is_of_words_and_almost_all_words_are_aligned(splits):
    num_words = num_aligned = 0
    for pair in splits["train"]:
        source, target = split_words(pair.source), split_words(pair.target)
        assert pair.alignment == tuple(sorted(set(pair.alignment)))
        assert all(i < len(source) and j < len(target) for i, j in pair.alignment)
        num_words += len(source) + len(target)
        num_aligned += len({i for i, _ in pair.alignment}) + len({j for _, j in pair.alignment})
    assert num_aligned / num_words > 0.99


def links_of(pair):
    """Sure and possible links as words, lower-cased."""
    source, target = split_words(pair.source.lower()), split_words(pair.target.lower())
    possible = {(source[i], target[j]) for i, j in pair.possible}
    sure = set(pair.alignment) - set(pair.possible)
    return {(source[i], target[j]) for i, j in sure}, possible


def test_the_last_signs_are_linked_so_that_gold_counts_the_words_of_the_text(splits):
    for pair in splits["train"][:5000]:
        last = len(split_words(pair.source)) - 1, len(split_words(pair.target)) - 1
        assert last in pair.alignment, pair


def test_possible_links_are_links_and_most_are_sure(splits):
    num_links = num_possible = 0
    for pair in splits["train"]:
        assert set(pair.possible) < set(pair.alignment)
        num_links += len(pair.alignment)
        num_possible += len(pair.possible)
    assert 0.2 < num_possible / num_links < 0.3


@pytest.mark.parametrize(
    ("sentence", "sure", "possible"),
    [
        (r"He doesn't \w+ ", {("t", "pas"), ("he", "il")}, {("doesn'", "pas")}),
        (r"^I never ", {("never", "jamais")}, {("never", "ne")}),
        (r"^Does he ", {("he", "il")}, {("does", "est-ce"), ("does", "qu'")}),
        (r"^\w+ saw ", {("saw", "vu")}, {("saw", "a")}),
        (r"^We are going to sleep", {("going", "allons")}, {("are", "allons"), ("to", "allons")}),
        (r"^There is a ", {("a", "un")}, {("there", "a"), ("is", "y")}),
        (r"bigger than", {("than", "que")}, {("bigger", "plus")}),
        (r"looks at the", {("looks", "regarde")}, {("at", "regarde")}),
        (r"^They need ", {("need", "ont")}, {("need", "besoin"), ("need", "de")}),
        (r"next week", {("next", "prochaine"), ("week", "semaine")}, {("week", "la")}),
        (r"today", {("today", "aujourd'"), ("today", "hui")}, set()),
        (r"in front of the", {("the", "le")}, {("front", "devant"), ("of", "devant")}),
    ],
)
def test_sure_links_are_of_words_and_possible_ones_of_expressions(splits, sentence, sure, possible):
    fitting = [links_of(pair) for pair in splits["train"] if re.search(sentence, pair.source)]
    assert any(sure <= found[0] and possible <= found[1] for found in fitting), fitting


def test_french_elides_before_every_vowel_and_contracts_its_articles(splits):
    for pair in splits["train"]:
        words = split_words(pair.target.lower())
        for word, following in pairwise(words):
            if begins_with_vowel(following):
                assert word not in NEVER_BEFORE_VOWEL, pair.target
            else:
                assert word not in {"l'", "j'", "n'", "qu'", "d'", "m'", "cet"}, pair.target
        assert not CONTRACTED.search(pair.target.lower()), pair.target


def test_english_articles_fit_the_next_word(splits):
    for pair in splits["train"]:
        words = split_words(pair.source.lower())
        for word, following in pairwise(words):
            if word in {"a", "an"}:
                vowel = following[0] in "aeiou" and following != "useful"
                assert (word == "an") == vowel, pair.source


def test_negation_stands_around_the_verb(splits):
    for pair in splits["train"]:
        words = split_words(pair.target.lower())
        negations = sum(word in {"ne", "n'"} for word in words)
        assert negations == sum(word in {"pas", "jamais"} for word in words), pair.target
        for place, word in enumerate(words):
            if word in {"ne", "n'"}:
                assert {"pas", "jamais"} & set(words[place + 2 : place + 5]), pair.target


@pytest.fixture(scope="module")
def by_pattern(splits):
    def search(pattern):
        return [pair for pair in splits["train"] if re.search(pattern, pair.source)]

    return search


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (r"^(?:I|We) (?:see|sees) (?:it|them)\b", r"^(?:Je|Nous) (?:le|les) (?:vois|voyons)\b"),
        (r"^She is happy\.$", r"^Elle est heureuse\.$"),
        (r"^(?:He|She) cannot \w+ them\.$", r"^(?:Il|Elle) ne peut pas les \w+\.$"),
        (r"\bpotatoes\b", r"\bpommes de terre\b"),
        (r"\bpotato\b", r"\bpomme de terre\b"),
        (r"\blooks for\b", r"\bcherche\b"),
        (r"\blistens to\b", r"\bécoute\b"),
        (r"\bneeds\b", r"\ba (?:\w+ )?besoin d(?:e\b|u\b|es\b|')"),
        (r"\bmany \w+", r"[bB]eaucoup d(?:e\b|')"),
        (r"\bthis elephant\b", r"\bcet éléphant\b"),
        (r"\bold elephant\b", r"\bvieil éléphant\b"),
        (r"^The beautiful child\b", r"^Le bel enfant\b"),
        (r"\bthe actress\b", r"\b[lL]'actrice\b"),
        (r"\bmy actress\b", r"\bmon actrice\b"),
        (r"\bher car\b", r"\bsa voiture\b"),
        (r"\bred cars\b", r"\bvoitures(?: \w+)? rouges\b"),
        (r"\bsmall cars\b", r"\bpetites voitures\b"),
        (r"\bnear the garden\b", r"\bprès du jardin\b"),
        (r"\bnear the (?:gardens|towns|parks)\b", r"\bprès des\b"),
        (r"^Does she\b", r"^Est-ce qu'elle\b"),
        (r"^What does he\b", r"^Qu'est-ce qu'il\b"),
        (r"^There (?:is|are)\b", r"^Il y a\b"),
        (r"\bwho (?:sees|helps)\b", r"\bqui (?:voit|aide)\b"),
        (r"\bthat she\b", r"\bqu'elle\b"),
        (r"\bnever\b", r"\bn(?:e |')(?:\w+ )?(?:[lm]')?\w+ jamais\b"),
        (r"\bbecause he\b", r"\bparce qu'il\b"),
        (r"\bas big as\b", r"\baussi grande?s? que?'?\b"),
        (r"\bbigger than\b", r"\bplus grande?s? qu(?:e\b|')"),
        (r"\btalks? to the (?:king|doctor|teacher)\b", r"\bau (?:roi|médecin|professeur)\b"),
        (r"\bsaw the\b", r"\b(?:ai|a|avons|avez|ont) vu l(?:es?\b|a\b|')"),
    ],
)
def test_constructions_are_translated(by_pattern, source, target):
    pairs = by_pattern(source)
    assert pairs, "no training sentence has the construction"
    for pair in pairs:
        assert re.search(target, pair.target), pair


def test_a_pronoun_agrees_with_what_it_stands_for(splits):
    checked = 0
    for pair in splits["train"]:
        match = re.match(
            r"(?:La|Le|L') ?(\w+) .* (?:et|mais) (?:je|il|elle|vous|nous|ils) (?:ne )?l[ae] ",
            pair.target,
        )
        if match and pair.source.startswith(("The ", "This ")) and " it" in pair.source:
            checked += 1
            feminine = pair.target.startswith("La")
            if not pair.target.startswith("L'"):
                assert (" la " in pair.target.split(" et ")[-1].split(" mais ")[-1]) == feminine, (
                    pair
                )
    assert checked >= 5


def test_regular_inflection():
    assert [english_s(word) for word in ("cat", "church", "story", "boy", "potato", "piano")] == [
        "cats",
        "churches",
        "stories",
        "boys",
        "potatoes",
        "pianos",
    ]
    assert [english_past(word) for word in ("help", "like", "carry", "play")] == [
        "helped",
        "liked",
        "carried",
        "played",
    ]
    assert [french_plural(word) for word in ("chat", "gâteau", "cheval", "souris", "prix")] == [
        "chats",
        "gâteaux",
        "chevaux",
        "souris",
        "prix",
    ]


def test_more_pairs_than_there_are_is_refused(grammar, monkeypatch):
    monkeypatch.setattr("seq2seq.grammar.grammar.MAX_TRIES_PER_PAIR", 1)
    with pytest.raises(InputError, match="fewer than 1,000 different test pairs"):
        grammar.sample(1000, 1, "test")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("lexicon.yaml", "nouns: {}", "malformed entry"),
        ("lexicon.yaml", "[", "is no plain YAML"),
        ("rules.yaml", "clauses: {a: {source: x}}", "clauses.a: .*missing required field target"),
        ("rules.yaml", "3", "Expected object, got int"),
    ],
)
def test_malformed_grammar_files_are_refused_by_name(tmp_path, grammar, file, content, message):
    for name in ("lexicon.yaml", "rules.yaml"):
        (tmp_path / name).write_text((GRAMMAR / name).read_text("utf-8"), "utf-8")
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        load_grammar(tmp_path)
    assert str(tmp_path / file) in str(caught.value)
