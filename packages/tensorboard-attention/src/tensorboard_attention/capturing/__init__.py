"""The attention of any PyTorch model, recorded while it runs, without a change of the model: `capture`.

A mode of torch (`torch.overrides.TorchFunctionMode`) sees the functions that compute attention, wherever a model calls them,
and hooks of the modules say where that is:

- ``F.scaled_dot_product_attention``, which returns no weights: they are computed again from its arguments;
- ``F.multi_head_attention_forward``, which `nn.MultiheadAttention` calls: it is called again for the weights of all heads;
- ``softmax`` over the last dimension of scores (batch, heads, target, source), or of scores of any shape in a module whose
  class is called attention: attention that is written by hand, such as the "eager" one of Hugging Face.

A module named attention in which none of these was called is reported.
"""

import inspect
import itertools
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)
from torch.nn.attention.bias import CausalBias, CausalVariant
from torch.overrides import TorchFunctionMode

from tensorboard_attention.record import MAX_MAPS, MAX_TOKENS, MAX_WEIGHTS
from tensorboard_attention.writer import add_attention

ATTENTION = re.compile("attention|attn", re.IGNORECASE)
"""What the class of a module that computes attention is called."""
NOT_ATTENDED = re.compile(
    "mask|bias|alibi|pos|rotary|freq|weight|residual|skip|shortcut|(^|_)(cos|sin)($|_)", re.IGNORECASE
)
"""Names of arguments that are no sequence to attend to."""
ATTENDED = re.compile("quer|key|value|kv|memor|context|cross|(^|_)enc(?!oding)", re.IGNORECASE)
"""Names of arguments of which one sequence attends to another."""
LOST = 1e-3
"""How much of a row of weights may be on positions that have no token."""

PAIRS = (("query", "key"), ("q", "k"), ("queries", "keys"))
"""Names of arguments that attend, and that are attended to."""

FOLDING = {"reshape", "view", "flatten", "contiguous", "cat", "concat", "concatenate", "stack"}
"""Functions that make one dimension of two, or prepare it."""

Names = str | Sequence[str]
Tokens = Sequence[str] | Sequence[Sequence[str]] | None


@dataclass
class Layer:
    """The attention of one layer.

    Attributes:
        module: Path of the module that computed it, such as ``decoder.layers.0.self_attn``.
        weights: (B, heads, T, S) in float32, or float64 of such models.
        is_cross: The keys come from elsewhere than the queries.
    """

    module: str
    weights: Tensor
    is_cross: bool


@dataclass
class Captured:
    """What `capture` has found, in the order in which the layers ran.

    `problems` says what could not be captured, and why.
    """

    layers: list[Layer] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def kinds(self) -> dict[str, list[Layer]]:
        """Return layers by kind, such as "encoder self-attention": layers whose paths differ in numbers only."""
        groups: dict[tuple[str, ...], list[Layer]] = {}
        for layer in self.layers:
            words = [part for part in layer.module.split(".") if part and not part.isdigit()]
            key = ("cross" if layer.is_cross else "self", *words)
            groups.setdefault((*key, str(tuple(layer.weights.shape))), []).append(layer)
        kinds: dict[str, list[Layer]] = {}
        owners: dict[str, list[str]] = {}
        for (role, *words, shape), layers in groups.items():
            rivals = [others for own, *others, _ in groups if own == role]
            name = f"{_distinguishing(words, rivals)} {role}-attention".strip()
            if owners.setdefault(name, words) != words:
                name = f"{'.'.join(words)} {role}-attention"
            kinds[name if name not in kinds else f"{name} {shape}"] = layers
        return kinds


