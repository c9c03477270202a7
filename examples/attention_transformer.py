"""All heads of a Transformer of torch.nn: python examples/attention_transformer.py --logdir runs/transformer

`nn.Transformer` does not return its attention; `capture` records that of the encoder, of the decoder and between them while
the model runs. Then: tensorboard --logdir runs
"""

import argparse

import torch
from torch import nn

from tensorboard_attention import capture


def main() -> None:
    """Write the attention of an untrained Transformer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/transformer")
    options = parser.parse_args()
    torch.manual_seed(1)
    source, target = ["the", "small", "cat", "sleeps"], ["le", "petit", "chat", "dort"]
    model = nn.Transformer(
        d_model=32, nhead=4, num_encoder_layers=3, num_decoder_layers=3, dim_feedforward=64, batch_first=True
    )
    mask = nn.Transformer.generate_square_subsequent_mask(len(target))
    states = torch.randn(1, len(source), 32), torch.randn(1, len(target), 32)
    tokens = {"source_tokens": source, "target_tokens": target}
    with capture(model, options.logdir, step=0, tag="sentence 1", **tokens):
        model(*states, tgt_mask=mask)
    print(f"tensorboard --logdir {options.logdir}")


if __name__ == "__main__":
    main()
