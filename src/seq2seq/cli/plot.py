"""The command that draws attention."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from seq2seq.cli.options import Output, Sentence
from seq2seq.cli.show import announce_replaced
from seq2seq.cli.translate import as_typed
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce
from seq2seq.data.folders import config_of, model_name, model_path

PICTURE = Path("attention.png")


def plot(
    model: Annotated[str | Path, "MODEL", model_path],
    sentences: Sequence[Sentence] = (),
    *,
    steps: Annotated[str, "NAME"] | None = None,
    target: str | None = None,
    effect: bool = False,
    heads: bool = False,
    output: Output = PICTURE,
    trust_custom_code: bool = False,
) -> None:
    """Draw attention: ``seq2seq plot MODEL "…" -o picture.png``

    Draws the attention of the greedy translation, or with --target that of forced decoding of a given target. The
    suffix of -o chooses the format: .png, .pdf or .svg. --effect adds by how much the log-probability of each word
    falls without each source token, --heads the attention of each head. With --steps NAME, such as attention/0/forced,
    it draws the recorded steps of a training as a .gif.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        sentences: Source sentences.
        steps: Name of a record of a run, such as attention/0/forced.
        target: The target for forced decoding.
        effect: Draw the effect of leaving tokens out, too.
        heads: Draw each head of each layer, too.
        output: File to write.
        trust_custom_code: Import classes that the model folder names.
    """
    if (not sentences) == (steps is None):
        raise InputError("give a sentence, or --steps NAME for a .gif of a training")
    if steps is not None and (target is not None or effect or heads):
        raise InputError("--target, --effect and --heads are of a sentence: --steps draws what was recorded")
    wanted = {".gif"} if steps else {".png", ".pdf", ".svg"}
    if output.suffix.lower() not in wanted:
        raise InputError(f"-o {output}: the ending decides the format: choose {' or '.join(sorted(wanted))}")
    if steps is not None:
        _plot_steps(Path(model), steps, output)
    else:
        more = {"with_effect": effect, "with_heads": heads, "trusts": trust_custom_code}
        _plot_sentences(Path(model), sentences, target, output, **more)


def _plot_steps(run: Path, name: str, output: Path) -> None:
    from tensorboard_attention import draw_steps

    try:
        drawn, num_steps = draw_steps(run, name, output)
    except ValueError as error:
        raise InputError(str(error)) from error
    if left := num_steps - drawn:
        print(f"{left} of {num_steps} steps are left out, evenly spread", file=sys.stderr)
    print(output)


def _plot_sentences(
    model: Path,
    sentences: Sequence[str],
    target: str | None,
    output: Path,
    *,
    with_effect: bool,
    with_heads: bool,
    trusts: bool,
) -> None:
    config_of(model)
    sentences = list(as_typed(sentences))
    if target is not None and len(sentences) > 1:
        raise InputError("--target is the translation of one sentence")

    announce("loading PyTorch and the model")
    from seq2seq.decoding.effect import attended
    from tensorboard_attention import Panel, leave_one_out, save_heatmap

    found = attended(model, sentences, target, trust_custom_code=trusts)
    name = model_name(model)
    panels = list[Panel]()
    for each, effect in found:
        sides = each.source_tokens, each.target_tokens
        panels.append(Panel(f"{name}, log p = {each.score:z.2f}", each.weights.float().numpy(), *sides))
        if with_heads:
            named = each.named_heads()
            panels += [Panel(head, weights.float().numpy(), *sides) for head, weights in named]
        if with_effect:
            moved = leave_one_out(effect, len(each.source_tokens))
            panels.append(Panel("fall of log p without the token", moved, *sides, is_effect=True))
    if output == PICTURE:
        announce_replaced(output)
    save_heatmap(output, panels)
    for each, _ in found:
        print(f"{each.text}   score {each.score:z.2f}   {output}")
        if note := each.unknown_note():
            print(note)
