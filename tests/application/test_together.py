"""Two processes on gloo train like one. Forked from a process that has torch imported."""



from seq2seq.application.checkpoint import read_checkpoint
from tests.torture.together import run_job, said_by
from tests.torture.victims import run_child

FIFTY_STEPS = [
    "trainer.max_steps=50",
    "trainer.max_epochs=30",
    "trainer.validate_every=4",
    "optim.learning_rate=0.001",
    "model.dropout=0",
    "decoding.beam=1",
    "tensorboard.heatmaps=0",
    "tensorboard.samples=0",
    "tensorboard.panel.first=0",
    "data.test_pairs=2",
]


def weights_of(run_dir):
    return read_checkpoint(run_dir / "checkpoints" / "last.ckpt")["state_dict"]


def test_two_processes_train_the_weights_of_one_with_the_same_global_batch(tmp_path):
    options = [*FIFTY_STEPS, "trainer.accumulate=2"]
    assert run_child(tmp_path / "e" / "one", [*options, "trainer.batch_sentences=8"]) == 0
    two = [*options, "trainer.batch_sentences=4"]
    assert run_job(tmp_path / "e" / "two", two) == [0, 0], said_by(tmp_path / "e" / "two")
    one, two = weights_of(tmp_path / "e" / "one"), weights_of(tmp_path / "e" / "two")
    distance = max(float((one[name] - two[name]).abs().max()) for name in one)
    print("distance", distance)
    assert distance < 1e-5
