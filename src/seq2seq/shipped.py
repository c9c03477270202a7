"""Models that come with the program: ``data/models`` of a clone, inside the package where it was installed.

Each is a model folder with a card, README.md: data and license, scores, command and commit that made it.
"""

from pathlib import Path

MODELS = next(
    (
        folder
        for folder in (
            Path(__file__).parent / "data" / "models",
            Path(__file__).parents[2] / "data" / "models",
        )
        if folder.is_dir()
    ),
    None,
)

SHIPPED = [] if MODELS is None else sorted(path.parent.name for path in MODELS.glob("*/config.json"))
"""Names of the bundled models, such as ``grammar-en-fr``."""


def model_path(name: str | Path) -> Path:
    """Return the folder of a model: a folder of the user's, else the bundled model of this name."""
    path = Path(name)
    if MODELS is not None and not path.exists() and str(name) in SHIPPED:
        return MODELS / path
    return path
