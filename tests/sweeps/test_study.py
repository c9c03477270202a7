import json

import optuna
import pytest
from optuna.distributions import CategoricalDistribution

from seq2seq.errors import InputError
from tests.swept import folders_of, run_sweep
from tests.torture.leavings import search_in


def test_a_search_runs_no_choice_that_was_not_given(tmp_path):
    """A trial that a stranger left, whose choice is a file outside of the configuration."""
    study_of(tmp_path / "sweeps" / "mine").ask({"attention": CategoricalDistribution(["../../x"])})
    search = ["sweep.sampler=random", "sweep.name=mine", "sweep.trials=1"]
    status, said = run_sweep(tmp_path, *search, "attention=additive,dot")
    assert (status, said.count("\n")) == (2, 1)
    assert "study.journal is no journal of this search" in said
    assert not folders_of(tmp_path)


def study_of(folder):
    folder.mkdir(parents=True)
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.journal"))
    storage = optuna.storages.JournalStorage(backend)
    return optuna.create_study(
        storage=storage, study_name="validation/bleu", direction="maximize", load_if_exists=True
    )


@pytest.mark.parametrize("line", ["x", "{}", "[" * 10**5, "null", "\xff", '{"op_code": 99}'])
def test_a_foreign_line_makes_a_study_another_ones(tmp_path, line):
    search_in(tmp_path, "random")
    with (tmp_path / "study.journal").open("ab") as journal:
        journal.write(line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match="is no journal of this search") as caught:
        search_in(tmp_path, "random")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("step", "value"), [("x", 1.0), (1, "x"), (-1, 1.0), (1, [])])
def test_a_field_of_another_type_makes_a_study_another_ones(tmp_path, step, value):
    search_in(tmp_path, "random").claim().lock.close()
    entry = {"op_code": 7, "worker_id": "x", "trial_id": 0, "step": step}
    with (tmp_path / "study.journal").open("a") as journal:
        journal.write(json.dumps(entry | {"intermediate_value": value}) + "\n")
    with pytest.raises(InputError, match="is no journal of this search"):
        search_in(tmp_path, "random")


def test_a_study_is_not_read_beyond_a_size(tmp_path):
    with (tmp_path / "study.journal").open("wb") as journal:
        journal.truncate(1 << 32)
    with pytest.raises(InputError, match="no file of up to"):
        search_in(tmp_path, "random")


def test_keys_of_hydra_are_none_of_a_sweep(tmp_path):
    folder = tmp_path / "conf" / "sweep"
    folder.mkdir(parents=True)
    parameters = json.dumps({"hydra.launcher.setup": "[x]", "seed": "1,2"})
    (folder / "evil.yaml").write_text(f"defaults: [grid]\nparameters: {parameters}\n")
    status, said = run_sweep(tmp_path, f"--config-dir={folder.parent}", "sweep=evil")
    assert status == 2
    assert said == "error: sweep.parameters: hydra.launcher.setup is no key of a job\n"
