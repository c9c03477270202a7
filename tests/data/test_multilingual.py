"""One model of several pairs of languages: tags, scores of each pair, and the way into each language."""

import json
import re
import shlex

import numpy as np
import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus, SentencePair, SentencePieceTokenizer, WordTokenizer
from seq2seq.data.corpora.multilingual import MultilingualText
from seq2seq.data.languages import target_tag
from seq2seq.data.report import overlap
from seq2seq.data.split import hold_out
from seq2seq.data.text import Splits, warn_of_seen
from tests.conftest import TINY
from tests.small import tokenizers_of

EN = [
    f"a {color} {thing} is here ."
    for color in ("red", "blue", "old")
    for thing in ("cat", "dog", "car", "cup")
]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "all.en").write_text("".join(f"{line}\n" for line in EN))
    (tmp_path / "all.de").write_text("".join(f"{line.replace('is here', 'ist hier')}\n" for line in EN))
    (tmp_path / "all.fr").write_text("".join(f"{line.replace('is here', 'est ici')}\n" for line in EN))
    return tmp_path


def corpora(*pairs):
    return {
        pair: {
            split: dict(zip(("source", "target"), (f"all.{code}" for code in pair.split("-")), strict=True))
            for split in ("train", "validation", "test")
        }
        for pair in pairs
    }


@pytest.mark.parametrize("tokenizer", [WordTokenizer, SentencePieceTokenizer])
def test_each_source_begins_with_one_token_for_its_target(files, tokenizer):
    data = MultilingualText(
        corpora=corpora("en-de", "fr-en"), root=str(files), joint_vocabulary=True,
        tokenizer=lambda **given: tokenizer(**given, vocab_size=400),
    )  # fmt: skip
    assert len(data.prepared.train) == 2 * len(EN)
    found = {
        pair.languages: data.prepared.source_tokenizer.tokens(pair.source)
        for pair in data.prepared.train.pairs
    }
    assert found["en-de"][0].removeprefix("▁") == target_tag("de") == "xxde"
    assert found["fr-en"][0].removeprefix("▁") == target_tag("en") == "xxen"
    assert [pair.languages for pair in data.prepared.test.pairs[:4]] == ["en-de", "fr-en"] * 2


def test_a_held_out_share_needs_no_validation_files(files):
    given = {name: {"train": splits["train"]} for name, splits in corpora("en-de", "en-fr").items()}
    data = MultilingualText(corpora=given, root=str(files), split={"validation": 0.25})
    assert len(data.prepared.validation) >= 6
    assert len(data.prepared.train) + len(data.prepared.validation) == 2 * len(EN)


def in_common(pairs, others):
    """Count the pairs that have a text in common with others, as source or target."""
    texts = {text for pair in others for text in pair.texts}
    return sum(not texts.isdisjoint(pair.texts) for pair in pairs)


@pytest.mark.parametrize(
    "names", [("en-de", "de-en"), ("en-de", "en-fr"), ("en-de", "fr-en"), ("de-en", "fr-en")]
)
def test_a_held_out_share_has_no_sentence_of_the_training_in_any_direction(files, names):
    given = {name: {"train": splits["train"]} for name, splits in corpora(*names).items()}
    for seed in range(5):
        splits = MultilingualText(
            corpora=given, root=str(files), split={"validation": 0.25, "seed": seed}
        ).splits
        assert len(splits.validation) == 6
        assert in_common(splits.validation, splits.train) == 0
        assert {pair.languages for pair in splits.validation} == {*names}


def in_both_directions(texts):
    return [
        pair
        for english, german in texts
        for pair in (
            SentencePair(f"xxde {english}", german, languages="en-de"),
            SentencePair(f"xxen {german}", english, languages="de-en"),
        )
    ]


def test_frequent_short_sentences_that_connect_many_pairs_stay_in_the_training(capsys):
    frequent = [(f"yes {number % 7}", f"ja {number % 8}") for number in range(400)]
    pairs = in_both_directions([*frequent, *((f"a {number}", f"ein {number}") for number in range(400))])
    for seed in range(5):
        rest, held = hold_out(pairs, 80, seed)
        assert (len(rest), len(held)) == (1520, 80)
        assert in_common(held, rest) == 0
    assert not capsys.readouterr().err
    rest, held = hold_out(pairs[:820], 80, 1)
    assert (len(rest), len(held)) == (800, 20)
    assert "20 of 80 pairs are held out" in capsys.readouterr().err
    with pytest.raises(InputError, match="too few without a sentence in common to hold out 80"):
        hold_out(pairs[:800], 80, 1)


