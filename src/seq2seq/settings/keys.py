"""What is wrong with the keys of a run whatever the files hold: parts, values and bounds; nothing of it loads PyTorch."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from hydra_checked import objects, problems
from seq2seq.common.errors import InputError
from seq2seq.common.named import flat
from seq2seq.settings.config import CONF, PASSED, PLACES, Settings, choices_with, refuse, stored
from seq2seq.settings.root import Root

NEEDED = "data", "model", "model.encoder", "model.decoder", "module", "optimizer", "trainer"
"""Objects that a run cannot do without."""

MOST = 2**32 - 1
"""Maximum of whole numbers, of the classes of this program, of Lightning and of PyTorch."""


def check_parts(settings: Settings) -> None:
    """Refuse keys and values that are wrong whatever others there are.

    Raises:
        InputError: A part is missing, no part has a key, or a number is outside its range.
    """
    config = settings.config
    for key in (*NEEDED, "decoding"):
        _require(config, key)
    values = OmegaConf.to_container(config)
    refuse(problems(values, Root, bounds=stored(), imports=False, passed=PASSED))
    assert isinstance(values, dict)
    own = values["module"].get("metrics") or {}
    if not (isinstance(own, dict) and all(_is_node(each) for each in own.values())):
        raise InputError(f"module.metrics={own}: expected names of scores, each with a _target_")
    check_choices(settings)
    _check_numbers(values)


def check_choices(settings: Settings) -> None:
    """Refuse choices and keys of the command line for a part that is not there.

    Raises:
        InputError: Another choice leaves out the part; or a callback or logger has no class.
    """
    for group, place in PLACES.items():
        choice = settings.given.get(group)
        if choice not in (None, "none") and OmegaConf.select(settings.config, place) is None:
            others = [each for each in PLACES if place.startswith(f"{PLACES[each]}.")]
            why = next(
                (f" with {each}={settings.given[each]}" for each in others if each in settings.given), ""
            )
            raise InputError(f"{group}={choice}: there is no {place}{why}: leave out {group}={choice}")
    values: Any = OmegaConf.to_container(settings.config)
    for group in ("callbacks", "logger"):
        for name, node in values[group].items():
            _check_class(f"{group}.{name}", node, settings.given)


def _check_class(place: str, node: Any, given: Mapping[str, Any]) -> None:
    """Refuse keys of a callback or logger that has no class; where a recipe gives them, they are left out."""
    keys = [key for key in given if f"{key}.".startswith(f"{place}.")]
    if not _is_node(node) and (keys or not isinstance(node, dict)):
        needed = choices_with(keys[0]) if keys else []
        hint = f"that needs {' or '.join(needed)}" if needed else f"give +{place}._target_=…"
        raise InputError(f"{', '.join(keys) or place}: there is no class for {place}; {hint}")


def _is_node(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and "_target_" in value)


def _require(config: DictConfig, key: str) -> None:
    value, group = OmegaConf.select(config, key), key.rpartition(".")[2]
    if value is None or (key in NEEDED and not (isinstance(value, DictConfig) and "_target_" in value)):
        shown = "" if value is None else f"={value!s:.40}"
        choices = ", ".join(sorted(path.stem for path in CONF.glob(f"{group}/*.yaml")))
        hint = f"choose {group}=… of {choices}" if choices else f"give {key}=…"
        raise InputError(f"{key}{shown}: a run needs it; {hint}")


def _check_numbers(values: Mapping[Any, Any]) -> None:
    """Refuse whole numbers that PyTorch cannot hold."""
    for place, node, target in objects(values):
        if str(target).startswith(("seq2seq.", "lightning.", "torch.")):
            for key, value in flat(node, place).items():
                if isinstance(value, int) and abs(value) > MOST:
                    raise InputError(f"{key}={value}: expected at most {MOST:,}")
