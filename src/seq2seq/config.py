"""The typed schema of the configuration: names, types, meanings and ranges. Values are in conf/.

Hydra checks names and types against these classes, on the command line and inside YAML files;
the ranges are checked when the composed configuration becomes an object.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import quick_metrics
from seq2seq.model.attentions.registry import ATTENTIONS, KINDS
from seq2seq.option_rules import refusals
from seq2seq.plain_text import first_line
from seq2seq.registry import Registry
from seq2seq.text.splitters import SUBWORDS, tokenizer_names

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback

    from seq2seq.text.corpus import ParallelCorpus


def setting(
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    names: Callable[[], Iterable[str]] = tuple,
) -> Any:
    """A field of the schema: its meaning, unit, least and greatest value, or the names it takes."""
    bounds = {"low": low, "high": high, "names": names}
    return field(metadata={"meaning": meaning, "unit": unit, **bounds})


InitialState = Enum("InitialState", {"encoder": "encoder", "zeros": "zeros"})
"""What the decoder starts from."""

CellName = Enum("CellName", {"gru": "gru", "lstm": "lstm"})
"""Recurrent layers of encoder and decoder."""

Query = Enum("Query", {"state": "state", "state_and_token": "state_and_token"})
"""What the decoder's attention asks with."""

Normaliser = Enum("Normaliser", {"softmax": "softmax", "sparsemax": "sparsemax"})
"""What turns scores into weights."""

Multi30kTest = Enum(
    "Multi30kTest",
    {"flickr_2016": "flickr_2016", "flickr_2017": "flickr_2017", "coco_2017": "coco_2017"},
)
"""Test sets of Multi30k."""

Tying = Enum("Tying", {"none": "none", "output": "output", "all": "all"})
"""Which weights are one."""

Accelerator = Enum("Accelerator", {"auto": "auto", "cpu": "cpu", "gpu": "gpu", "mps": "mps"})
"""Where to compute."""

Precision = Enum(
    "Precision",
    {"auto": "auto", "fp32": "fp32", "bf16-mixed": "bf16-mixed", "fp16-mixed": "fp16-mixed"},
)
"""Number format of the products."""


OptimiserName = Enum("OptimiserName", {"adam": "adam", "adamw": "adamw", "sgd": "sgd"})
"""Optimisers."""

Averaging = Enum("Averaging", {"none": "none", "ema": "ema", "epochs": "epochs"})
"""Averages of the weights over the course of training."""

Schedule = Enum("Schedule", {"constant": "constant", "cosine": "cosine", "plateau": "plateau"})
"""Courses of the learning rate."""

Sampler = Enum(
    "Sampler",
    {
        "grid": "grid",
        "one_at_a_time": "one_at_a_time",
        "seeds": "seeds",
        "tuned": "tuned",
        "tpe": "tpe",
        "random": "random",
    },
)
"""Where the jobs of a sweep come from."""

Pruner = Enum("Pruner", {"none": "none", "median": "median", "halving": "halving"})
"""What stops trials of a search that are worse than others."""

KeptCheckpoints = Enum("KeptCheckpoints", {"all": "all", "best": "best", "none": "none"})
"""What a sweep leaves of the checkpoints of a job that is done."""

LoggerName = Enum(
    "LoggerName", {"tensorboard": "tensorboard", "csv": "csv", "mlflow": "mlflow", "wandb": "wandb"}
)
"""Where scalars and pictures go."""

ResumeMode = Enum("ResumeMode", {"auto": "auto", "required": "required", "never": "never"})
"""Whether a run continues from what is in its folder."""


@dataclass(kw_only=True, slots=True)
class TokenizerConfig:
    """`data.tokenizer`."""

    name: str = setting("how text is split", names=tokenizer_names)
    target_name: str | None = setting(
        "another tokenizer for the target; null: the same", names=tokenizer_names
    )
    lowercase: bool = setting("lower-case the text first")
    restore_case: bool = setting("give translations the case that is usual in training")
    joint: bool = setting("one vocabulary for both languages")
    min_frequency: int = setting("rarer words become <unk>", low=1)
    max_size: int | None = setting(
        "greatest vocabulary size; null: no bound, or for subwords by the number of pairs", low=8
    )
    sampling: float | None = setting("strength of subword sampling; null: none", low=0, high=1)

    def __post_init__(self) -> None:
        check_ranges("data.tokenizer", self)
        _check_tokenizers(self)


