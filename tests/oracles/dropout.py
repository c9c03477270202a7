"""The masks of a training pass, found again by sentence and token.

They are told apart by their order alone: a mask that is drawn nowhere, twice, or for a token where
a sentence is meant, does not fit.
"""

import pytest
import torch

from seq2seq.model import layers
from tests.oracles.model import IN_DECODER


class Draws:
    """Every mask drawn while this is the context, in order."""

    def __enter__(self):
        self.masks, self._patch = [], pytest.MonkeyPatch()
        keep_mask = layers.keep_mask

        def recorded(inputs, p):
            self.masks.append(keep_mask(inputs, p))
            return self.masks[-1]

        self._patch.setattr(layers, "keep_mask", recorded)
        return self

    def __exit__(self, *_):
        self._patch.undo()


class Masks:
    """Which mask falls on which vector.

    Args:
        masks: as drawn.
        spec: the model's.
        batch: what was read.
        is_packed: whether the decoder's tokens were read all at once, packed; otherwise step by
            step.
    """

    def __init__(self, masks, spec, batch, *, is_packed):
        self._shared, self._is_packed = spec.dropout_by_sentence, is_packed
        self._sources, self._targets = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        inner = range(1, spec.num_layers)
        read = [("source embedding", 0), *(("between encoder layers", n) for n in inner)]
        written = [("target embedding", 0), *(("between decoder layers", n) for n in inner)]
        written.append(("features", 0))
        times = 1 if self._shared or is_packed else max(self._targets)
        places = [(*place, 0) for place in [*read, ("memory", 0)]]
        places += [(*place, time) for time in range(times) for place in written]
        own = {
            "source embedding": spec.embedding_dropout,
            "target embedding": spec.embedding_dropout,
            "memory": spec.memory_dropout,
            "features": spec.readout_dropout,
        }
        share = {name: spec.dropout if own.get(name) is None else own[name] for name, *_ in places}
        self._masks = dict(zip([each for each in places if share[each[0]]], masks, strict=True))
        for (name, *_), mask in self._masks.items():
            kept = mask[mask != 0]
            # 16 random bits decide
            torch.testing.assert_close(
                kept, torch.full_like(kept, 1 / (1 - share[name])), rtol=1e-4, atol=0
            )

    def of(self, sentence):
        """The dropout of one sentence, as the oracle asks for it."""

        def drop(place, layer, time, vector):
            row = self._row(place, layer, sentence, time)
            return vector if row is None else vector * row.double()

        return drop

    def _row(self, place, layer, sentence, time):
        if not any(place == name for name, *_ in self._masks):
            return None
        if place in IN_DECODER:
            return self._row_of_decoder(place, layer, sentence, time)
        mask, lengths = self._masks[place, layer, 0], self._sources
        time = 0 if self._shared else time
        if place == "memory":
            assert mask.shape[:2] == (len(lengths), 1 if self._shared else max(lengths))
            return mask[sentence, time]
        assert len(mask) == (len(lengths) if self._shared else sum(lengths))
        return mask[packed_row(lengths, sentence, time)]

    def _row_of_decoder(self, place, layer, sentence, time):
        packed = self._is_packed and not self._shared
        mask = self._masks[place, layer, 0 if packed or self._shared else time]
        assert len(mask) == (sum(self._targets) if packed else len(self._targets))
        return mask[packed_row(self._targets, sentence, time) if packed else sentence]


def packed_row(lengths, sentence, time):
    """Place of a token: first tokens first, and those of long sentences before others."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    before = sum(min(length, time) for length in lengths)
    return before + [index for index in order if lengths[index] > time].index(sentence)
