"""Folders of the jobs of a sweep: those of the single commands, one for each job, whatever the overrides are."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import CompactHydraException
from hydra.types import HydraContext

from hydra_checked import Wrong
from hydra_checked.program import HYDRA_BASE, folder_name
from hydra_plugins.hydra_subprocess_launcher.subprocess_launcher import SubprocessLauncher
from seq2seq.settings.application import CONF
from seq2seq.settings.config import composed, run_name_of

ODD = [
    "+x=a/b,a-b", "+x=/a/b.tsv,/a-b.tsv", "+x=../a,..", "+x='a b','a  b?'", "+x='a b','a  b'", "+x='it\\'s',its", "+x='\"',''", "+x='',' '",
    "+x='été',ete", "+x='e\u0301t\u00e9','été'", "+x='日本語','日本'", "+x='😀','😁'", f"+x={'a' * 300},{'a' * 299}",
    f"+x='{'é' * 300}','{'é' * 301}'", "+x=[1,2],[1,3]", "+x=[],{}", "+x={a:1},{a:2}", "+x={a:[1,{b:2}]},{a:[1,{b:3}]}",
    "+x=null,none", "+x=true,false", "+x=1,1.0", "+x=1e-3,1e-4", "+x=-1,1", "+x='a,b','a;b'", "+x='a=b','a:b'",
    "+x='%s','%d'", "+x='*','?'", "+x='a\\b','a|b'", "+x='$HOME','~'", "+x='<b>','&'", "+x=con,nul", "+x.y.z=1,2",
    "seed=1,2", "attention=additive,dot", "experiment=dates,libreoffice_en_de", "debug=fast,overfit",
    "model.decoder={hidden_size:16},{hidden_size:24}", "+optimizer.betas=[0.9,0.98],[0.9,0.999]",
    "++x=1,2", "+x-y=1,2", "+x.0=1,2", "+x$=1,2", "+x='a\nb','a b'", "+x=a.,a", "+x=.,..", "+x='a/',a", "+x=${seed},1",
    "+x='--help',-h", "+x='a,seed=3',a", "+x=1,'1'", "+x=[a],'[a]'", "+x='\u202e','\u200b'",
]  # fmt: skip
"""Sweeps over two odd values each."""


@pytest.fixture
def folders(monkeypatch, tmp_path):
    """Return the folders of the jobs of a sweep over overrides, without running one."""
    monkeypatch.chdir(tmp_path)
    make_folder = lambda self, job: Path(job.working_dir).mkdir(parents=True, exist_ok=True)  # noqa: E731
    monkeypatch.setattr(SubprocessLauncher, "run", make_folder)

    def of(jobs):
        with composed(["hydra.mode=MULTIRUN"]) as master, initialize_config_dir(str(CONF), **HYDRA_BASE):
            launcher = SubprocessLauncher()
            loader = GlobalHydra.instance().config_loader()
            launcher.setup(
                hydra_context=HydraContext(loader, SimpleNamespace(callbacks=[])),
                task_function=None,
                config=master,
            )
            return [job.working_dir for job in launcher.launch(jobs, 0)]

    yield of
    GlobalHydra.instance().clear()


def single(overrides, tmp_path):
    with composed(overrides) as config:
        return str(tmp_path / config.hydra.run.dir)


def jobs_of(sweep):
    """Return the override of each job, as Hydra's sweepers make it."""
    (parsed,) = OverridesParser.create().parse_overrides([sweep])
    return [f"{parsed.get_key_element()}={value}" for value in parsed.sweep_string_iterator()]


@pytest.mark.parametrize("sweep", ODD)
def test_odd_values_give_two_names_of_one_folder_each(sweep, tmp_path):
    excluded, seed = default_exclusions(), [] if sweep.startswith("seed") else ["seed=3"]
    names = [run_name_of([job, *seed], excluded, "baseline") for job in jobs_of(sweep)]
    assert len(set(names)) == (1 if sweep in SHARED else 2)
    for name in set(names):
        assert name.endswith("seed=3") or sweep.startswith("seed=")
        (tmp_path / folder_name(name)).mkdir()
        assert [path.name for path in tmp_path.iterdir()].count(name) == 1


