from seq2seq.experiments.checkpoints import Keep, discard_checkpoints
from seq2seq.experiments.processes import shares


def test_one_job_at_a_time_has_the_machine_as_it_is():
    assert shares(1, 8, ["0"], 1) == [{}]


def test_jobs_share_cores_and_gpus(monkeypatch):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    environments = shares(3, 8, ["4", "5", "6", "7"], 2)
    assert [each["CUDA_VISIBLE_DEVICES"] for each in environments] == ["4,5", "6,7", "4,5"]
    assert {each["OMP_NUM_THREADS"] for each in environments} == {"2"}
    assert "CUDA_VISIBLE_DEVICES" not in shares(2, 8, [], 1)[0]


def test_threads_that_the_user_set_stay(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert "OMP_NUM_THREADS" not in shares(2, 8, [], 1)[0]


def test_checkpoints_are_kept_as_asked_for(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for keep, left in [
        (Keep.all, {"best.ckpt", "last.ckpt"}),
        (Keep.best, {"best.ckpt"}),
        (Keep.none, set()),
    ]:
        for name in ("best.ckpt", "last.ckpt"):
            folder.mkdir(exist_ok=True)
            (folder / name).touch()
        discard_checkpoints(tmp_path, keep)
        assert {path.name for path in folder.glob("*")} == left


def test_the_only_checkpoint_counts_as_the_best(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    discard_checkpoints(tmp_path, Keep.best)
    assert (tmp_path / "checkpoints" / "last.ckpt").exists()
