"""Earlier names of keys, options and classes, and their present names."""

from functools import cache
from pathlib import Path

import yaml

OLD_CLASSES = {"ConstantScore": "UniformScore"}
"""Classes in the descriptions of models."""


@cache
def old_keys() -> dict[str, str]:
    """Return what replaces earlier keys, groups and options of commands."""
    return yaml.safe_load(Path(__file__).with_name("old_keys.yaml").read_text(encoding="utf-8"))


OTHER_CHOICES = {
    ("attention", "bahdanau"): "additive", ("attention", "concat"): "additive", ("attention", "mlp"): "additive",
    ("attention", "luong"): "bilinear", ("attention", "general"): "bilinear", ("attention", "scaled"): "scaled_dot",
    ("attention", "none"): "additive with decoder=context", ("encoder", "bigru"): "gru", ("encoder", "bilstm"): "lstm",
    ("encoder", "brnn"): "lstm", ("encoder", "rnn"): "gru", ("device", "cuda"): "gpu", ("device", "metal"): "mps",
    ("experiment", "multi30k"): "multi30k_en_de", ("tokenizer", "spm"): "unigram", ("tokenizer", "sentencepiece"): "bpe",
}  # fmt: skip
"""(group, name in other toolkits and papers) -> choice here."""

OTHER_KEYS = {
    "epochs": "trainer.max_epochs", "num_epochs": "trainer.max_epochs", "max_epoch": "trainer.max_epochs",
    "train_steps": "trainer.max_steps", "max_update": "trainer.max_steps", "max_updates": "trainer.max_steps",
    "learning_rate": "optimizer.lr", "bs": "data.batch_size", "clip_norm": "trainer.gradient_clip_val",
    "max_grad_norm": "trainer.gradient_clip_val", "update_freq": "trainer.accumulate_grad_batches",
    "beam": "decoding.beam_size", "lenpen": "decoding.length_penalty_alpha", "rnn_size": "model.encoder.hidden_size",
    "hidden_dim": "model.encoder.hidden_size", "emb_dim": "model.embedding_size", "word_vec_size": "model.embedding_size",
    "patience": "callbacks.early_stopping.patience", "save_dir": "paths.runs_dir", "restore_file": "ckpt_path",
    "train_from": "ckpt_path", "share_vocab": "data.joint_vocabulary", "joined_dictionary": "data.joint_vocabulary",
    "gpus": "trainer.devices", "num_gpus": "trainer.devices", "fp16": "trainer.precision", "wandb": "logger=wandb",
}  # fmt: skip
"""Key or option of other toolkits -> key here."""