def test_one_direction_is_split_by_its_sources_alone():
    pairs = [SentencePair(f"xxde a {number // 2}", "ja", languages="en-de") for number in range(40)]
    rest, held = hold_out(pairs, 10, 3)
    assert [pair.source for pair in held] == [
        f"xxde a {number}" for number in (5, 5, 11, 11, 13, 13, 14, 14, 16, 16)
    ]
    assert len(rest) == 30


def test_validation_pairs_that_are_training_pairs_turned_round_are_counted(capsys):
    train = in_both_directions([(f"a {number}", f"ein {number}") for number in range(20)])
    turned, forward = train[1::2], train[::2]
    assert overlap(forward, turned) == (20, 20)
    assert overlap(forward[:10], turned) == (10, 10)
    french = [SentencePair(pair.source.replace("xxde", "xxfr"), "un", languages="en-fr") for pair in forward]
    assert overlap(forward, french) == (0, 20)
    warn_of_seen(forward, {"validation": french})
    assert not capsys.readouterr().err
    warn_of_seen(forward, {"validation": turned})
    assert "20 of 20 validation pairs are training pairs" in capsys.readouterr().err


def test_languages_of_one_code_and_other_regions_have_their_own_tags():
    codes = ["es", "es_419", "en_001", "en_150", "zh_Hans", "zh_Hant_TW"]
    assert len({target_tag(code) for code in codes}) == len(codes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "data.corpora is empty"),
        ({"english": {}}, "name it by two codes"),
        ({"en-german": {}}, "did you mean de"),
        ({"en-de": {"valid": {}}}, "data.corpora.en-de.valid: give train"),
        ({"en-de": {}}, "data.train.source and data.train.target are needed"),
        ({"en-de": {"train": {"source": "a.en", "target": None}}}, "data.train.target is needed"),
    ],
)
def test_a_mistake_in_the_corpora_is_named(given, message):
    with pytest.raises(InputError, match=message):
        MultilingualText(corpora=given).read()


@pytest.mark.long
def test_each_language_has_its_own_capitals(tmp_path, program):
    german, english = "Er gibt mir seine Hand.", "He gives me his hand."
    for name, text in (("de", german), ("en", english)):
        (tmp_path / f"all.{name}").write_text(f"{text}\n" * 60)
    (tmp_path / "all.fr").write_text("Il me donne la main.\n" * 60)
    given = [
        f"+data.corpora.fr-{code}.{split}={{source: all.fr, target: all.{code}}}"
        for code in ("de", "en")
        for split in ("train", "validation", "test")
    ]
    tiny = [each for each in TINY if not each.startswith("tokenizer")]
    done = program(
        *tiny, "data=multi", "name=run", "tokenizer=words", "data.tokenizer.case=restore",
        "trainer.max_epochs=30", *given, cwd=tmp_path, check=0,
    )  # fmt: skip
    run = tmp_path / "runs/baseline/run"
    scores = json.loads((run / "metrics.json").read_text())
    assert scores["test"]["greedy"]["bleu"] == pytest.approx(100), done.text
    validated = [float(each) for each in re.findall(r"^epoch.* BLEU *([\d.]+)", done.text, re.MULTILINE)]
    assert validated[-1] == pytest.approx(100)  # while it trains, too
    for code, text in (("de", german), ("en", english)):
        found = program(run, "--to", code, "Il me donne la main.", command="translate", cwd=tmp_path, check=0)
        assert text in found.text


def test_capitals_of_a_new_language_are_learned_by_a_training_that_starts_from_a_model():
    pairs = {
        code: SentencePair("a", text, languages=f"fr-{code}")
        for code, text in (("de", "die Hand"), ("en", "the hand"))
    }
    _, target = tokenizers_of([pairs["de"]] * 9, ("fr", "mul"), case="restore")
    target.learn_case(["die Hand"] * 9, ["de"] * 9)
    data = MultilingualText(corpora=corpora("fr-de", "fr-en"), tokenizer=WordTokenizer)
    data.splits = Splits([*pairs.values()] * 9, [], [])
    data.start_with(tokenizers_of([pairs["de"]], ("fr", "und"))[0], target)
    found = data.tokenizers[1]
    assert [found.text(["hand"], code) for code in ("de", "en")] == ["Hand", "hand"]


