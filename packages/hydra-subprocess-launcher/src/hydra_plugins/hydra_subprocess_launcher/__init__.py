"""A Hydra launcher that runs every job of a sweep as a command of its own: README.md.

The files of this package whose names begin with an underscore are loaded once. Hydra executes the others again when
it looks for plugins, so that their classes are not those that were imported before.
"""

from hydra_plugins.hydra_subprocess_launcher._files import (
    beside,
    locked,
    metric_of,
    name_of_result,
    print_table,
    write_results,
)
from hydra_plugins.hydra_subprocess_launcher._reports import ended_early, finished_jobs, report, reports_in

__all__ = [
    "beside",
    "ended_early",
    "finished_jobs",
    "locked",
    "metric_of",
    "name_of_result",
    "print_table",
    "report",
    "reports_in",
    "write_results",
]
