"""A trained model as a folder that needs nothing else and runs no code when it is read.

``config.json`` (the arguments of `build_model`, how long translations may be, and the checksums of the other files),
``model.safetensors`` (the weights), ``source.json`` and ``target.json`` (the tokenizers), ``*.model`` (SentencePiece).

Weights are in float32, in bfloat16, or in 8-bit integers, see `seq2seq.models.int8`. A model is float32 when it is loaded.

A folder that was written is read again; what classes of your own compute then is compared with the model in memory, see `prove`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from seq2seq.common.errors import InputError, NotFinite
from seq2seq.common.named import without_unknown
from seq2seq.data.addresses import read_json
from seq2seq.data.batch import SourceBatch
from seq2seq.data.folders import config_of, example_sentences, num_words, own_classes
from seq2seq.data.tokenizers import Tokenizer, load_tokenizers, save_proved
from seq2seq.models.build import STORED, build_model
from seq2seq.models.int8 import SCALE, TINY, packed, unpacked
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.proof import prove, require_near, steps_of
from seq2seq.models.seq2seq import Seq2Seq

FORMAT_VERSION = 1
MAX_CONFIG = 2**20
"""Bytes of a config.json at most."""

ROUNDING = {"fp32": 0.0, "bf16": 2**-8, "int8": 0.16}
"""Maximum change of a weight by its format, relative to the weight, for int8 to the maximum of its row."""
BOUND = 1e-5
"""Maximum difference between a folder and the model with these weights in memory, see `prove`."""


SHORT = 10
"""Words and signs of a short sentence at most."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Examples of the text that a model knows, and a bound of its probabilities.

    Attributes:
        examples: Sentences of the text that chose the model, of those that it is most sure of.
        least: Mean log-probability of a token that 95 % of its translations of this text have at least; one with less is a
            guess.

    Raises:
        InputError: An example is no printable text, or the bound no number.
    """

    examples: tuple[str, ...]
    least: float

    def __post_init__(self) -> None:
        for each in self.examples:
            if not isinstance(each, str) or not _is_shown(each):
                raise InputError(f"an example of what a model knows is no short printable text: {each!r:.40}")
        if not isinstance(self.least, int | float) or not isfinite(self.least):
            raise InputError(f"the bound of a guess is a number, not {self.least!r:.40}")

    @classmethod
    def learned(cls, sources: Sequence[str], confidences: Sequence[float]) -> "Knowledge":
        """Return what a model knows, from sentences that are not of its training and `Translation.confidence` of each."""
        surest = [
            sources[place] for place in sorted(range(len(sources)), key=lambda place: -confidences[place])
        ]
        short = [each for each in surest if num_words(each) <= SHORT]
        examples = [each for each in example_sentences(short + surest) if _is_shown(each)]
        return cls(tuple(examples), sorted(confidences)[len(confidences) // 20])

    @classmethod
    def of(cls, saved: Mapping[str, Any] | None, place: str) -> "Knowledge | None":
        """Return what a config.json, named by `place`, holds; folders of earlier versions have none."""
        if saved is None:
            return None
        found = without_unknown(cls, dict(saved), place)
        return cls(tuple(found["examples"]), found["least"])

    def quoted(self) -> str:
        """Return the examples in a line."""
        return " ".join(f"“{each}”" for each in self.examples)

    def warning(self, guesses: Sequence[int], lines: str) -> str:
        """Return a line that says which of the `lines`, such as "20 lines", are guesses, by number from 1."""
        verb, first = "is a guess" if len(guesses) == 1 else "are guesses", ", ".join(map(str, guesses[:8]))
        return (
            f"{len(guesses):,} of {lines} {verb} ({first}{', …' if len(guesses) > 8 else ''}): the model is less sure of what it says "
            f"than in 95 % of the text that it knows, such as {self.quoted()}"
        )


def _is_shown(example: str) -> bool:
    """Return whether a text is short, and has no signs that a terminal obeys."""
    return example.isprintable() and len(example) <= 500


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model with its tokenizers, how long its translations may be, both directions or one, and what text it knows."""

    model: Seq2Seq
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    limits: LengthLimits = DEFAULT_LIMITS
    both_directions: bool = False
    knows: Knowledge | None = None

    def translates_back_to(self, language: str) -> bool:
        """Return whether a language is that of the source, and the model has learned to translate into it."""
        source, target = self.source_tokenizer, self.target_tokenizer
        knows_both = self.both_directions and source.vocabulary == target.vocabulary
        return knows_both and language == source.language != target.language

    def reversed(self) -> "SavedModel":
        """Return the model with its tokenizers exchanged, which translates in the other direction."""
        return replace(
            self, source_tokenizer=self.target_tokenizer, target_tokenizer=self.source_tokenizer, knows=None
        )