def _distinguishing(words: Sequence[str], rivals: Sequence[Sequence[str]]) -> str:
    """Return the first word that only these words have in its place; all of them if there is none; "" without rivals."""
    others = [other for other in rivals if list(other) != list(words)]
    if not others:
        return ""
    alone = (
        word
        for place, word in enumerate(words)
        if all(word not in other[place : place + 1] for other in others)
    )
    return next(alone, ".".join(words))


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
            are called with. Where attention written by hand has heads and sentences in one dimension, tokens say how many sentences
            there are, if shapes do not.
        tag: Names the sentence; of several, each has its number behind; or one name for each that is recorded.
        modules: Paths of modules that return attention weights (B, S), (B, T, S) or (B, heads, T, S), among others; or a
            function for each path that takes the weights out of the output. If they run once for each target token,
            their weights are rows.
        sentences: How many of the batch are recorded at most, 1 or more.
        effect: Is called for each recorded sentence after the block, in the same state of the model, with its place in the batch
            and what is kept of its source (S + 1, S), and returns log-probabilities of its target, see
            `tensorboard_attention.leave_one_out`; cross-attention is shown beside it, or the only kind.

    Yields:
        A `Captured`, complete after the block.

    Raises:
        ValueError: The model has no such module, a module returns no weights, two sentences have one name, tokens are text,
            or no sentence is to be recorded.
    """
    paths = [modules] if isinstance(modules, str) else modules
    named = dict(modules) if isinstance(modules, Mapping) else dict.fromkeys(paths)
    known = [_path(name) for name, _ in model.named_modules()]
    if unknown := [path for path in named if path not in known]:
        raise ValueError(f"modules={unknown}: the model has no such module, but {', '.join(known[1:6])}, …")
    if not isinstance(tag, str) and len({*tag}) < len(tag):
        raise ValueError(f"tag={tag!r}: each sentence needs a name of its own")
    if sentences < 1:
        raise ValueError(f"sentences={sentences} must be at least 1: how many of the batch are recorded")
    sides = {"source": _lists("source", source_tokens), "target": _lists("target", target_tokens)}
    num_known = next((len(lists) for lists in sides.values() if lists), None)
    watcher = _Watcher(named, num_known, are_read=tokenizer is not None)
    captured = Captured()
    with _undisturbed(model), watcher.watching(model):
        yield captured
    watcher.finish(captured, model)
    if tokenizer is not None:
        read: dict[str, Any] = {
            side: _converted(tokenizer, _joined(ids)) for side, ids in watcher.ids.items()
        }
        sides = read | {side: lists for side, lists in sides.items() if lists}
    if writer is not None:
        with _undisturbed(model):
            _write(captured, writer, step, sides, tag, sentences, effect)
    for problem in captured.problems:
        warnings.warn(f"attention: {problem}", stacklevel=3)


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


@dataclass
class _Running:
    """A module that is running.

    Attributes:
        path: Of the module.
        module: Itself.
        arguments: What it was called with, by name.
        num_before: How much attention had been found before.
        folds: Which two dimensions became one, by its size: the last such two.
    """

    path: str
    module: nn.Module
    arguments: dict[str, Any]
    num_before: int
    folds: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Calls:
    """The attention of all calls of a module.

    Attributes:
        weights: Of each call (B, heads, T, S).
        runs: In which run of the model each call was.
        is_cross: One of them attended to another sequence.
        in_doubt: Of one it cannot be told.
        are_rows: Each call is known to be of one target token.
    """

    weights: list[Tensor] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    is_cross: bool = False
    in_doubt: bool = False
    are_rows: bool = False

    def are_of_one_token(self) -> bool:
        """Say whether one token attended to itself in each of several calls: in layers that share the module."""
        return len(self.weights) > 1 and not (self.is_cross or self.are_rows) and self.sizes() == {(1, 1)}

    def sizes(self) -> set[tuple[int, ...]]:
        """Return all (T, S)."""
        return {tuple(each.shape[2:]) for each in self.weights}


class _Watcher(TorchFunctionMode):
    """Collects weights while a model runs.

    Args:
        named: Modules that return weights, and how to take them out of the output; None: they are found.
        num_sentences: Of the batch; None: unknown.
        are_read: Whether the ``input_ids`` of the model are sentences (B, T), as for its tokenizer.
    """

    def __init__(
        self,
        named: Mapping[str, Callable[[Any], Tensor] | None],
        num_sentences: int | None,
        *,
        are_read: bool = False,
    ) -> None:
        super().__init__()
        self.named, self.num_sentences, self.are_read = named, num_sentences, are_read
        self.calls: dict[tuple[str, bool], _Calls] = {}
        self.ids: dict[str, list[Tensor]] = {}  # of the sides
        self.problems: dict[str, None] = {}
        self.silent: dict[str, str] = {}  # modules named attention without any: path, class
        self.running: list[_Running] = []
        self.num_found = self.num_runs = 0

    # ---- Where: hooks

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        with ExitStack() as stack:
            for name, module in model.named_modules():
                path = _path(name)
                if isinstance(module, torch.jit.ScriptModule):
                    self.problems[f"{path or 'the model'} is a ScriptModule, which cannot be looked into"] = (
                        None
                    )
                    continue
                for handle in self._hooks(path, module):
                    stack.callback(handle.remove)
            with self:
                yield

    def _hooks(self, path: str, module: nn.Module) -> list[Any]:
        signature = inspect.signature(module.forward)

        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            arguments = _bound(signature, args, kwargs)
            self.running.append(_Running(path, module, arguments, self.num_found))
            self.num_runs += not path and all(each.path for each in self.running[:-1])
            self._note_ids(path, arguments)

        def after(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if path in self.named and output is not None:
                self._keep(_weights_in(output, self.named[path], path))
            done = self.running.pop()
            if done.num_before == self.num_found and ATTENTION.search(type(module).__name__):
                self.silent[path] = type(module).__name__

        return [
            module.register_forward_pre_hook(before, with_kwargs=True, prepend=True),
            module.register_forward_hook(after, always_call=True),
        ]

    def _note_ids(self, path: str, arguments: Mapping[str, Any]) -> None:
        ids = arguments.get("input_ids")
        if isinstance(ids, Tensor) and ids.dim() == 2:
            outer = (each.arguments.get("input_ids") for each in self.running[:-1])
            if any(isinstance(each, Tensor) and _identity(each) == _identity(ids) for each in outer):
                return  # the module around hands them on
            self.ids.setdefault(_side_of(path) or "source", []).append(ids)
            if self.are_read and self.num_sentences is None:
                self.num_sentences = len(ids)

    # ---- What: functions

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        weights_of = {
            F.scaled_dot_product_attention: _of_scaled_dot_product,
            F.multi_head_attention_forward: _of_multi_head,
        }.get(func)
        if weights_of is not None:
            self._compute(weights_of, args, kwargs)
        output = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in FOLDING and self.running and args:
            self._innermost().folds |= _folded(args[0], output)
        if name == "softmax" and self._is_attention(output, args, kwargs):
            self._keep(output)
        return output

    def _compute(self, weights_of: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_named():
            return
        try:
            query = args[0] if args else kwargs["query"]
            with torch.autocast(query.device.type, enabled=False):
                self._keep(weights_of(*args, **kwargs), is_own=True)
        except Exception as error:  # the model itself goes on
            self.num_found += 1
            self.problems[f"{self._path()} is not captured: {error}"] = None

    def _is_attention(self, weights: Tensor, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if dim not in (-1, weights.dim() - 1) or not self.running or self._is_named():
            return False
        is_called_so = ATTENTION.search(type(self._innermost().module).__name__)
        return weights.dim() == 4 or (is_called_so is not None and weights.dim() in (2, 3))

    def _innermost(self) -> _Running:
        return self._outwards()[0]

    def _outwards(self) -> list[_Running]:
        """Return the modules that are running, the innermost first."""
        own = [each for each in self.running if not isinstance(each.module, nn.Softmax)]
        return (own or self.running)[::-1]

    def _path(self) -> str:
        return (self.running and self._innermost().path) or "the model"

    def _is_named(self) -> bool:
        return any(each.path in self.named for each in self.running)

    def _keep(self, weights: Tensor, *, is_own: bool = False) -> None:
        """Keep weights as (B, heads, T, S), by the module that is running.

        They are copied, as the model may change its tensor in place; unless they are `is_own`, which only this watcher has.
        """
        self.num_found += 1
        outwards = self._outwards() if self.running else [_Running("", nn.Identity(), {}, 0)]
        is_named, num_dimensions = self._is_named(), weights.dim()
        try:
            weights = _with_heads(weights.detach(), outwards, self.num_sentences, is_named=is_named)
        except ValueError as error:
            self.problems[f"{self._path()} is not captured: {error}"] = None
            return
        if (
            num_dimensions == 4
            and not is_named
            and (batch := _batch_of_parts(len(weights), outwards[-1].arguments))
        ):
            self.problems[
                f"{self._path()} has {len(weights)} matrices for a batch of {batch}: they are of parts of it, such as windows, "
                "and are numbered as sentences"
            ] = None
        is_row = num_dimensions == 2 and weights.size(2) == 1
        is_cross = _attends_elsewhere(_of_attention(outwards), weights.shape)
        calls = self.calls.setdefault(
            (outwards[0].path, is_cross is False), _Calls(are_rows=is_named or is_row)
        )
        number = torch.promote_types(weights.dtype, torch.float32)
        calls.weights.append(weights.to(number, copy=not is_own))
        calls.runs.append(self.num_runs)
        calls.is_cross, calls.in_doubt = (
            calls.is_cross or is_cross is True,
            calls.in_doubt or is_cross is None,
        )

    def finish(self, captured: Captured, model: nn.Module) -> None:
        """Add layers and problems."""
        times_shared = {len(calls.weights) for calls in self.calls.values() if calls.are_of_one_token()}
        for (path, _), calls in self.calls.items():
            try:
                layers = _layers(calls, times_shared, self.num_runs, self.num_sentences)
                captured.layers += [Layer(path, weights, calls.is_cross) for weights in layers]
            except ValueError as error:
                self.problems[f"{path or 'the model'} is not captured: {error}"] = None
                continue
            if calls.in_doubt and not calls.is_cross:
                self.problems[
                    f"{path or 'the model'} is shown as self-attention, but is given several sequences, and which of them it "
                    "attends to cannot be told"
                ] = None
        silent = {
            path: name
            for path, name in self.silent.items()
            if not any(path.startswith(f"{done}.") if done else done in self.named for done, _ in self.calls)
        }
        used = getattr(getattr(model, "config", None), "_attn_implementation", None)
        hint = (
            f"; attn_implementation={used!r}: 'sdpa' and 'eager' can be"
            if used not in (None, "sdpa", "eager")
            else ""
        )
        if silent:
            first = ", ".join(f"{path or 'the model'} ({name})" for path, name in list(silent.items())[:3])
            more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
            self.problems[
                f"{first}{more} computed none that can be captured (give modules= if they return weights{hint})"
            ] = None
        if not (captured.layers or self.problems):
            self.problems[
                "the model computed none that can be captured: name the modules that return it, modules="
            ] = None
        captured.problems += self.problems


def _path(name: str) -> str:
    """Return the path of a module without what `torch.compile` adds."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _of_scaled_dot_product(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the weights of `F.scaled_dot_product_attention`, in float32 at least and without dropout.

    A row in which nothing may be attended to is 0.
    """
    if query.is_nested:
        raise ValueError("its tensors are nested")
    if isinstance(attn_mask, CausalBias):  # whose own values mean nothing
        longer = attn_mask.seq_len_kv - attn_mask.seq_len_q
        diagonal = longer if attn_mask.variant == CausalVariant.LOWER_RIGHT else 0
        every = torch.ones(attn_mask.seq_len_q, attn_mask.seq_len_kv, dtype=torch.bool, device=query.device)
        attn_mask = every.tril(diagonal)
    number = torch.promote_types(query.dtype, torch.float32)
    query, key = query.to(number), key.to(number)
    if enable_gqa:  # several heads share one of keys
        key = key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)
    scores = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if is_causal:
        is_past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~is_past, -torch.inf)
    if attn_mask is not None:
        is_kept = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if is_kept else scores + attn_mask.to(number)
    weights = _safe_softmax(scores)
    return weights[None, None] if weights.dim() == 2 else weights  # of one sentence and head


def _safe_softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1).masked_fill((scores == -torch.inf).all(dim=-1, keepdim=True), 0)


_MULTI_HEAD = inspect.signature(F.multi_head_attention_forward)


def _of_multi_head(*args: Any, **kwargs: Any) -> Tensor:
    """Return the weights of `F.multi_head_attention_forward` (B, heads, T, S), in float32 at least and without dropout."""
    call = _MULTI_HEAD.bind(*args, **kwargs)
    call.apply_defaults()
    given = call.arguments
    query, key = given["query"], given["key"]
    is_hint = given["is_causal"] and given["key_padding_mask"] is None and not given["need_weights"]
    if is_hint:  # the mask
        is_future = torch.ones(len(query), len(key), dtype=torch.bool, device=query.device).triu(1)
        given["attn_mask"] = is_future
    number = torch.promote_types(query.dtype, torch.float32)
    for name, each in given.items():
        if isinstance(each, Tensor) and each.is_floating_point():
            given[name] = each.to(number)
    given |= {"training": False, "need_weights": True, "average_attn_weights": False, "is_causal": False}
    weights: Any = F.multi_head_attention_forward(*call.args, **call.kwargs)[1]  # for need_weights is set
    weights = weights if query.dim() == 3 else weights[None]
    if is_hint and weights.size(-1) > len(
        key
    ):  # columns of add_bias_kv and add_zero_attn, which are masked then
        weights = weights.tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
    is_masked = weights.isnan().all(dim=-1, keepdim=True)  # nothing may be attended to: 0 / 0
    return weights if is_masked.all() else weights.masked_fill(is_masked, 0)


def _weights_in(output: Any, take: Callable[[Any], Tensor] | None, name: str) -> Tensor:
    """Return the attention weights in the output of a module.

    Raises:
        ValueError: There is none, or more than one tensor that could be.
    """
    if take is not None:
        return take(output)
    parts = (
        output.values()
        if isinstance(output, Mapping)
        else output
        if isinstance(output, tuple | list)
        else [output]
    )
    found = [part for part in parts if isinstance(part, Tensor) and _is_distribution(part)]
    if len(found) != 1:
        raise ValueError(
            f"modules={name}: {len(found)} of its outputs are tensors in 0..1 whose rows have the sum 1: "
            f"give a function, modules={{{name!r}: lambda output: output[1]}}"
        )
    return found[0]


def _is_distribution(tensor: Tensor) -> bool:
    if not (tensor.is_floating_point() and tensor.dim() in (2, 3, 4)):
        return False
    sums = tensor.float().sum(dim=-1)
    return bool((tensor >= 0).all() and ((sums - 1).abs() < 0.02).all())


def _is_of_one_sentence(weights: Tensor, outwards: Sequence[_Running]) -> bool:
    """Return whether weights (T, S) are of one sentence without a batch: of arguments (T, size) and (S, size), and no larger ones."""
    arguments = [each for module in outwards for each in module.arguments.values()]
    given = [each for each in arguments if isinstance(each, Tensor) and each.is_floating_point()]
    lengths = {len(each) for each in given if each.dim() == 2}
    return all(each.dim() <= 2 for each in given) and {*weights.shape} <= lengths


def _refuse_rows_first(weights: Tensor, outwards: Sequence[_Running]) -> None:
    """Refuse weights (B, T, heads, S), as of attention in windows: T is a size of what the modules are given, and heads is not.

    Raises:
        ValueError: It looks so.
    """
    given = (value for each in outwards for value in each.arguments.values())
    sizes = {
        size for each in given if isinstance(each, Tensor) and each.dim() == 3 for size in each.shape[:2]
    }
    if sizes and weights.size(1) in sizes and weights.size(2) not in sizes:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} look like (B, T, heads, S), not (B, heads, T, S): give modules="
        )


def _with_heads(
    weights: Tensor, outwards: Sequence[_Running], num_sentences: int | None, *, is_named: bool
) -> Tensor:
    """Return weights of 2 to 4 dimensions as (B, heads, T, S).

    Three dimensions are (B, T, S), or (B * heads, T, S) if tokens or the arguments of the modules say so; or
    (heads * B, T, S) if that is how the module made one dimension of both.

    Args:
        weights: Of one call.
        outwards: The module that computed them, and those around it.
        num_sentences: B by the tokens; None: unknown.
        is_named: The user says that three dimensions are (B, T, S).

    Raises:
        ValueError: Their first dimension cannot be told.
    """
    if weights.dim() == 4:
        if not is_named:
            _refuse_rows_first(weights, outwards)
        return weights
    if weights.dim() == 2:
        if not is_named:
            _refuse_sentences_in_a_loop(weights, outwards)
        is_one = not is_named and num_sentences in (None, 1) and _is_of_one_sentence(weights, outwards)
        return weights[None, None] if is_one else weights[:, None, None]
    if weights.dim() != 3:
        raise ValueError(f"weights of shape {tuple(weights.shape)} are not (B, heads, T, S)")
    sizes = [_batch_sizes(each.arguments, weights.shape) for each in outwards]
    found = _batch_size(sizes, len(weights), num_sentences)
    if found is None and not is_named:
        raise ValueError(
            f"how many sentences the {len(weights)} matrices of weights {tuple(weights.shape)} are of cannot be told from "
            "the shapes of what the modules are given: give the tokens, or modules="
        )
    found = found or len(weights)
    if len(weights) % found:
        raise ValueError(f"weights of shape {tuple(weights.shape)} do not fit {found} sentences")
    folds = (each.folds[len(weights)] for each in outwards if len(weights) in each.folds)
    if next(folds, None) == (len(weights) // found, found):  # the sentences of a head follow each other
        return weights.unflatten(0, (-1, found)).transpose(0, 1)
    return weights.unflatten(0, (found, -1))


def _batch_of_parts(num_matrices: int, given: Mapping[str, Any]) -> int | None:
    """Return the size of the batch that the model is given, if the matrices are of parts of its sentences or images."""
    shapes = [each.shape for each in given.values() if isinstance(each, Tensor) and each.dim() > 1]
    batches = {shape[0] for shape in shapes}
    if len(batches) != 1 or any(num_matrices in shape for shape in shapes):
        return None
    (batch,) = batches
    return batch if num_matrices > batch > 0 and num_matrices % batch == 0 else None


def _refuse_sentences_in_a_loop(weights: Tensor, outwards: Sequence[_Running]) -> None:
    """Refuse weights (T, S) of one sentence after the other, of a module that is given all: (B, T, size) and (B, S, size).

    Raises:
        ValueError: It looks so.
    """
    given = (each for each in outwards[0].arguments.values() if isinstance(each, Tensor))
    shapes = [each.shape for each in given if each.dim() == 3 and each.is_floating_point()]
    if {*weights.shape} <= {shape[1] for shape in shapes} - {shape[0] for shape in shapes}:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} are of one sentence, and the module is given several: call it for each, "
            "or compute them in a batch"
        )


def _folded(given: Any, output: Tensor) -> dict[int, tuple[int, int]]:
    """Return the first two dimensions of four, which become one, by their product; or how many parts become one tensor.

    Two equal sizes are returned only where heads come first: parts, or a view of a tensor in which they lie closer together.
    """
    if not all(_is_dense(each) for each in (given, output) if isinstance(each, Tensor)):
        return {}
    if isinstance(given, Tensor):
        is_fold = given.dim() == 4 and given.shape[2:] == output.shape[-2:]
        sizes = tuple(given.shape[:2]) if is_fold else ()
        is_swapped = is_fold and 0 < given.stride(0) < given.stride(1)
    else:
        parts = given if isinstance(given, tuple | list) else ()
        are_alike = {each.shape if isinstance(each, Tensor) else None for each in parts}
        shape = are_alike.pop() if len(are_alike) == 1 else None
        is_fold = shape is not None and len(shape) == 3 and shape[1:] == output.shape[-2:]
        sizes = (len(parts), len(parts[0])) if is_fold else ()
        is_swapped = True
    if (
        len(sizes) != 2
        or math.prod(sizes) != math.prod(output.shape[:-2])
        or (sizes[0] == sizes[1] and not is_swapped)
    ):
        return {}
    return {math.prod(sizes): (sizes[0], sizes[1])}


def _is_dense(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def _batch_size(outwards: Sequence[set[int]], num_matrices: int, num_sentences: int | None) -> int | None:
    """Return the batch size, given those that each module may have; None where it is in doubt.

    A module of which each sentence has one matrix may have been given heads as sentences, which those around it know.

    Raises:
        ValueError: It is not that of the tokens.
    """
    known = [sizes for sizes in outwards if sizes]
    if known and len(known[0]) == 1 and num_matrices not in known[0]:
        known = known[:1]
    if num_sentences is not None:
        if known and not any(num_sentences in sizes for sizes in known):
            wrong = sorted(set.union(*known))
            raise ValueError(
                f"there are tokens of {num_sentences} sentences, and by its shapes the batch has {wrong}"
            )
        return num_sentences
    if num_matrices == 1:
        return 1
    common = set.intersection(*known) if known else set()
    return common.pop() if len(common) == 1 else None


def _batch_sizes(arguments: Mapping[str, Any], shape: Sequence[int]) -> set[int]:
    """Return the batch sizes that the tensors of a module may have, given the shape of its weights (B or B * heads, T, S).

    Sequences of vectors, or of ids, are (B, length, …) or (length, B, …), all of them alike, and of one the length is T or S. In
    what has four dimensions or more, such as an image, the batch is the first.
    """
    first, *sizes = shape
    lengths = set(sizes)
    given = [
        each
        for name, each in arguments.items()
        if isinstance(each, Tensor)
        and each.dim() > 1
        and each.dtype != torch.bool
        and not NOT_ATTENDED.search(name)
    ]
    sequences = [each for each in given if each.dim() > 2 or not each.is_floating_point()]
    found: dict[int, set[int]] = {}  # the batch size, and which of both lengths are found with it
    for place in (0, 1) if sequences else ():
        alike = {each.size(place) for each in sequences}
        alike = alike - {1} or {1}  # what is 1 is for all sentences
        around = {size for each in sequences for size in (each.shape[:1] if place else each.shape[1:3])}
        has_more = any(each.dim() > 3 for each in sequences)
        if len(alike) == 1 and (lengths & around or has_more) and not (place and has_more):
            found.setdefault(alike.pop(), set()).update(lengths & around)
    if not sequences:  # without a batch, or of one target token
        nums = {each.size(0) for each in given}
        found |= {1: lengths & nums} if lengths & nums else {}
        found |= {size: lengths & nums for size in nums if sizes[0] == 1 and len(nums) == 1}
    whole = {size for size, explained in found.items() if explained == lengths}
    return {size for size in whole or found if first % size == 0}


def _layers(calls: _Calls, times_shared: set[int], num_runs: int, num_sentences: int | None) -> list[Tensor]:
    """Return the weights of the layers that the calls of one module are: one, several that share it, or rows of one.

    Args:
        calls: Of the module.
        times_shared: How often modules were called that several layers share, as one token shows.
        num_runs: Of the model.
        num_sentences: Of the batch; None: unknown.

    Raises:
        ValueError: They are neither.
    """
    weights = calls.weights
    if len(weights) == 1:
        return weights
    if len({len(each) for each in weights}) > 1 or (
        num_sentences and len(weights[0]) > num_sentences and num_runs > 1
    ):
        raise ValueError(
            "the number of sentences in its batch is not that of tokens, or changes; beams cannot be told apart"
        )
    rows = [each.size(2) for each in weights]
    if {*rows} == {1} and num_runs < 2 and len(weights) in times_shared and not calls.are_rows:
        return weights
    is_once = num_runs < 2 or max(Counter(calls.runs).values()) == 1
    is_repeated = num_runs > 1 and calls.are_of_one_token()
    # one target token after the other; the first call is left out, as it may have read a prompt
    columns = [each.size(3) for each in weights]
    growth = {more - less for less, more in itertools.pairwise(columns)}
    if set(rows[1:]) == {1} and growth == {0, 1}:
        raise ValueError(
            "keys are added to those before and then left out: in a window, columns have other places in each row"
        )
    if set(rows[1:]) == {1} and growth in ({0}, {1}) and is_once and not is_repeated:
        most = max(each.size(3) for each in weights)
        return [torch.cat([F.pad(each, (0, most - each.size(3))) for each in weights], dim=2)]
    if all(more == less + 1 for less, more in itertools.pairwise(rows)):  # all tokens so far, each time
        return [weights[-1]]
    if num_runs > 1:
        if is_once and all(torch.equal(each, weights[0]) for each in weights):
            return weights[:1]  # of a source that is read each time
        raise ValueError(f"the model ran {num_runs} times: run it once, with all sentences in a batch")
    return weights


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:  # which the module will say
        return {}
    others = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = arguments.pop(name, {})
    return {**arguments, **others}


def _of_attention(outwards: Sequence[_Running]) -> list[dict[str, Any]]:
    """Return the arguments of the module that computed weights, and of those around it that are called attention."""
    around = itertools.takewhile(lambda each: ATTENTION.search(type(each.module).__name__), outwards[1:])
    return [each.arguments for each in (outwards[0], *around)]


def _attends_elsewhere(outwards: Sequence[Mapping[str, Any]], shape: Sequence[int]) -> bool | None:
    """Say whether the keys of a module come from another sequence than its queries; None where it cannot be told.

    A module within one of attention may be given queries and keys, or heads, that the other has made of its own sequences.

    Args:
        outwards: The arguments of the module, and of those of attention around it.
        shape: Of its weights (B, heads, T, S).
    """
    found: bool | None = False
    for arguments in outwards:
        given = {
            name: each
            for name, each in arguments.items()
            if isinstance(each, Tensor)
            and each.is_floating_point()
            and each.dim() in (2, 3)
            and not NOT_ATTENDED.search(name)
        }
        pair = next((pair for pair in PAIRS if given.keys() >= {*pair}), None)
        if pair:
            found = not _are_same(given[pair[0]], given[pair[1]])
        elif given:
            found = _has_another(given, shape)
        if given and not (pair and found and shape[2] == shape[3]):
            return found
    return found


def _are_same(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors are one sequence: the same values, which may have been computed twice, as by ``x + positions``."""
    is_known = first.device.type != "meta" and first.shape == second.shape and first.dtype == second.dtype
    return _identity(first) == _identity(second) or (is_known and torch.equal(first, second))


