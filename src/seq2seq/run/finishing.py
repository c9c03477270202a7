"""The end of a run: the model that is kept, its translations of whole splits, their scores, and what is logged."""

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from hydra_checked.program import given_keys
from seq2seq.common.progress import announce, counted
from seq2seq.common.written import is_own
from seq2seq.run.folder import one_a_line, read_json, write_folder, write_json, write_text
from seq2seq.run.summary import commit_of_program
from seq2seq.settings.config import Settings

if TYPE_CHECKING:
    import lightning.pytorch as pl

    from seq2seq.data.datamodule import Prepared
    from seq2seq.models.folder import SavedModel
    from seq2seq.training.module import TranslationModule


def export(
    module: "TranslationModule", trainer: "pl.Trainer", data: "Prepared", folder: Path, checkpoint: str | None
) -> tuple["SavedModel", str]:
    """Write the model that is kept, that of the best checkpoint or else of the last; return it, and in words which it is.

    `checkpoint` is where the training continued from; nothing else holds the mean of its weights if no step was left.
    """
    from seq2seq.models.folder import SavedModel, save_model_folder
    from seq2seq.training.kept import checkpoint_to_keep, kept_in_words

    announce("exporting the model")
    last = dict.fromkeys([str(folder / "checkpoints" / "last.ckpt"), *([checkpoint] if checkpoint else [])])
    kept = checkpoint_to_keep(trainer, *map(Path, last))
    if kept is not None:
        module.load_state_dict(kept["state_dict"])
    model = module.model.eval()
    tokenizers = data.source_tokenizer, data.target_tokenizer
    exported = SavedModel(model, *tokenizers, module.limits, data.both_directions)
    write_folder(folder / "model", lambda place: save_model_folder(place, exported))
    return exported, kept_in_words(trainer, kept)


def score(
    exported: "SavedModel", module: "TranslationModule", data: "Prepared", settings: Settings, folder: Path
) -> dict[str, Any]:
    """Translate whole splits with the exported model, as it lies in the folder, and return its scores by split."""
    from seq2seq.decoding.scoring import as_metrics, score_searches
    from seq2seq.decoding.search import search_of
    from seq2seq.decoding.translator import Translator
    from seq2seq.models.folder import Knowledge

    search, metrics = search_of(settings.config.decoding), {}
    translator = Translator.load(folder / "model", device=str(module.device), trust_custom_code=True)
    translator.tells_long = False  # the table of the splits has their lengths
    (folder / "predictions").mkdir(exist_ok=True)
    for split, encoded in (("val", data.validation), ("test", data.test)):
        if encoded is None:
            continue
        announce(f"scoring {counted(len(encoded.pairs), 'sentence')} of the split {split}")
        scored = score_searches(translator, encoded.pairs, search, metrics=module.metrics)
        metrics[split] = as_metrics(scored)
        if split == "val":
            own = [pair.texts[0] for pair in encoded.pairs]
            knows = Knowledge.learned(own, list(scored.values())[-1].confidences)
            description = folder / "model" / "config.json"
            write_json(description, read_json(description) | {"knows": asdict(knows)})
        texts = {
            "source": [pair.source for pair in encoded.pairs],
            "reference": [pair.target for pair in encoded.pairs],
        }
        if any(pair.languages for pair in encoded.pairs):
            texts["languages"] = [pair.languages for pair in encoded.pairs]
        for name, lines in (texts | {name.split()[0]: each.texts for name, each in scored.items()}).items():
            write_text(folder / "predictions" / f"{split}.{name}.txt", one_a_line(lines))
    if own := OmegaConf.select(settings.config, "callbacks.samples.texts"):
        found = translator.translate(own, search=search, return_attention=False)
        for name, lines in (("source", own), ("translation", [each.text for each in found])):
            write_text(folder / "predictions" / f"samples.{name}.txt", one_a_line(lines))
    return metrics