LengthPenaltyName = Enum(
    "LengthPenaltyName", {"none": "none", "average": "average", "gnmt": "gnmt"}
)
"""What the log-probability of a translation is divided by."""

LEAST_SUBWORDS = 261
"""The 4 special tokens and the 256 bytes that a SentencePiece vocabulary begins with, and one."""


def _check_tokenizers(tokenizer: TokenizerConfig) -> None:
    """Refuse sizes and tokenizers that do not go together.

    Raises:
        InputError: naming the keys.
    """
    names = {tokenizer.target_name or tokenizer.name, tokenizer.name}
    if tokenizer.joint and len(names) > 1:
        raise InputError(
            f"data.tokenizer.joint=true needs one tokenizer, not {' and '.join(sorted(names))}: "
            "set data.tokenizer.joint=false"
        )
    if tokenizer.sampling is not None and names != {"unigram"}:
        raise InputError(
            f"data.tokenizer.sampling={tokenizer.sampling} needs subwords with probabilities: "
            "set data.tokenizer.name=unigram"
        )
    if tokenizer.restore_case and not tokenizer.lowercase:
        raise InputError(
            "data.tokenizer.restore_case=true is for lower-cased text: "
            "set data.tokenizer.lowercase=true"
        )
    size = tokenizer.max_size
    if names & {*SUBWORDS} and size is not None and size < LEAST_SUBWORDS:
        raise InputError(
            f"data.tokenizer.max_size={size} does not go with SentencePiece: give at least "
            f"{LEAST_SUBWORDS}, for example 6000"
        )


@dataclass(kw_only=True, slots=True)
class DataConfig:
    """`data`: what every corpus has."""

    source_language: str = setting("language code of the source")
    target_language: str = setting("language code of the target")
    tokenizer: TokenizerConfig
    max_length: int | None = setting(
        "greatest length; longer pairs are dropped", low=1, unit="tokens"
    )
    truncate: bool = setting("cut the sentences of longer pairs instead of dropping them")
    reverse_source: bool = setting("the encoder reads the source from its end to its beginning")
    both_directions: bool = setting("train on every pair the other way round as well")
    links: str | None = setting(
        "links of the training pairs' words, Pharaoh format; null: the corpus's own, if it has any"
    )
    validation_links: str | None = setting(
        "gold links of the validation pairs' words, likewise: alignment/aer is logged"
    )
    limit: int | None = setting("use only the first pairs of each split", low=2, unit="pairs")
    overfit: bool = setting("validate and test on the training pairs")

    def __post_init__(self) -> None:
        check_ranges("data", self)


@dataclass(kw_only=True, slots=True)
class GrammarConfig(DataConfig):
    """`data=grammar`: the built-in English-French corpus."""

    folder: str = setting("folder of lexicon and rules, relative to the program's own files")
    train_pairs: int = setting("training pairs", low=2, high=1_000_000, unit="pairs")
    validation_pairs: int = setting("validation pairs", low=1, high=10_000, unit="pairs")
    test_pairs: int = setting("test pairs", low=1, high=10_000, unit="pairs")
    seed: int = setting("seed of the sampled sentences", low=0)
    clauses: int = setting("joined in a sentence at most, each number as often", low=1, high=20)
    max_words: int = setting("in a source sentence at most", low=8, high=200, unit="words")


TaskName = Enum("TaskName", {"dates": "dates", "reverse": "reverse", "numbers": "numbers"})
"""What `data=tasks` can make."""


@dataclass(kw_only=True, slots=True)
class TasksConfig(DataConfig):
    """`data=tasks`: small tasks that the program makes itself."""

    task: TaskName = setting("dates to ISO 8601, symbols reversed, numbers in words")
    train_pairs: int = setting("training pairs", low=2, high=100_000, unit="pairs")
    validation_pairs: int = setting("validation pairs", low=1, high=10_000, unit="pairs")
    test_pairs: int = setting("test pairs", low=1, high=10_000, unit="pairs")
    seed: int = setting("seed of what is drawn", low=0)