def _identity(tensor: Tensor) -> Hashable:
    """Return what two views of the same values have in common."""
    if tensor.device.type == "meta" or type(tensor) not in (Tensor, nn.Parameter):
        return id(tensor)
    return tensor.data_ptr(), tensor.shape, tensor.stride()


def _has_another(given: Mapping[str, Tensor], shape: Sequence[int]) -> bool | None:
    """Say whether one of the sequences of a module is attended to from another; None where it cannot be told."""
    size, _, num_rows, num_columns = shape

    def fits(each: Tensor) -> bool:
        if each.dim() == 2:
            return (num_rows == 1 and len(each) == size) or (size == 1 and len(each) == num_columns)
        return not Counter([size, num_columns]) - Counter(each.shape)

    distinct: dict[Hashable, str] = {}  # names of tensors, each once
    for name, each in given.items():
        distinct.setdefault(_identity(each), name)
    first, *others = distinct.values()
    fitting = [name for name in distinct.values() if fits(given[name])]
    if not others:
        return False
    if num_rows != num_columns:
        return True if fitting else None
    if fitting in ([], [first]):
        return False
    return True if any(ATTENDED.search(name) for name in fitting) else None


def _side_of(path: str) -> str | None:
    """Return which side a module reads, as its path says; None if it does not."""
    parts = [
        part for part in path.lower().split(".") if not ("enc" in part and "dec" in part)
    ]  # encoder_decoder
    for part in parts:
        for start, side in (("enc", "source"), ("dec", "target")):
            if part.startswith(start):
                return side
    return None


