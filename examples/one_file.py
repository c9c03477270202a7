"""Translation with Bahdanau attention in one file of plain PyTorch and Lightning.

    python examples/one_file.py            about three minutes of one core, 55 BLEU
    tensorboard --logdir runs/one_file     losses, and heatmaps of attention while they form

The same corpus, sizes, schedule and scores as `python train.py`. Read from the top: the pairs, the model, the
training, greedy search, and the heatmaps. What the program adds is speed, resuming, beam search and so on.
"""

import argparse
import lzma
import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import lightning.pytorch as pl
import matplotlib
import sacrebleu
import torch
from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.loggers import TensorBoardLogger
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.optim.swa_utils import get_ema_multi_avg_fn

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CORPUS = Path(__file__).parents[1] / "data" / "everyday" / "corpus.tsv.xz"
UNKNOWN, PADDING, BEGIN, END = range(4)  # the first four tokens of each vocabulary
MAX_LENGTH = 60  # tokens of a translation


# --- the pairs ---------------------------------------------------------------------------------------------


def read_corpus():
    """Return {split: [(English, French), ...]} of the file, whose lines are split, English, French, and further translations."""
    pairs = {"train": [], "validation": [], "test": []}
    with lzma.open(CORPUS, "rt", encoding="utf-8") as file:
        for line in file:
            split, source, target, *_ = line.rstrip("\n").split("\t")
            pairs[split].append((source, target))
    return pairs


def tokens_of(sentence):
    """Return words, with their hyphens and an apostrophe at the end ("l'"), figures ("2:30"), and signs."""
    return re.findall(r"\w+(?:(?:-|(?<=\d)[.,:](?=\d))\w+)*['’]?|[^\w\s]", sentence)


def text_of(tokens):
    """Return a French sentence: no space before . and , or after an apostrophe, one before ! ? : and ;."""
    text = re.sub(r" ([.,…)])", r"\1", " ".join(tokens))
    return re.sub(r"(?<=\w)(['’]) ", r"\1", text)


def vocabulary_of(sentences):
    """Return token -> id, the most frequent token first."""
    counts = Counter(token for sentence in sentences for token in tokens_of(sentence))
    frequent = sorted(counts, key=lambda token: (-counts[token], token))
    return {token: index for index, token in enumerate(["<unk>", "<pad>", "<bos>", "<eos>", *frequent])}


def encode(sentence, vocabulary):
    """Return the ids of a sentence and of its end (S,)."""
    return torch.tensor([vocabulary.get(token, UNKNOWN) for token in tokens_of(sentence)] + [END])


def collate(examples):
    """Pad sentences to one length: source (B, S), its lengths (B,), target (B, T)."""
    sources, targets = zip(*examples, strict=True)
    lengths = torch.tensor([len(source) for source in sources])
    padded = [pad_sequence(side, batch_first=True, padding_value=PADDING) for side in (sources, targets)]
    return padded[0], lengths, padded[1]


class BucketSampler(torch.utils.data.Sampler):
    """Batches of sentences of like length, which need little padding, in another random order each epoch."""

    def __init__(self, examples, batch_size, seed):
        self.lengths = [(len(target), len(source)) for source, target in examples]
        self.batch_size, self.random = batch_size, random.Random(seed)

    def __len__(self):
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self):
        order = list(range(len(self.lengths)))
        self.random.shuffle(order)  # sentences of one length change places
        order.sort(key=self.lengths.__getitem__)
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        self.random.shuffle(batches)
        return iter(batches)


# --- the model ---------------------------------------------------------------------------------------------


