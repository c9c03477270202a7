"""The base class of encoders."""

from torch import Tensor, nn


class Encoder(nn.Module):
    """Base class of encoders.

    The constructor of a custom encoder is called with ``input_size`` and the arguments from the configuration. It
    must set the attributes below.

    Attributes:
        output_size: Size M of a state.
        summary_size: Size F of a summary.
    """

    output_size: int
    summary_size: int

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a batch of sentences.

        Args:
            embedded: Embedded source tokens (B, S, E).
            lengths: Number of real tokens of each sentence (B,), at least 1.

        Returns:
            States (B, S, M), zero on padding, and summaries (B, F), which initialize the state of the decoder.
        """
        raise NotImplementedError
