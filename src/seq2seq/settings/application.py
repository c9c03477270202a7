"""What this program says of itself to `hydra_checked.program`, which composes its configuration and says what is wrong with it."""

from pathlib import Path

from hydra_checked.program import Application
from seq2seq.settings.root import MOVED, Root

CONF = next(
    folder
    for folder in (Path(__file__).parents[1] / "conf", Path(__file__).parents[3] / "conf")
    if folder.is_dir()
)
"""The configuration: inside the package where it is installed from a wheel, else that of the clone."""

OBJECTS = "data", "model", "module", "optimizer", "scheduler", "trainer", "callbacks", "logger"
"""Nodes that hold objects, by `_target_`."""

PLACES = {
    "data": "data", "tokenizer": "data.tokenizer", "encoder": "model.encoder", "decoder": "model.decoder",
    "attention": "model.decoder.attention", "objective": "module.objective", "optimizer": "optimizer",
    "scheduler": "scheduler", "averaging": "callbacks.averaging", "penalty": "decoding.penalty",
}  # fmt: skip
"""Group -> node of the object that it chooses."""

OTHER_CHOICES = {
    ("attention", "bahdanau"): "additive", ("attention", "concat"): "additive", ("attention", "mlp"): "additive",
    ("attention", "luong"): "bilinear", ("attention", "general"): "bilinear", ("attention", "scaled"): "scaled_dot",
    ("attention", "none"): "decoder=context", ("encoder", "bigru"): "gru", ("encoder", "bilstm"): "lstm",
    ("encoder", "brnn"): "lstm", ("encoder", "rnn"): "gru", ("device", "cuda"): "gpu", ("device", "metal"): "mps",
    ("model", "transformer"): "encoder=transformer", ("experiment", "multi30k"): "multi30k_en_de", ("tokenizer", "spm"): "unigram", ("tokenizer", "sentencepiece"): "bpe",
}  # fmt: skip
"""(group, name in other toolkits and papers) -> choice here."""

OTHER_KEYS = {
    "data.source": "data.train.source", "data.target": "data.train.target", "train.source": "data.train.source",
    "epochs": "trainer.max_epochs", "num_epochs": "trainer.max_epochs", "max_epoch": "trainer.max_epochs",
    "train_steps": "trainer.max_steps", "max_update": "trainer.max_steps", "max_updates": "trainer.max_steps",
    "learning_rate": "optimizer.lr", "bs": "data.batch_size", "clip_norm": "trainer.gradient_clip_val",
    "max_grad_norm": "trainer.gradient_clip_val", "update_freq": "trainer.accumulate_grad_batches",
    "beam": "decoding.beam_size", "lenpen": "decoding.penalty.alpha", "rnn_size": "model.encoder.hidden_size",
    "hidden_dim": "model.encoder.hidden_size", "emb_dim": "model.embedding_size", "word_vec_size": "model.embedding_size",
    "patience": "callbacks.early_stopping.patience", "save_dir": "paths.runs_dir", "restore_file": "ckpt_path",
    "train_from": "ckpt_path", "share_vocab": "data.joint_vocabulary", "joined_dictionary": "data.joint_vocabulary",
    "gpus": "trainer.devices", "num_gpus": "trainer.devices", "fp16": "trainer.precision", "wandb": "logger=wandb",
}  # fmt: skip
"""Key or option of other toolkits -> key here."""

CONTINUES = "the same command again continues a training that was stopped; ckpt_path=FILE begins with a checkpoint of another run"

APPLICATION = Application(
    conf=CONF,
    code=(Path(__file__).parents[1], Path(__file__).parents[3] / "packages"),  # those of a clone
    schema=Root,
    classes={group: place for group, place in PLACES.items() if place.startswith(OBJECTS)}
    | {"attention": "model.decoder.attention.score"},
    assembled=("experiment", "recipe", "debug", "hparams_search"),
    other_choices=OTHER_CHOICES,
    other_keys=OTHER_KEYS,
    answers=dict.fromkeys(("resume", "continue", "resume_from_checkpoint", "auto_resume"), CONTINUES),
    moved={key: f"since 0.5 it is {new}" for key, new in MOVED.items()},
    files={
        "data": "your text is given by data=parallel data.train.source=FILE …, or data=tsv data.file=FILE"
    },
    memory="lower data.batch_size, data.max_tokens or the sizes of the model",
)
