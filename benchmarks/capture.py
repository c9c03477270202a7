"""What a recorded probe costs a training of `nn.Transformer`: python -m benchmarks.capture

Training steps and captures of four sentences alternate, so that other work on the machine slows both. Printed are medians, and the share
of a training that records every 200 steps. Goal: 3 % at most.
"""

import argparse
import statistics
import tempfile
import time

import torch
from torch import Tensor, nn

from tensorboard_attention import capture

EVERY = 200
"""Steps between two records."""


class Translator(nn.Module):
    """Embeddings, `nn.Transformer`, logits."""

    def __init__(self, vocabulary: int, size: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        self.transformer = nn.Transformer(size, 4, layers, layers, 4 * size, batch_first=True)
        self.output = nn.Linear(size, vocabulary)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return logits (B, T, V) of ids (B, S) and (B, T)."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
        sides = self.embedding(source), self.embedding(target)
        return self.output(self.transformer(*sides, tgt_mask=mask, tgt_is_causal=True))


def seconds(work: object, device: str) -> float:
    """Return the time of a call."""
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> None:
    """Measure, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(1)
    model = Translator(8000, options.size, options.layers).to(options.device)
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randint(8000, (2, options.batch, options.tokens), device=options.device)
    tokens = [[str(number) for number in range(options.tokens)]] * 4

    def train() -> None:
        logits = model(*batch)
        nn.functional.cross_entropy(logits.flatten(0, 1), batch[1].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()

    with tempfile.TemporaryDirectory() as folder:

        def record(step: int) -> None:
            with capture(model, folder, step, source_tokens=tokens, target_tokens=tokens):
                model(batch[0, :4], batch[1, :4])

        train()
        record(0)
        steps, records = [], []
        for number in range(options.rounds):
            steps += [seconds(train, options.device) for _ in range(4)]
            records.append(seconds(lambda number=number: record(number + 1), options.device))
    step, recorded = statistics.median(steps), statistics.median(records)
    share = recorded / (EVERY * step)
    print(
        f"a step {1000 * step:.1f} ms, a record {1000 * recorded:.1f} ms: {share:.2%} of a training",
        flush=True,
    )


if __name__ == "__main__":
    main()