@dataclass(kw_only=True, slots=True)
class FilePairConfig:
    """Two parallel files."""

    source: str | None = setting("source file, plain or compressed, or a pattern of several")
    target: str | None = setting("target file, line by line its translation; or a pattern")


@dataclass(kw_only=True, slots=True)
class ValidationFilesConfig(FilePairConfig):
    """`data.validation`: two files, or a share of the training files."""

    fraction: float | None = setting("share of the training pairs to hold out", low=1e-6, high=0.5)

    def __post_init__(self) -> None:
        check_ranges("data.validation", self)


@dataclass(kw_only=True, slots=True)
class ParallelConfig(DataConfig):
    """`data=parallel`: the user's own files."""

    train: FilePairConfig
    validation: ValidationFilesConfig
    test: FilePairConfig
    split_seed: int = setting("seed of what is held out, whatever seed is", low=0)
    store: str = setting("folder of tokenised corpora, shared by all runs")
    store_from: int = setting(
        "training files with more text go through the store", low=0, unit="MB"
    )


@dataclass(kw_only=True, slots=True)
class Multi30kConfig(DataConfig):
    """`data=multi30k`: the published files of Multi30k, task 1."""

    root: str = setting("folder that holds train.en.gz, val.en.gz, test_2016_flickr.en.gz, …")
    test_set: Multi30kTest = setting("the test set, scored at the end")
    download: bool = setting("fetch the files that root lacks")
    address: str = setting("where the published files are fetched")


@dataclass(kw_only=True, slots=True)
class TatoebaConfig(DataConfig):
    """`data=tatoeba`: a tab-separated file of pairs."""

    file: str = setting(
        "source and target in the first two columns; plain, .gz or the .zip as served"
    )
    train_pairs: int | None = setting("training pairs; null: all others", low=1, unit="pairs")
    validation_pairs: int = setting("validation pairs", low=1, unit="pairs")
    test_pairs: int = setting("test pairs", low=0, unit="pairs")
    split_seed: int = setting("seed of what is held out, whatever seed is", low=0)
    in_order: bool = setting("training, validation, test in the order of the file, not at random")


@dataclass(kw_only=True, slots=True)
class HubConfig(DataConfig):
    """`data=hf`: a translation dataset in the format of Hugging Face."""

    dataset: str = setting("name on the hub, or a folder of data files or of save_to_disk")
    subset: str | None = setting("configuration of the dataset; null: its only one")
    revision: str | None = setting("commit, tag or branch on the hub; null: the newest")
    column: str | None = setting("column of the translations; null: each language is a column")
    train_split: str = setting("name of the training split")
    validation_split: str | None = setting("name of the validation split")
    validation_fraction: float | None = setting(
        "share of training pairs to hold out", low=1e-6, high=0.5
    )
    split_seed: int = setting("seed of what is held out, whatever seed is", low=0)
    test_split: str | None = setting("name of the test split; null: none")


@dataclass(kw_only=True, slots=True)
class ModelConfig:
    """`model`."""

    decoder: str = setting("registered name of the decoder")
    cell: CellName = setting("recurrent layers of encoder and decoder")
    embedding_size: int = setting("size of a token's vector", low=1)
    encoder_hidden_size: int = setting("state of one direction of the encoder", low=1)
    decoder_hidden_size: int = setting("state of the decoder", low=1)
    num_layers: int = setting("layers of encoder and decoder", low=1, high=16)
    bidirectional: bool = setting("the encoder reads both ways")
    dropout: float | None = setting(
        "of embeddings, between layers, of outputs; null: by the passes over the corpus",
        low=0,
        high=0.95,
    )
    embedding_dropout: float | None = setting("on embedded tokens; null: dropout", low=0, high=0.95)
    memory_dropout: float | None = setting("on encoder outputs; null: dropout", low=0, high=0.95)
    readout_dropout: float | None = setting("on readout features; null: dropout", low=0, high=0.95)
    dropout_by_sentence: bool = setting("the same mask for all tokens of a sentence")
    readout_size: int | None = setting("deep readout; null: score the state itself", low=1)
    initial_state: InitialState = setting("of the decoder: encoder's final states, or zeros")
    query: Query = setting("of the attention: the decoder's state, or with the previous token")
    input_feeding: bool = setting("of decoder luong: it reads its last attentional vector")
    tying: Tying = setting("none; output: target embedding = output layer; all: source too")
    source_vectors: str | None = setting("file of pretrained source vectors; null: none")
    target_vectors: str | None = setting("file of pretrained target vectors; null: none")

    def __post_init__(self) -> None:
        check_ranges("model", self)


