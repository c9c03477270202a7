"""The command that tests whether predictions depend on attention."""

from json import dumps
from pathlib import Path

from seq2seq.cli.options import Count, File, Model
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Seed
from seq2seq.common.progress import announce, counted
from seq2seq.data.text import read_lines


def probe(
    model: Model,
    *,
    source: File | None = None,
    sentences: Count = 500,
    function_words: File | None = None,
    seed: Seed = 1,
    json: bool = False,
    trust_custom_code: bool = False,
) -> None:
    """Test whether predictions depend on attention: ``seq2seq probe RUN``

    Changes the attention weights of one step at a time, and counts the predictions that stay the same: without the
    most attended source token, without another one, with the most attended one only, with uniform weights, with
    permuted weights, and without any context. Also prints Kendall's tau of the weights and the effects of leaving source
    tokens out. The steps are those of greedy translations.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        source: Text; without it the run's test split.
        sentences: Number of sentences, from the start.
        function_words: Function words, one per line, counted separately.
        seed: Of random choices.
        json: Print the numbers as JSON.
        trust_custom_code: Import classes that the model folder names.
    """
    text = Path(source or Path(model) / "predictions" / "test.source.txt")
    if source is None and not text.is_file():
        raise InputError(f"{model} has no translated test split: give --source FILE")
    chosen, is_function = read_lines(text)[:sentences], None
    if function_words is not None:
        listed = {line.strip().lower() for line in read_lines(function_words)}

        def is_function(word: str) -> bool:
            return not any(map(str.isalnum, word)) or word.lower() in listed

    announce("loading PyTorch and the model")
    from seq2seq.studies.faithfulness import faithfulness, faithfulness_table
    from seq2seq.studies.probing import probe_model

    probed = probe_model(model, chosen, text, seed=seed, trust_custom_code=trust_custom_code)
    found = faithfulness(probed, is_function)
    if json:
        print(dumps({"num_sentences": len(probed), **found}))
        return
    left_out = len(chosen) - len(probed)
    legend = "same: predictions that stay when the weights change; tau: rank correlation, -1 to 1"
    rest = f"; {left_out:,} left out, blank or too long on one side" if left_out else ""
    print(
        f"{faithfulness_table(found)}\n{counted(len(probed), 'sentence')}, greedy translations{rest}\n{legend}"
    )
