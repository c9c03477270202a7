"""Small models and tokenizers for tests."""

import json
import lzma
import math
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from types import NoneType

import torch
from omegaconf import OmegaConf

import seq2seq
from hydra_checked import arguments_of, flat
from hydra_checked.program import given_keys
from seq2seq.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    CoverageScore,
    DotScore,
    GaussianScore,
    LocalAlignment,
    MonotonicAlignment,
    MultiHeadAttention,
    ScaledDotScore,
    UniformScore,
)  # fmt: skip
from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)  # fmt: skip
from seq2seq.data.vocabulary import BEGIN_ID
from seq2seq.models import (
    BahdanauDecoder,
    ConditionalDecoder,
    ContextDecoder,
    GRUEncoder,
    LSTMEncoder,
    LuongDecoder,
    PlainDecoder,
    TransformerDecoder,
    build_model,
)  # fmt: skip
from seq2seq.run.run import run
from seq2seq.settings.application import CONF
from seq2seq.settings.config import composed, settings_of
from tests.conftest import ROOT

SCORES = {
    "additive": AdditiveScore,
    "coverage": CoverageScore,
    "dot": DotScore,
    "scaled_dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "gaussian": partial(GaussianScore, learnable=True),
    "fixed_gaussian": partial(GaussianScore, inverse_width=0.7),
    "average": UniformScore,
}
ALIGNMENTS = {
    "local_m": partial(LocalAlignment, window=1),
    "local_p": partial(LocalAlignment, window=2, predictive=True),
    "monotonic": partial(MonotonicAlignment, first_offset=0.0),  # else too little is attended to for a test
}
DECODERS = {
    "bahdanau": BahdanauDecoder,
    "conditional": ConditionalDecoder,
    "luong": LuongDecoder,
    "context": ContextDecoder,
    "plain": PlainDecoder,
    "transformer": TransformerDecoder,
}
VARIANTS = {
    "additive": {},
    "scaled_dot": {"score": "scaled_dot"},
    "dot": {"score": "dot"},
    "bilinear": {"score": "bilinear"},
    "gaussian": {"score": "gaussian"},
    "one_way_two_layers": {"bidirectional": False, "num_layers": 2, "encoder_hidden_size": 6},
    "bridge_and_readout": {"decoder_hidden_size": 7, "readout_size": 5, "num_layers": 2},
    "from_zeros": {"initial_state": "zeros", "num_layers": 2},
    "token_in_query": {"query_with_embedding": True, "num_layers": 2},
    "sparse_coverage": {"score": "coverage", "normalizer": "sparsemax"},
    "local_m": {"alignment": "local_m"},
    "local_p_heads": {"alignment": "local_p", "heads": 2},
    "monotonic": {"alignment": "monotonic"},
    "tied": {"readout_size": 4, "embedding_size": 4, "tie": "all"},
}


def attention_of(
    score="additive", alignment=None, normalizer="softmax", heads=1, attention_size=5, attention_dropout=0.0
):
    """An attention that a decoder gives its sizes; the alignment is a name or a factory."""
    sized = {"hidden_size": attention_size} if score in ("additive", "coverage") else {}
    attention = partial(
        Attention, score=partial(SCORES[score], **sized), alignment=ALIGNMENTS.get(alignment, alignment),
        normalizer=normalizer, dropout=attention_dropout,
    )  # fmt: skip
    return attention if heads == 1 else partial(MultiHeadAttention, heads=heads, attention=attention)


def decoder_of(decoder, embedding_size, given, **attention):
    """Factory of a decoder, a name or a class, with those of the arguments `given` that it takes, and an attention."""
    made = DECODERS.get(decoder, decoder)
    known, takes_any = arguments_of(made)
    given = given | {"attention": attention_of(**attention), "heads": math.gcd(2, embedding_size)}
    without = {"attention"} if known.get("attention") is NoneType else set()
    return partial(
        made,
        **{
            name: each for name, each in given.items() if (takes_any or name in known) and name not in without
        },
    )


def model_of(
    *, source_vocab_size=11, target_vocab_size=11, embedding_size=4, encoder_hidden_size=3, decoder_hidden_size=6,
    num_layers=1, encoder_layers=None, encoder_cell=None, bidirectional=True, readout_size=None, tie="none", initial_state="linear",
    query_with_embedding=False, decoder="bahdanau", cell="gru", input_feeding=True, reverse_source=False, dropout=0.0,
    embedding_dropout=None, output_dropout=None, seed=7, **attention,
):  # fmt: skip
    """A model in float64, in evaluation mode; the decoder is a name or a class, further arguments are of `attention_of`."""
    torch.manual_seed(seed)
    drops = {
        "dropout": dropout, "embedding_dropout": embedding_dropout, "output_dropout": output_dropout,
    }  # fmt: skip
    encoder = partial(
        LSTMEncoder if (encoder_cell or cell) == "lstm" else GRUEncoder, hidden_size=encoder_hidden_size,
        num_layers=encoder_layers or num_layers, bidirectional=bidirectional, **drops,
    )  # fmt: skip
    model = build_model(
        encoder=encoder,
        decoder=decoder_of(decoder, embedding_size, {
            "hidden_size": decoder_hidden_size, "num_layers": num_layers, "cell": cell, "readout_size": readout_size,
            "initial_state": initial_state, "query_with_embedding": query_with_embedding, "input_feeding": input_feeding,
            **drops,
        }, **attention),
        source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, embedding_size=embedding_size,
        tie_embeddings=tie, reverse_source=reverse_source,
    )  # fmt: skip
    return model.double().eval()


