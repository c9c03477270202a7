"""Write conf/bounds.json: the bounds and choices of the arguments of every class that conf/ names.

    python scripts/write_bounds.py

They stand beside the arguments, as annotations; for classes of other packages in `seq2seq.settings.bounds`. The file is read
before PyTorch is loaded.
"""

import json
from pathlib import Path

from omegaconf import OmegaConf

from hydra_checked import bounded, imported, objects
from seq2seq.settings.application import CONF
from seq2seq.settings.bounds import BY_CLASS


def bounds() -> str:
    """Return what the file holds, an argument a line."""
    nodes = [OmegaConf.to_container(OmegaConf.load(path)) for path in sorted(CONF.rglob("*.yaml"))]
    names = {target for node in nodes for _, _, target in objects(node) if target != "???"}
    found = {name: bounded(imported(name), BY_CLASS) for name in sorted(names)}
    classes = [
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(argument)}: {json.dumps(kind)}" for argument, kind in own.items())
        + "\n }"
        for name, own in found.items()
        if own
    ]
    return "{\n" + ",\n".join(classes) + "\n}\n"


if __name__ == "__main__":
    Path(CONF / "bounds.json").write_text(bounds(), encoding="utf-8")
