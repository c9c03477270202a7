"""What training logs of attention: heatmaps, every logger that takes pictures, records."""

import html
import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import lightning.pytorch as pl
import markdown
import numpy as np
import pytest
import sacrebleu
import torch
from lightning.pytorch.loggers import TensorBoardLogger

from seq2seq.common.errors import InputError
from seq2seq.data import CharacterTokenizer, PairsCorpus
from seq2seq.data.text import SentencePair
from seq2seq.training import AttentionLogger, TranslationModule
from seq2seq.training.gold_pairs import gold_links
from seq2seq.training.lines import as_markdown
from tensorboard_attention import log_picture
from tensorboard_attention.event_files import read_steps
from tests.small import model_of, tokenizers_of

PIXELS = np.zeros((2, 3, 3), np.uint8)


class Told:
    """Keeps what one method is called with."""

    def __init__(self, method):
        self.calls = []
        setattr(self, method, lambda *args, **kwargs: self.calls.append((args, kwargs)))


@pytest.mark.parametrize(
    ("experiment", "own", "expected"),
    [
        ("add_image", {}, (("s", PIXELS, 7), {"dataformats": "HWC"})),  # TensorBoard
        ("log_image", {"run_id": "r"}, (("r", PIXELS), {"key": "s", "step": 7})),  # MLflow
        ("log_image", {}, ((PIXELS,), {"name": "s", "step": 7})),  # Comet
    ],
)
def test_a_logger_that_takes_pictures_gets_them(experiment, own, expected):
    told = Told(experiment)
    log_picture(SimpleNamespace(experiment=told, **own), "s", PIXELS, 7)
    assert told.calls == [expected]


def test_weights_and_biases_gets_them_and_a_logger_without_pictures_is_left_alone():
    told = Told("log_image")
    told.experiment = None
    log_picture(told, "s", PIXELS, 7)
    assert told.calls == [((), {"key": "s", "images": [PIXELS], "step": 7})]
    log_picture(SimpleNamespace(experiment=None), "s", PIXELS, 7)


@pytest.mark.parametrize("kind", ["word", "bpe"])
@pytest.mark.parametrize("language", ["tr", "en", "fr"])
@pytest.mark.parametrize("text", ["Iğdır güzel .", "İzmir is big .", "Les chats dorment ."])
def test_gold_links_are_those_of_the_words_whatever_their_case(text, language, kind):
    pair = SentencePair("Cats sleep .", text, ((0, 0), (1, 1)))
    source, target = tokenizers_of(
        [pair] * 9, ("en", language), kind, case="lower", **({} if kind == "word" else {"vocab_size": 290})
    )
    sides = source.tokens(pair.source), target.tokens(text)
    links = gold_links(pair, (source, target), [len(tokens) + 1 for tokens in sides])
    words = [
        np.cumsum([kind == "word" or token.startswith("▁") for token in tokens]).tolist() for tokens in sides
    ]
    assert links == [
        (i, j)
        for i, of_source in enumerate(words[0])
        for j, of_target in enumerate(words[1])
        if of_source == of_target < 3
    ]


def test_records_of_several_languages_have_the_bleu_of_each(tmp_path):
    learned, chinese, german = "我们今天去花园散步。", "我们今天去公园散步。", "Wir gehen heute."
    pairs = [
        SentencePair("xxzh a", learned, languages="en-zh"),
        SentencePair("xxde a", german, languages="en-de"),
    ]
    others = [replace(pairs[0], target=chinese), pairs[1]]
    data = PairsCorpus(
        train=pairs * 30, validation=others, batch_size=2, target_tokenizer=CharacterTokenizer,
        source_language="mul", target_language="mul",
    )  # fmt: skip
    source, target = (codec.vocab_size for codec in data.tokenizers)
    model = model_of(
        source_vocab_size=source, target_vocab_size=target, embedding_size=16, decoder_hidden_size=24
    ).train()

    def trained(text):
        callback = AttentionLogger(sentences=2, heatmaps=0, texts=[text])
        trainer = pl.Trainer(
            max_epochs=2, accelerator="cpu", logger=TensorBoardLogger(str(tmp_path), name="", version=""),
            callbacks=[callback], enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, log_every_n_steps=1,
        )  # fmt: skip
        trainer.fit(TranslationModule(model, optimizer=partial(torch.optim.Adam, lr=0.01)), datamodule=data)
        for logger in trainer.loggers:
            logger.experiment.close()

    refusal = r"callbacks\.attention\.texts: .*: begin each sentence with the tag of one, such as xxde, xxzh$"
    with pytest.raises(InputError, match=refusal):
        trained("a")
    trained(f"xxzh a ||| {chinese}")
    for name, wanted, tokenize in (("0", chinese, "zh"), ("1", german, "13a"), ("text 1", chinese, "zh")):
        last = list(read_steps(tmp_path, f"attention/{name}/greedy", most=9, most_bytes=1 << 20).values())[-1]
        said = "".join(last.target[:-1])
        expected = sacrebleu.sentence_bleu(said, [wanted], tokenize=tokenize).score
        assert last.bleu == pytest.approx(expected, abs=0.01)
        assert expected > 5


@pytest.mark.parametrize(
    "text",
    [
        "__init__ *a* `b`",
        "C:\\|x",
        "&lt;unk&gt; <b>",
        "1. a",
        "# a",
        "[a](b) ![c]",
        "a&amp;b",
        "- a",
        "1986 - 87 + 1",
    ],
)
def test_translations_stand_in_the_table_as_they_are(text):
    cell = markdown.markdown(f"| a | b |\n|---|---|\n| {as_markdown(text)} | x |", extensions=["tables"])
    (found, _) = re.findall("(?s)<td>(.*?)</td>", cell)
    assert html.unescape(found) == text