# ---- Tokens, and the records


def _lists(side: str, tokens: Tokens) -> list[list[str]] | None:
    if tokens is None:
        return None
    are_tokens = [isinstance(each, str) for each in tokens]
    if isinstance(tokens, str) or (any(are_tokens) and not all(are_tokens)):
        raise ValueError(
            f"{side}_tokens must be a list of tokens, or one for each sentence, got {tokens!r:.80}"
        )
    lists = [tokens] if all(are_tokens) else tokens
    return [[str(token) for token in each] for each in lists]


def _joined(ids: list[Tensor]) -> Tensor:
    """Return the ids of all calls: the first, of one that reads all; or all, of one that reads them one after the other."""
    if {each.size(1) for each in ids[1:]} == {1}:
        return torch.cat(ids, dim=1)
    return max(ids, key=lambda each: each.size(1))


def _converted(tokenizer: Any, ids: Tensor) -> list[list[str]]:
    """Return the tokens of each sentence, without padding at its end."""
    sentences = []
    for row in ids.tolist():
        tokens = [str(token) for token in tokenizer.convert_ids_to_tokens(row)]
        while len(tokens) > 1 and tokens[-1] == tokenizer.pad_token:
            tokens.pop()
        sentences.append(tokens)
    return sentences


def _write(
    captured: Captured,
    writer: Any,
    step: int,
    sides: Mapping[str, list[list[str]] | None],
    tag: Names,
    most: int,
    effect: Callable[[int, np.ndarray], Any] | None,
) -> None:
    kinds = captured.kinds()
    for kind, layers in kinds.items():
        tested = effect if layers[0].is_cross or len(kinds) == 1 else None
        shape = layers[0].weights.shape
        names = [layer.module for layer in layers]
        rows, columns = _labels(layers[0], sides, captured.problems, kind)
        numbers = sorted({len(side) for side in (rows, columns) if side})
        count = min(most, shape[0], *numbers)
        for number in numbers:
            if not min(most, shape[0]) <= number <= shape[0]:
                captured.problems.append(
                    f"{kind}: there are tokens of {number} sentences, and the batch has {shape[0]}: {count} recorded"
                )
        is_one = len(layers[0].weights) == 1
        tags = [tag if is_one else f"{tag} {n + 1}" for n in range(count)] if isinstance(tag, str) else tag
        maps = torch.stack([layer.weights[:count] for layer in layers], dim=1).cpu().numpy()
        if len(tags) < count:
            captured.problems.append(
                f"{kind} of {count - len(tags)} sentences is not recorded: no name for them in tag={tags}"
            )
        for place, name in zip(range(count), tags, strict=False):
            target, source = (side[place] if side else None for side in (rows, columns))
            cut = _cut(maps[place], target, source, captured.problems, kind)
            try:
                cut, layer_names = _fitting(cut, names, captured.problems, kind)
                add_attention(
                    writer, name, cut, source, target, step, kind=kind, layer_names=layer_names,
                    effect=None if tested is None else partial(tested, place),
                )  # fmt: skip
            except ValueError as error:
                captured.problems.append(f"{kind} of {name} is not recorded: {error}")


