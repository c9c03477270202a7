"""The masks of a training pass, told by what each dropout module was given and what it returned."""

import torch
from torch.nn.utils.rnn import pack_padded_sequence


class Masks:
    """Records the masks of a model while this is the context, and gives the one of each vector.

    Args:
        model: With dropout modules where the formula has dropout.
        spec: The model's.
        lengths: Numbers of target tokens; the decoder's steps have the longest sentences first, and no padding.
    """

    def __init__(self, model, spec, lengths):
        self.spec, self.calls, self._hooks = spec, {}, []
        steps = pack_padded_sequence(torch.zeros(len(lengths), int(lengths.max())), lengths, True, False)
        self.places = steps.unsorted_indices.tolist()
        self.starts = [0, *steps.batch_sizes.cumsum(0).tolist()]
        self.modules = {
            "source embedding": model.encoder.embedding_dropout,
            "between encoder layers": model.encoder.dropout,
            "memory": model.encoder.output_dropout,
            "target embedding": model.decoder.embedding_dropout,
        }
        self.in_order = not hasattr(model.decoder, "stack")  # all positions at once, with padding
        if self.in_order:
            layers = model.decoder.named_modules(prefix="decoder")
            self.modules |= {name: each for name, each in layers if name.endswith(".dropout")}
        else:
            self.modules["between decoder layers"] = model.decoder.stack.dropout
            self.modules["features"] = model.decoder.output_dropout

    def __enter__(self):
        for place, module in self.modules.items():

            def record(module, inputs, output, place=place):
                given = inputs[0].detach()
                mask = torch.where(given == 0, 1.0, output.detach() / torch.where(given == 0, 1.0, given))
                self.calls.setdefault(place, []).append(mask.double())

            self._hooks.append(module.register_forward_hook(record))
        return self

    def __exit__(self, *_):
        for hook in self._hooks:
            hook.remove()

    def check(self):
        """Hold every mask to its probability: zeros and 1 / (1 - p); one of a sentence where it is shared."""
        spec = self.spec
        own = {
            "source embedding": spec.embedding_dropout,
            "target embedding": spec.embedding_dropout,
            "memory": spec.output_dropout,
            "features": spec.output_dropout,
        }
        for place, calls in self.calls.items():
            p = spec.dropout if own.get(place) is None else own[place]
            for mask in calls:
                is_kept = (mask - 1 / (1 - p)).abs() < 0.02 / (1 - p)
                is_unknown = mask == 1  # the vector was zero there
                assert (is_kept | is_unknown | (mask == 0)).all(), place
                assert p > 0 or not (mask == 0).any(), place
                if (~is_unknown).sum() > 200 and p > 0:
                    share = (mask[~is_unknown] == 0).double().mean()
                    assert 0.4 * p < share < 2 * p, (place, float(share))

    def of(self, sentence):
        """The dropout of one sentence, as the oracle asks for it."""

        def drop(place, layer, time, vector):
            if self.in_order and place == "features":
                return vector
            calls = self.calls[place]
            if place.endswith("attention.dropout"):  # of weights (B, h, T, S); `layer` is the head
                return vector * calls[0][sentence, layer, time, : len(vector)]
            if place.endswith(".dropout"):  # several in a layer
                return vector * calls[layer][sentence, time]
            if self.in_order and place == "target embedding":
                return vector * calls[0][sentence, time]
            if place in ("source embedding", "memory"):
                (mask,) = calls
                return vector * mask[sentence, time]
            if place == "between encoder layers":
                return vector * calls[layer - 1][sentence, time]
            if place == "between decoder layers":
                return vector * calls[time * (self.spec.num_layers - 1) + layer - 1][self.places[sentence]]
            return vector * torch.cat(calls)[self.starts[time] + self.places[sentence]]

        return drop
