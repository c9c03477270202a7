"""Build a model from its description in a configuration, checkpoint or model folder."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from seq2seq import attention as attention_package
from seq2seq.common.errors import InputError
from seq2seq.common.named import PARTS, is_within, require_trusted, without_unknown
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder
from seq2seq.models.reversing import ReversingSeq2Seq
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.models.vectors import load_vectors

Factory = Callable[..., nn.Module] | Mapping[str, Any]
"""Factory of a part of the model: a class, a `functools.partial`, or a description with `_target_`."""

MAX_SIZE, MAX_PARTS = 2**24, 256
"""Maximum of all numbers in a description, and of layers and heads: a damaged file takes little memory and time."""

STORED = (
    "encoder", "decoder", "source_vocab_size", "target_vocab_size", "padding_id", "embedding_size", "tie_embeddings",
    "reverse_source",
)  # fmt: skip
"""Arguments of `build_model` that a model's `config` holds."""


def build_model(
    *,
    encoder: Factory,
    decoder: Factory,
    source_vocab_size: int,
    target_vocab_size: int,
    padding_id: int = 1,
    embedding_size: Size = 128,
    tie_embeddings: str = "none",
    reverse_source: bool = False,
    initialization: str = "torch",
    source_vectors: str | None = None,
    target_vectors: str | None = None,
    source_tokens: list[str] | None = None,
    target_tokens: list[str] | None = None,
    trust_custom_code: bool = False,
) -> Seq2Seq:
    """Build a model with randomly initialized parameters.

    Args:
        encoder: Factory of the encoder, called with `input_size`.
        decoder: Factory of the decoder, called with `embedding`, `memory_size`, `summary_size` and `tie_output`.
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens V.
        padding_id: Id of the padding token of both languages.
        embedding_size: Size E of both embeddings.
        tie_embeddings: ``none``; ``output``: the output layer has the weight of the target embedding; ``all``: the
            source embedding is shared as well, which requires a joint vocabulary.
        reverse_source: Whether the encoder reads each source in reverse order, see `ReversingSeq2Seq`.
        initialization: ``torch``: parameters as torch.nn draws them; ``xavier``: see `xavier`.
        source_vectors: File of pretrained vectors of source tokens, see `load_vectors`.
        target_vectors: File of pretrained vectors of target tokens.
        source_tokens: Source tokens in the order of their ids; required with `source_vectors`.
        target_tokens: Target tokens in the order of their ids; required with `target_vectors`.
        trust_custom_code: Whether to import classes of other packages that a description names.

    Returns:
        The model, with its description as `config`.

    Raises:
        InputError: Arguments do not match, or a class is unknown or not trusted.
    """
    given = dict(locals())
    if initialization not in ("torch", "xavier"):
        raise InputError(f"model.initialization={initialization}: choose one of torch, xavier")
    if tie_embeddings not in ("none", "output", "all"):
        raise InputError(f"model.tie_embeddings={tie_embeddings}: choose one of none, output, all")
    if tie_embeddings == "all" and source_vocab_size != target_vocab_size:
        raise InputError("model.tie_embeddings=all needs one vocabulary: set data.joint_vocabulary=true")
    config = {name: plain_data(given[name]) for name in STORED}
    _check_sizes(config)

    def embedding(size: int) -> nn.Embedding:
        layer = nn.Embedding(size, embedding_size, padding_idx=padding_id)
        if tie_embeddings != "none":  # an output layer of unit variance gives logits of size sqrt(E)
            nn.init.normal_(layer.weight, std=embedding_size**-0.5)
            layer.weight.data[padding_id].zero_()
        return layer

    target_embedding = embedding(target_vocab_size)
    source_embedding = target_embedding if tie_embeddings == "all" else embedding(source_vocab_size)
    try:
        made_encoder = factory(encoder, trust_custom_code=trust_custom_code)(input_size=embedding_size)
        for name in ("output_size", "summary_size"):
            if not isinstance(getattr(made_encoder, name, None), int):
                raise InputError(f"model.encoder: {type(made_encoder).__name__} has no attribute {name}")
        made_decoder = factory(decoder, trust_custom_code=trust_custom_code)(
            embedding=target_embedding,
            memory_size=made_encoder.output_size,
            summary_size=made_encoder.summary_size,
            tie_output=tie_embeddings != "none",
        )
    except ValueError as error:
        raise InputError(f"model: {error}") from error
    if initialization == "xavier":
        xavier(made_encoder)
        xavier(made_decoder)
    if source_vectors is not None:
        load_vectors(source_vectors, source_tokens or [], source_embedding)
    if target_vectors is not None:
        load_vectors(target_vectors, target_tokens or [], target_embedding)
    kind = ReversingSeq2Seq if reverse_source else Seq2Seq
    model = kind(source_embedding, made_encoder, made_decoder)
    model.config = config
    return model