def save_model_folder(
    folder: str | Path,
    saved: SavedModel,
    *,
    precision: str = "fp32",
    card: Callable[[Path], str] | None = None,
) -> None:
    """Write a model folder; the files of an older one are replaced when the new ones are whole.

    The precision of the weights in the file is ``fp32``, ``bf16`` or ``int8``. `card` returns the text of README.md for
    the folder as it is written.

    Raises:
        ValueError: The model was put together by hand: only `build_model` knows how to build it again.
        InputError: The weights do not fit into the precision, the folder computes something else than the model, or
            anything is there but an older model, with its card, that nobody has changed.
    """
    folder = Path(folder)
    if saved.model.config is None:
        raise ValueError("a model folder needs a model of build_model, which knows how to build it again")
    _older(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as partial:
        written = Path(partial, folder.name)
        config = _write(written, saved, precision)
        if card is not None:
            (written / "README.md").write_text(card(written), encoding="utf-8")
            _write_json(written / "config.json", config | {"card": _checksum(written / "README.md")})
        left = _older(folder)
        folder.mkdir(exist_ok=True)
        for path in written.iterdir():
            left.discard(path.replace(folder / path.name))
    for path in left:
        path.unlink()


def _older(folder: Path) -> set[Path]:
    """Return the files of an older model at the place of a new one.

    Raises:
        InputError: One of them is not as this program has written it.
    """
    there = set(folder.iterdir()) if folder.is_dir() else {folder} if folder.exists() else set()
    sums = dict[str, Any]()
    with suppress(OSError, ValueError, TypeError, LookupError, RecursionError):
        config, own = read_json(folder / "config.json", MAX_CONFIG), _checksum(folder / "config.json")
        sums = {"README.md": config.get("card"), **config["sha256"], "config.json": own}
    for path in sorted(there):
        if not path.is_file() or sums.get(path.name) != _checksum(path):
            raise InputError(f"{path} is not as this program writes a model, and stays: give another folder")
    return there


def _write(folder: Path, saved: SavedModel, precision: str) -> dict[str, Any]:
    """Write a model folder and prove it, see `save_model_folder`; return what its config.json holds."""
    model = deepcopy(saved.model).cpu().float().eval()
    ties = tied_names(model)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items() if name not in ties}
    stored = _in_precision(restored(weights), precision)
    rounded = restored(stored)
    for name, values in rounded.items():
        if not values.is_floating_point():
            continue
        largest = weights[name].abs()
        if not largest.isfinite().all():
            raise NotFinite(f"{name} holds NaN or infinity")
        if precision == "int8":
            largest = largest.amax(dim=-1, keepdim=True) if largest.ndim == 2 else 0 * largest
        if not ((values - weights[name]).abs() <= ROUNDING[precision] * largest + TINY).all():
            raise InputError(
                f"{name} holds numbers that do not fit into {precision}: choose fp32, or train again"
            )
    folder.mkdir(parents=True)
    save_proved(saved.source_tokenizer, folder, "source")
    save_proved(saved.target_tokenizer, folder, "target")
    save_file(stored, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)
    checksums = {path.name: _checksum(path) for path in sorted(folder.iterdir()) if path.is_file()}
    config = {"format_version": FORMAT_VERSION, "model": saved.model.config, "limits": asdict(saved.limits),
              "both_directions": saved.both_directions, "sha256": checksums,
              **({} if saved.knows is None else {"knows": asdict(saved.knows)})}  # fmt: skip
    _write_json(folder / "config.json", config)
    exact = deepcopy(model)
    model.load_state_dict(rounded | {name: rounded[owner] for name, owner in ties.items()})
    if precision != "fp32":
        require_near(f"{precision} weights", exact, model, "choose fp32")
    loaded = load_model_folder(folder, trust_custom_code=True).model  # its classes are in memory already
    kept = loaded.state_dict()
    if not all(torch.equal(tensor, kept[name]) for name, tensor in model.state_dict().items()):
        raise InputError(f"{folder.name} as it was written differs from the model: is the disk damaged?")
    if own_classes(folder):
        advice = "Its classes must compute the same when they are built again from their arguments"
        prove("the model folder", model, partial(steps_of, loaded), BOUND, advice)
    return config


