"""Models that can be computed elsewhere, by a page or in ONNX."""

from typing import Any

from seq2seq.errors import InputError
from seq2seq.model.spec import ModelSpec

COMPUTED: dict[str, tuple[str, Any]] = {
    "decoder": ("decoder", "bahdanau"),
    "cell": ("model.cell", "gru"),
    "reverse_source": ("data.reverse_source", False),
    "attention_kind": ("attention.kind", "global"),
    "attention_coverage": ("attention.coverage", False),
    "attention_normaliser": ("attention.normaliser", "softmax"),
    "attention_heads": ("attention.heads", 1),
}
"""Fields of a model's description: the option, and the value that is computed elsewhere."""


def require_portable(spec: ModelSpec, what: str) -> None:
    """Refuse a model that is computed here alone.

    Args:
        spec: of the model.
        what: would compute it.

    Raises:
        InputError: naming the option.
    """
    for field, (option, computed) in COMPUTED.items():
        value = getattr(spec, field)
        if value != computed:
            raise InputError(f"{what} computes {option}={computed} only, not {option}={value}")