@dataclass(kw_only=True, slots=True)
class AttentionOptions:
    """`attention.options`: none; another package's attention has a dataclass made of this."""

    def __post_init__(self) -> None:
        check_ranges("attention.options", self)


def attention_options(kind: str) -> type[AttentionOptions]:
    """The options of a kind of attention.

    Raises:
        InputError: another package is to bring it, which does not, or is broken.
    """
    if kind in KINDS:
        return AttentionOptions
    try:
        options = ATTENTIONS[kind].options
        require_settings(options, AttentionOptions)
    except (ValueError, ImportError, TypeError) as error:
        raise InputError(f"attention.kind: {first_line(error)}") from error
    return options


@dataclass(kw_only=True, slots=True)
class AttentionConfig:
    """`attention`."""

    score: str = setting("registered name of the scoring function")
    hidden_size: int | None = setting("hidden size of the score; null: it has none", low=1)
    dropout: float = setting("on the weights used for pooling", low=0, high=0.95)
    kind: str = setting(
        "which tokens: global: all; local_m, local_p; monotonic; or another package's",
        names=lambda: [*KINDS, *ATTENTIONS.names()],
    )
    options: AttentionOptions
    window: int | None = setting("tokens on either side, with kind=local_m or local_p", low=1)
    normaliser: Normaliser = setting("softmax, or sparsemax: many weights are zero")
    coverage: bool = setting("scores know what has been attended to; additive score only")
    heads: int = setting("attentions beside each other", low=1, high=64)

    def __post_init__(self) -> None:
        check_ranges("attention", self)
        if type(self.options) is not attention_options(self.kind):
            raise InputError(
                f"attention.kind={self.kind} does not go with the options of another attention: "
                f"choose attention={self.kind}"
            )


@dataclass(kw_only=True, slots=True)
class DeviceConfig:
    """`device`."""

    accelerator: Accelerator = setting("where to compute")
    devices: int = setting("devices of a machine, a process each", low=1, high=64)
    num_nodes: int = setting("machines", low=1, high=10_000)
    precision: Precision = setting("number format of the products")
    threads: int | None = setting("CPU threads; null: torch's choice", low=1, high=1024)

    def __post_init__(self) -> None:
        check_ranges("device", self)


@dataclass(kw_only=True, slots=True)
class OptimConfig:
    """`optim`."""

    optimiser: OptimiserName = setting("optimiser")
    learning_rate: float = setting("greatest learning rate", low=1e-9, high=100)
    weight_decay: float = setting("L2 penalty", low=0, high=10)
    label_smoothing: float = setting("share of the label spread evenly", low=0, high=0.9)
    word_dropout: float = setting("share of tokens read as <unk> in training", low=0, high=0.95)
    r_drop: float = setting("divergence of two dropout masks; 0: one pass", low=0, high=100)
    guidance: float = setting(
        "weight of the attention's loss against links; 0: none", low=0, high=100
    )
    averaging: Averaging = setting("none, ema or epochs: what is validated and exported")
    ema_decay: float = setting("share of the average kept at each step, with ema", low=0, high=1)
    average_from_epoch: int = setting("first epoch in the mean, with epochs", low=1)
    schedule: Schedule = setting("course of the learning rate")
    warmup_steps: int = setting("linear growth from 0", low=0, unit="optimiser steps")
    final_fraction: float = setting("learning rate at the end of the cosine", low=0, high=1)
    plateau_factor: float = setting("times the rate on a plateau", low=0.01, high=0.99)
    plateau_patience: int = setting("without progress, a plateau", low=1, unit="validations")

    def __post_init__(self) -> None:
        check_ranges("optim", self)


@runtime_checkable
class CallbackMaker(Protocol):
    """What the name of a callback stands for: its class, or a function that makes it."""

    def __call__(self, run_dir: Path, /) -> "Callback":
        """A callback for the run in this folder."""


CALLBACKS: Registry[CallbackMaker] = Registry("callback", {}, CallbackMaker)


