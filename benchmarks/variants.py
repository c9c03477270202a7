"""Whole training steps that are compared, each a function of a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.sizes import Size
from benchmarks.textbook import TextbookModel, copy_weights, masked_cross_entropy
from seq2seq.model.build import build_seq2seq
from seq2seq.model.decoder import unroll
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.text.batch import Batch
from seq2seq.text.vocabulary import PADDING_ID
from seq2seq.training.loss import token_cross_entropy

GRADIENT_CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to train.

    Attributes:
        loss: mean loss of a batch, with its graph.
        model: what is trained.
        optimiser: of its parameters.
    """

    loss: Callable[[Batch], Tensor]
    model: nn.Module
    optimiser: torch.optim.Optimizer

    def step(self, batch: Batch) -> None:
        """Forward, loss, backward, clip, Adam."""
        self.optimiser.zero_grad()
        self.loss(batch).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_CLIP)
        self.optimiser.step()


@dataclass(frozen=True, slots=True)
class Models:
    """The textbook's model and this project's, with the same parameters."""

    textbook: TextbookModel
    project: Seq2Seq


def build_models(size: Size, device: torch.device, *, dropout: float = 0.2) -> Models:
    """Both models of a size."""
    torch.manual_seed(1)
    spec = ModelSpec(
        source_vocabulary_size=size.vocabulary,
        target_vocabulary_size=size.vocabulary,
        padding_id=PADDING_ID,
        embedding_size=size.hidden,
        encoder_hidden_size=size.hidden,
        decoder_hidden_size=size.hidden,
        num_layers=size.num_layers,
        bidirectional=size.bidirectional,
        dropout=dropout,
        readout_size=None,
        tying="none",
        score="additive",
        attention_size=size.hidden,
        attention_dropout=0.0,
    )
    models = Models(TextbookModel(size, dropout=dropout), build_seq2seq(spec))
    copy_weights(models.textbook, models.project)
    return Models(models.textbook.to(device), models.project.to(device))


def build_variants(models: Models) -> Mapping[str, Variant]:
    """Textbook, this project by a loop over the steps, fused, and fused in bfloat16."""
    textbook, project = models.textbook, models.project
    kind = project.device.type
    # as a textbook writes it, and as this project trains
    plain = torch.optim.Adam(textbook.parameters())
    adam = torch.optim.Adam(project.parameters(), fused=True)

    def mixed(batch: Batch) -> Tensor:
        with torch.autocast(kind, torch.bfloat16):
            return fused_loss(project, batch)

    return {
        "textbook": Variant(lambda batch: _textbook_loss(textbook, batch), textbook, plain),
        "stepwise": Variant(lambda batch: _stepwise_loss(project, batch), project, adam),
        "fused_fp32": Variant(lambda batch: fused_loss(project, batch), project, adam),
        "fused_bf16": Variant(mixed, project, adam),
    }


def _textbook_loss(model: TextbookModel, batch: Batch) -> Tensor:
    logits = model(batch.source.ids, batch.source.is_token, batch.target_input)
    return masked_cross_entropy(logits, batch.target_output, batch.target_is_token)


def _stepwise_loss(model: Seq2Seq, batch: Batch) -> Tensor:
    source = batch.source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    unrolled = unroll(model.decoder, batch.target_input, memory)
    return mean_loss(unrolled.features, model.decoder.output, batch)


def fused_loss(model: Seq2Seq, batch: Batch) -> Tensor:
    """Mean loss as this project trains."""
    source = batch.source
    unrolled = model(
        source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths
    )
    return mean_loss(unrolled.features, model.decoder.output, batch)


def mean_loss(features: Tensor, output: nn.Linear, batch: Batch) -> Tensor:
    """This project's loss of features."""
    sums = token_cross_entropy(
        features, output, batch.target_output, batch.target_is_token, label_smoothing=0.0
    )
    return sums.smoothed / sums.num_tokens
