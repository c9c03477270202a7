"""A Hydra sweeper that searches with Optuna 5, knows about chance, prunes, and resumes: README.md."""

from hydra_plugins.hydra_optuna_racing_sweeper._looks import (
    Judgment,
    e_bh,
    e_value,
    interval,
    judge,
    level_of_try,
    paired,
)
from hydra_plugins.hydra_optuna_racing_sweeper._racing import Verdict, clearly_worse, next_settings, verdict

__all__ = ["Judgment", "Verdict", "clearly_worse", "e_bh", "e_value", "interval", "judge", "level_of_try", "next_settings",
           "paired", "verdict"]  # fmt: skip