def batch_of(sources, targets, rows=None):
    """A batch of sentences of ids, without ``<eos>``; `rows` chooses and orders them."""
    pairs = [SentencePair("a", "b")] * len(sources)
    split = EncodedSplit(pairs, Sentences.from_lists(sources), Sentences.from_lists(targets))
    return Batch.from_split(split, range(len(sources)) if rows is None else rows)


def steps_of(model, source, target):
    """Logits and mean attention of each of the decoder's steps along ``<bos>`` and a target, of one sentence."""
    batch = SourceBatch.from_sentences([source])
    memory = model.encode(batch)
    state = model.decoder.initial_state(memory)
    for token in (BEGIN_ID, *target):
        features, state, weights = model.decoder.step(torch.tensor([token]), state, memory)
        yield model.decoder.output(features)[0], weights if weights is None else weights[0].mean(dim=0)


KINDS = {
    "word": WordTokenizer,
    "basic_english": partial(WordTokenizer, rules="basic_english"),
    "moses": partial(WordTokenizer, rules="moses"),
    "character": CharacterTokenizer,
    "whitespace": WhitespaceTokenizer,
    "unigram": partial(SentencePieceTokenizer, model_type="unigram"),
    "bpe": partial(SentencePieceTokenizer, model_type="bpe"),
}


def tokenizers_of(pairs, languages=("en", "fr"), tokenizer="word", *, joint=False, **options):
    """Source and target tokenizer, fitted on sentence pairs."""
    texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
    if joint:
        source = KINDS[tokenizer](language=languages[0], **options)
        source.fit([*texts[0], *texts[1]])
        made = source, source.share(languages[1])
    else:
        made = tuple(KINDS[tokenizer](language=language, **options) for language in languages)
        for each, text in zip(made, texts, strict=True):
            each.fit(text)
    if options.get("case") == "restore":
        for each, text in zip(made, texts, strict=True):
            each.learn_case(text)
    return made


def built_in_pairs(count, split="train"):
    """The first sentence pairs of a split of the built-in corpus."""
    lines = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8")
    rows = (line.rstrip("\n").split("\t") for line in lines)
    chosen = islice((row for row in rows if row[0] == split), count)
    return [SentencePair(row[1], row[2]) for row in chosen]


def forget_checksums(folder):
    """Make a model folder one of who changes its files on purpose."""
    config = json.loads((folder / "config.json").read_text())
    del config["sha256"]
    (folder / "config.json").write_text(json.dumps(config))


@cache
def settings_of_choices(*choices):
    """The settings of choices, which are composed once; None if they cannot be composed alone."""
    with suppress(Exception), composed(choices) as config:
        return settings_of(config, choices, "run")


NEEDED = "data.source_language", "data.target_language", "data.train.source", "data.train.target"
"""Keys without which some corpora cannot be composed."""


FOLLOWED = r"[+~].*|(hydra|paths)\..*|name|experiment_name|seed|ckpt_path|.*(dropout|_target_)"
"""Keys that other keys, or messages, follow."""


def settings_with(*overrides):
    """The settings of overrides, whose keys are set without composing again; None if a key needs composing."""
    choices = [each for each in overrides if (CONF / each.partition("=")[0]).is_dir()]
    keys = [each.partition("=")[0] for each in overrides if each not in choices]
    first = {each.partition("=")[0]: each for each in reversed(overrides)}
    settings = settings_of_choices(*choices, *(first[key] for key in NEEDED if key in first))
    known = {} if settings is None else flat(OmegaConf.to_container(settings.config))
    if any(key not in known or re.fullmatch(FOLLOWED, key) for key in keys) or not known:
        return None
    given = given_keys(overrides)
    values = {key: value for key, value in given.items() if settings.given.get(key, given) != value}
    return replace(settings.updated(values), given=given)


def train(*overrides):
    """Train as `seq2seq.train` does, in the folder ``run``, without composing the same choices again."""
    settings = settings_with(*overrides)
    return seq2seq.train(*overrides) if settings is None else run(settings)