def _in_precision(weights: Mapping[str, Tensor], precision: str) -> dict[str, Tensor]:
    """Return weights in float32, and whole numbers, as a file holds them; the inverse of `restored` up to rounding."""
    if precision not in ROUNDING:
        raise InputError(f"there is no precision {precision!r} of a file: choose fp32, bf16 or int8")
    if precision == "int8":
        return {key: part for name, weight in weights.items() for key, part in packed(name, weight).items()}
    is_bf16 = {name: precision == "bf16" and weight.is_floating_point() for name, weight in weights.items()}
    return {name: weight.bfloat16() if is_bf16[name] else weight for name, weight in weights.items()}


def restored(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a file in float32, and buffers of whole numbers.

    Raises:
        NotFinite: A number is NaN or infinite, or too large for float32.
        InputError: There are 8-bit integers without scales.
    """
    weights = {
        name: unpacked(name, stored)
        if each.dtype == torch.int8
        else each.float()
        if each.is_floating_point()
        else each
        for name, each in stored.items()
        if not name.endswith(SCALE)
    }
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise NotFinite(f"{name} holds NaN, infinity, or a number too large for float32")
    return weights


def load_model_folder(path: str | Path, *, trust_custom_code: bool = False) -> SavedModel:
    """Read a model folder, the one of a run folder, or a shipped model.

    Args:
        path: The folder, or the name of a model of `seq2seq.data.folders`.
        trust_custom_code: Whether classes that are not part of this program may be imported and run.

    Raises:
        InputError: The folder is missing, damaged, or of another program or version.
    """
    config_path = config_of(path)
    folder = config_path.parent
    arguments, limits, both_directions, checksums, knows = _description(config_path)
    for name in ("source.json", "target.json", "model.safetensors"):
        if not (folder / name).exists():
            raise InputError(f"{folder} has no {name}: copy the whole folder, or export the model again")
    for name, checksum in checksums.items():
        if (folder / name).is_file() and _checksum(folder / name) != checksum:
            raise InputError(
                f"{folder / name} has changed since it was written: copy it again; if you changed it, remove sha256 from "
                "config.json"
            )
    source, target = load_tokenizers(folder, trust_custom_code=trust_custom_code)
    for side, tokenizer in (("source", source), ("target", target)):
        size = arguments.get(f"{side}_vocab_size")
        if tokenizer.vocab_size != size:
            raise InputError(f"{folder}/{side}.json has {tokenizer.vocab_size:,} tokens, the model {size}")
    weights_path = folder / "model.safetensors"
    try:
        with torch.device("meta"), _Uninitialized():  # the sizes are compared before memory is taken
            expected = build_model(**arguments, trust_custom_code=trust_custom_code)
        _check_file(weights_path, expected)
        model = build_model(**arguments, trust_custom_code=trust_custom_code)
        weights = restored(load_file(weights_path))
        model.load_state_dict(weights | {n: weights[owner] for n, owner in tied_names(model).items()})
        _check_step(model.eval())
    except Exception as error:  # a wrong description can fail anywhere
        reason = " ".join(f"{error}".split()) or type(error).__name__
        if isinstance(error, InputError):
            raise InputError(f"{folder}: {reason:.300}") from error
        raise InputError(
            f"{weights_path} does not hold the model's weights ({reason:.200}): copy it, or export it again"
        ) from error
    return SavedModel(model, source, target, limits, both_directions, knows)


def _write_json(path: Path, config: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def _checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _description(path: Path) -> tuple[dict[str, Any], LengthLimits, bool, dict[str, str], Knowledge | None]:
    """Return what a config.json holds: arguments of `build_model`, limits, both directions or one, checksums, what it knows.

    Folders of earlier versions have none of the last three.

    Raises:
        InputError: The file describes no model.
    """
    try:
        config = read_json(path, MAX_CONFIG)
        if not isinstance(config, dict) or "format_version" not in config:
            raise InputError("it is of another program")
        if config["format_version"] != FORMAT_VERSION:
            raise InputError(f"its format_version is not {FORMAT_VERSION}")
        limits = LengthLimits(**without_unknown(LengthLimits, config["limits"], f"{path}"))
        arguments = without_unknown(build_model, config["model"], f"{path}")
        if unknown := arguments.keys() - STORED:
            raise InputError(f"a model folder holds no {min(map(str, unknown))} of a model: remove it")
        checksums = dict(config.get("sha256", {}))
        knows = Knowledge.of(config.get("knows"), f"{path}")
        if stray := [name for name in checksums if Path(name).name != name]:
            raise InputError(f"sha256 names {stray[0]}, which is no file of the folder")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        reason = f"{error}" if isinstance(error, InputError) else f"damaged ({type(error).__name__}: {error})"
        raise InputError(f"{path} describes no model of this program: {reason:.200}") from error
    return arguments, limits, config.get("both_directions") is True, checksums, knows


def _check_file(path: Path, model: Seq2Seq) -> None:
    """Compare names and sizes of the weights in a file with those of a model.

    Raises:
        InputError: They differ, or there is no file.
    """
    tied = tied_names(model)
    shapes = {n: list(t.shape) for n, t in model.state_dict().items() if n not in tied}
    if not path.is_file():
        raise InputError(f"{path.name} is missing or no regular file")
    with safe_open(path, framework="pt") as file:
        found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    scales = {name: found.pop(name) for name in [*found] if name.endswith(SCALE)}
    for name, shape in scales.items():
        if shape != found.get(name.removesuffix(SCALE), [])[:1]:
            raise InputError(f"{name} is {shape}, which are no scales of the rows of a matrix")
    for name in sorted(shapes.keys() | found.keys()):
        if shapes.get(name) != found.get(name):
            raise InputError(f"{name} is {found.get(name, 'absent')}, not {shapes.get(name, 'there')}")


@torch.no_grad()
def _check_step(model: Seq2Seq) -> None:
    """Compute a step, where arguments of a wrong type fail, and weights that are too large.

    Raises:
        NotFinite: The step is not finite.
    """
    memory = model.encode(SourceBatch(torch.tensor([[0]]), torch.tensor([1])))
    features, _ = model.decoder(torch.tensor([[0]]), memory)
    if not model.decoder.output(features).isfinite().all():
        raise NotFinite("the first step computes NaN or infinity: weights are damaged or too large")


class _Uninitialized(TorchFunctionMode):
    """Skip the initialization of parameters, which on the meta device would import torch's compiler."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__module__", None) == "torch.nn.init":
            return args[0] if args else (kwargs or {}).get("tensor")
        return function(*args, **(kwargs or {}))


def load_attending(path: str | Path, *, trust_custom_code: bool = False) -> SavedModel:
    """Read a model folder whose model has attention.

    Raises:
        InputError: As `load_model_folder`; or the model has no attention.
    """
    saved = load_model_folder(path, trust_custom_code=trust_custom_code)
    if not saved.model.decoder.has_attention:
        raise InputError(f"{path} has no attention: its decoder is {type(saved.model.decoder).__name__}")
    return saved


def tied_names(model: Seq2Seq) -> dict[str, str]:
    """Return parameters that are another's too: name -> the name that is saved."""
    first: dict[int, str] = {}
    tied = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        owner = first.setdefault(id(tensor), name)
        if owner != name:
            tied[name] = owner
    return tied