def _labels(
    layer: Layer, sides: Mapping[str, list[list[str]] | None], problems: list[str], kind: str
) -> tuple[list[list[str]] | None, list[list[str]] | None]:
    """Return the tokens of rows and columns; None where an axis has no labels."""
    num_rows, num_columns = layer.weights.shape[-2:]
    given = {side: lists for side, lists in sides.items() if lists}

    def fitting(side: str, size: int) -> list[list[str]] | None:
        lists = given.get(side)
        if lists and max(map(len, lists)) > size:
            problems.append(
                f"{kind} has no {side} labels: {max(map(len, lists))} tokens for {size} positions"
            )
            return None
        return lists

    if layer.is_cross:
        return fitting("target", num_rows), fitting("source", num_columns)
    side = next(iter(given), None) if len(given) < 2 else _side_of(layer.module)
    if side is None and len(given) == 2:
        exact = [name for name, lists in given.items() if max(map(len, lists)) == num_columns]
        side = exact[0] if len(exact) == 1 else None
        if side is None:
            problems.append(
                f"{kind} has no labels: source or target cannot be told from the path {layer.module!r}"
            )
    if side is None:
        return None, None
    lists = fitting(side, num_columns)
    return (lists if num_rows == num_columns else None), lists  # other rows are of something else


