"""The root of a configuration: every key of it that a run reads. A key that is not here has no effect, and is refused."""

from dataclasses import dataclass
from typing import Any

Node = dict[str, Any]


@dataclass(frozen=True)
class Root:
    """The keys of the root, as a run gets them; those with a default may be deleted.

    ``conf/config.yaml`` says what each means.
    """

    experiment_name: str
    name: str
    seed: int
    metric: str
    paths: Node
    data: Node
    model: Node
    module: Node
    optimizer: Node
    trainer: Node
    decoding: Node
    ema_decay: float
    callbacks: Node | None = None
    logger: Node | None = None
    scheduler: Node | None = None
    threads: int | None = None
    init_from: str | None = None
    ckpt_path: str | None = None
    overwrite: bool = False
