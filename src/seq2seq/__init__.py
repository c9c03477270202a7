"""Train recurrent translation models with attention, and see the attention in TensorBoard.

The public names:

    train, load, Run          run a configuration from Python; open a finished run or a model folder
    InputError                what wrong input raises
    seq2seq.data              data modules (a corpus is one), tokenizers, batches
    seq2seq.attention         scores, masked softmax, kinds of attention, pooling
    seq2seq.models            encoders, decoders, Seq2Seq, build_model
    seq2seq.training          TranslationModule for lightning.Trainer, losses, callbacks
    seq2seq.decoding          greedy, beam search, sampling, Translator
    seq2seq.evaluation        scores, alignment, significance
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seq2seq.common import VERSION
from seq2seq.common.errors import InputError, TrainingFailed, TrainingInterrupted

if TYPE_CHECKING:
    from seq2seq.cli.api import Run, load, train

# before PyTorch is loaded: its threads wait for each other in a loop, and with the default of 300,000 turns a training
# beside another program on the same cores was forty times as slow
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")

__version__ = VERSION

__all__ = ["InputError", "Run", "TrainingFailed", "TrainingInterrupted", "__version__", "load", "train"]


def __getattr__(name: str) -> Any:
    """Import what needs Hydra when it is used: commands answer a mistake before that."""
    if name not in ("Run", "load", "train"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("seq2seq.cli.api"), name)