def _cut(
    maps: np.ndarray, target: list[str] | None, source: list[str] | None, problems: list[str], kind: str
) -> np.ndarray:
    """Return weights without padding at the end; what is attended to there is a problem."""
    rows, columns = len(target) if target else maps.shape[-2], len(source) if source else maps.shape[-1]
    if maps[..., :rows, columns:].sum(axis=-1).max(initial=0) > LOST:
        problems.append(
            f"{kind}: {columns} tokens for {maps.shape[-1]} positions, and the others are attended to"
        )
    return maps[..., :rows, :columns]


def _fitting(
    maps: np.ndarray, names: list[str], problems: list[str], kind: str
) -> tuple[np.ndarray, list[str] | None]:
    """Return weights (layers, heads, T, S) as a record holds them: of all heads, or of the mean of each layer, or of all."""
    if max(maps.shape[-2:]) > MAX_TOKENS:
        raise ValueError(f"{maps.shape[-2]} by {maps.shape[-1]} positions: a record has at most {MAX_TOKENS}")
    size = maps.shape[-2] * maps.shape[-1]
    if maps.size <= MAX_WEIGHTS and maps.shape[0] * maps.shape[1] <= MAX_MAPS:
        return maps, names
    if len(maps) * size <= MAX_WEIGHTS:
        problems.append(f"{kind} is too large for a record: of each layer the mean of its heads is recorded")
        return maps.mean(axis=1, keepdims=True), names
    problems.append(f"{kind} is too large for a record: the mean of all layers and heads is recorded")
    return maps.mean(axis=(0, 1)), None
