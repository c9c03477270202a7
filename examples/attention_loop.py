"""Attention of a training loop written by hand in PyTorch: python examples/attention_loop.py --logdir runs/loop

A decoder with dot-product attention learns to reverse a sequence of letters, and its attention turns from even to
the other diagonal. Then: tensorboard --logdir runs
"""

import argparse

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import add_attention

LETTERS = "abcdefghij"


class Reverser(nn.Module):
    """Read letters and their positions; attend to one letter for each position of the output."""

    def __init__(self, size: int, length: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), size)
        self.positions = nn.Embedding(length, size)
        self.queries = nn.Embedding(length, size)
        self.output = nn.Linear(size, len(LETTERS))

    def forward(self, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits (B, T, V) and attention weights (B, T, S) of letters (B, S)."""
        values = self.letters(letters)
        keys = values + self.positions.weight
        scores = self.queries.weight @ keys.transpose(1, 2)
        weights = scores.softmax(dim=-1)
        return self.output(weights @ values), weights


def main() -> None:
    """Train, and write the attention of one sequence every so many steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/loop")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    torch.manual_seed(1)
    model = Reverser(size=64, length=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    shown = torch.randint(len(LETTERS), (1, 8))
    tokens = [LETTERS[letter] for letter in shown[0]]
    with SummaryWriter(options.logdir) as writer:
        for step in range(options.steps + 1):
            if step % 20 == 0:
                with torch.no_grad():
                    logits, weights = model(shown)
                said = [LETTERS[letter] for letter in logits[0].argmax(dim=-1)]
                add_attention(
                    writer, "reversed", weights[0], tokens, said, step, reference=" ".join(tokens[::-1])
                )
            letters = torch.randint(len(LETTERS), (64, 8))
            logits, _ = model(letters)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), letters.flip(1).flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("loss", loss.item(), step)
    print(f"loss {loss.item():.3f}   tensorboard --logdir {options.logdir}")


if __name__ == "__main__":
    main()
