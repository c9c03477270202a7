"""Training and opening runs from Python: `train`, `load`, `Run`."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seq2seq.common.shipped import config_of, model_path
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.run.config import composed, settings_of
from seq2seq.run.folder import read_json
from seq2seq.run.messages import message_of
from seq2seq.run.procedure import run


class Run:
    """A finished run, or a model folder: its scores and its model.

    Args:
        folder: Of the run or of the model, or the name of a bundled model.
        trust_custom_code: Import the classes that the model names and that are not this program's.
    """

    def __init__(self, folder: str | Path, *, trust_custom_code: bool = False) -> None:
        self.folder, self.trust_custom_code = model_path(folder).absolute(), trust_custom_code

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: scores by split and search, then facts of the run."""
        path = self.folder / "metrics.json"
        if not path.is_file():
            raise InputError(f"{self.folder} holds no finished run")
        return read_json(path)

    @cached_property
    def translator(self) -> Any:
        """The `Translator` of the model: text in, translations with attention out."""
        from seq2seq.decoding.translator import Translator

        return Translator.load(self.folder, trust_custom_code=self.trust_custom_code)

    def translate(self, sentences: Sequence[str], **options: Any) -> list[Any]:
        """Translate sentences; options are those of `Translator.translate`."""
        return self.translator.translate(sentences, **options)

    def attention(self, sentence: str, target: str | None = None, *, beam_size: int = 5) -> Any:
        """Return the attention of a translation, or of one that is given, as a notebook shows it."""
        from seq2seq.data.text import SentencePair
        from seq2seq.decoding.forced import force_pairs
        from tensorboard_attention import show

        if target is None:
            (found,) = self.translator.translate([sentence], beam_size=beam_size)
        else:
            pairs = [SentencePair(sentence, target)]
            (found,) = force_pairs(self.folder, pairs, trust_custom_code=self.trust_custom_code)
        weights = found.weights if found.heads is None else found.heads
        return show(weights, found.source_tokens, found.target_tokens, score=found.score)

    def page(self, sentence: str = "", *, height: int = 900) -> Any:
        """Return the page that translates, as a notebook shows it: type, choose other words, set the attention.

        Args:
            sentence: What it translates first.
            height: Of its frame [pixels].

        Raises:
            InputError: The model is one that the page does not compute.
        """
        from seq2seq.export.translating_page import export_page
        from tensorboard_attention.page import Framed

        return Framed(export_page(self.folder, sentence), height=height)

    def save_pretrained(self, folder: str | Path, *, precision: str = "bf16") -> Path:
        """Write the model of a finished run with a model card, see `seq2seq.export.card.save_pretrained`."""
        from seq2seq.export.card import save_pretrained

        return save_pretrained(self.folder, folder, precision=precision)

    def push_to_hub(self, repo_id: str, *, precision: str = "bf16", **options: Any) -> str:
        """Upload the model to the Hugging Face Hub; return the address of the commit.

        A run is uploaded as `save_pretrained` writes it, a model folder as it is.

        Args:
            repo_id: ``owner/name``; made if it does not exist.
            precision: Of the weights of a run: ``fp32``, ``bf16`` or ``int8``.
            **options: Those of ``huggingface_hub.HfApi.upload_folder``, such as ``token`` or ``commit_message``.

        Raises:
            InputError: The package huggingface_hub is missing.
        """
        api = _hub().HfApi(token=options.pop("token", None))
        api.create_repo(repo_id, exist_ok=True, private=options.pop("private", None))
        with TemporaryDirectory() as folder:
            path = self.folder
            if (self.folder / "metrics.json").is_file():
                path = self.save_pretrained(Path(folder) / repo_id.rpartition("/")[2], precision=precision)
            return str(api.upload_folder(repo_id=repo_id, folder_path=path, **options))

    @classmethod
    def from_pretrained(cls, name: str, *, trust_custom_code: bool = False, **options: Any) -> "Run":
        """Open a model folder, a bundled model, or a model of the Hugging Face Hub, which is fetched.

        Args:
            name: Folder, name, or ``owner/name`` on the Hub.
            trust_custom_code: Import the classes that the model names and that are not this program's.
            **options: Those of ``huggingface_hub.snapshot_download``, such as ``revision`` or ``cache_dir``.

        Raises:
            InputError: There is no such model, it cannot be fetched, or the package huggingface_hub is missing.
        """
        if not model_path(name).is_dir():
            hub = _hub()
            patterns = ["*.json", "*.safetensors", "*.model", "README.md"]
            try:
                name = hub.snapshot_download(name, allow_patterns=patterns, **options)
            except (
                hub.errors.HfHubHTTPError,
                hub.errors.LocalEntryNotFoundError,
                OSError,
                ValueError,
            ) as error:
                raise InputError(
                    f"{name}: there is no such folder, and the Hub says: {error!s:.200}"
                ) from error
        return load(name, trust_custom_code=trust_custom_code)


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError as error:
        raise InputError("the package huggingface_hub is missing: pip install huggingface_hub") from error
    return huggingface_hub


