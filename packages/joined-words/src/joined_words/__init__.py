"""Words of a text of any language that join to exactly the text again.

    from joined_words import join_with_joints, split_with_joints
    words = split_with_joints("Press Ctrl+V (twice).")  # Press Ctrl ￭+￭ V (￭ twice ￭) ￭.
    assert join_with_joints(words) == "Press Ctrl+V (twice)."

`Casing` learns how words are written, and restores it in text in lower case. `word_indices` says of which words the tokens of
any tokenizer are parts; `GoldAlignment` and `AlignmentCounts` measure links between words.
"""

from joined_words.casing import Casing
from joined_words.links import (
    AlignmentCounts,
    GoldAlignment,
    LinkError,
    LinkSet,
    format_links,
    links_of_parts,
    require_inside,
)
from joined_words.marks import ESCAPED, JOINT, SPACE_MARK, shown
from joined_words.places import word_indices
from joined_words.words import (
    INVISIBLE,
    LETTERS,
    WORD,
    clean,
    has_dotless_i,
    join_with_joints,
    lowered,
    split_with_joints,
    split_words,
    text_word_parts,
    text_words,
)

__all__ = [
    "ESCAPED", "INVISIBLE", "JOINT", "LETTERS", "SPACE_MARK", "WORD", "AlignmentCounts", "Casing", "GoldAlignment", "LinkError",
    "LinkSet", "clean", "format_links", "has_dotless_i", "join_with_joints", "links_of_parts", "lowered", "require_inside", "shown", "split_with_joints",
    "split_words", "text_word_parts", "text_words", "word_indices",
]  # fmt: skip
