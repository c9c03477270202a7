"""What a sweep is to show, written down before its first run: a claim."""

import ast
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Literal

from msgspec import Struct

from seq2seq.config import SweepConfig
from seq2seq.errors import InputError
from seq2seq.evaluation.faithfulness import CHANGES
from seq2seq.experiments.ledger import FILE_NAME
from seq2seq.own_files import OWN, PACKAGE
from seq2seq.runs.run_folder import safe_name
from seq2seq.storage.digests import value_digest
from seq2seq.storage.typed_json import Number, Plain, converted, encoded, read_json
from seq2seq.storage.writing import write_file

DECIDING = ("attention", "grammar", "model", "text", "training")
"""Rooms of the program."""

DECIDES_NOTHING = ("training/progress.py",)
"""Of these: what is only said."""

OF_GRAMMAR = ("data/grammar/*.yaml", "conf/recipe/small.yaml")
OF_TEXT = tuple(
    f"conf/{name}.yaml" for name in ("recipe/multi30k", "recipe/standard", "experiment/speedrun")
)
"""What else decides runs on the built-in corpus, and on Multi30k."""

WEIGHTS = "weights"
"""The key of a setting that says what attention has instead of its own weights, of `CHANGES`."""

KEPT = "hypothesis.json"
VERSION = 1

Setting = dict[str, Plain]
"""Values by dotted key, of runs and of the searches of their models."""


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two settings, and which of them is to have more.

    Attributes:
        says: the same in words.
        measure: of what; see `claims.measures`.
        these: the setting.
        those: what it is compared with; None: with nothing, 0.
        expected: that these have ``more`` or ``less`` than those, by more than `margin`, or
            ``no_more``, but for `margin`; None: nothing, it is only asked.
        margin: in units of the measure.
    """

    says: str
    measure: str
    these: Setting
    those: Setting | None = None
    expected: Literal["more", "less", "no_more"] | None = None
    margin: Number = 0.0

    @property
    def bound(self) -> float:
        """What the difference is to pass, or to stay below."""
        return -self.margin if self.expected == "less" else self.margin


class Statement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a claim says of runs.

    Attributes:
        source: who has claimed it.
        says: in a sentence.
        comparisons: what decides.
        lengths: words of the source, of short sentences at most, of long ones at least.
        searches: values by option of the search, all combinations of which every finished model
            translates the test split by.
        picture: the one that shows it.
    """

    source: str
    says: str
    comparisons: list[Question]
    lengths: tuple[int, int] | None = None
    searches: dict[str, list[Plain]] = {}
    picture: Literal["bleu_by_length", "aer_against_bleu", "bleu_by_beam", "differences"] = (
        "differences"
    )


class _Kept(Struct, kw_only=True):
    """What is kept beside the runs."""

    version: int = VERSION
    digest: str
    rests_on: dict[str, str] = {}


def claim_of(config: SweepConfig) -> Statement:
    """The claim of a sweep.

    Raises:
        InputError: it has none, or one that says something else.
    """
    try:
        claim = converted(config.claim, Statement, "sweep.claim")
    except ValueError as error:
        raise InputError(str(error)) from error
    for setting in (side for each in claim.comparisons for side in (each.these, each.those or {})):
        if setting.get(WEIGHTS, "even") not in CHANGES:
            raise InputError(
                f"sweep.claim: no model is probed with weights={setting[WEIGHTS]}; there are "
                f"{', '.join(CHANGES)}"
            )
    return claim


def runs_folder(config: SweepConfig, runs_dir: str) -> Path:
    """Where the runs of a claim are, and nothing else.

    Raises:
        InputError: they have no folder of their own.
    """
    name = config.parameters.get("experiment_name", "")
    if name != safe_name(name):
        raise InputError(
            "sweep.claim needs experiment_name among the parameters: a folder of its own, with a "
            "plain name"
        )
    return Path(runs_dir) / name


def keep_hypothesis(config: SweepConfig, runs_dir: str) -> None:
    """Note what is claimed, and of which runs, before the first of them.

    Raises:
        InputError: there are runs that were made for something else.
    """
    folder = runs_folder(config, runs_dir)
    claim_of(config)
    if has_runs(folder):
        require_hypothesis(config, folder)
    else:
        write_file(folder / KEPT, encoded(_Kept(digest=_digest(config), rests_on=files_of(config))))


def require_hypothesis(config: SweepConfig, folder: Path) -> dict[str, str]:
    """The runs of a folder were made to test this claim as it stands; by files of these digests.

    Raises:
        InputError: they were not, or nobody knows.
    """
    path = folder / KEPT
    remedy = f"a hypothesis is not changed after its runs: undo that, or move {folder} away"
    refusal = "does not say what the runs beside it were to show"
    kept = read_json(path, _Kept, version=VERSION, refusal=refusal, remedy=remedy)
    if kept.digest != _digest(config):
        raise InputError(f"{config.name} has been edited since its first run: {remedy}")
    return kept.rests_on


def files_of(config: SweepConfig) -> dict[str, str]:
    """Those of `files_now` that decide the runs of a sweep: of the built-in corpus, or of text."""
    others = OF_GRAMMAR if "experiment" in config.parameters else OF_TEXT
    return {
        name: digest
        for name, digest in files_now().items()
        if not any(Path(name).match(each) for each in others)
    }


def files_now() -> dict[str, str]:
    """Digests of the files that decide what a training gives; comments of code decide nothing."""
    found = [path for name in (*OF_GRAMMAR, *OF_TEXT) for path in OWN.glob(name)]
    for room in DECIDING:
        found += (path for path in (PACKAGE / room).rglob("*.py") if decides(path))
    return {_name(path): sha256(_content(path)).hexdigest()[:16] for path in sorted(found)}


def decides(path: PurePath) -> bool:
    """Whether a file can change what a training gives."""
    return not any(path.match(pattern) for pattern in DECIDES_NOTHING)


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE.parent if path.is_relative_to(PACKAGE) else OWN).as_posix()


def _content(path: Path) -> bytes:
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body[0] = ast.Pass()
    return ast.unparse(tree).encode()


def has_runs(folder: Path) -> bool:
    """Whether one has begun."""
    return any(folder.glob(f"*/{FILE_NAME}"))


def _digest(config: SweepConfig) -> str:
    """Of the claim and of the runs that are to decide it."""
    design: Mapping[str, object] = {
        "claim": config.claim,
        "parameters": config.parameters,
        "sampler": config.sampler.value,
        "metric": config.metric,
        "tuned": config.tuned,
    }
    return value_digest(design)
