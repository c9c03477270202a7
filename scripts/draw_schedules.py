"""Draw each schedule of the learning rate into docs/images/schedules.png, from the classes that training uses.

    python scripts/draw_schedules.py

It is that of 1,000 steps, ten epochs of a hundred, with a loss that stops falling after the third.
"""

from functools import partial
from pathlib import Path

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from omegaconf import OmegaConf
from torch.optim.lr_scheduler import ExponentialLR, LinearLR, ReduceLROnPlateau, SequentialLR

from lightning_exact_resume import schedule_of
from seq2seq.run.building import build
from seq2seq.settings.application import CONF

STEPS, EPOCH = 1_000, 100
LOSSES = [3.0, 2.0, 1.5, *7 * [1.5]]
DOWN = partial(
    SequentialLR, milestones=[100],
    schedulers=[partial(LinearLR, total_iters=100), partial(ExponentialLR, gamma=0.995)],
)  # fmt: skip


def rates(factory: object) -> list[float]:
    """Return the rate of each step, as a share of the maximum."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule, found = schedule_of(factory, optimizer, STEPS), []
    for step in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if not isinstance(schedule, ReduceLROnPlateau):
            schedule.step()
        elif (step + 1) % EPOCH == 0:
            schedule.step(LOSSES[step // EPOCH])
    return found


def draw(path: Path) -> None:
    """Write the picture, a panel for each file of conf/scheduler and one for a sequence."""
    factories = {
        f"scheduler={each.stem}": build(OmegaConf.load(each))
        for each in sorted(CONF.glob("scheduler/*.yaml"))
    }
    figure = Figure(figsize=(9, 2.2), dpi=100, layout="constrained")
    panels = figure.subplots(1, len(factories) + 1, sharex=True, sharey=True)
    for panel, (name, factory) in zip(
        panels, {**factories, "SequentialLR, by step": DOWN}.items(), strict=True
    ):
        panel.plot(rates(factory), color="black", linewidth=1.2)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("step", fontsize=8)
        panel.tick_params(labelsize=8)
    panels[0].set_ylabel("share of optimizer.lr", fontsize=8)
    FigureCanvasAgg(figure).print_png(str(path))


if __name__ == "__main__":
    draw(Path(__file__).parents[1] / "docs" / "images" / "schedules.png")
