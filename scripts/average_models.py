"""Average the weights of trainings of one model, each of which continues the one before with `init_from`.

    python scripts/average_models.py RUN RUN -o RUN

The mean of weights that one training leads to often translates better than each (Wortsman et al. 2022, "Model soups"). The
new folder is a copy of the last run with the averaged model; `seq2seq evaluate` scores it.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def main() -> None:
    """Copy the last run, and replace the weights of its model by the mean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    models = [load_file(run / "model" / "model.safetensors") for run in options.runs]
    mean = {name: torch.stack([model[name] for model in models]).mean(dim=0) for name in models[-1]}
    shutil.copytree(options.runs[-1], options.output, ignore=shutil.ignore_patterns("checkpoints", "events*"))
    path = options.output / "model" / "model.safetensors"
    path.unlink()
    save_file(mean, path, metadata={"format": "pt"})
    description = options.output / "model" / "config.json"
    config = json.loads(description.read_text(encoding="utf-8"))
    config["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    description.write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
