"""Checks of the nodes of a Hydra configuration that become objects, before they are built."""

from hydra_checked.annotations import fits, in_words, kind_of, leaves
from hydra_checked.checking import Wrong, bounded, check, imported, join, objects, problems
from hydra_checked.names import nearest
from hydra_checked.signatures import arguments_of, needed_by, parameters_of, unlike

__all__ = ["Wrong", "arguments_of", "bounded", "check", "fits", "imported", "in_words", "join", "kind_of", "leaves", "nearest", "needed_by", "objects",
           "parameters_of", "problems", "unlike"]  # fmt: skip