def facts(module: "TranslationModule", trainer: "pl.Trainer", started: float) -> dict[str, Any]:
    """Return the time, the length and the size of a finished run."""
    from lightning_exact_resume import ResumeState, callbacks_of, out_of_time
    from seq2seq.training.kept import end_in_words

    before = sum(each.seconds_before for each in callbacks_of(trainer) if isinstance(each, ResumeState))
    return {
        "seconds": round(before + time.perf_counter() - started, 1),
        "parameters": sum(parameter.numel() for parameter in module.model.parameters()),
        "epochs": trainer.fit_loop.epoch_progress.total.started,  # type: ignore[attr-defined]  # typed as its base
        "steps": trainer.global_step,
        "commit": commit_of_program(),
        "finished": True,
        "ended": end_in_words(trainer),
        "out_of_time": out_of_time(trainer),
    }


def log_parameters(trainer: "pl.Trainer", settings: Settings) -> None:
    """Log the configuration, what the command line gives first; TensorBoard gets it with the scores, see `log_scores`."""
    from lightning.pytorch.loggers import TensorBoardLogger

    values = {"seed": settings.config.seed, **settings.given, **settings.values, **settings.given}
    for logger in trainer.loggers:
        if not isinstance(logger, TensorBoardLogger):
            logger.log_hyperparams(values)


def log_scores(metrics: Mapping[str, Any], trainer: "pl.Trainer", settings: Settings) -> None:
    """Log the scores of the test split; to TensorBoard with the overrides, for its HParams tab: without those of all jobs of a sweep."""
    from lightning.pytorch.loggers import TensorBoardLogger

    from seq2seq.evaluation.metrics import named_by

    job = Path(settings.config.paths.run_dir) / "job.json"  # of the launcher of subprocesses
    same = given_keys(read_json(job).get("same", [])) if job.is_file() else {}
    given = {"seed": settings.config.seed, **settings.given}
    shown = dict(_named(*each) for each in given.items() if each[0] == "seed" or each[0] not in same)
    greedy = metrics.get("test", {}).get("greedy", {})
    scores = {f"test/{name}": value for name, value in greedy.items() if isinstance(value, float)}
    # dots of one step, which TensorBoard shows above the curves: few of them
    own, wanted = settings.config.module.get("metrics") or (), settings.config.metric.rpartition("/")[2]
    chosen = {name for name in greedy if name in ("bleu", "chrf", wanted) or named_by(name, own)}
    few = {name: value for name, value in scores.items() if name.removeprefix("test/") in chosen}
    for logger in trainer.loggers:
        if isinstance(logger, TensorBoardLogger) and few:
            logger.log_metrics(few, trainer.global_step)
            write_hparams(logger.log_dir, shown, few)
        else:
            logger.log_metrics(scores, trainer.global_step)
        logger.save()
        getattr(logger, "finish", lambda: None)()  # nothing comes after the scores


def _named(key: str, value: Any) -> tuple[str, Any]:
    """Return a hyperparameter as it is shown, briefly: a class by its name, under the key of its node."""
    node = key.removesuffix("._target_")
    return (key, value) if node == key else (node, str(value).rpartition(".")[2])


def write_hparams(folder: str, given: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    """Write the row of TensorBoard's HParams tab, in the place of that of an earlier start.

    It has a file of events of its own: of all rows in the files of a folder TensorBoard shows the first, which for a
    run that goes on, such as with more epochs, would be overrides beside the scores of other ones. A TensorBoard that
    is open shows the first one until it is started again. The folder may be an address.
    """
    from fsspec import url_to_fs
    from fsspec.implementations.local import LocalFileSystem
    from torch.utils.tensorboard import FileWriter
    from torch.utils.tensorboard.summary import hparams

    # a name of a folder may have ``::``, which would join two addresses
    system, path = url_to_fs(folder) if "://" in folder else (LocalFileSystem(), folder)
    names = [each["name"] for each in system.ls(path, detail=True) if each["type"] == "file"]
    earlier = [
        name for name in names if name.endswith(".hparams") and is_own(Path(folder, name.rpartition("/")[2]))
    ]
    plain = {key: value if is_plain(value) else str(value) for key, value in given.items()}
    writer = FileWriter(folder, filename_suffix=".hparams")
    for each in hparams(plain, dict(scores)):
        writer.add_summary(each)
    writer.close()
    for file in earlier:
        system.rm(file)


def is_plain(value: Any) -> bool:
    """Return whether TensorBoard shows a hyperparameter as it is: it leaves out infinite ones."""
    return isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