@dataclass(kw_only=True, slots=True)
class TrainerConfig:
    """`trainer`."""

    max_epochs: int = setting("passes over the training split at most", low=1)
    max_steps: int | None = setting("stop after so many", low=1, unit="optimiser steps")
    batch_sentences: int | None = setting(
        "sentences in a batch at most; null: no bound, or without batch_tokens by the length", low=1
    )
    batch_tokens: int | None = setting("padded size of a batch at most", low=2, unit="tokens")
    accumulate: int = setting("batches per optimiser step", low=1)
    gradient_clip: float | None = setting("greatest norm of the gradient", low=1e-6)
    validate_every: int | None = setting(
        "between two validations; null: about thirty of them", low=1, unit="epochs"
    )
    monitor: str = setting(
        "what chooses the model that is kept", names=lambda: [*quick_metrics(), "last"]
    )
    early_stopping: int | None = setting(
        "stop after so many without progress", low=1, unit="validations"
    )
    log_every: int = setting("between two logged training values", low=1, unit="optimiser steps")
    checkpoint_every: int | None = setting(
        "between two checkpoints; null: at the ends of epochs only", low=1, unit="optimiser steps"
    )
    skip_nonfinite: int = setting(
        "with NaN or infinity that are left out before training stops", low=0, unit="steps"
    )
    profile: bool = setting("write where the time of some steps goes, docs/viewing.md")
    callbacks: list[str] = setting("registered names of callbacks of other packages")

    def __post_init__(self) -> None:
        check_ranges("trainer", self)
        for name in self.callbacks:
            try:
                CALLBACKS.require(name)
            except ValueError as error:
                raise InputError(f"trainer.callbacks: {error}") from error
        if self.monitor == "last" and self.early_stopping is not None:
            raise InputError(
                "trainer.early_stopping needs a metric: set trainer.monitor=loss or another"
            )


@dataclass(kw_only=True, slots=True)
class DecodingConfig:
    """`decoding`: the search by which the finished model is scored, besides greedy search."""

    beam: int = setting("hypotheses that beam search follows; 1: greedy alone", low=1, high=100)
    length_penalty: LengthPenaltyName = setting("none, average or gnmt")
    alpha: float = setting("exponent of the gnmt penalty", low=0, high=10)
    max_length: float | None = setting(
        "target tokens of a source token at most, and 10 more; null: by the training split",
        low=0.1,
        high=1000,
    )

    def __post_init__(self) -> None:
        check_ranges("decoding", self)


@dataclass(kw_only=True, slots=True)
class PanelConfig:
    """`tensorboard.panel`: the sentences whose attention is recorded for the Attention tab."""

    first: int = setting("of the validation split: the first so many", low=0, high=10_000)
    indices: list[int] = setting("of the validation split: those at these places, from 0")
    texts: list[str] = setting("sentences of your own: 'source' or 'source ||| target'")

    def __post_init__(self) -> None:
        check_ranges("tensorboard.panel", self)
        if min(self.indices, default=0) < 0:
            raise InputError(
                f"tensorboard.panel.indices={self.indices} is out of range: places count from 0"
            )


@dataclass(kw_only=True, slots=True)
class TensorBoardConfig:
    """`tensorboard`."""

    panel: PanelConfig
    heatmaps: int = setting("validation sentences whose attention is drawn", low=0, high=100)
    draw_every: int | None = setting(
        "between two drawings of attention; null: at validations only",
        low=1,
        unit="optimiser steps",
    )
    samples: int = setting("translated validation sentences shown as text", low=0, high=1000)

    def __post_init__(self) -> None:
        check_ranges("tensorboard", self)


