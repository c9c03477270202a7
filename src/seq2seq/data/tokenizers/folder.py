"""Both tokenizers of a model folder, and the proof that one comes back from its files as it was."""

from collections.abc import Iterable
from pathlib import Path

from seq2seq.common.errors import InputError
from seq2seq.data.tokenizers.tokenizer import Tokenizer
from seq2seq.data.vocabulary import SPECIALS


def load_tokenizers(folder: Path, *, trust_custom_code: bool = False) -> tuple[Tokenizer, Tokenizer]:
    """Read the tokenizers of source and target, see `Tokenizer.load`."""
    source, target = (
        Tokenizer.load(folder, side, trust_custom_code=trust_custom_code) for side in ("source", "target")
    )
    return source, target


def save_proved(tokenizer: Tokenizer, folder: Path, side: str, texts: Iterable[str] = ()) -> None:
    """Save a tokenizer, read it again, and compare what both do with some texts.

    Args:
        tokenizer: The tokenizer.
        folder: To write into.
        side: ``source`` or ``target``.
        texts: To compare; without them, texts of its own tokens.

    Raises:
        InputError: They differ, as of a class of your own whose `fit` learns what is not saved.
    """
    tokenizer.save(folder, side)
    loaded = Tokenizer.load(folder, side, trust_custom_code=True)  # its class is in memory already
    ids = [*range(len(SPECIALS), min(tokenizer.vocab_size, 1000))]
    for text in texts or (tokenizer.decode(ids[start : start + 10]) for start in range(0, len(ids), 10)):
        expected, found = tokenizer.encode(text), loaded.encode(text)
        if expected != found or tokenizer.decode(expected) != loaded.decode(found):
            raise InputError(
                f"data.tokenizer: {type(tokenizer).__name__} reads {text!r:.80} as other tokens, or writes them otherwise, when "
                "it is loaded again: write what fit learns in its method save, and read it in read_model"
            )
