"""The names of the files of an exported model. Loads no torch."""

from pathlib import Path

from seq2seq.text.codec_files import CODEC_FILES

HEADER, WEIGHTS = "model.json", "model.safetensors"
MODEL_FILES = (*CODEC_FILES, WEIGHTS, HEADER)


def files_of_models(*paths: Path) -> dict[str, Path]:
    """The files that are read of models, by their paths."""
    files = [model_folder(path) / name for path in paths for name in MODEL_FILES]
    return {str(file): file for file in files}


def model_folder(path: Path) -> Path:
    """The model folder of a run folder, or the model folder that is given."""
    return path / "model" if (path / "model" / HEADER).is_file() else path