class Encoder(nn.Module):
    """Read the source in both directions with a GRU."""

    def __init__(self, vocab_size, embedding_size=128, hidden_size=128, dropout=0.05):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=embedding_size**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(embedding_size, hidden_size, batch_first=True, bidirectional=True)

    def forward(self, source, lengths):
        """Return the states of all tokens (B, S, 2H), and the last state of both directions (B, 2H)."""
        embedded = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, final = self.gru(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        return self.dropout(states), final.transpose(0, 1).flatten(1)


class Memory(NamedTuple):
    """What all steps of the decoder know of the source, computed once."""

    projected_keys: torch.Tensor  # W_k k (B, S, A)
    values: torch.Tensor  # the encoder's states (B, S, M)
    is_token: torch.Tensor  # True on real tokens, False on padding (B, S)


class AdditiveAttention(nn.Module):
    """a(q, k) = w_v . tanh(W_q q + W_k k), f = sum over i of softmax(a(q, k_i)) v_i (Bahdanau et al. 2015)."""

    def __init__(self, query_size, key_size, hidden_size=128):
        super().__init__()
        self.query_projection = nn.Linear(query_size, hidden_size, bias=False)  # W_q
        self.key_projection = nn.Linear(key_size, hidden_size, bias=False)  # W_k
        self.score_weight = nn.Linear(hidden_size, 1, bias=False)  # w_v

    def forward(self, query, memory):
        """Return the context (B, M) and the weights (B, S) of a query (B, H); padding has the weight 0."""
        hidden = torch.tanh(self.query_projection(query)[:, None] + memory.projected_keys)  # (B, S, A)
        scores = self.score_weight(hidden).squeeze(2)
        weights = scores.masked_fill(~memory.is_token, -math.inf).softmax(dim=1)  # masked softmax
        return torch.bmm(weights[:, None], memory.values).squeeze(1), weights


class BahdanauDecoder(nn.Module):
    """A GRU whose input is the previous token joined with the context; the query is its previous state.

    The readout (deep output of Bahdanau et al. 2015) joins state, context and previous token before the output layer, whose
    matrix is that of the target embedding (tied: Press and Wolf 2017).
    """

    def __init__(self, vocab_size, embedding_size=128, hidden_size=256, memory_size=256, dropout=0.05):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=embedding_size**-0.5)
        self.bridge = nn.Linear(memory_size, hidden_size)
        self.attention = AdditiveAttention(hidden_size, memory_size)
        self.cell = nn.GRUCell(embedding_size + memory_size, hidden_size)
        self.readout = nn.Linear(hidden_size + memory_size + embedding_size, embedding_size)
        self.output = nn.Linear(embedding_size, vocab_size)
        self.output.weight = self.embedding.weight  # tied
        self.dropout = nn.Dropout(dropout)

    def start(self, states, summary, is_token):
        """Return the first state (B, H) and the memory of all steps."""
        memory = Memory(self.attention.key_projection(states), states, is_token)
        return torch.tanh(self.bridge(summary)), memory

    def step(self, token, state, memory):
        """Return logits (B, V), the next state (B, H) and weights (B, S) for the previous token (B,)."""
        embedded = self.dropout(self.embedding(token))
        context, weights = self.attention(state, memory)
        state = self.cell(torch.cat([embedded, context], dim=1), state)
        features = torch.tanh(self.readout(torch.cat([state, context, embedded], dim=1)))
        return self.output(self.dropout(features)), state, weights


# --- training ----------------------------------------------------------------------------------------------


