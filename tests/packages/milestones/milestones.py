"""A callback of another package: it notes every validation that is better than all before."""

from lightning.pytorch.callbacks import Callback


class Milestones(Callback):
    """Keeps their epochs and losses in ``milestones.txt``.

    Args:
        run_dir: folder of the run.
    """

    def __init__(self, run_dir):
        self.path, self.best, self.epochs = run_dir / "milestones.txt", [], 0

    def on_validation_end(self, trainer, pl_module):
        loss = trainer.callback_metrics["validation/loss"].item()
        if trainer.is_global_zero and loss < min(self.best, default=float("inf")):
            self.best.append(loss)
            self.path.write_text("\n".join(map(str, self.best)), "utf-8")

    def on_train_epoch_end(self, trainer, pl_module):
        self.epochs += 1

    def state_dict(self):
        return {"best": self.best, "epochs": self.epochs}

    def load_state_dict(self, state_dict):
        self.best, self.epochs = state_dict["best"], state_dict["epochs"]
