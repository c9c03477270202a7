"""What sees a model run: hooks, which say where, and a mode of torch, which sees the functions that compute attention."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)
from torch.overrides import TorchFunctionMode

from tensorboard_attention.capturing.axes import (
    ChannelsError,
    Family,
    Question,
    Trail,
    arranged,
    child,
    roots_of,
)
from tensorboard_attention.capturing.exact import FLEX, of_flex, of_multi_head, of_scaled_dot_product
from tensorboard_attention.capturing.following import Follower, tensors_in
from tensorboard_attention.capturing.layers import Call, Calls, last_rows

ATTENTION = re.compile("attention|attn", re.IGNORECASE)
"""What the class of a module is called that is named if it computed no attention; nothing else is decided by it."""


@dataclass
class _Running:
    """A module that is running.

    Attributes:
        path: Of the module.
        module: Itself.
        num_before: How much attention had been found before.
    """

    path: str
    module: nn.Module
    num_before: int


@dataclass
class Ids:
    """Ids (B, T) that a model was called with, and where the positions of T come from."""

    ids: Tensor
    roots: frozenset[Family]


@dataclass
class Watcher(TorchFunctionMode):
    """Collects weights while a model runs.

    Args:
        named: Modules that return weights, and how to take them out of the output; None: they are found.
    """

    named: Mapping[str, Callable[[Any], Tensor] | None]
    calls: dict[tuple[str, bool], Calls] = field(default_factory=dict)
    ids: list[Ids] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)  # modules named attention without any: path, class
    running: list[_Running] = field(default_factory=list)
    num_found: int = 0
    num_runs: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        self.follower = Follower(self._answered)

    # ---- Where: hooks

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Watch a model meanwhile."""
        with ExitStack() as stack:
            for name, module in model.named_modules():
                path = path_of(name)
                if isinstance(module, torch.jit.ScriptModule):
                    self._problem(f"{path or 'the model'} is a ScriptModule, which cannot be looked into")
                    continue
                for handle in self._hooks(path, module):
                    stack.callback(handle.remove)
            with self:
                yield

    def _hooks(self, path: str, module: nn.Module) -> list[Any]:
        signature = inspect.signature(module.forward)

        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            arguments = _bound(signature, args, kwargs)
            if not self.running:
                self.follower.give(each for each in tensors_in(arguments) if not each.is_nested)
            self._note_ids(arguments)
            self.num_runs += not path and all(each.path for each in self.running)
            self.running.append(_Running(path, module, self.num_found))

        def after(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if path in self.named and output is not None:
                self._take(output, path)
            done = self.running.pop()
            if done.num_before == self.num_found and ATTENTION.search(type(module).__name__):
                self.silent[path] = type(module).__name__

        return [
            module.register_forward_pre_hook(before, with_kwargs=True, prepend=True),
            module.register_forward_hook(after, always_call=True),
        ]

    def _note_ids(self, arguments: Mapping[str, Any]) -> None:
        ids = arguments.get("input_ids")
        if isinstance(ids, Tensor) and ids.dim() == 2:
            roots = roots_of(self.follower.of(ids).axes[1])
            if not any(roots & each.roots and ids.shape == each.ids.shape for each in self.ids):
                self.ids.append(Ids(ids, roots))  # else the module around hands them on

    # ---- What: functions

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":  # of an attribute, such as ``T``
            name = getattr(getattr(func, "__self__", None), "__name__", "")
        exact_of: dict[Any, Callable[..., None]] = {
            F.scaled_dot_product_attention: partial(self._of_products, of_scaled_dot_product),
            F.multi_head_attention_forward: self._of_multi_head,
            FLEX: partial(self._of_products, of_flex),
        }
        exact = exact_of.get(func)
        if exact is not None and not self._is_named():
            try:
                exact(*args, **kwargs)
            except Exception as error:  # the model itself goes on
                self._refuse(error)
        output = self._computed(func, args, kwargs)
        if name == "__iter__":
            output = list(output)
        with suppress(
            RuntimeError, TypeError, ValueError, IndexError
        ):  # what it makes is then of unknown origin
            self.follower.follow(name, func, args, kwargs, output)
        return iter(output) if name == "__iter__" else output

    def _computed(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return func(*args, **kwargs)

    def _of_products(self, weights_of: Callable[..., Tensor], query: Tensor, key: Tensor, *args: Any, **kwargs: Any) -> None:  # fmt: skip
        is_known = query.dim() == 4 and not query.is_nested  # (B, heads, T, E), as its documentation says
        first = last_rows(query.size(1), query.size(2), key.size(2)) if is_known else 0
        with torch.autocast(query.device.type, enabled=False):
            weights = weights_of(query, key, *args, **kwargs, first=first)
        queries, keys = self.follower.of(query), self.follower.of(key)
        self.follower.contract(queries.axes[-1], keys.axes[-1])
        rows = child(weights.size(-2), [queries.axes[-2]]) if first else queries.axes[-2]
        axes = (*queries.axes[:-2], rows, keys.axes[-2])
        roles = ["shared"] * (weights.dim() - 2) + ["rows", "columns"]
        if is_known:
            roles[1] = "heads"
        answer = arranged(weights, axes, roles, Trail(axes, queries.selected | keys.selected))
        if first:  # layers that share a module have the same rows, not the same part of them
            answer = replace(answer, row_families=tuple(family for family, _ in queries.axes[-2]))
        self._answered(answer, first)

    def _of_multi_head(self, query: Tensor, key: Tensor, *args: Any, **kwargs: Any) -> None:
        with torch.autocast(query.device.type, enabled=False):
            weights = of_multi_head(query, key, *args, **kwargs)
        queries, keys = self.follower.of(query), self.follower.of(key)
        batch = queries.axes[1] if query.dim() == 3 else ()
        axes = (batch, (), queries.axes[0], keys.axes[0])
        roles = ["shared", "heads", "rows", "columns"]
        self._answered(arranged(weights, axes, roles, Trail(axes, queries.selected | keys.selected)))

    # ---- What was found

    def _problem(self, text: str) -> None:
        self.problems[text] = None

    def _refuse(self, error: Exception) -> None:
        self.num_found += 1
        self._problem(f"{self._path() or 'the model'} is not captured: {error}")

    def _path(self) -> str:
        """Return the path of the innermost module that is running."""
        own = [each for each in self.running if not isinstance(each.module, nn.Softmax)]
        return (own or self.running)[-1].path if self.running else ""

    def _is_named(self) -> bool:
        return any(each.path in self.named for each in self.running)

    def _answered(self, answer: Question | ChannelsError, first: int = 0) -> None:
        """Keep weights (B, heads, T, S) by the module that is running, which begin with the row `first`."""
        if self._is_named():
            return
        if isinstance(answer, ChannelsError):
            self._refuse(answer)
            return
        self._keep(self._path(), answer, first)

    def _keep(self, path: str, answer: Question, first: int = 0) -> None:
        self.num_found += 1
        is_cross = not (answer.rows & answer.columns)
        calls = self.calls.setdefault((path, is_cross), Calls(is_cross))
        if not first and (first := last_rows(*answer.weights.shape[-3:])):  # of a long text
            answer = replace(answer, weights=answer.weights[..., first:, :].clone())
        if first:
            answer = replace(answer, back=_none_back)
        calls.all.append(Call(answer, self.num_runs, first))

    def _take(self, output: Any, path: str) -> None:
        """Keep the weights that a named module returns: (B, S), (B, T, S) or (B, heads, T, S)."""
        weights = _weights_in(output, self.named[path], path)
        if weights.dim() not in (2, 3, 4):
            self._refuse(ValueError(f"weights of shape {tuple(weights.shape)} are not (B, heads, T, S)"))
            return
        trail = self.follower.of(weights)
        whole = {2: (slice(None), None, None), 3: (slice(None), None), 4: ()}[weights.dim()]
        number = torch.promote_types(weights.dtype, torch.float32)
        rows = trail.axes[-2] if weights.dim() > 2 else ()
        axes = (trail.axes[0], (), rows, trail.axes[-1])
        question = arranged(
            weights.detach().to(number, copy=True)[whole], axes, ["shared", "heads", "rows", "columns"], trail
        )
        self._keep(path, question)

    def told(self, model: nn.Module) -> list[str]:
        """Return the problems of all, when the model has run."""
        paths = [path for path, _ in self.calls]
        silent = {
            path: name
            for path, name in self.silent.items()
            if not any(path.startswith(f"{done}.") if done else done in self.named for done in paths)
        }
        used = getattr(getattr(model, "config", None), "_attn_implementation", None)
        hint = (
            f"; attn_implementation={used!r}: 'sdpa' and 'eager' can be"
            if used not in (None, "sdpa", "eager", "flex_attention")
            else ""
        )
        if silent:
            first = ", ".join(f"{path or 'the model'} ({name})" for path, name in list(silent.items())[:3])
            more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
            self._problem(
                f"{first}{more} computed none that can be captured (give modules= if they return weights{hint})"
            )
        return [*self.problems]


def _none_back(changed: Tensor) -> Tensor:
    raise ValueError("only the last rows of a long text are kept")


def path_of(name: str) -> str:
    """Return the path of a module without what `torch.compile` adds."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


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