class Translator(pl.LightningModule):
    """Encoder, decoder, and how they are trained."""

    def __init__(self, source_vocabulary, target_vocabulary, lr=0.005, warmup_steps=100):
        super().__init__()
        self.source_vocabulary, self.target_words = source_vocabulary, list(target_vocabulary)
        self.encoder = Encoder(len(source_vocabulary))
        self.decoder = BahdanauDecoder(len(target_vocabulary))
        self.lr, self.warmup_steps = lr, warmup_steps
        self.sentences = []  # whose attention is drawn

    def forward(self, source, lengths, target):
        """Return logits (B, T, V) and weights (B, T, S) where every previous token is right (teacher forcing)."""
        state, memory = self.decoder.start(*self.encoder(source, lengths), source != PADDING)
        previous = F.pad(target[:, :-1], (1, 0), value=BEGIN)
        steps = []
        for token in previous.unbind(1):
            logits, state, weights = self.decoder.step(token, state, memory)
            steps.append((logits, weights))
        return tuple(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))

    def loss(self, batch):
        """Return the mean negative log-likelihood of a token; padding does not count."""
        source, lengths, target = batch
        logits, _ = self(source, lengths, target)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PADDING)

    def training_step(self, batch, _):
        """Return the loss of a batch."""
        loss = self.loss(batch)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, _):
        """Log the loss of a batch."""
        # Lightning averages over batches with these weights: every token counts the same, in short and long batches
        num_tokens = int((batch[2] != PADDING).sum())
        self.log("val/loss", self.loss(batch), prog_bar=True, batch_size=num_tokens)

    def on_validation_epoch_end(self):
        """Draw the attention of some sentences: rows are target tokens, dark cells are large weights."""
        for number, sentence in enumerate(self.sentences):
            (words, weights), *_ = self.translate([sentence])
            figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
            axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
            source = [*tokens_of(sentence), "<eos>"]
            axes.set_xticks(range(len(source)), source, rotation=60)
            axes.set_yticks(range(len(words)), words)
            self.logger.experiment.add_figure(f"attention/{number}", figure, self.global_step)

    def configure_optimizers(self):
        """Return Adam whose rate grows for 100 steps, then follows a cosine down to one hundredth."""
        total_steps = self.trainer.estimated_stepping_batches  # epochs times batches

        def fraction(step):
            if step < self.warmup_steps:
                return (step + 1) / self.warmup_steps
            progress = min((step + 1 - self.warmup_steps) / (total_steps - self.warmup_steps), 1.0)
            return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * progress))

        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, fraction)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    # --- greedy search ---

    @torch.no_grad()
    def translate(self, sentences):
        """Return (tokens, weights) of each sentence: the most probable token, step by step."""
        sources = [encode(sentence, self.source_vocabulary) for sentence in sentences]
        source = pad_sequence(sources, batch_first=True, padding_value=PADDING).to(self.device)
        lengths = torch.tensor([len(ids) for ids in sources])
        state, memory = self.decoder.start(*self.encoder(source, lengths), source != PADDING)
        token = torch.full((len(sources),), BEGIN, device=self.device)
        chosen, attention = [], []
        ended = torch.zeros_like(token, dtype=torch.bool)
        while len(chosen) < MAX_LENGTH and not ended.all():
            logits, state, weights = self.decoder.step(token, state, memory)
            logits[:, [PADDING, BEGIN]] = -math.inf
            token = logits.argmax(dim=1)
            ended |= token == END
            chosen.append(token)
            attention.append(weights)
        translations = []
        for ids, weights, length in zip(
            torch.stack(chosen, 1).tolist(), torch.stack(attention, 1), lengths, strict=True
        ):
            end = ids.index(END) if END in ids else len(ids)
            words = [self.target_words[i] for i in ids[:end]]
            translations.append((words, weights[:end, :length].cpu().numpy()))
        return translations


def update_average(averages, weights, num_averaged):
    """Set average = d average + (1 - d) weights after the n-th step, with d = (1 + n) / (10 + n), at most 0.99.

    The average of the weights of the last steps translates better than the last weights, which jump from step to step.
    Validation and the test use it.
    """
    decay = min(0.99, (1 + int(num_averaged)) / (10 + int(num_averaged)))
    get_ema_multi_avg_fn(decay)(averages, weights, num_averaged)


def main():
    """Train, translate the test sentences, and print their BLEU."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pl.seed_everything(options.seed)
    corpus = read_corpus()
    vocabularies = [vocabulary_of(pair[side] for pair in corpus["train"]) for side in (0, 1)]
    loaders = {}
    for split in ("train", "validation"):
        examples = [tuple(map(encode, pair, vocabularies)) for pair in corpus[split]]
        sampler = BucketSampler(examples, options.batch_size, options.seed)
        loaders[split] = torch.utils.data.DataLoader(examples, batch_sampler=sampler, collate_fn=collate)
    model = Translator(*vocabularies)
    model.sentences = [source for source, _ in corpus["validation"][:2]]
    trainer = pl.Trainer(
        max_epochs=options.epochs,
        gradient_clip_val=0.3,
        callbacks=[WeightAveraging(multi_avg_fn=update_average)],
        logger=TensorBoardLogger("runs", "one_file"),
    )
    trainer.fit(model, loaders["train"], loaders["validation"])
    model.eval()
    sources, references = zip(*corpus["test"], strict=True)
    translations = []
    for start in range(0, len(sources), 100):
        translations += [text_of(tokens) for tokens, _ in model.translate(sources[start : start + 100])]
    sentences = ["Where is the station?", "I'm hungry.", "Can you help me?"]
    for sentence, (tokens, _) in zip(sentences, model.translate(sentences), strict=True):
        print(sentence, text_of(tokens), sep="  ->  ")
    print(sacrebleu.corpus_bleu(translations, [references]))


if __name__ == "__main__":
    main()
