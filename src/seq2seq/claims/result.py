"""What became of a claim: judged, kept, and marked where it rests on files that have changed."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

from msgspec import Struct

from seq2seq.claims import searches
from seq2seq.claims.arms import OF_SEARCH, Arms
from seq2seq.claims.measures import Material
from seq2seq.claims.pictures import draw_claim
from seq2seq.claims.verdict import Compared, Verdict, compared, verdict_of
from seq2seq.command_line.composing import composed
from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.experiments.comparison import Run
from seq2seq.own_files import CONF
from seq2seq.pictures.heatmap import png_bytes
from seq2seq.storage.typed_json import encoded, read_json
from seq2seq.storage.writing import write_file
from seq2seq.sweeps.comparison import translations_of_test
from seq2seq.sweeps.hypothesis import (
    WEIGHTS,
    Setting,
    Statement,
    claim_of,
    decides,
    require_hypothesis,
    runs_folder,
)

FOLDER = CONF / "sweep" / "claims"
VERSION = 1


class Result(Struct, kw_only=True):
    """A verdict and what it rests on.

    Attributes:
        version: of this format.
        name: of the claim.
        source: see `Statement`.
        says: likewise.
        found: of its comparisons.
        minutes: that its runs took, each on a core of its own.
        num_runs: how many there are.
        commits: of the program that trained them.
        rests_on: digests of the files that decided its runs.
    """

    version: int = VERSION
    name: str
    source: str
    says: str
    found: list[Compared]
    minutes: float
    num_runs: int
    commits: list[str]
    rests_on: dict[str, str]

    @property
    def verdict(self) -> Verdict:
        """What its comparisons come to."""
        return verdict_of(self.found)

    def changed(self, now: Mapping[str, str]) -> list[str]:
        """What it rests on and is no longer as it was, by digests as `files_now` gives them."""
        return [
            path
            for path, digest in self.rests_on.items()
            if now.get(path) != digest and decides(PurePath(path))
        ]


def claim_names() -> list[str]:
    """Those that the program comes with."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def configured(name: str, overrides: list[str]) -> Config:
    """The sweep of a claim.

    Raises:
        InputError: there is no such claim, or an override is wrong.
    """
    if name not in (names := claim_names()):
        raise InputError(f"{name}: there is no such claim; there are {', '.join(names)}")
    return composed(CONF, [f"sweep=claims/{name}", *overrides])[0]


def judged(name: str, config: Config) -> tuple[Result, bytes]:
    """The verdict on the runs that are there, and its picture.

    Raises:
        UnfinishedError: runs are missing.
        InputError: the runs were made for another hypothesis.
    """
    claim, folder = claim_of(config.sweep), runs_folder(config.sweep, config.runs_dir)
    arms = Arms.found(config.sweep, folder)
    resting = require_hypothesis(config.sweep, folder)
    found = compared(claim, lambda setting: material(arms.runs(setting), setting))
    picture = png_bytes(draw_claim(claim, arms, found, material))
    return _result(name, claim, arms, found, resting), picture


def material(runs: Sequence[Run], setting: Setting) -> Material:
    """What is known of runs, by the search that a setting names."""
    options = {k.removeprefix(OF_SEARCH): v for k, v in setting.items() if k.startswith(OF_SEARCH)}
    if options:
        return Material(runs, [searches.searched(run, options) for run in runs])
    weights = str(setting.get(WEIGHTS, ""))
    return Material(runs, translations_of_test(runs, {}), weights)


def _result(
    name: str, claim: Statement, arms: Arms, found: list[Compared], resting: dict[str, str]
) -> Result:
    ledgers = [run.ledger for group in arms.groups for run in group.runs]
    known = [ledger.git or {} for ledger in ledgers]
    commits = [str(git["commit"])[:7] for git in known if "commit" in git]
    return Result(
        name=name,
        source=claim.source,
        says=claim.says,
        found=found,
        minutes=sum(ledger.wall_seconds for ledger in ledgers) / 60,
        num_runs=len(ledgers),
        commits=list(dict.fromkeys(commits)),
        rests_on=resting,
    )


def kept(folder: Path) -> list[Result]:
    """The results that a folder keeps, by name.

    Raises:
        InputError: one of them is damaged.
    """
    return [
        read_json(
            path,
            Result,
            version=VERSION,
            refusal="is no result of a claim",
            remedy="remove it, and test the claim again",
            check=partial(_require_name, path.stem),
        )
        for path in sorted(folder.glob("*.json"))
    ]


def _require_name(name: str, result: Result) -> None:
    if result.name != name:
        raise ValueError(f"name: it is not {name}")


def keep(result: Result, picture: bytes, folder: Path) -> None:
    """Write a result and its picture."""
    write_file(folder / f"{result.name}.json", encoded(result))
    write_file(folder / f"{result.name}.png", picture)
