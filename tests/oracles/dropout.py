"""The masks of a training pass, found again by sentence and token.

They are told apart by their order alone: a mask that is drawn nowhere, twice, or for a token where
a sentence is meant, does not fit.
"""

import pytest

from seq2seq.model import dropout
from tests.oracles.model import IN_DECODER


class Draws:
    """Every mask drawn while this is the context, in order."""

    def __enter__(self):
        self.masks, self._patch = [], pytest.MonkeyPatch()
        keep_mask = dropout.keep_mask

        def recorded(inputs, p):
            self.masks.append(keep_mask(inputs, p))
            return self.masks[-1]

        self._patch.setattr(dropout, "keep_mask", recorded)
        return self

    def __exit__(self, *_):
        self._patch.undo()


class Masks:
    """Which mask falls on which vector.

    Args:
        masks: as drawn.
        spec: the model's.
        batch: what was read.
        is_packed: whether the decoder's rows were packed, or steps of a whole batch.
    """

    def __init__(self, masks, spec, batch, *, is_packed):
        inner = range(1, spec.num_layers)
        places = [("source embedding", 0), *(("between encoder layers", n) for n in inner)]
        places += [("memory", 0), ("target embedding", 0)]
        places += [*(("between decoder layers", n) for n in inner), ("features", 0)]
        assert len(masks) == len(places) * (spec.dropout > 0)
        self._masks = dict(zip(places, masks, strict=False))
        self._shared, self._is_packed = spec.dropout_by_sentence, is_packed
        self._sources, self._targets = batch.source.lengths.tolist(), batch.target_lengths.tolist()

    def of(self, sentence):
        """The dropout of one sentence, as the oracle asks for it."""

        def drop(place, layer, time, vector):
            if not self._masks:
                return vector
            return vector * self._row(place, layer, sentence, time).double()

        return drop

    def _row(self, place, layer, sentence, time):
        mask, time = self._masks[place, layer], 0 if self._shared else time
        if place == "memory":
            assert mask.shape[1] == 1 or not self._shared
            return mask[sentence, time]
        is_written = place in IN_DECODER
        lengths = self._targets if is_written else self._sources
        if is_written and not self._is_packed:
            assert mask.shape[:2] == (1 if self._shared else max(lengths), len(lengths))
            return mask[time, sentence]
        assert len(mask) == (len(lengths) if self._shared else sum(lengths))
        return mask[packed_row(lengths, sentence, time)]


def packed_row(lengths, sentence, time):
    """Place of a token: first tokens first, and those of long sentences before others."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    before = sum(min(length, time) for length in lengths)
    return before + [index for index in order if lengths[index] > time].index(sentence)
