"""Is a change an improvement? The results of two settings of any program, judged by their seeds, at any number of looks."""

from judged_seeds.command import STATUS, compare_results
from judged_seeds.looks import Judgment, e_bh, e_value, holm, interval, judge, level_of_try, paired
from judged_seeds.records import EVENTS, ResultError, judged, results_of, scalars_in
from judged_seeds.sentences import Comparison, compare, interval_of

__all__ = ["EVENTS", "STATUS", "Comparison", "Judgment", "ResultError", "compare", "compare_results", "e_bh", "e_value", "holm", "interval", "interval_of", "judge", "judged",
           "level_of_try", "paired", "results_of", "scalars_in"]  # fmt: skip
