"""The command that scores a model on a test set."""

from json import dumps
from typing import Annotated, Any

from seq2seq.cli.api import Run
from seq2seq.cli.options import Model


def evaluate(
    model: Model,
    *,
    json: bool = False,
    trust_custom_code: bool = False,
    **options: Annotated[Any, Run.evaluate],
) -> None:
    """Score a model: ``seq2seq evaluate MODEL --source FILE --reference FILE``, or ``seq2seq evaluate RUN``

    Without files it scores the test split of the run, with the options of the search that are given. Scores of greedy
    search and of beam search, BLEU with an interval, and by source length and unknown words.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        json: Print the scores as JSON.
        trust_custom_code: Import classes that the model folder names.
        **options: Those of `Run.evaluate`.
    """
    found = Run(model, trust_custom_code=trust_custom_code).evaluate(**options)
    print(dumps(found.as_dict()) if json else found)