@dataclass(kw_only=True, slots=True)
class SweepConfig:
    """`sweep`: how ``-m`` runs many jobs. A run itself does not know of it."""

    name: str | None = setting("name of the sweep; null: made from the overrides")
    parameters: dict[str, str] = setting("values or ranges by key, as on the command line")
    sampler: Sampler = setting("what the jobs are: docs/sweeps.md")
    metric: str = setting("what jobs are judged by", names=quick_metrics)
    trials: int = setting("of a search, those of all its drivers", low=1, unit="jobs")
    sampler_seed: int = setting("seed of what a search proposes", low=0)
    pruner: Pruner = setting("what stops bad trials of a search: none, median or halving")
    pruner_warmup: int = setting("before a trial can be stopped", low=0, unit="epochs")
    min_seeds: int = setting("sampler=seeds: seeds before the first look", low=2)
    max_seeds: int = setting("sampler=seeds: seeds at most", low=2)
    significance: float = setting("greatest p that is significant", low=1e-4, high=0.5)
    tuned: str | None = setting("sampler=tuned: each setting has its best value of this key")
    claim: dict[str, Any] = setting("what the runs are to show: docs/sweeps.md; {}: nothing")
    jobs: int = setting("jobs at a time", low=1)
    time_budget: float | None = setting("then no job is started", low=0, unit="minutes")
    retry_failed: bool = setting("run those again that failed before")
    keep: KeptCheckpoints = setting("checkpoints of jobs that are done: best, all or none")
    dry_run: bool = setting("list the jobs and stop")

    def __post_init__(self) -> None:
        check_ranges("sweep", self)
        if self.max_seeds < self.min_seeds:
            raise InputError(
                f"sweep.max_seeds={self.max_seeds} is less than sweep.min_seeds={self.min_seeds}"
            )


@dataclass(kw_only=True, slots=True)
class ResumeConfig:
    """`resume`."""

    mode: ResumeMode = setting("auto, required or never")
    force: bool = setting("continue with another seed, batch size and the like")


@dataclass(kw_only=True, slots=True)
class Config:
    """Everything that decides a run."""

    experiment_name: str = setting("folder of the runs of this experiment, under runs_dir")
    name: str | None = setting("name of the run; null: made from the overrides")
    runs_dir: str = setting("folder of all runs")
    seed: int = setting("seed of parameters, dropout and batch order", low=0, high=2**32 - 1)
    init_from: str | None = setting("start from the weights of this run or model folder")
    allow_overlap: bool = setting("start from a model that was trained on what is held out here")
    logger: list[LoggerName] = setting("where the course of training is logged")
    check_corpus: bool = setting("print what training would read, and stop")
    data: DataConfig
    model: ModelConfig
    attention: AttentionConfig
    device: DeviceConfig
    optim: OptimConfig
    trainer: TrainerConfig
    decoding: DecodingConfig
    resume: ResumeConfig
    tensorboard: TensorBoardConfig
    sweep: SweepConfig

    def __post_init__(self) -> None:
        check_ranges("", self)
        _check_tying(self.model, joint=self.data.tokenizer.joint)
        for refusal in refusals(plain_values(self)):
            raise InputError(refusal)


def plain_values(section: Any, prefix: str = "") -> dict[str, Any]:
    """A section's values by dotted key, as the table of `option_rules` knows them."""
    found: dict[str, Any] = {}
    for described in fields(section):
        key, value = f"{prefix}{described.name}", getattr(section, described.name)
        if is_dataclass(value):
            found |= plain_values(value, f"{key}.")
        else:
            found[key] = value.value if isinstance(value, Enum) else value
    return found


def _check_tying(model: ModelConfig, *, joint: bool) -> None:
    """Refuse weights that cannot be one, before the corpus is read.

    Raises:
        InputError: naming the keys.
    """
    if model.tying is Tying.all and not joint:
        raise InputError(
            "model.tying=all needs one vocabulary for both languages: set data.tokenizer.joint=true"
        )
    size = model.decoder_hidden_size if model.readout_size is None else model.readout_size
    if model.tying is not Tying.none and size != model.embedding_size:
        raise InputError(
            f"model.tying={model.tying.value} needs outputs of the embedding's size, not {size}: "
            f"set model.readout_size={model.embedding_size}"
        )


GREATEST_INTEGER = 1_000_000_000
"""Bound of the integers that have no other."""


