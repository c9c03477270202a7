"""Test whether predictions depend on attention: ``seq2seq probe RUN``

Changes the attention weights of one step at a time, and counts the predictions that stay the same: without the most
attended source token, without another one, with the most attended one only, with uniform weights, with permuted
weights, and without any context. Also prints Kendall's tau of attention with gradient × input, and with leaving out
a source word. The steps are those of greedy translations of the model's test split or of --source.
"""

import json
from collections.abc import Sequence

from seq2seq.cli.main import MODEL_HELP, count, input_file, model, parser_of
from seq2seq.common.progress import announce
from seq2seq.data.text import read_lines
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Print a table."""
    parser = parser_of("probe", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("--source", type=input_file, metavar="FILE", help="text (default: the run's test split)")
    add(
        "--sentences",
        type=count,
        default=500,
        metavar="N",
        help="number of sentences, from the start (default: 500)",
    )
    add(
        "--function-words",
        type=input_file,
        metavar="FILE",
        help="function words, one per line, counted separately",
    )
    add("--seed", type=int, default=1, help="seed of random choices (default: 1)")
    add("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        if options.seed < 0:
            raise InputError("--seed is 0 or more")
        source = options.source or options.model / "predictions" / "test.source.txt"
        if options.source is None and not source.is_file():
            raise InputError(f"{options.model} has no translated test split: give --source FILE")
        sentences, is_function = read_lines(source), None
        if options.function_words is not None:
            listed = {line.strip().lower() for line in read_lines(options.function_words)}

            def is_function(word: str) -> bool:
                return not any(map(str.isalnum, word)) or word.lower() in listed

        announce("loading PyTorch and the model")
        import torch

        from seq2seq.decoding.probing import probe
        from seq2seq.evaluation.faithfulness import faithfulness, faithfulness_table
        from seq2seq.models.folder import load_attending

        saved, cpu = load_attending(options.model), torch.device("cpu")
        announce(f"probing {len(sentences[: options.sentences]):,} sentences")
        probed = probe(saved, sentences[: options.sentences], seed=options.seed, device=cpu)
        found = faithfulness(probed, is_function)
        if options.json:
            print(json.dumps({"num_sentences": len(probed), **found}))
        else:
            left_out = len(sentences[: options.sentences]) - len(probed)
            rest = f"; {left_out:,} left out, blank or too long on one side" if left_out else ""
            print(f"{faithfulness_table(found)}\n{len(probed):,} sentences, greedy translations{rest}")
