"""The attention of any PyTorch model, recorded while it runs, without a change of the model: `capture`.

A mode of torch (`torch.overrides.TorchFunctionMode`) sees the functions that compute attention, wherever a model calls them,
and hooks of the modules say where that is (`interception`):

- ``F.scaled_dot_product_attention``, which returns no weights: they are computed again from its arguments;
- ``F.multi_head_attention_forward``, which `nn.MultiheadAttention` calls: it is called again for the weights of all heads (`exact`);
- ``flex_attention``, which is called again with unit vectors as values (`exact`);
- ``softmax``, where its result is multiplied with values, as in the "eager" attention of Hugging Face (`axes`).

A module named attention in which none of these was found is reported.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tensorboard_attention.capturing.effects import effects_of_heads
from tensorboard_attention.capturing.interception import Watcher, path_of
from tensorboard_attention.capturing.labels import Names, Sides, Tokens, lists_of, write
from tensorboard_attention.capturing.layers import Captured, Layer, layers_of

__all__ = ["Captured", "Layer", "capture"]


@contextmanager
def capture(
    model: nn.Module,
    writer: Any = None,
    step: int = 0,
    *,
    source_tokens: Tokens = None,
    target_tokens: Tokens = None,
    tokenizer: Any = None,
    tag: Names = "probe",
    modules: Names | Mapping[str, Callable[[Any], Tensor]] = (),
    sentences: int = 4,
    effect: Callable[[int, np.ndarray], Any] | None = None,
    loss: Callable[[], Any] | None = None,
) -> Iterator[Captured]:
    """Record the self- and cross-attention of every layer and head of a model that runs once in the ``with`` block.

        with tensorboard_attention.capture(model, writer, step):
            model(**probe)

    Meanwhile the model is in evaluation mode, without gradients, without `torch.compile` and without the fast paths of
    `nn.TransformerEncoder`; afterwards all is as before, random states too, so that a training goes on as if nothing had
    happened. Weights are those before dropout. What cannot be captured is named in a warning.

    Args:
        model: Any module.
        writer: As `add_attention` takes it; None: nothing is written.
        step: The training step.
        source_tokens: Labels of what the encoder reads, or a model without encoder: for each sentence of the batch one list,
            or one list for the only sentence. Padding at the end needs no labels. None: axes without labels, as for
            frames of sound or patches of an image.
        target_tokens: Labels of what the decoder reads.
        tokenizer: Instead of them: its `convert_ids_to_tokens` makes labels of the `input_ids` that the model and its decoder
            are called with.
        tag: Names the sentence; of several, each has its number behind; or one name for each that is recorded.
        modules: Paths of modules that return attention weights (B, S), (B, T, S) or (B, heads, T, S), among others; or a
            function for each path that takes the weights out of the output. If they run once for each target token,
            their weights are rows.
        sentences: How many of the batch are recorded at most, 1 or more.
        effect: Is called for each recorded sentence after the block, in the same state of the model, with its place in the batch
            and what is kept of its source (S + 1, S), and returns log-probabilities of its target, see
            `tensorboard_attention.leave_one_out`; cross-attention is shown beside it, or the only kind.
        loss: Is called after the block, in the same state of the model, once and again for each head: runs the model on the same
            batch and returns a number. What it returns more without the largest weight of each row of a head, the others of the
            row renormalized, is the effect of the head, in the table of heads.

    Yields:
        A `Captured`, complete after the block.

    Raises:
        ValueError: The model has no such module, a module returns no weights, two sentences have one name, tokens are text,
            or no sentence is to be recorded.
    """
    paths = [modules] if isinstance(modules, str) else modules
    named = dict(modules) if isinstance(modules, Mapping) else dict.fromkeys(paths)
    known = [path_of(name) for name, _ in model.named_modules()]
    if unknown := [path for path in named if path not in known]:
        raise ValueError(f"modules={unknown}: the model has no such module, but {', '.join(known[1:6])}, …")
    if not isinstance(tag, str) and len({*tag}) < len(tag):
        raise ValueError(f"tag={tag!r}: each sentence needs a name of its own")
    if sentences < 1:
        raise ValueError(f"sentences={sentences} must be at least 1: how many of the batch are recorded")
    given = {"source": lists_of("source", source_tokens), "target": lists_of("target", target_tokens)}
    num_known = next((len(lists) for lists in given.values() if lists), None)
    watcher = Watcher(named)
    captured = Captured()
    with _undisturbed(model), watcher.watching(model):
        yield captured
    if tokenizer is not None and num_known is None:
        num_known = next((len(each.ids) for each in watcher.ids), None)
    _finish(watcher, captured, model, num_known)
    if loss is not None:
        with _undisturbed(model):
            captured.problems += effects_of_heads(model, loss, captured.layers)
    if writer is not None:
        with _undisturbed(model):
            write(
                captured,
                writer,
                step,
                Sides(given, watcher.ids, tokenizer, captured.layers),
                tag,
                sentences,
                effect,
            )
    for problem in captured.problems:
        warnings.warn(f"attention: {problem}", stacklevel=3)


def _finish(watcher: Watcher, captured: Captured, model: nn.Module, num_sentences: int | None) -> None:
    """Add layers and problems."""
    problems = []
    for (path, _), calls in watcher.calls.items():
        try:
            layers = layers_of(calls.all, watcher.num_runs, num_sentences)
        except ValueError as error:
            problems.append(f"{path or 'the model'} is not captured: {error}")
            continue
        num_matrices, batch = len(layers[0]), calls.all[0].answer.num_sentences
        if num_matrices != batch:
            problems.append(
                f"{path or 'the model'} has {num_matrices} matrices for a batch of {batch}: they are of parts of it, such as windows, "
                "and are numbered as sentences"
            )
        captured.layers += [
            Layer(path, weights, calls.is_cross, calls.rows(), calls.columns(), calls.all[0].first)
            for weights in layers
        ]
    captured.problems += watcher.told(model) + problems
    if not (captured.layers or captured.problems):
        captured.problems.append(
            "the model computed none that can be captured: name the modules that return it, modules="
        )


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Run in evaluation mode without gradients, compiled graphs and fused layers; restore all of it, and random states."""
    were_training = [module for module in model.modules() if module.training]
    had_fast_path = torch.backends.mha.get_fastpath_enabled()
    devices = {p.device.index for p in model.parameters() if p.device.type == "cuda"}
    try:
        for module in were_training:
            module.training = False
        torch.backends.mha.set_fastpath_enabled(False)
        with torch.no_grad(), torch.random.fork_rng(devices), torch.compiler.set_stance("force_eager"):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(had_fast_path)
        for module in were_training:
            module.training = True
