"""A Hydra sweeper that searches with Optuna 5, knows about chance, prunes, and resumes: README.md."""

from hydra_plugins.hydra_optuna_racing_sweeper._racing import Verdict, clearly_worse, next_settings, verdict

__all__ = ["Verdict", "clearly_worse", "next_settings", "verdict"]
