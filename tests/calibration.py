"""How honest and how sharp `seq2seq compare` is: make calibration

Translations are simulated as the tokens that a model gets right. Token t of sentence s is right for
seed i of a setting where

    a difficulty(s) + √ρ common(s, t) + √(1 - ρ) own(i, s, t) + b quality(i) < threshold

with standard normal variables: difficulty is that of the sentence for every model, common is shared
by the seeds of a setting, own is each seed's, and quality makes seeds better or worse on all
sentences. A run of n right tokens is an n-gram that is found.
"""

import sys
from itertools import combinations

import numpy as np

from judged_seeds import compare, holm
from seq2seq.evaluation.bleu import bleu_of

LEVEL = 0.05
BOUND = 0.07
"""Greatest share of false positives: three standard errors of 1,000 trials above the level."""

TRIALS, POWER_TRIALS = 1000, 400
SEEDS = (1, 3, 5)
SHARES = (0.0, 0.5, 1.0)
QUALITIES = (0.0, 0.5)
"""Standard deviation of seeds, in BLEU, on all sentences there are."""

DIFFICULTY = 0.5
THRESHOLD = -0.34
"""Where BLEU is about 38."""

ONE_BLEU = 0.029
"""Of the threshold."""


def settings(generator, num_seeds, size, share, quality=0.0, gain=0.0, count=2):
    """Statistics of some settings, the last better by a number of BLEU."""
    lengths = generator.integers(6, 21, size=size)
    exists = np.arange(20) < lengths[:, None]
    difficulty = DIFFICULTY * generator.standard_normal((size, 1))
    for better in (*(0.0,) * (count - 1), gain):
        common = generator.standard_normal((size, 20), dtype=np.float32)
        own = generator.standard_normal((num_seeds, size, 20), dtype=np.float32)
        seed = quality * ONE_BLEU * generator.standard_normal((num_seeds, 1, 1))
        noise = share**0.5 * common + (1 - share) ** 0.5 * own
        right = (difficulty + noise + seed < THRESHOLD + better * ONE_BLEU) & exists
        yield statistics_of_right_tokens(right, lengths)


def the_same_models(generator, num_seeds, size, share, quality=0.0, gain=0.0):
    """Statistics of two searches of the same models, which share most of what they get right."""
    lengths = generator.integers(6, 21, size=size)
    exists = np.arange(20) < lengths[:, None]
    difficulty = DIFFICULTY * generator.standard_normal((size, 1))
    seed = quality * ONE_BLEU * generator.standard_normal((num_seeds, 1, 1))
    own = generator.standard_normal((num_seeds, size, 20), dtype=np.float32)
    for better in (0.0, gain):
        of_search = generator.standard_normal((num_seeds, size, 20), dtype=np.float32)
        noise = (0.8 + 0.2 * share) ** 0.5 * own + (0.2 * (1 - share)) ** 0.5 * of_search
        right = (difficulty + noise + seed < THRESHOLD + better * ONE_BLEU) & exists
        yield statistics_of_right_tokens(right, lengths)


def statistics_of_right_tokens(right, lengths):
    found, run = [], right
    for order in range(1, 5):
        found.append(run.sum(axis=-1))
        run = run[..., 1:] & right[..., order:]
    total = [np.broadcast_to(np.maximum(lengths - n, 0), right.shape[:2]) for n in range(4)]
    size = np.broadcast_to(lengths, right.shape[:2])
    return np.stack([size, size, *found, *total], axis=-1).astype(np.float64)


def share_significant(trials, num_seeds, size, share=0.0, quality=0.0, gain=0.0, of=settings):
    """How often the difference is called significant."""
    found = 0
    for generator in np.random.default_rng(1).spawn(trials):
        pair = of(generator, num_seeds, size, share, quality, gain)
        found += compare(*pair, LEVEL, score=bleu_of, paired=of is the_same_models).p < LEVEL
    return found / trials


def share_of_families(trials, num_seeds, size, share, quality, count=4):
    """How often any of some settings that are equally good differs from the best, corrected for all pairs."""
    found = 0
    for generator in np.random.default_rng(2).spawn(trials):
        known = sorted(
            settings(generator, num_seeds, size, share, quality, count=count), key=lambda s: s[..., 2].sum()
        )
        pairs = list(combinations(range(count), 2))
        p = holm([compare(known[a], known[b], LEVEL / len(pairs), score=bleu_of).p for a, b in pairs])
        found += min(each for (_, b), each in zip(pairs, p, strict=True) if b == count - 1) < LEVEL
    return found / trials


def main():
    """Print the tables; the exit status says whether the bound is kept."""
    worst = 0.0
    print("| seeds | " + " | ".join(f"{s:.0%}, sd {q:g}" for q in QUALITIES for s in SHARES) + " |")
    print("| --- " * (1 + len(QUALITIES) * len(SHARES)) + "|")
    for seeds in SEEDS:
        cells = {(q, s): share_significant(TRIALS, seeds, 200, s, q) for q in QUALITIES for s in SHARES}
        # one seed cannot know how seeds differ, and says so
        worst = max([worst, *(cell for (q, _), cell in cells.items() if seeds > 1 or q == 0)])
        print(f"| {seeds} | " + " | ".join(f"{cell:.3f}" for cell in cells.values()) + " |", flush=True)
    print("\n| seeds | 0.5 BLEU | 1 BLEU | 2 BLEU |\n| --- | --- | --- | --- |")
    for seeds in SEEDS:
        cells = [share_significant(POWER_TRIALS, seeds, 1000, 0.5, 0.2, gain) for gain in (0.5, 1, 2)]
        print(f"| {seeds} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)
    print("\n| seeds | any of four equal settings, corrected |\n| --- | --- |")
    for seeds in SEEDS[1:]:
        worst = max(worst, cell := share_of_families(POWER_TRIALS, seeds, 200, 0.5, 0.5))
        print(f"| {seeds} | {cell:.3f} |", flush=True)
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
