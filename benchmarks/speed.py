"""Compare the speed of this program with that of another commit on the CPU: ``python -m benchmarks.speed FOLDER``

FOLDER is a clone of the other commit (``git worktree add FOLDER 8eb7ff6``); with ``--joey JOEY/bin/python`` decoding is
compared with JoeyNMT, see ``benchmarks/joey_decoding.py``. Both programs compute the same batches of random tokens with the
lengths of Multi30k (13 ± 4), sorted by length as the data module sorts them, through their public classes: one thread, process time, in turns, each program in a process of its own. Ratios are medians over the turns of
the other program's time by this one's: below 1, this program is slower.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

SIZES = {
    "default": {"embedding": 128, "encoder": 128, "decoder": 256, "readout": 128, "layers": 1, "vocabulary": 1300, "batch": 36,
                "tying": "output", "token": False, "drops": (0.05, 0.05), "smoothing": 0.0},
    "recipe": {"embedding": 256, "encoder": 256, "decoder": 384, "readout": 256, "layers": 1, "vocabulary": 8000, "batch": 128,
               "tying": "all", "token": True, "drops": (0.3, 0.5), "smoothing": 0.1},
    "two_layers": {"embedding": 256, "encoder": 256, "decoder": 256, "readout": None, "layers": 2, "vocabulary": 7882,
                   "batch": 128, "tying": "none", "token": False, "drops": (0.2, 0.2), "smoothing": 0.0},
}  # fmt: skip
BEAM = 5
KINDS = "step", "greedy", f"beam {BEAM}"


def main() -> None:
    """Let both programs take turns, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="clone of another commit")
    parser.add_argument("--joey", help="Python with JoeyNMT, in the place of the other commit: decoding only")
    parser.add_argument("--turns", type=int, default=5, help="turns of each program (default: 5)")
    parser.add_argument("--batches", type=int, default=4, help="batches of a turn (default: 4)")
    parser.add_argument("--sizes", nargs="+", default=[*SIZES], choices=SIZES)
    parser.add_argument("--numbers", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=KINDS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.sizes[0], options.numbers[0], options.batches)
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, one thread; Python {platform.python_version()}")
    print(
        "| size | numbers | what | this, a second | other, a second | ratio (quartiles) | peak memory, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    folders = Path(__file__).parents[1], options.folder
    for size in options.sizes:
        for numbers in options.numbers:
            workers = [start(folder, size, numbers, options.batches) for folder in folders]
            if options.joey:
                workers[1] = start_joey(options.joey, size, options.batches)
            for kind in options.kinds:
                turns = [[turn(worker, kind) for worker in workers] for _ in range(options.turns + 1)][1:]
                ratios = sorted(other[0] / this[0] for this, other in turns)
                low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
                rates = [
                    statistics.median(each[1] / each[0] for each in side) for side in zip(*turns, strict=True)
                ]
                memory = " / ".join(f"{each[2]:,.0f}" for each in turns[-1])
                unit = "tokens" if kind == "step" else "sentences"
                print(f"| {size} | {numbers} | {kind}, {unit} | {rates[0]:,.0f} | {rates[1]:,.0f} | "
                      f"{middle:.2f} ({low:.2f} to {high:.2f}) | {memory} |", flush=True)  # fmt: skip
            for worker in workers:
                worker.stdin.close()
                worker.wait()


def start(folder: Path, size: str, numbers: str, batches: int) -> subprocess.Popen:
    """Start a process with the program of a folder; it waits for kinds of work."""
    environment = os.environ | {"PYTHONPATH": str(folder.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    options = ["--worker", "--sizes", size, "--numbers", numbers, "--batches", str(batches)]
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), str(folder), *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def start_joey(python: str, size: str, batches: int) -> subprocess.Popen:
    """Start a process with JoeyNMT."""
    file = Path(__file__).with_name("joey_decoding.py")
    return subprocess.Popen(
        [python, str(file), size, str(batches)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def random_batches(
    size: dict, num_batches: int, *, decoding: bool
) -> list[tuple[list[list[int]], list[list[int]]]]:
    """Return ids of the sources and targets of batches, sorted by length as the data module sorts them."""
    import numpy as np

    random = np.random.default_rng(1)
    count = size["batch"] * 50
    sources = np.clip(random.normal(13, 4, count).round(), 4, 40).astype(int)
    targets = np.clip((sources + random.normal(0, 2, count)).round(), 4, 42).astype(int)
    order = np.argsort(sources, kind="stable") if decoding else np.lexsort((sources, targets))
    batches = []
    for place in random.permutation(50)[:num_batches]:
        rows = order[place * size["batch"] :][: size["batch"]]
        sides = [
            [random.integers(4, size["vocabulary"], length).tolist() for length in lengths[rows]]
            for lengths in (sources, targets)
        ]
        batches.append(tuple(sides))
    return batches


def turn(worker: subprocess.Popen, kind: str) -> list[float]:
    """Let a process do a kind of work; return seconds, the number of tokens or sentences, and peak memory."""
    worker.stdin.write(f"{kind}\n")
    worker.stdin.flush()
    return [float(number) for number in worker.stdout.readline().split()]


def work(size: str, numbers: str, num_batches: int) -> None:
    """Do the work that standard input names, and print what `turn` reads."""
    import torch

    from seq2seq.attention import AdditiveScore, Attention
    from seq2seq.data import Batch, EncodedSplit
    from seq2seq.data.batch import Sentences
    from seq2seq.decoding.greedy import greedy_search
    from seq2seq.decoding.search import LengthPenalty, beam_search
    from seq2seq.models import BahdanauDecoder, GRUEncoder, build_model
    from seq2seq.models.limits import LengthLimits
    from seq2seq.training import TranslationModule

    torch.set_num_threads(1)
    torch.manual_seed(1)
    s = SIZES[size]
    batches = {
        decoding: [
            Batch.from_split(EncodedSplit([], *map(Sentences.from_lists, sides)), range(len(sides[0])))
            for sides in random_batches(s, num_batches, decoding=decoding)
        ]
        for decoding in (False, True)
    }

    options = {"embedding_dropout": s["drops"][0], "dropout": s["drops"][1], "num_layers": s["layers"]}
    model = build_model(
        encoder=partial(GRUEncoder, hidden_size=s["encoder"], **options),
        decoder=partial(BahdanauDecoder, attention=partial(Attention, score=AdditiveScore), hidden_size=s["decoder"],
                        readout_size=s["readout"], query_with_embedding=s["token"], **options),
        source_vocab_size=s["vocabulary"], target_vocab_size=s["vocabulary"], embedding_size=s["embedding"],
        tie_embeddings=s["tying"],
    )  # fmt: skip
    module = TranslationModule(model, label_smoothing=s["smoothing"])
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    limits = LengthLimits(min_ratio=1.0, max_ratio=1.0, max_extra=0)
    mixed = partial(torch.autocast, "cpu", torch.bfloat16, enabled=numbers == "bf16")

    def do(kind: str) -> int:
        model.train(kind == "step")
        for batch in batches[kind != "step"]:
            if kind == "step":
                optimizer.zero_grad()
                with mixed():
                    sums = module.cross_entropy(batch, module(batch)[0])
                objective = sums.objective if hasattr(sums, "objective") else sums.smoothed  # of 8eb7ff6
                (objective / sums.num_tokens).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                continue
            with torch.inference_mode(), mixed():
                if kind == "greedy":
                    greedy_search(model, batch.source, limits=limits)
                else:
                    beam_search(
                        model, batch.source, size=BEAM, penalty=LengthPenalty("average"), limits=limits
                    )
        if kind == "step":
            return sum(int(batch.target_lengths.sum()) for batch in batches[False])
        return sum(map(len, batches[True]))

    for line in sys.stdin:
        started = time.process_time()
        done = do(line.strip())
        seconds = time.process_time() - started
        print(seconds, done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)


if __name__ == "__main__":
    main()
