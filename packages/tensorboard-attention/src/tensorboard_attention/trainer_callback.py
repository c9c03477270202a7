"""A callback of transformers.Trainer that records the attention of a probe: `AttentionCallback`."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tensorboard_attention.probing import Probe


class AttentionCallback(TrainerCallback):
    """Record the attention of sentences before the training, every so many optimizer steps and at its end, see `capture`.

        Trainer(model, callbacks=[AttentionCallback(["The cat sleeps."])], processing_class=tokenizer, …)

    Of several processes all run the probe, and the first writes.

    Args:
        probe: Sentences, which the Trainer's tokenizer reads; or a batch: a mapping of the model's arguments; None: the first
            batch of the evaluation, from the first evaluation on.
        targets: Of an encoder-decoder, what its decoder reads for each of the sentences.
        every_n_steps: Optimizer steps between two records.
        writer: Where records go, as `add_attention` takes it; None: the folder ``attention`` of the output folder.
        sentences: How many of them are recorded at most.
        options: tag, modules, source_tokens, target_tokens and tokenizer of `capture`; the tokenizer is the Trainer's if it is not given.

    Raises:
        ValueError: The number of steps is no whole number above 0; or there are sentences and no tokenizer.
    """

    def __init__(
        self,
        probe: Sequence[str] | Mapping[str, Tensor] | None = None,
        *,
        targets: Sequence[str] | None = None,
        every_n_steps: int = 200,
        writer: Any = None,
        sentences: int = 4,
        **options: Any,
    ) -> None:
        self.probe = Probe(probe, every_n_steps, sentences=sentences, **options)
        self.targets, self.writer = targets, writer

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Prepare the probe, and record the model as training begins or goes on."""
        tokenizer = given.get("processing_class")
        if hasattr(tokenizer, "convert_ids_to_tokens") and not {"source_tokens", "target_tokens"} & {
            *self.probe.options
        }:
            self.probe.options.setdefault("tokenizer", tokenizer)
        if self.probe.given is not None:
            self.probe.given = self._batch(self.probe.given, tokenizer)
            self._record(args, state, given["model"])

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Take the first batch of the evaluation, if there is no other probe, and record the model."""
        if self.probe.given is None:
            with torch.random.fork_rng([]):  # a loader draws a number as it begins
                batch = next(iter(given["eval_dataloader"]))
            count = self.probe.options["sentences"]
            self.probe.given = {
                name: each[:count] for name, each in batch.items() if isinstance(each, Tensor)
            }
            self._record(args, state, given["model"])

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Record the model every so many steps."""
        if self.probe.given is not None and self.probe.is_due(state.global_step):
            self._record(args, state, given["model"])

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any
    ) -> None:
        """Record the trained model."""
        if self.probe.given is not None and self.probe.last != state.global_step:
            self._record(args, state, given["model"])

    def _batch(self, probe: Any, tokenizer: Any) -> Mapping[str, Any]:
        """Return the arguments of the model."""
        if isinstance(probe, Mapping):
            return probe
        if tokenizer is None:
            raise ValueError(
                "AttentionCallback has sentences and no tokenizer: give the Trainer processing_class="
            )
        read = tokenizer(list(probe), text_target=self.targets and list(self.targets), padding=True, return_tensors="pt")  # fmt: skip
        return dict(read)

    def _record(self, args: TrainingArguments, state: TrainerState, model: Any) -> None:
        writer = self.writer or Path(args.output_dir or ".") / "attention"
        device = model.device
        given = {
            name: each.to(device) if isinstance(each, Tensor) else each
            for name, each in self.probe.given.items()
        }
        half = torch.bfloat16 if args.bf16 else torch.float16
        precision = torch.autocast(device.type, half) if args.bf16 or args.fp16 else nullcontext()
        with precision:
            self.probe.record(
                model, writer if state.is_world_process_zero else None, state.global_step, given
            )
