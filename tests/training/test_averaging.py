from unittest.mock import Mock

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn

from seq2seq.training.averaging import WeightAverage


class Course:
    """Weights that take given values, step by step, two steps an epoch."""

    def __init__(self, kind, **options):
        self.module = LightningModule()
        self.module.weight = nn.Parameter(torch.zeros(1))
        self.average = WeightAverage(kind, **{"decay": 0.5, "first_epoch": 1, **options})
        self.trainer = Mock(spec=Trainer, global_step=0, current_epoch=0, is_last_batch=False)

    def take(self, *values):
        for value in values:
            self.module.weight.data.fill_(value)
            self.trainer.global_step += 1
            self.trainer.current_epoch = (self.trainer.global_step - 1) // 2
            self.trainer.is_last_batch = self.trainer.global_step % 2 == 0
            self.average.on_train_batch_end(self.trainer, self.module, None, None, 0)

    def validated(self):
        self.average.on_validation_start(self.trainer, self.module)
        seen = float(self.module.weight.detach())
        self.average.on_validation_end(self.trainer, self.module)
        return seen


def test_ema_follows_its_formula_and_training_goes_on_with_the_weights():
    course = Course("ema", decay=0.3)
    course.take(4.0, 8.0, 2.0)
    expected = 4.0
    for step, value in ((2, 8.0), (3, 2.0)):
        decay = min(0.3, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * value
    torch.testing.assert_close(course.validated(), expected, rtol=1e-6, atol=1e-6)
    assert float(course.module.weight.detach()) == 2.0


def test_epochs_are_averaged_alike_from_the_first_one_on():
    course = Course("epochs", first_epoch=2)
    course.take(1.0, 2.0)
    assert course.validated() == 2.0, "before the first averaged epoch, the weights themselves"
    course.take(5.0, 6.0)
    assert course.validated() == 6.0
    course.take(0.0, 10.0)
    assert course.validated() == 8.0


def test_several_batches_of_a_step_count_once():
    course = Course("ema")
    course.take(1.0, 3.0)
    before = course.validated()
    course.average.on_train_batch_end(course.trainer, course.module, None, None, 0)
    assert course.validated() == before


def test_tied_weights_are_exchanged_once():
    course = Course("ema", decay=0.0)
    course.module.tied = course.module.weight
    course.take(1.0)
    course.module.weight.data.fill_(5.0)
    assert course.validated() == 1.0
    assert float(course.module.weight.detach()) == 5.0
