"""What the effects of source tokens cost a training with `data=grammar`: python -m benchmarks.effect

Training steps and the effects of the 16 recorded sentences alternate, so that other work on the machine slows both. Printed are
medians of the process time, and the share of a training of 1,668 steps with a validation after each of three epochs.
Goal: 10 % at most.
"""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch.nn import functional as F  # noqa: N812 (its usual name)

from seq2seq.data import GrammarCorpus
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.folders import model_path
from seq2seq.decoding.effect import log_probabilities
from seq2seq.decoding.forced import force_decode
from seq2seq.models.folder import load_model_folder
from tensorboard_attention import leave_one_out

STEPS, VALIDATIONS, ROUNDS, SENTENCES, BATCH = 1668, 3, 15, 16, 36


def seconds(work: Callable[[], object]) -> float:
    """Return the process time of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    """Measure, and print medians."""
    torch.set_num_threads(1)
    saved = load_model_folder(model_path("grammar-en-fr"))
    pairs = GrammarCorpus().read().validation
    sources, targets = (
        tokenizer.encode_all([getattr(pair, side) for pair in pairs])
        for side, tokenizer in (("source", saved.source_tokenizer), ("target", saved.target_tokenizer))
    )
    split = EncodedSplit(pairs, Sentences.from_lists(sources), Sentences.from_lists(targets))
    model, optimizer = saved.model, torch.optim.Adam(saved.model.parameters())
    recorded = Batch.from_split(split, range(SENTENCES))

    def step(place: int) -> None:
        batch = Batch.from_split(split, range(place * BATCH % 400, place * BATCH % 400 + BATCH))
        is_token = batch.target_is_token
        features, _ = model.train()(batch)
        loss = F.cross_entropy(model.decoder.output(features[is_token]), batch.target_output[is_token])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def effects() -> None:
        model.eval()
        force_decode(model, recorded)
        for place, length in enumerate(recorded.source.lengths.tolist()):
            leave_one_out(partial(log_probabilities, model, recorded, place), length)

    effects()  # imports
    of_steps, of_effects = list[float](), list[float]()
    for place in range(ROUNDS):
        of_steps.append(seconds(lambda: step(place)))  # noqa: B023
        of_effects.append(seconds(effects))
    one, other = statistics.median(of_steps), statistics.median(of_effects)
    share = VALIDATIONS * other / (STEPS * one + VALIDATIONS * other)
    print(
        f"step {1000 * one:.1f} ms, effects {1000 * other:.1f} ms: {share:.1%}, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
