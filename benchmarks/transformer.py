"""Compare a training step with `torch.nn.TransformerDecoder` on the CPU: ``python -m benchmarks.transformer``

Both decoders have the same sizes, under the same encoder, embeddings and loss, and compute the same batches of random
tokens with lengths of 13 ± 4: forward, loss, backward, clipping, Adam. One thread, process time, in turns in one
process; the median of the quotients of neighboring turns, with quartiles, which say how noisy the machine is.
"""

import argparse
import math
import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.textbook import BATCH, VOCABULARY, batches, random_pairs, turn
from seq2seq.attention import Memory
from seq2seq.common.numbers import Size
from seq2seq.data import Batch
from seq2seq.models import Decoder, TransformerDecoder, TransformerEncoder, build_model
from seq2seq.models.decoder import output_layer
from seq2seq.models.transformer import positions
from seq2seq.training import TranslationModule

SIZES = {"small": (128, 2, 512), "multi30k": (192, 4, 512)}
"""Size, layers and feed-forward size of the recipes small_transformer and multi30k_all_transformer."""


class OfTorch(Decoder):
    """`torch.nn.TransformerDecoder`, which returns no attention."""

    has_attention = False

    def __init__(
        self, embedding: nn.Embedding, memory_size: int, summary_size: int, *, num_layers: Size, feedforward_size: Size,
        dropout: float = 0.1, tie_output: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        size = embedding.embedding_dim
        self.embedding, self.dropout, self.scale = embedding, nn.Dropout(dropout), math.sqrt(size)
        layer = nn.TransformerDecoderLayer(
            size, 4, feedforward_size, dropout, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerDecoder(layer, num_layers, nn.LayerNorm(size))
        self.output = output_layer(size, embedding, tied=tie_output)

    def step(self, *_: object) -> tuple[Tensor, tuple[Tensor, ...], None]:
        """Is not compared."""
        raise NotImplementedError

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, None]:
        """Compute all positions."""
        embedded = self.embedding(target_input) * self.scale
        x = self.dropout(embedded + positions(0, embedded.shape[1], embedded))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        padding = ~memory.source_is_token
        return self.layers(
            x, memory.states, tgt_mask=mask, tgt_is_causal=True, memory_key_padding_mask=padding
        ), None


def made(
    decoder: type[Decoder], size: int, layers: int, hidden: int
) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return a model and its loss of a batch."""
    options = {"num_layers": layers, "feedforward_size": hidden}
    model = build_model(
        encoder=partial(TransformerEncoder, heads=4, **options), decoder=partial(decoder, **options),
        source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, embedding_size=size, tie_embeddings="all",
        trust_custom_code=True,
    )  # fmt: skip
    module = TranslationModule(model)

    def loss(batch: Batch) -> Tensor:
        sums = module.cross_entropy(batch, module(batch)[0])
        return sums.objective / sums.num_tokens

    return model, loss


def main() -> None:
    """Let both decoders take turns, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=9, help="turns of each model (default: 9)")
    parser.add_argument("--batches", type=int, default=3, help="batches of a turn (default: 3)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    work = batches(random_pairs(BATCH * 50), options.batches, bucketed=True)
    print("| sizes | ours by torch's time of a step (quartiles) | ms, ours and torch's |\n|---|---|---|")
    for name, sizes in SIZES.items():
        torch.manual_seed(1)
        models = [made(decoder, *sizes) for decoder in (TransformerDecoder, OfTorch)]
        both = [(*each, torch.optim.Adam(each[0].parameters(), fused=True)) for each in models]
        turns = [
            [turn(*each, work, torch.float32) for each in both[:: (-1) ** number]][:: (-1) ** number]
            for number in range(options.turns + 1)
        ][1:]
        low, middle, high = statistics.quantiles([ours / torchs for ours, torchs in turns], n=4)
        times = [1000 * statistics.median(each) / len(work) for each in zip(*turns, strict=True)]
        print(
            f"| {name} | {middle:.2f} ({low:.2f} to {high:.2f}) | {times[0]:.0f}, {times[1]:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
