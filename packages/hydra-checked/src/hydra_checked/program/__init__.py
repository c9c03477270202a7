"""A Hydra application as a program: a mistake of its user is one line and an exit status, and its folders have names."""

from hydra_checked.program.application import (
    HAS_WHITELIST,
    HYDRA_BASE,
    HYDRA_MAIN,
    UTILS,
    Application,
    package_of,
    register_resolver,
)
from hydra_checked.program.ending import exit_on_error, run_task, start
from hydra_checked.program.mistakes import frames_of_user, message_of
from hydra_checked.program.overrides import as_value, folder_name, given_keys, run_name

__all__ = ["HAS_WHITELIST", "HYDRA_BASE", "HYDRA_MAIN", "UTILS", "Application", "as_value", "exit_on_error", "folder_name", "frames_of_user",
           "given_keys", "message_of", "package_of", "register_resolver", "run_name", "run_task", "start"]  # fmt: skip