@pytest.mark.long
@pytest.mark.parametrize("sweep", ODD)
def test_odd_values_have_the_folders_of_the_single_commands_or_are_refused(sweep, folders, tmp_path):
    jobs = [[job] for job in jobs_of(sweep)]
    if sweep in SHARED:
        with pytest.raises(CompactHydraException, match="both jobs would work in"):
            folders(jobs)
    else:
        assert folders(jobs) == [single(job, tmp_path) for job in jobs]


def default_exclusions():
    return yaml.safe_load((CONF / "config.yaml").read_text())["hydra"]["job"]["config"]["override_dirname"][
        "exclude_keys"
    ]


def test_each_job_has_the_folder_of_the_single_command(folders, tmp_path):
    sweeps = [ODD[0], "+x=a,''", "attention=additive,dot", "experiment=dates,libreoffice_en_de"]
    jobs = [["debug=fast", job] for sweep in sweeps for job in jobs_of(sweep)]
    found = folders(jobs)
    assert len(set(found)) == len(found)
    for job, folder in list(zip(jobs, found, strict=True))[::3]:
        assert folder == single(job, tmp_path)


SHARED = ["+x='a b','a  b'", "+x=[a],'[a]'"]
"""Of ODD, those whose jobs are refused before the first."""


def test_the_seed_is_last_and_never_cut(folders):
    found = folders([[f"+x='{'é' * 300}'", f"seed={seed}", "attention=dot"] for seed in (1, 2)])
    assert [folder.rpartition(",")[2] for folder in found] == ["seed=1", "seed=2"]
    assert all(len(os.fsencode(os.path.basename(folder))) < 256 for folder in found)


def test_a_sweep_on_own_text_has_short_names_that_begin_with_what_differs():
    files = [f"data.{split}.{side}=corpora/of/mine/{split}.{side}.txt"
             for split in ("train", "validation", "test") for side in ("source", "target")]  # fmt: skip
    for text in (files, ["data=tsv", f"data.file={'long' * 40}.tsv"], [f"data.file={'long' * 40}"]):
        jobs = [[*text, f"attention={score}", "seed=1"] for score in ("additive", "dot")]
        jobs.append([*jobs[0][1:], "data.test.target=other.txt"])
        names = [run_name_of(job, (), "baseline") for job in jobs]
        assert len(set(names)) == 3
        assert max(map(len, names)) < 60
        assert ["attention=dot" in name for name in names] == [False, True, False]


@pytest.mark.parametrize(
    ("overrides", "pattern"),
    [
        (["model.encoder.hidden_size=64"], r"encoder\.hidden_size=64"),
        (["optimizer.lr=0.01", "seed=12"], r"lr=0\.01,seed=12"),
        (["data=parallel", "data.train.source=/x/a.en", "data.source_language=en", "seed=1"], r"data=parallel-\w{8},seed=1"),
        (["trainer.max_epochs=1", "decoding.beam_size=1", "+trainer.limit_train_batches=150",
          "model.decoder.attention.score._target_=seq2seq.attention.ScaledDotScore", "seed=3"], r"score=ScaledDotScore-\w{8},seed=3"),
        (["data=grammar", "model.decoder.attention.score._target_=seq2seq.attention.ScaledDotScore", "decoding=greedy"],
         r"score=ScaledDotScore-\w{8}"),
    ],
)  # fmt: skip
def test_a_name_has_forty_letters_at_most_and_short_keys(overrides, pattern):
    with composed(overrides) as config:
        name = Path(config.hydra.run.dir).name
    assert len(name) <= 40
    assert re.fullmatch(pattern, name)


@pytest.mark.parametrize("shared", ["logger=tensorboard,csv", "threads=1,2"])
def test_jobs_with_one_folder_are_refused_before_the_first(shared, folders):
    key, _, values = shared.partition("=")
    with pytest.raises(CompactHydraException, match="both jobs would work in"):
        folders([[f"{key}={value}"] for value in values.split(",")])


def test_the_folder_of_the_experiment_is_not_repeated_in_the_name():
    with composed(["experiment_name=mine", "seed=3"]) as config:
        assert config.hydra.run.dir == "runs/mine/seed=3"


@pytest.mark.parametrize("name", ["", " ", ".", "a/../b", "cost $HOME"])
def test_a_name_that_would_lead_elsewhere_is_refused(name):
    with pytest.raises(Wrong, match="name of a folder"):
        folder_name(name)
