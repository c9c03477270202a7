"""Record a model's attention for the Attention tab: ``seq2seq record-attention MODEL --input FILE --logdir DIR``

Sentence n, counted from 1, is recorded as attention/n, with its greedy and beam translations, and with forced
decoding of the lines of --target.
"""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.cli.main import MODEL_HELP, count, input_file, model, parser_of
from seq2seq.common.progress import announce
from seq2seq.data.text import SentencePair, read_lines, read_parallel
from seq2seq.data.words import clean
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Write event files."""
    parser = parser_of("record-attention", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("--input", type=input_file, required=True, metavar="FILE", help="sentences, one a line")
    add("--target", type=input_file, metavar="FILE", help="their translations")
    add("--logdir", type=Path, required=True, metavar="DIR", help="folder of the event file")
    add("--step", type=int, default=0, help="the step of the records (default: 0)")
    add("--beam-size", type=count, default=5, metavar="K", help="hypotheses; 1: greedy alone (default: 5)")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        pairs = read_pairs(options.input, options.target)
        number = record(options.logdir, options.model, pairs, step=options.step, beam_size=options.beam_size)
        print(f"{number:,} sentences   tensorboard --logdir {options.logdir}")


def read_pairs(source: Path, target: Path | None) -> list[SentencePair]:
    """Read sentences, and their translations where there is a file of them."""
    if target is not None:
        return read_parallel(source, target)
    return [SentencePair(line, "") for line in read_lines(source)]


def record(logdir: Path, model: Path, pairs: Sequence[SentencePair], *, step: int, beam_size: int) -> int:
    """Record the attention of each sentence that is not blank; return their number.

    Raises:
        InputError: There is no model with attention, or no sentence with text.
    """
    if not any(clean(pair.source) for pair in pairs):
        raise InputError("every line of the input is blank: give one sentence a line")

    announce("loading PyTorch and the model")
    from torch.utils.tensorboard import SummaryWriter

    from seq2seq.decoding.forced import force_pairs
    from seq2seq.decoding.search import GREEDY, search_from_options
    from seq2seq.decoding.translator import Translator
    from seq2seq.evaluation.bleu import sentence_bleu_score
    from seq2seq.models.folder import load_attending
    from seq2seq.training.attention_logger import weights_of
    from tensorboard_attention import add_attention

    announce(f"translating {len(pairs):,} sentences")
    translator = Translator(load_attending(model))
    sources = [pair.source for pair in pairs]
    found = {
        "forced": [[each] for each in force_pairs(model, pairs)],
        "greedy": translator.translate_n_best(sources, search=GREEDY),
    }
    if beam_size > 1:
        search = search_from_options(beam_size=beam_size, num_best=beam_size, length_penalty="average")
        found["beam"] = translator.translate_n_best(sources, search=search)
    with SummaryWriter(str(logdir)) as writer:
        for kind, lists in found.items():
            for number, (pair, translations) in enumerate(zip(pairs, lists, strict=True), start=1):
                for rank, each in enumerate(t for t in translations if t.source_tokens):
                    bleu = None
                    if kind != "forced" and clean(pair.target):
                        bleu = sentence_bleu_score(each.text, pair.target, translator.target_language)
                    add_attention(
                        writer,
                        f"attention/{number}",
                        weights_of(each),
                        each.source_tokens,
                        each.target_tokens,
                        step,
                        reference=pair.target if kind != "forced" and clean(pair.target) else None,
                        score=each.score,
                        kind=kind,
                        rank=rank,
                        bleu=bleu,
                    )
    return sum(bool(clean(pair.source)) for pair in pairs)
