import optuna
from optuna.distributions import IntDistribution

from seq2seq.experiments.job import Job, Objective, Outcome
from seq2seq.experiments.ledger import State
from seq2seq.experiments.search import SearchSettings, TrialSource
from seq2seq.experiments.source import Claim


def source_of(folder):
    search = SearchSettings(
        folder=folder / "study",
        space={"model.num_layers": IntDistribution(1, 4)},
        fixed=(),
        num_trials=1,
        metric=Objective("validation/bleu", "max"),
        sampler=lambda seed: optuna.samplers.RandomSampler(seed=seed),
        pruner=optuna.pruners.NopPruner(),
        seed=1,
    )
    return TrialSource(
        search,
        job_of=lambda overrides: Job(overrides, folder / overrides[0], "f", 1, overrides[0]),
        retry_failed=False,
    )


def test_a_trial_that_two_drivers_take_for_theirs_is_told_once(tmp_path):
    first, second = source_of(tmp_path), source_of(tmp_path)
    claim = first.claim()
    assert isinstance(claim, Claim)
    claim.lock.close()  # the job has ended, and its driver has not said so yet
    taken_up = second.claim()
    assert taken_up.job == claim.job
    taken_up.lock.close()
    first.ended(claim.job, Outcome(State.finished, value=20.0))
    second.ended(taken_up.job, Outcome(State.finished, value=20.0))
    assert [trial.value for trial in second.study.get_trials()] == [20.0]
