"""Check a corpus before training: ``seq2seq data-report KEY=VALUE …``

Takes the same keys as training, such as data=parallel data.train.source=a.en ….
"""

from collections.abc import Sequence

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate

from seq2seq.cli.main import parser_of
from seq2seq.corpus_report import corpus_report
from seq2seq.messages import CONF, check_arguments, exit_with_one_line


def main(arguments: Sequence[str]) -> None:
    """Print the report."""
    parser = parser_of("data-report", __doc__)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args(list(arguments))
    with exit_with_one_line():
        import seq2seq.train  # noqa: F401 - registers the resolver of run names

        with initialize_config_dir(str(CONF), version_base="1.3"):
            config = compose("config", options.overrides, return_hydra_config=True)
        HydraConfig.instance().set_config(config)
        check_arguments(config.data, "data")
        data = instantiate(config.data)
        data.batch_size = data.batch_size or 128
        data.prepare_data()
        data.setup()
        print(corpus_report(data))