def test_a_training_that_starts_from_a_model_learns_the_capitals_of_words_that_had_none():
    old = SentencePair("a", "wenn Sie die Hand sehen")
    source, target = tokenizers_of([old] * 9, ("fr", "de"), case="restore")
    target.learn_case([old.target] * 9)
    data = PairsCorpus(
        train=[("a", "der Baum in der hand , sie")] * 9,
        validation=[("a", "der")],
        source_language="fr",
        target_language="de",
    )
    data.start_with(source, target)
    words = ["Sie", "Hand", "Baum", "der"]
    assert [data.tokenizers[1].text(["sehen", word.lower()]) for word in words] == [
        f"sehen {word}" for word in words
    ]


def test_a_model_of_three_pairs_trains_scores_each_and_translates_into_each(files, program):
    given = [
        f"+data.corpora.{pair}.{split}={{source: all.{pair[:2]}, target: all.{pair[3:]}}}"
        for pair in ("en-de", "en-fr", "de-en")
        for split in ("train", "validation", "test")
    ]
    done = program(
        *TINY, "data=multi", "name=run", "data.tokenizer.vocab_size=400", "callbacks.averaging.decay=0.9", *given,
        "callbacks.checkpoint.monitor=val/bleu_en-fr", "trainer.check_val_every_n_epoch=1", cwd=files, check=0,
    )  # fmt: skip
    run = files / "runs/baseline/run"
    scores = json.loads((run / "metrics.json").read_text())
    for search in ("greedy", "beam"):
        of_pairs = [scores["test"][search][f"bleu_{pair}"] for pair in ("de-en", "en-de", "en-fr")]
        assert scores["test"][search]["bleu"] == pytest.approx(sum(of_pairs) / 3)
    assert "(de-en " in done.text
    for code in ("de", "fr"):
        found = program(
            run, "--to", code, "--source", "all.en", "--output", f"out.{code}", command="translate",
            cwd=files, check=0,
        )  # fmt: skip
        assert (files / f"out.{code}").read_text().count("\n") == len(EN), found.text
    assert (files / "out.de").read_text() != (files / "out.fr").read_text()
    shown = next(line for line in done.text.splitlines() if line.startswith("translate "))
    program(run, shlex.split(shown)[-1], command="translate", cwd=files, check=0)
    again = program(run, "--json", command="evaluate", cwd=files, check=0).text
    again = json.loads(again[again.index("{") :])
    assert again["greedy"]["bleu"] == pytest.approx(scores["test"]["greedy"]["bleu"], abs=1e-9)
    program(
        run,
        "--to",
        "fr",
        "--source",
        "all.en",
        "--reference",
        "all.fr",
        command="evaluate",
        cwd=files,
        check=0,
    )
    refused = program(run, "--to", "it", "--source", "all.en", command="translate", cwd=files, check=2)
    assert "does not translate into 'it'" in refused.text
    for script, files_of in (
        ("translate", ["--source", "all.en"]),
        ("evaluate", ["--source", "all.en", "--reference", "all.fr"]),
    ):
        refused = program(run, *files_of, command=script, cwd=files, check=2)
        assert "choose one with --to" in refused.text


def test_files_of_both_languages_are_read_by_the_names_of_their_columns(tmp_path):
    (tmp_path / "both.tsv").write_text("de\ten\n" + "".join(f"Hund{n}\tdog{n}\n" for n in range(9)))
    data = MultilingualText(
        corpora={"en-de": {"train": {"source": "both.tsv"}}}, root=str(tmp_path), split={"validation": 0.2}
    )
    assert {tuple(pair.source.split()) for pair in data.splits.train} <= {
        ("xxde", f"dog{n}") for n in range(9)
    }
    assert len(data.splits.train) + len(data.splits.validation) == 9
    with pytest.raises(InputError, match=r"data\.split\.validation.*not both"):
        MultilingualText(
            corpora={"en-de": {"train": {"source": "both.tsv"}, "validation": {"source": "both.tsv"}}},
            root=str(tmp_path), split={"validation": 0.2},
        ).read()  # fmt: skip


