"""Ask whether attention is true: seq2seq probe-attention RUN

Changes the attention weights of one step at a time, and counts the words that the model says all
the same: with the most attended source token erased, or another one, with that token alone, with
even weights, permuted ones, or no context at all. Then Kendall's tau of attention with gradient
times input, and with leaving a source word out of the text. The words are those of the model's own
greedy translations, of its test split or of --source.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.experiments.ledger import read_ledger
from seq2seq.experiments.translations import read_translations, translations_path
from seq2seq.grammar.grammar import load_grammar
from seq2seq.own_files import OWN
from seq2seq.text.corpus import read_lines


def main() -> int:
    """Probe, and print a table."""
    parser = program_parser(__doc__)
    add = parser.add_argument
    add("model", type=Path, help="a run folder, or an exported model/ folder")
    add("--source", type=Path, metavar="FILE", help="text (default: the run's test split)")
    add("--sentences", type=int, default=500, metavar="N", help="the first so many (default: 500)")
    add(
        "--function-words",
        type=Path,
        metavar="FILE",
        help="function words of the target language, one a line, to be counted apart "
        "(of the built-in corpus they are known)",
    )
    add("--seed", type=int, default=1, help="of what is drawn at random (default: 1)")
    add("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--json", action="store_true", help="print the numbers as JSON")
    return run_program(parser, _probe)


def _probe(arguments: argparse.Namespace) -> int:
    if arguments.seed < 0 or arguments.sentences < 1:
        raise InputError("--seed is 0 or more, --sentences 1 or more")
    sentences, is_function = _sentences(arguments), _function_words(arguments)

    # torch loads only for files that can be read
    from seq2seq.decoding.device import device_named  # noqa: PLC0415
    from seq2seq.decoding.model_folder import load_attending  # noqa: PLC0415
    from seq2seq.decoding.probing import probe  # noqa: PLC0415
    from seq2seq.evaluation.faithfulness import faithfulness, faithfulness_table  # noqa: PLC0415

    exported, device = load_attending(arguments.model), device_named(arguments.device)
    probed = probe(exported, sentences[: arguments.sentences], seed=arguments.seed, device=device)
    found = faithfulness(probed, is_function)
    if arguments.json:
        print(json.dumps({"num_sentences": len(probed), **found}))
    else:
        print(f"{faithfulness_table(found)}\n{len(probed):,} sentences, greedy translations")
    return 0


def _sentences(arguments: argparse.Namespace) -> list[str]:
    if arguments.source is not None:
        return read_lines(arguments.source)
    path = translations_path(arguments.model, "test")
    if not path.exists():
        raise InputError(f"{arguments.model} has no translated test split: give --source FILE")
    return read_translations(path).sources


def _function_words(arguments: argparse.Namespace) -> Callable[[str], bool] | None:
    """Whether a word is one; signs are. None where nobody knows."""
    if arguments.function_words is not None:
        listed = {line.strip().lower() for line in read_lines(arguments.function_words)}
        return lambda word: not any(map(str.isalnum, word)) or word.lower() in listed
    ledger = read_ledger(arguments.model)
    data = ledger.config.get("data") if ledger else None
    if not isinstance(data, dict) or not {"folder", "train_pairs"} <= data.keys():
        return None
    content = load_grammar(OWN / str(data["folder"])).content_words()
    return lambda word: word.lower() not in content
