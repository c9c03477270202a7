"""Attention that takes its mean with other weights than its own: what would have been said then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.errors import InputError
from seq2seq.model.attention import ScoredAttention
from seq2seq.model.attentions.composed import ComposedAttention
from seq2seq.model.contracts import Decoder

Change = Callable[[Float[Tensor, "B K S"]], Float[Tensor, "B K S"]]


@contextmanager
def changed_weights(decoder: Decoder, change: Change) -> Iterator[None]:
    """Inside it, the steps of a decoder look elsewhere; outside of training only.

        c = sum over j of change(w)_j m_j,  of each head where there are several

    Weights that a step returns, and those that its attention remembers, are its own all the same.

    Raises:
        InputError: the decoder has no attention of this program.
    """
    modules = decoder.modules() if isinstance(decoder, nn.Module) else ()
    found = [each for each in modules if isinstance(each, ScoredAttention | ComposedAttention)]
    if not found:
        raise InputError("weights are changed in attentions of this program only: it has none")
    # dropout is where weights become others for the mean alone
    hooks = [
        each.dropout.register_forward_hook(lambda _module, given, _same: change(given[0]))
        for each in found
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
