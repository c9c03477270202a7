"""Train recurrent translation models with attention, and see the attention in TensorBoard.

The public names:

    train, load, Run          run a configuration from Python; open a finished run or a model folder
    InputError                what wrong input raises
    seq2seq.data              data modules (a corpus is one), tokenizers, batches
    seq2seq.attention         scores, masked softmax, kinds of attention, pooling
    seq2seq.models            encoders, decoders, Seq2Seq, build_model
    seq2seq.training          TranslationModule for lightning.Trainer, losses, callbacks
    seq2seq.decoding          greedy, beam search, sampling, Translator
    seq2seq.evaluation        scores, alignment, attention statistics, significance
"""

from importlib.metadata import PackageNotFoundError, version

from seq2seq.api import Run, load, train
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted

try:
    __version__ = version("seq2seq-attention")
except PackageNotFoundError:  # a folder of sources that was not installed
    __version__ = "0.4.0"

__all__ = ["InputError", "Run", "TrainingFailed", "TrainingInterrupted", "__version__", "load", "train"]
