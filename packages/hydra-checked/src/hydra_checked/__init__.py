"""Checks of the nodes of a Hydra configuration that become objects, before they are built."""

from hydra_checked.annotations import fits, in_words, kind_of, leaves
from hydra_checked.checking import bounded, check, flat, imported, join, objects, problems
from hydra_checked.errors import Failed, Wrong
from hydra_checked.names import did_you_mean, nearest, nearest_key
from hydra_checked.signatures import arguments_of, needed_by, parameters_of, unlike

__all__ = ["Failed", "Wrong", "arguments_of", "bounded", "check", "did_you_mean", "fits", "flat", "imported", "in_words", "join", "kind_of", "leaves", "nearest",
           "nearest_key", "needed_by", "objects", "parameters_of", "problems", "unlike"]  # fmt: skip
