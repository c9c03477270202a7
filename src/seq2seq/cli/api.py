"""Training and opening runs from Python: `train`, `load`, `Run`."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from hydra_checked.program import as_value, message_of
from seq2seq.cli.options import Count, File, Model, Precision
from seq2seq.common.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.common.progress import announce, counted, warn
from seq2seq.data.folders import config_of, model_path, pairs_of_run, split_of_run
from seq2seq.data.text import SentencePair, read_parallel
from seq2seq.decoding import PenaltyName
from seq2seq.run.folder import read_json
from seq2seq.run.run import run
from seq2seq.settings.application import APPLICATION
from seq2seq.settings.config import composed, settings_of
from seq2seq.settings.devices import Device


class Run:
    """A finished run, or a model folder: its scores and its model.

    Args:
        folder: Of the run or of the model, or the name of a shipped model.
        trust_custom_code: Import the classes that the model names and that are not this program's.
    """

    def __init__(self, folder: str | Path, *, trust_custom_code: bool = False) -> None:
        self.folder, self.trust_custom_code = model_path(folder).absolute(), trust_custom_code
        self._translators: dict[str, Any] = {}

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
    def knows(self) -> Any:
        """What text the model knows, a `Knowledge`: examples, and the bound of a guess; None for one of an earlier version."""
        return (next(iter(self._translators.values()), None) or self.translator).knows

    @property
    def translator(self) -> Any:
        """The `Translator` of the model: text in, translations with attention out."""
        return self._translator()

    @property
    def num_replaced(self) -> int:
        """Number of ``<unk>`` that source words have replaced so far."""
        return sum(each.num_replaced for each in self._translators.values())

    def _translator(
        self,
        ensemble: Sequence[Model] = (),
        *,
        device: str = "cpu",
        precision: str = "fp32",
        max_tokens: int = 4096,
        to: str | None = None,
    ) -> Any:
        """Return the translator with these members and options, which is loaded once."""
        from seq2seq.decoding.translator import Translator

        ensemble = [ensemble] if isinstance(ensemble, str | Path) else list(ensemble)
        options: dict[str, Any] = {
            "device": device, "precision": precision, "max_tokens": max_tokens, "to": to,
            "trust_custom_code": self.trust_custom_code,
        }  # fmt: skip
        key = repr([*map(str, ensemble), options])
        if key not in self._translators:
            self._translators[key] = Translator.load(self.folder, *ensemble, **options)
        return self._translators[key]

    def translate(
        self,
        sentences: Sequence[str],
        prefixes: Sequence[str] | None = None,
        first_number: int = 0,
        return_attention: bool = True,
        *,
        ensemble: Sequence[Model] = (),
        beam_size: Count = 5,
        n_best: Count = 1,
        length_penalty: PenaltyName = "average",
        length_penalty_alpha: float = 0.6,
        min_ratio: float | None = None,
        max_ratio: float | None = None,
        sample: bool = False,
        temperature: float = 1.0,
        top_k: Count | None = None,
        seed: int = 1,
        replace_unk: bool = False,
        to: Annotated[str, "LANGUAGE"] | None = None,
        device: Device = "cpu",
        precision: Precision = "fp32",
        max_tokens: Count = 4096,
    ) -> list[Any]:
        """Return the translation of each text, as ``seq2seq translate`` prints it.

        The sentences of a text are translated one by one, and put together with the white space between them.

        Args:
            sentences: Texts to translate, of a sentence or of several; the translation of a blank text is blank.
            prefixes: Prefix of each translation; blank for none.
            first_number: Number of the first sentence, which seeds its random numbers.
            return_attention: Whether the translations have attention weights, which need memory.
            ensemble: Average with the probabilities of these models.
            beam_size: Hypotheses; 1: greedy.
            n_best: Translations of each sentence, at most the beam size, ordered by log-probability divided by the length
                penalty; what is printed is the log-probability.
            length_penalty: Of the hypotheses: by what log-probabilities are divided.
            length_penalty_alpha: Exponent of gnmt.
            min_ratio: Minimum target tokens per source token.
            max_ratio: Maximum target tokens per source token, plus 10; without it the model's.
            sample: Sample every token instead of searching.
            temperature: Of sampling.
            top_k: Sample from the N most probable tokens.
            seed: Of sampling.
            replace_unk: Replace <unk> by the most attended source word.
            to: Target language, for a model of several languages or of both directions.
            device: cpu, cuda or mps.
            precision: Of the computation.
            max_tokens: Maximum padded tokens in a batch.

        Returns:
            `Translation` objects. Those of a sentence follow each other, the best first; `rank` counts them. Their `score`
            is the log-probability, the order is by it divided by the length penalty.

        Raises:
            InputError: An option is wrong, or not for this model.
        """
        if sample and prefixes is not None:
            raise InputError("sampling takes no prefixes: leave out one of them")
        if not sample and (temperature != 1 or top_k is not None or seed != 1):
            raise InputError(
                "temperature, top-k and seed are of sampling: give --sample (sample=True), or leave them out"
            )
        if sample and (beam_size not in (1, 5) or length_penalty != "average"):
            raise InputError("beam size and length penalty are not of sampling: leave them out, or --sample")
        _require_gnmt(length_penalty, length_penalty_alpha)
        from seq2seq.decoding.search import search_from_options
        from seq2seq.decoding.sentences import translate_texts

        search = search_from_options(
            beam_size=1 if sample else beam_size,
            num_best=n_best,
            length_penalty=length_penalty,
            length_penalty_alpha=length_penalty_alpha,
            min_ratio=min_ratio,
            max_ratio=max_ratio,
            sampling={"temperature": temperature, "top_k": top_k, "seed": seed} if sample else None,
        )
        translator = self._translator(
            ensemble, device=device, max_tokens=max_tokens, precision=precision, to=to
        )
        found = translate_texts(
            translator,
            sentences,
            search=search,
            prefixes=prefixes,
            replace_unk=replace_unk,
            first_number=first_number,
            return_attention=return_attention,
        )
        return [each for translations in found for each in translations]

    def evaluate(
        self,
        *,
        ensemble: Sequence[Model] = (),
        source: File | None = None,
        reference: File | None = None,
        further_references: Sequence[File] = (),
        beam_size: Count = 5,
        length_penalty: PenaltyName = "average",
        length_penalty_alpha: float = 0.6,
        max_ratio: float | None = None,
        to: Annotated[str, "LANGUAGE"] | None = None,
        device: Device = "cpu",
        precision: Precision = "fp32",
    ) -> Any:
        """Return the scores of greedy search and of beam search on a test set, as ``seq2seq evaluate`` prints them.

        Args:
            ensemble: Average with the probabilities of these models.
            source: Source text, plain or compressed; without it the test split of the run.
            reference: Its translation.
            further_references: Other translations, line by line; blank where there is none. BLEU with all of them is
                given, too.
            beam_size: Hypotheses; 1: greedy alone.
            length_penalty: Of the hypotheses: by what log-probabilities are divided.
            length_penalty_alpha: Exponent of gnmt.
            max_ratio: Maximum target tokens per source token, plus 10; without it the model's.
            to: Translate into this language, with a model of several languages or of both directions.
            device: cpu, cuda or mps.
            precision: Of the computation.

        Returns:
            An `Evaluation`.

        Raises:
            InputError: A file or an option is wrong, or the model holds no test split.
        """
        _require_gnmt(length_penalty, length_penalty_alpha)
        is_own = source is None and reference is None
        if not is_own and (source is None or reference is None):
            raise InputError("give both, --source FILE and --reference FILE, or neither")
        if is_own and to is not None:
            raise InputError(
                "--to needs --source FILE and --reference FILE: the run's own sentences name their languages"
            )
        if is_own:
            split = self._test_split()
            pairs = pairs_of_run(self.folder, split)
            files = [self.folder / "predictions" / f"{split}.{side}.txt" for side in ("source", "reference")]
        else:
            files = [Path(str(source)), Path(str(reference))]
            pairs = read_parallel(*files)
        further = [
            [pair.target for pair in read_parallel(files[0], Path(each))] for each in further_references
        ]

        from seq2seq.decoding.scoring import evaluation
        from seq2seq.decoding.search import search_from_options

        search = search_from_options(
            beam_size=beam_size,
            length_penalty=length_penalty,
            length_penalty_alpha=length_penalty_alpha,
            max_ratio=max_ratio,
        )
        translator = self._translator(ensemble, device=device, precision=precision, to=to)
        if translator.target_language == "mul" and not is_own:
            raise InputError("this model translates into several languages: choose one with --to")
        return evaluation(translator, pairs, search, files, further)

    def _test_split(self) -> str:
        """Return the split that the run kept; warn if it is that of the validation."""
        is_tested = (self.folder / "metrics.json").is_file() and "test" in self.metrics
        split = split_of_run(self.folder, is_tested=is_tested)
        if split is None:
            raise InputError(f"{self.folder} holds no test split: give --source FILE and --reference FILE")
        if split == "val":
            warn("the run has no test split: these are scores of the validation split, which chose the model")
        return split

    def align(
        self,
        *,
        source: File,
        target: File,
        gold: File | None = None,
        device: Device = "cpu",
        max_tokens: Count = 4096,
    ) -> Any:
        """Return the links between the words of two files, as ``seq2seq align`` prints them.

        Args:
            source: Text, plain or compressed.
            target: Its translation.
            gold: Links in Pharaoh format; possible ones as i?j.
            device: cpu, cuda or mps.
            max_tokens: Maximum padded tokens in a batch.

        Returns:
            An `Alignment`.

        Raises:
            InputError: A file or an option is wrong, or the model has no attention.
        """
        from seq2seq.decoding.aligner import aligned, read_gold, word_attention

        pairs = read_parallel(source, target)
        right = None if gold is None else read_gold(Path(gold), pairs)
        announce(f"aligning {counted(len(pairs), 'sentence pair')}")
        found = word_attention(
            self.folder, pairs, (source, target),
            device=device, max_tokens=max_tokens, trust_custom_code=self.trust_custom_code,
        )  # fmt: skip
        return aligned(found, right)

    def attention(self, sentence: str, target: str | None = None, *, beam_size: int = 5) -> Any:
        """Return the attention of a translation, or of one that is given, as a notebook shows it."""
        from joined_words import clean
        from seq2seq.decoding.forced import force_pairs
        from seq2seq.export.records import shown

        if not clean(sentence):
            raise InputError("the sentence is blank: give a sentence")
        if target is not None and not clean(target):
            raise InputError("the target is blank: give a translation of the sentence, or leave it out")
        if target is None:
            (found,) = self.translate([sentence], beam_size=beam_size)
        else:
            pairs = [SentencePair(sentence, target)]
            (found,) = force_pairs(self.folder, pairs, trust_custom_code=self.trust_custom_code)
        return shown(found, self.folder)

    def page(self, sentence: str = "", *, height: int = 900) -> Any:
        """Return the page that translates, as a notebook shows it: type, choose other words, set the attention.

        Args:
            sentence: What it translates first.
            height: Of its frame [pixels].

        Raises:
            InputError: The model is one that the page does not compute.
        """
        from seq2seq.export.translating_page import framed_page

        return framed_page(self.folder, sentence, height)

    def save_pretrained(self, folder: str | Path, *, precision: str = "bf16") -> Path:
        """Write the model of a finished run with a model card, see `seq2seq.export.card.save_pretrained`."""
        from seq2seq.export.card import save_pretrained

        return save_pretrained(
            self.folder, folder, precision=precision, trust_custom_code=self.trust_custom_code
        )


def _require_gnmt(penalty: str, alpha: float) -> None:
    """Refuse an exponent that the length penalty does not have."""
    if penalty != "gnmt" and alpha != 0.6:
        raise InputError(
            f"the exponent {alpha:g} is of the length penalty gnmt, not of {penalty}: choose gnmt"
        )


def load(folder: str | Path, *, trust_custom_code: bool = False) -> Run:
    """Open a finished run, a model folder or a shipped model; `trust_custom_code` imports classes of yours.

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
            ``data.split.validation=…``.
        test: The same.

    Raises:
        InputError: An override, the text or the folder is wrong.
        TrainingFailed: Training cannot go on.
        TrainingInterrupted: Ctrl-C, SIGTERM or SIGHUP stopped training after a checkpoint was saved.
    """
    given = list(overrides)
    if not all(isinstance(each, str) for each in given):
        raise InputError('give each override as a text of its own, such as train("seed=1", "attention=dot")')
    try:
        if source is None and target is None and (validation or test):
            raise InputError(
                "validation and test belong to source and target, the sentences to train on: give these, too"
            )
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
        message = message_of(APPLICATION, error, given)
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
        sides = [list(side) for side in pairs if side is not None and not isinstance(side, str)]
        if len(sides) != 2 or len(sides[0]) != len(sides[1]):
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
        path, content = folder / digest / name, text.encode()
        if not path.is_file() or path.read_bytes() != content:  # else it is older than the runs that read it
            path.write_bytes(content)
    return ["data=parallel", *(f"data.{name}={as_value(str(folder / digest / name))}" for name in texts)]
