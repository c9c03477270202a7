"""The bounds of arguments: those of this program stand beside them, as annotations, those of other packages here.

``conf/bounds.json`` has all of them, so that a wrong value is refused before PyTorch is loaded; ``scripts/write_bounds.py``
writes it.
"""

from collections import defaultdict
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from hydra_checked import kind_of
from seq2seq.common.numbers import NotNegative, Positive, Rate, Weight

OTHERS: dict[tuple[str, str], Any] = {
    ("lightning.pytorch.Trainer", "max_epochs"): Annotated[int, Ge(-1)] | None,
    ("lightning.pytorch.Trainer", "max_steps"): Annotated[int, Ge(-1)],
    ("lightning.pytorch.Trainer", "min_epochs"): Annotated[int, Ge(-1)] | None,
    ("lightning.pytorch.Trainer", "val_check_interval"): Positive | Annotated[float, Gt(0), Le(1)] | None,
    ("lightning.pytorch.Trainer", "accumulate_grad_batches"): Positive,
    ("lightning.pytorch.Trainer", "check_val_every_n_epoch"): Positive | None,
    ("lightning.pytorch.Trainer", "gradient_clip_val"): Weight | None,
    ("lightning.pytorch.Trainer", "precision"): Literal["32-true", "64-true", "bf16-mixed", "16-mixed", "32", "64", "bf16", "16", 32, 64, 16] | None,
    ("lightning.pytorch.callbacks.EarlyStopping", "patience"): NotNegative,
    ("lightning_exact_resume.PeriodicCheckpoint", "every_n_train_steps"): Positive,
    ("torch.optim.lr_scheduler.ReduceLROnPlateau", "patience"): NotNegative,
    ("torch.optim.Optimizer", "lr"): Rate,
    ("torch.optim.Optimizer", "weight_decay"): Weight,
}  # fmt: skip
"""(class, argument) -> what it may be, also in classes derived from it."""


BY_CLASS: dict[str, dict[str, Any]] = defaultdict(dict)
"""The same as `hydra_checked` takes it."""
for (name, argument), hint in OTHERS.items():
    BY_CLASS[name][argument] = kind_of(hint)
