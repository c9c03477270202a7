"""Small models and tokenizers for tests."""

import lzma
from functools import partial
from itertools import islice

import torch

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
from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)  # fmt: skip
from seq2seq.models import (
    BahdanauDecoder,
    ConditionalDecoder,
    ContextDecoder,
    GRUEncoder,
    LSTMEncoder,
    LuongDecoder,
    PlainDecoder,
    build_model,
)  # fmt: skip
from tests.conftest import ROOT

SCORES = {
    "additive": partial(AdditiveScore, hidden_size=5),
    "coverage": partial(CoverageScore, hidden_size=5),
    "dot": DotScore,
    "scaled_dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "gaussian": partial(GaussianScore, learnable=True),
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


def model_of(
    *, source_vocab_size=11, target_vocab_size=11, embedding_size=4, encoder_hidden_size=3, decoder_hidden_size=6,
    num_layers=1, bidirectional=True, dropout=0.0, readout_size=None, tie="none", score="additive", alignment=None,
    normalizer="softmax", heads=1, initial_state="linear", query_with_embedding=False, decoder="bahdanau", cell="gru",
    input_feeding=True, reverse_source=False, seed=7,
):  # fmt: skip
    """A model in float64, in evaluation mode."""
    torch.manual_seed(seed)
    attention = partial(
        Attention, score=SCORES[score], alignment=ALIGNMENTS.get(alignment), normalizer=normalizer
    )
    if heads > 1:
        attention = partial(MultiHeadAttention, heads=heads, attention=attention)
    options = {} if decoder in ("context", "plain") else {"attention": attention}
    if decoder == "bahdanau":
        options["query_with_embedding"] = query_with_embedding
    if decoder == "luong":
        options["input_feeding"] = input_feeding
    model = build_model(
        encoder=partial(
            LSTMEncoder if cell == "lstm" else GRUEncoder,
            hidden_size=encoder_hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            dropout=dropout,
        ),
        decoder=partial(
            DECODERS[decoder],
            hidden_size=decoder_hidden_size,
            num_layers=num_layers,
            cell=cell,
            readout_size=readout_size,
            initial_state=initial_state,
            dropout=dropout,
            **options,
        ),
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        embedding_size=embedding_size,
        tie_embeddings=tie,
        reverse_source=reverse_source,
    )
    return model.double().eval()


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
    if options.get("truecase"):
        for each, text in zip(made, texts, strict=True):
            each.learn_case(text)
    return made


def built_in_pairs(count, split="train"):
    """The first sentence pairs of a split of the corpus that comes along."""
    lines = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8")
    rows = (line.rstrip("\n").split("\t") for line in lines)
    chosen = islice((row for row in rows if row[0] == split), count)
    return [SentencePair(row[1], row[2]) for row in chosen]