def check_ranges(section: str, values: Any) -> None:
    """Check every number of a section against the range of its field, and names that it takes.

    Raises:
        InputError: naming the key, the value and the range.
    """
    for described in fields(values):
        value = getattr(values, described.name)
        names = list(described.metadata["names"]()) if isinstance(value, str) else []
        if names and value not in names:
            near = " or ".join(get_close_matches(value, names))
            key, hint = f"{section}.{described.name}", near and f", did you mean {near}?"
            raise InputError(f"{key}={value} is wrong: {key} takes one of {', '.join(names)}{hint}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_range(f"{section}.{described.name}".lstrip("."), value, described)


def _check_range(key: str, value: float, described: "Field[Any]") -> None:
    low, high = described.metadata["low"], described.metadata["high"]
    if isinstance(value, int) and high is None:
        high = GREATEST_INTEGER
    # NaN is neither above nor below anything, and so refused by every bound
    if (low is None or value >= low) and (high is None or value <= high):
        return
    bounds = f"at least {low:.12g}" if high is None else f"from {low:.12g} to {high:.12g}"
    raise InputError(f"{key}={value} is out of range: {described.metadata['meaning']}, {bounds}")


DATA_SCHEMAS: dict[str, type[DataConfig]] = {
    "grammar": GrammarConfig,
    "tasks": TasksConfig,
    "parallel": ParallelConfig,
    "multi30k": Multi30kConfig,
    "tatoeba": TatoebaConfig,
    "hf": HubConfig,
}
"""Those of our own corpora."""


@dataclass(kw_only=True, slots=True)
class CorpusOptions(DataConfig):
    """`data` of another package's corpus, whose own keys are fields of a dataclass made of this."""

    corpus: str = setting(
        "the corpus; data=NAME sets it",
        names=lambda: CORPORA.names(),  # noqa: PLW0108 - it is below
    )


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the name of another package's corpus stands for.

    Attributes:
        options: its keys, each with its `setting`, of plain types.
        read: the corpus of such options.
        has_test_split: whether options name a test split, without a look at the files.
    """

    options: type[CorpusOptions]
    read: "Callable[[Any], ParallelCorpus]"
    has_test_split: Callable[[Any], bool] = lambda _: True

    def __post_init__(self) -> None:
        require_settings(self.options, CorpusOptions)


def require_settings(options: type[Any], base: type[Any]) -> None:
    """Check that another package's options are made of ours, and each is a `setting`.

    Raises:
        TypeError: they are not.
    """
    if not (isinstance(options, type) and issubclass(options, base)):
        raise TypeError(f"the options {options!r:.80} are made of no {base.__name__}")
    for described in fields(options):
        if "meaning" not in (described.metadata or ()) and not is_dataclass(described.type):
            raise TypeError(f"the option {described.name} has no setting(…)")


CORPORA: Registry[Corpus] = Registry("corpus", {}, Corpus, reserved=DATA_SCHEMAS, plural="corpora")


def data_schemas() -> Mapping[str, type[DataConfig]]:
    """The schema of every corpus by name; those that cannot be had are left out with a warning."""
    return DATA_SCHEMAS | {name: corpus.options for name, corpus in CORPORA.working().items()}


def foreign_schema(group: str, name: str) -> DictConfig:
    """The schema of what another package brings to the group `data` or `attention`, for Hydra.

    Raises:
        InputError: there is none of that name, or its package is broken.
    """
    try:
        options = attention_options(name) if group == "attention" else CORPORA[name].options
        keys: DictConfig = OmegaConf.structured(options)
    except (ValueError, ImportError, TypeError, OmegaConfBaseException) as error:
        raise InputError(f"{group}={name}: {first_line(error)}") from error
    if group == "data":
        keys.corpus = name
    return keys


def register_schema() -> None:
    """Tell Hydra the schema: `schema` for the root, `schema/data/…` for the corpora."""
    store = ConfigStore.instance()
    store.store(name="schema", node=Config)
    for name, node in DATA_SCHEMAS.items():
        store.store(group="schema/data", name=name, node=node)


def described_keys(schema: type, prefix: str = "") -> Iterator[tuple[str, "Field[Any]"]]:
    """The keys of a section, those of its sections included, each with its field."""
    for described in fields(schema):
        key = f"{prefix}{described.name}"
        if isinstance(described.type, type) and is_dataclass(described.type):
            yield from described_keys(described.type, f"{key}.")
        else:
            yield key, described


def all_keys() -> dict[str, "Field[Any]"]:
    """Every key that the command line accepts, such as ``optim.learning_rate``, of any corpus."""
    found = dict(described_keys(Config))
    for data in data_schemas().values():
        found |= described_keys(data, "data.")
    for attention in ATTENTIONS.working().values():
        found |= described_keys(attention.options, "attention.options.")
    return found


def known_keys() -> list[str]:
    """The names of all of them, sorted."""
    return sorted(all_keys())
