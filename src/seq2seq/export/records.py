"""The attention of given sentences as records for the Attention tab, and as a page."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, counted, warn
from seq2seq.data.folders import model_name
from seq2seq.data.text import SentencePair, read_lines, read_parallel
from seq2seq.data.words import clean

if TYPE_CHECKING:
    from seq2seq.decoding.translation import Translation
    from seq2seq.models.folder import SavedModel
    from tensorboard_attention import Recorded

FORCED = "forced"


def read_pairs(source: str | Path, target: str | Path | None) -> list[SentencePair]:
    """Read sentences, and their translations where there is a file of them."""
    if target is not None:
        return read_parallel(source, target)
    return [SentencePair(line, "") for line in read_lines(source)]


def record(
    logdir: Path,
    model: Path,
    pairs: Sequence[SentencePair],
    *,
    step: int,
    beam_size: int,
    trust_custom_code: bool = False,
) -> int:
    """Record the attention of each sentence that is not blank or too long; return their number.

    Raises:
        InputError: There is no model with attention, or no sentence with text, or the folder holds other records.
    """
    if not any(clean(pair.source) for pair in pairs):
        raise InputError("every line of the input is blank: give one sentence a line")
    there = _there(logdir, len(pairs), step)

    announce("loading PyTorch and the model")
    from torch.utils.tensorboard import SummaryWriter

    from seq2seq.decoding.forced import force_pairs, weights_of
    from seq2seq.decoding.search import GREEDY, search_from_options
    from seq2seq.decoding.translator import Translator
    from seq2seq.models.folder import load_attending
    from tensorboard_attention import MAX_WEIGHTS, add_attention

    saved = load_attending(model, trust_custom_code=trust_custom_code)
    pairs = _without_long(pairs, saved)
    announce(f"translating {counted(len(pairs), 'sentence')}")
    translator = Translator(saved)
    sources = [pair.source for pair in pairs]
    found = {
        FORCED: [[each] for each in force_pairs(model, pairs, trust_custom_code=trust_custom_code)],
        "greedy": translator.translate_n_best(sources, search=GREEDY),
    }
    if beam_size > 1:
        search = search_from_options(beam_size=beam_size, num_best=beam_size, length_penalty="average")
        found["beam"] = translator.translate_n_best(sources, search=search)
    chosen = [
        (kind, number, pair, rank, each)
        for kind, lists in found.items()
        for number, (pair, translations) in enumerate(zip(pairs, lists, strict=True), start=1)
        for rank, each in enumerate(_fitting(kind, number, translations))
    ]
    for kind, number, _, rank, each in chosen:
        if rank == 0:
            _require_same(logdir, there, f"attention/{number}/{kind}", each.source_tokens)
    with SummaryWriter(str(logdir)) as writer:
        for kind, number, pair, rank, each in chosen:
            has_reference = kind != FORCED and bool(clean(pair.target))
            bleu = None
            if has_reference:
                bleu = translator.sentence_bleu(each.text, pair)
            add_attention(
                writer,
                f"attention/{number}",
                weights_of(each, MAX_WEIGHTS),
                each.source_tokens,
                each.target_tokens,
                step,
                reference=pair.target if has_reference else None,
                score=each.score,
                kind=kind,
                rank=rank,
                bleu=bleu,
            )
    return sum(bool(clean(pair.source)) for pair in pairs)


def _there(logdir: Path, num_sentences: int, step: int) -> "dict[str, Recorded]":
    """Return what a folder itself holds of the tags that are to be written.

    Raises:
        InputError: It has records of a training, or of a later step, or its files are damaged.
    """
    from tensorboard_attention import recorded

    try:
        found = recorded(logdir)
    except ValueError as error:
        raise InputError(f"{error}") from error
    if any(tag.startswith("attention/0/") for tag in found):  # sentences are counted from 1 here
        raise InputError(f"{logdir} has records of a training, which would be mixed: give another --logdir")
    numbers = {str(number) for number in range(1, num_sentences + 1)}
    there = {tag: each for tag, each in found.items() if _number(tag) in numbers}
    last = max((each.steps[-1] for each in there.values() if each.steps), default=step)
    if last > step:
        raise InputError(
            f"{logdir} has records of step {last}, which TensorBoard drops after those of an earlier step: record steps in "
            "ascending order, or give another --logdir"
        )
    return there


def _number(tag: str) -> str:
    """Return the number of the sentence in a tag, such as attention/3/beam/1; "" where it has none."""
    first, number, *_ = [*tag.split("/"), ""]
    return number if first == "attention" else ""


def _require_same(logdir: Path, there: "dict[str, Recorded]", tag: str, tokens: Sequence[str]) -> None:
    """Refuse to record a sentence where the folder has another one of this name."""
    from tensorboard_attention import MAX_TOKEN_LENGTH

    other = there[tag].source if tag in there else ()
    if other and [token[: MAX_TOKEN_LENGTH - 1] for token in tokens] != [
        token[: MAX_TOKEN_LENGTH - 1] for token in other
    ]:
        raise InputError(
            f"{logdir} has records of another sentence as {tag}, {' '.join(other)[:60]!r}: give another --logdir"
        )


def _without_long(pairs: Sequence[SentencePair], saved: "SavedModel") -> list[SentencePair]:
    """Return pairs in which those that no record holds are blank, with a warning for each.

    Raises:
        InputError: None is left.
    """
    from tensorboard_attention import MAX_TOKENS

    kept = list[SentencePair]()
    for number, pair in enumerate(pairs, start=1):
        sides = {
            "sentence": (saved.source_tokenizer, pair.source),
            "target": (saved.target_tokenizer, pair.target),
        }
        sizes = {side: len(codec.encode_all([clean(text)])[0]) + 1 for side, (codec, text) in sides.items()}
        beyond = {side: size for side, size in sizes.items() if size > MAX_TOKENS}
        for side, size in beyond.items():
            warn(
                f"line {number}: its {side} has {size:,} tokens, a record at most {MAX_TOKENS:,}: it is left out"
            )
        kept.append(SentencePair("", "") if beyond else pair)
    if not any(clean(pair.source) for pair in kept):
        raise InputError(f"no line of the input has at most {MAX_TOKENS:,} tokens: split them into sentences")
    return kept


def _fitting(kind: str, number: int, translations: "Sequence[Translation]") -> "list[Translation]":
    """Return the translations that are not blank and that a record holds; warn of longer ones."""
    from tensorboard_attention import MAX_TOKENS

    found = [each for each in translations if each.source_tokens]
    kept = [each for each in found if len(each.target_tokens) <= MAX_TOKENS]
    if len(kept) < len(found):
        warn(f"line {number}: a translation ({kind}) has more than {MAX_TOKENS:,} tokens: it is left out")
    return kept


def attention_page(
    model: Path, source: str | Path | None, target: str | Path | None, beam_size: int, *, trusts: bool
) -> str:
    """Return the Attention tab as one page: with the records of a run, or with translations of a source, see `record`.

    Raises:
        InputError: There is no such folder, or what `record` raises.
    """
    from tensorboard_attention import export_html

    try:
        if source is None:
            if not model.is_dir():
                raise InputError(f"{model}: there is no such folder; give a run folder")
            return export_html(model)
        pairs = read_pairs(source, target)
        with TemporaryDirectory() as folder:
            record(Path(folder), model, pairs, step=0, beam_size=beam_size, trust_custom_code=trusts)
            return export_html(folder, name=model_name(model), has_steps=False)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def translation_page(
    model: str | Path, sentence: str, target: str | None, beam_size: int, *, trust_custom_code: bool
) -> "tuple[Translation, str]":
    """Return the translation of a sentence, or a given target, and a page with its attention and effects, see `attended`."""
    from seq2seq.decoding.effect import attended

    ((found, effect),) = attended(
        model, [sentence], target, beam_size=beam_size, trust_custom_code=trust_custom_code
    )
    kind = "forced" if target is not None else "beam search" if beam_size > 1 else "greedy search"
    return found, shown(found, model, kind=kind, effect=effect).page


def shown(found: "Translation", model: str | Path, **options: Any) -> Any:
    """Return the attention of a translation by a model as a notebook shows it; options see `tensorboard_attention.show`."""
    from tensorboard_attention import show

    weights, title = (
        found.weights if found.heads is None else found.heads,
        f"Attention of {model_name(model)}",
    )
    return show(weights, found.source_tokens, found.target_tokens, score=found.score, title=title, **options)