@torch.no_grad()
def xavier(part: nn.Module) -> None:
    """Draw the matrices of an encoder or decoder, but embeddings, from U(-b, b) with b = sqrt(6 / (rows + columns)).

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010. The two parts of
    the matrix for [e; c], see `BahdanauDecoder`, count as one matrix.
    """
    embedded = {id(module.weight) for module in part.modules() if isinstance(module, nn.Embedding)}
    for name, parameter in part.named_parameters():
        if id(parameter) not in embedded and (parameter.ndim == 2 or name.endswith("score_weight")):
            nn.init.xavier_uniform_(parameter if parameter.ndim == 2 else parameter.unsqueeze(0))
    context_gates = getattr(part, "context_gates", None)
    if isinstance(part, RecurrentDecoder) and context_gates is not None:
        parts = part.stack.cells[0].input_gates.weight, context_gates.weight
        joint = nn.init.xavier_uniform_(torch.cat(parts, dim=1))
        for weight, values in zip(
            parts, joint.split([weight.shape[1] for weight in parts], dim=1), strict=True
        ):
            weight.copy_(values)


def plain_data(part: Any) -> Any:
    """Convert a class, partial or plain data to plain data with `_target_`."""
    if isinstance(part, Mapping):
        return {str(key): plain_data(value) for key, value in part.items() if key != "_partial_"}
    if isinstance(part, partial):
        if part.args:
            raise InputError(f"{part.func.__name__}: give its arguments by name")
        return {"_target_": plain_data(part.func)["_target_"], **plain_data(part.keywords)}
    if inspect.isclass(part) or inspect.isfunction(part):
        return {"_target_": f"{part.__module__}.{part.__qualname__}"}
    if isinstance(part, list | tuple):
        return [plain_data(each) for each in part]
    return part


def factory(part: Factory, *, trust_custom_code: bool = False) -> Callable[..., Any]:
    """Return the factory of a part, which is `part` itself if it is callable.

    Raises:
        InputError: The description does not name a class, or names a class of another package without
            `trust_custom_code`.
    """
    if not isinstance(part, Mapping):
        return part
    target = str(part.get("_target_"))
    require_trusted(target, "the model", trust_custom_code=trust_custom_code)
    module, _, name = target.rpartition(".")
    if is_within(target, PARTS):
        places = import_module(__package__), attention_package
        found = next((getattr(each, name) for each in places if hasattr(each, name)), None)
    else:
        try:
            found = getattr(import_module(module), name, None)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"{target}: {error}: its file must be in the working folder, or its folder in PYTHONPATH"
            ) from error
    if not (inspect.isclass(found) and issubclass(found, nn.Module)):
        raise InputError(f"the model names {target!s:.100}, which is no class of a model's parts")
    arguments = {
        key: factory(value, trust_custom_code=trust_custom_code)
        if isinstance(value, Mapping) and "_target_" in value
        else value
        for key, value in part.items()
        if key not in ("_target_", "_partial_")
    }
    return partial(found, **without_unknown(found, arguments, "this model"))


def _check_sizes(config: Any, key: str = "model") -> None:
    """Check that numbers are between 0 and `MAX_SIZE`, or for sizes, layers and heads within narrower limits.

    Raises:
        InputError: A number is not; the message has its key.
    """
    if isinstance(config, Mapping):
        for name, value in config.items():
            _check_sizes(value, f"{key}.{name}")
    elif isinstance(config, int) and not isinstance(config, bool):
        is_count = key.endswith(("num_layers", "heads"))
        least = int(is_count or key.endswith(("embedding_size", "hidden_size", "vocab_size")))
        most = MAX_PARTS if is_count else MAX_SIZE
        if not least <= config <= most:
            raise InputError(f"{key}={config}: a number from {least} to {most:,} is needed")
