"""Bounds stand beside arguments: every one is refused by its key, and the file that is read without PyTorch has them all."""

import sys
from types import ModuleType
from typing import Annotated

import pytest
from annotated_types import Ge
from omegaconf import OmegaConf

from hydra_checked import bounded, flat, in_words, leaves, objects, problems
from scripts.write_bounds import bounds
from seq2seq.common.errors import InputError
from seq2seq.run.checks import check_early
from seq2seq.settings.application import CONF
from seq2seq.settings.config import complete, composed, settings_of, stored
from seq2seq.settings.root import Root

CHOICES = [
    [],
    ["attention=multihead", "scheduler=plateau", "callbacks=early_stopping", "optimizer=sgd"],
    ["encoder=transformer", "decoder=luong", "averaging=ema", "optimizer=adamw", "data=tasks"],
    [
        "data=large",
        "data.source_language=en",
        "data.target_language=fr",
        "data.train.source=a.en",
        "model=lstm",
    ],
]


def test_the_file_has_the_bounds_of_the_arguments():
    assert (CONF / "bounds.json").read_text(encoding="utf-8") == bounds(), (
        "run python scripts/write_bounds.py"
    )


def limits(values):
    """The bounds of the numbers of a configuration by key."""
    found, keys = {}, flat(values)
    kinds = [(key, stored().get(target, {})) for key, _, target in objects(values)]
    for key, kind in [
        each for place, own in [*kinds, ("", bounded(Root, {}))] for each in leaves(own, place)
    ]:
        numbers = [each for each in kind if each["is"] in ("int", "float") and len(each) > 1]
        if numbers and key in keys:
            found[key] = numbers[0]
    return found


WRONG = {
    "below": lambda limit: limit["gt"] if "gt" in limit else limit["ge"] - 1,
    "above": lambda limit: limit["lt"] if "lt" in limit else limit["le"] * 2 + 1 if "le" in limit else "none",
    "text": lambda _: "words",
    "nan": lambda _: float("nan"),
    "true": lambda _: True,
    "a list": lambda _: [1],
}


@pytest.mark.parametrize("choices", CHOICES, ids=" ".join)
def test_a_value_out_of_its_bounds_is_refused_by_its_key(choices):
    with composed(choices) as config:
        settings = settings_of(config, choices, "run")
    found = limits(OmegaConf.to_container(settings.config))
    assert len(found) > 15
    for wrong in WRONG.values():
        changed = settings.updated({key: wrong(limit) for key, limit in found.items()})
        lines = problems(changed.config, Root, bounds=stored(), imports=False)
        assert found.keys() == {line.partition("=")[0] for line in lines}
        with pytest.raises(InputError, match="expected"):
            check_early(changed)


def test_an_argument_with_a_bound_touches_one_line(monkeypatch):
    def own(number: Annotated[int, Ge(3)]) -> None: ...

    assert in_words(bounded(own, {})["number"]) == "a whole number from 3"
    module = ModuleType("my_file")
    module.Mine = own
    monkeypatch.setitem(sys.modules, "my_file", module)
    for number, is_refused in ((2, True), (3, False)):
        given = ["+callbacks.mine._target_=my_file.Mine", f"+callbacks.mine.number={number}"]
        with composed(given) as config:
            settings = settings_of(config, given, "run")
        if is_refused:
            with pytest.raises(
                InputError, match=r"callbacks\.mine\.number=2: expected a whole number from 3"
            ):
                complete(settings)
        else:
            complete(settings)
