"""The command that checks a corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from seq2seq.common.progress import announce
from seq2seq.run.building import read_data
from seq2seq.run.checks import check_early
from seq2seq.run.sizes import said, sizes
from seq2seq.settings.config import complete, composed, settings_of


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

    settings = complete(settings)
    data = read_data(settings, Path(settings.config.paths.run_dir), checkpoint=None)
    values = sizes(settings.config, data.num_pairs, stored={})
    data.batch_size = settings.updated(values).config.data.get("batch_size", data.batch_size)
    print(f"{said(values)}{corpus_report(data)}")