def unequal(files, **options):
    """Eight pairs of en-de, of which none is blank, and four of en-fr."""
    for code in ("de", "fr"):
        lines = (files / f"all.{code}").read_text().splitlines()[: 8 if code == "de" else 4]
        (files / f"few.{code}").write_text("".join(f"{line}\n" for line in lines))
        (files / f"few.{code}.en").write_text("".join(f"{line}\n" for line in EN[: len(lines)]))
    given = {
        f"en-{code}": {
            split: {"source": f"few.{code}.en", "target": f"few.{code}"} for split in ("train", "validation")
        }
        for code in ("de", "fr")
    }
    return MultilingualText(
        corpora={name: sides | options.pop(name[3:], {}) for name, sides in given.items()}, root=str(files),
        batch_size=3, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "of_fr"),
    [
        ({"temperature": 1}, 4),
        ({"temperature": 2}, round(12 * 4**0.5 / (4**0.5 + 8**0.5))),
        ({"temperature": 1000}, 6),
        ({"fr": {"weight": 2}}, 6),
        ({"de": {"weight": 2}, "fr": {"weight": 0.5}}, round(12 * 2 / 18)),
    ],
)
def test_an_epoch_has_the_shares_of_temperature_and_weights(files, options, of_fr):
    data = unequal(files, **options)
    pairs = data.prepared.train.pairs
    for epoch in range(3):
        drawn = [index for batch in data.train_dataloader().order(epoch) for index in batch]
        assert len(drawn) == 12
        assert sum(pairs[index].languages == "en-fr" for index in drawn) == of_fr
        times = [drawn.count(index) for index, pair in enumerate(pairs) if pair.languages == "en-fr"]
        assert max(times) - min(times) <= 1
    assert [note.split()[1:3] for note in data.notes] == [
        ["en-de:", f"{(12 - of_fr) / 12:.1%}"],
        ["en-fr:", f"{of_fr / 12:.1%}"],
    ]


def test_epochs_draw_other_pairs_and_without_shares_each_pair_is_read_once(files):
    data = unequal(files, temperature=1000)
    orders = [sorted(np.concatenate(data.train_dataloader().order(epoch))) for epoch in range(6)]
    assert len({tuple(order) for order in orders}) > 1
    assert set(np.concatenate(orders)) == set(range(12))
    plain = unequal(files)
    assert sorted(np.concatenate(plain.train_dataloader().order(0))) == [*range(12)]
    assert not plain.notes


@pytest.mark.parametrize(
    ("options", "said"),
    [({"fr": {"weight": 0}}, "data.corpora.en-fr.weight=0"), ({"temperature": 5, "max_tokens": 100}, "data.batch_size"),
     ({"fr": {"wieght": 1}}, "wieght")],
)  # fmt: skip
def test_wrong_shares_are_refused(files, options, said):
    with pytest.raises(InputError, match=said):
        unequal(files, **options).prepared  # noqa: B018


def test_a_training_tells_its_shares(files, program):  # after kills, too: tests/reliability/test_kills.py
    unequal(files)
    sides = [
        f"+data.corpora.en-{code}.{split}={{source: few.{code}.en, target: few.{code}}}"
        for code in ("de", "fr")
        for split in ("train", "validation")
    ]
    keys = [*sides, "data=multi", "debug=fast", "+data.corpora.en-fr.weight=1.5", "data.temperature=5", "data.batch_size=4",
            "callbacks.attention=null", "callbacks.samples=null", "logger=csv", "scheduler=constant", "decoding.beam_size=1",
            "threads=1", "device=cpu", "experiment_name=multi", "name=whole"]  # fmt: skip
    told = program(*keys, cwd=files, check=0).text
    assert re.search(
        r"^share       en-fr: \d\d.\d% of an epoch, \d of 4 pairs: \d.\d\d times each$", told, re.MULTILINE
    )
    whole = files / "runs/multi/whole"
    assert "train/share_en-fr" in next((whole / "csv").rglob("metrics.csv")).read_text()
    assert "share       en-fr" in (whole / "train.log").read_text()
