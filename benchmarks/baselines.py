"""What attention is measured against on a GPU: a bare GRU, and a model that only averages."""

import torch
from torch import Tensor, nn

from benchmarks.sizes import Size
from benchmarks.textbook import TextbookModel
from benchmarks.variants import Models, Variant, mean_loss
from seq2seq.model.fused.choice import teacher_force
from seq2seq.model.memory import Encoded
from seq2seq.text.batch import Batch


def build_baselines(size: Size, device: torch.device) -> dict[str, Variant]:
    """Training steps of the model with attention replaced by the mean of the memory."""
    model = TextbookModel(size, dropout=0.2).to(device)
    adam = torch.optim.Adam(model.parameters(), fused=True)
    return {"mean_for_attention": Variant(lambda batch: _mean_loss(model, batch), model, adam)}


def _mean_loss(model: TextbookModel, batch: Batch) -> Tensor:
    """Every step's context is the mean, so that all steps are one call of the GRU."""
    memory, state = model.encode(batch.source.ids)
    is_token = batch.source.is_token.unsqueeze(2)
    mean = (memory * is_token).sum(dim=1, keepdim=True) / is_token.sum(dim=1, keepdim=True)
    embedded = model.dropout(model.target_embedding(batch.target_input))
    inputs = torch.cat([mean.expand(-1, embedded.shape[1], -1), embedded], dim=-1)
    features, _ = model.decoder(inputs, state)
    return mean_loss(model.dropout(features), model.output, batch)


class Recurrences:
    """Forward and backward of a decoder's recurrence alone: with attention, and as a bare GRU.

    The bare one is `nn.GRU` over inputs of size E + M.
    """

    def __init__(self, size: Size, models: Models) -> None:
        self._decoder = models.project.decoder
        self._memory_size = size.memory
        self._gru: nn.GRU = models.textbook.decoder

    def fused(self, batch: Batch) -> None:
        """The fused operation, keys and initial state given."""
        decoder = self._decoder
        shape = (len(batch), batch.source.ids.shape[1], self._memory_size)
        states = decoder.output.weight.new_ones(shape).requires_grad_()
        final = (states[:, 0],) * self._gru.num_layers
        memory = decoder.remember(Encoded(states, batch.source.is_token, final))
        unrolled = teacher_force(decoder, batch.target_input, memory, batch.target_lengths)
        unrolled.features.sum().backward()

    def bare(self, batch: Batch) -> None:
        """`nn.GRU`, once."""
        shape = (*batch.target_input.shape, self._gru.input_size)
        inputs = torch.ones(shape, device=batch.target_input.device)
        outputs, _ = self._gru(inputs.requires_grad_())
        outputs.sum().backward()
