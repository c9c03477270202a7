"""All heads of a Transformer of torch.nn: python examples/attention_transformer.py --logdir runs/transformer

`nn.Transformer` does not return its attention. A forward hook on each `nn.MultiheadAttention` calls it again for the
weights of all heads, of the encoder's and the decoder's self-attention and of cross-attention. Then:
tensorboard --logdir runs
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tensorboard_attention import add_attention


@contextmanager
def recorded(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights (B, heads, T, S) of every `nn.MultiheadAttention` of a model by its name."""
    found: dict[str, Tensor] = {}

    def hook_of(name: str) -> Any:
        def hook(module: nn.MultiheadAttention, arguments: Any, options: dict[str, Any], output: Any) -> None:
            again = options | {"need_weights": True, "average_attn_weights": False}
            found[name] = module.forward(*arguments, **again)[1]  # forward itself, which calls no hook

        return hook

    handles = [
        module.register_forward_hook(hook_of(name), with_kwargs=True)
        for name, module in model.named_modules()
        if isinstance(module, nn.MultiheadAttention)
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


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
    model.eval()  # without dropout, which would change weights, too
    with torch.no_grad(), recorded(model) as found:
        model(*states, tgt_mask=mask)
    for kind, part, columns, rows in (
        ("encoder self-attention", "encoder.layers.{}.self_attn", source, source),
        ("decoder self-attention", "decoder.layers.{}.self_attn", target, target),
        ("cross-attention", "decoder.layers.{}.multihead_attn", source, target),
    ):
        layers = [found[part.format(number)][0] for number in range(3)]  # of the first sentence
        add_attention(options.logdir, "sentence 1", layers, columns, rows, step=0, kind=kind)
    print(f"tensorboard --logdir {options.logdir}")


if __name__ == "__main__":
    main()
