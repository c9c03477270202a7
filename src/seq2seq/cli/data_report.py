"""Check a corpus before training: ``seq2seq data-report KEY=VALUE …``

Takes the same keys as training, such as data=parallel data.train.source=a.en ….
"""

from collections.abc import Sequence

from seq2seq.cli.main import parser_of
from seq2seq.common.progress import announce
from seq2seq.run.config import build, complete, composed, settings_of
from seq2seq.run.early import check_early
from seq2seq.run.messages import exit_on_error


def main(arguments: Sequence[str]) -> None:
    """Print the report."""
    parser = parser_of("data-report", __doc__)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        with composed(options.overrides) as composition:
            settings = settings_of(composition, options.overrides, composition.hydra.run.dir)
        check_early(settings.config)
        announce("loading PyTorch")
        from seq2seq.data.report import corpus_report

        data = build(complete(settings).config.data)
        data.batch_size = data.batch_size or 128
        data.prepare_data()
        print(corpus_report(data))