def load(folder: str | Path, *, trust_custom_code: bool = False) -> Run:
    """Open a finished run, a model folder or a bundled model; `trust_custom_code` imports classes of yours.

    Raises:
        InputError: The folder does not exist or holds no model.
    """
    found = Run(folder, trust_custom_code=trust_custom_code)
    config_of(folder)
    return found


def train(
    *overrides: str,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    validation: tuple[Sequence[str], Sequence[str]] | None = None,
    test: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Run:
    """Train a model, as ``python train.py OVERRIDES`` does.

    Args:
        *overrides: ``key=value`` or ``group=choice``, such as ``"attention=dot"``.
        source: Sentences to train on, in place of a corpus that ``data=…`` names.
        target: The translation of each.
        validation: Source and target sentences that are held out; without them give
            ``data.validation.fraction=…``.
        test: The same.

    Raises:
        InputError: An override, the text or the folder is wrong.
        TrainingFailed: Training cannot go on.
        TrainingInterrupted: Ctrl-C or SIGTERM stopped training after a checkpoint was saved.
    """
    given = list(overrides)
    try:
        if source is not None or target is not None:
            with composed([each for each in given if each.startswith("paths.runs_dir=")]) as config:
                folder = Path(config.paths.runs_dir) / ".text"
            splits = {"train": (source, target), "validation": validation, "test": test}
            given = [*_written(splits, folder), *given]
        with composed(given) as config:
            settings = settings_of(config, given, config.hydra.run.dir)
        run(settings)
    except (InputError, TrainingFailed, TrainingInterrupted):
        raise
    except Exception as error:
        message = message_of(error, given)
        if message is None:
            raise
        raise InputError(message) from None
    return Run(settings.config.paths.run_dir, trust_custom_code=True)


def _written(splits: dict[str, Any], folder: Path) -> list[str]:
    """Write sentences into files that are named by what they hold; return the overrides that name them."""
    import hashlib

    texts = {}
    for split, pairs in splits.items():
        if pairs is None:
            continue
        sides = [list(side) for side in pairs if side is not None]
        if len(sides) < 2 or len(sides[0]) != len(sides[1]):
            raise InputError(
                f"{split}: source and target are lists of one length, the n-th translates the n-th"
            )
        for name, lines in zip(("source", "target"), sides, strict=True):
            for place, line in enumerate(lines):
                if not isinstance(line, str) or "\n" in line:
                    raise InputError(f"{split} {name}[{place}] is no line of text: {line!r:.40}")
            texts[f"{split}.{name}"] = "".join(f"{line}\n" for line in lines)
    digest = hashlib.sha256("\0".join([*texts, *texts.values()]).encode()).hexdigest()[:12]
    (folder / digest).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / digest / name).write_text(text, encoding="utf-8")
    return ["data=parallel", *(f"data.{name}={folder / digest / name}" for name in texts)]
