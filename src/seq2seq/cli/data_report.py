"""The command that checks a corpus."""

from collections.abc import Sequence
from typing import Annotated

from seq2seq.common.progress import announce
from seq2seq.run.config import build, complete, composed, settings_of
from seq2seq.run.early import check_early


def data_report(overrides: Annotated[Sequence[str], "KEY=VALUE"] = ()) -> None:
    """Check a corpus before training: ``seq2seq data-report KEY=VALUE …``

    Takes the same keys as training, such as data=parallel data.train.source=a.en ….

    Args:
        overrides: Keys and groups of the configuration.
    """
    with composed(overrides) as composition:
        settings = settings_of(composition, overrides, composition.hydra.run.dir)
    check_early(settings)
    announce("loading PyTorch")
    from seq2seq.data.report import corpus_report

    data = build(complete(settings).config.data)
    data.batch_size = data.batch_size or 128
    data.prepare_data()
    print(corpus_report(data))
