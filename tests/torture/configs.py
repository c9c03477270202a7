"""Part 5: generated command lines, most of them wrong: one line and exit status 2, or a value."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seq2seq.command_line.arguments import check_arguments
from seq2seq.command_line.config_errors import CONFIG_ERRORS, as_config, explain
from seq2seq.config import known_keys, register_schema
from seq2seq.errors import InputError
from tests.torture.victims import ROOT, log_of, run_child

ODD_VALUES = (
    "-1", "0", "-0.0", "1e308", "1e999", "nan", "inf", "-inf", "1" + "0" * 30, "1" + "0" * 400,
    "text", "", "null", "true", "[1]", "{a:1}", "1.5", "'1'", "0x10", "1_0", "${seed}", "${x}",
    "${oc.env:NOT_THERE}", "???", "\"", "a,b", "🦊", "-",
)  # fmt: skip

KEYS = st.sampled_from(known_keys())
VALUES = st.one_of(
    st.sampled_from(ODD_VALUES),
    st.integers().map(str),
    st.floats().map(str),
    st.text(st.characters(exclude_characters="\0"), max_size=12),
)
OVERRIDES = st.one_of(
    st.tuples(KEYS, VALUES).map("=".join),
    st.tuples(KEYS.map(lambda key: key[:-1]), VALUES).map("=".join),
    st.tuples(st.sampled_from(["+", "++", "~"]), KEYS, st.just("="), VALUES).map("".join),
    st.text(st.characters(exclude_characters="\0"), max_size=20),
)


def outcome(overrides: list[str]) -> str:
    """`accepted`, or the message; anything else that is raised is a defect."""
    try:
        check_arguments(overrides, ROOT / "conf")
        as_config(compose("config", overrides=overrides))
    except InputError as error:
        return str(error)
    except CONFIG_ERRORS as error:
        return explain(error)
    return "accepted"


def check_generated(count: int) -> Iterator[tuple[str, list[str]]]:
    """Compose generated command lines; yields each with what is wrong about the answer."""
    judged: list[tuple[str, list[str]]] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(OVERRIDES, min_size=1, max_size=2))
    def examine(overrides: list[str]) -> None:
        try:
            said = outcome(overrides)
            wrong = [f"more than a line: {said}"] if "\n" in said or not said else []
        except Exception as error:
            wrong = [f"{type(error).__name__}: {str(error)[:300]}"]
        judged.append((repr(overrides), wrong))

    register_schema()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        examine()
    yield from judged


def numeric_keys() -> list[str]:
    """Every key of a number in the default configuration."""
    register_schema()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = as_config(compose("config"))
    return sorted(_numeric(config, ""))


def _numeric(section: object, prefix: str) -> Iterator[str]:
    for described in fields(section):
        value, key = getattr(section, described.name), f"{prefix}{described.name}"
        if is_dataclass(value):
            yield from _numeric(value, f"{key}.")
        elif any(word in str(described.type) for word in ("int", "float")):
            yield key


def check_programs(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Start train.py with every numeric key out of range, or as large as its range allows."""
    pairs = [(key, value) for key in numeric_keys() for value in ("-1", "nan", "text", "999999999")]
    for index in range(min(count, len(pairs))):
        key, value = pairs[index * len(pairs) // count] if count < len(pairs) else pairs[index]
        run_dir = folder / f"program{index}" / "run"
        short = ["trainer.max_steps=1", f"{key}={value}"]
        overrides = [o for o in short if o.partition("=")[0] != key or o == short[1]]
        if key == "trainer.max_steps":
            overrides.append("trainer.max_epochs=1")
        status = run_child(run_dir, overrides)
        said = log_of(run_dir).read_text()
        yield f"{key}={value}", _judge(status, said)


def _judge(status: int, said: str) -> list[str]:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if status == 0 and "Traceback" not in said:
        return []
    if status == 2 and len(errors) == 1 and "Traceback" not in said:
        return []
    return [f"exit status {status}: {said[-1500:]}"]
