"""Measure training steps and searches on the CPU: ``python -m benchmarks.speed [--against CLONE]``

Times of one thread by its own clock, on batches of random tokens with the lengths of Multi30k (13 ± 4), sorted by
length as the data module sorts them. With a clone of commit 2fbdffe, the program before version 0.3, both programs
take turns, each in a process of its own, and the table has medians of the ratios of turns. Without one, `module.fast`
is compared with the model's own `forward` and `step`. int8 is for searches; the other program, which has no int8,
then computes in bf16.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

SIZES = {
    "recipe": {"embedding": 256, "encoder": 256, "decoder": 384, "readout": 256, "vocabulary": 8000, "batch": 128,
               "tying": "all", "token": True, "drops": (0.3, 0.5), "smoothing": 0.1},
    "default": {"embedding": 128, "encoder": 128, "decoder": 256, "readout": 128, "vocabulary": 1800, "batch": 36,
                "tying": "output", "token": False, "drops": (0.05, 0.05), "smoothing": 0.0},
}  # fmt: skip
NUM_BATCHES, BEAM = 8, 5
KINDS = "step", "greedy", f"beam {BEAM}"


def main() -> None:
    """Compare, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, metavar="CLONE", help="clone of commit 2fbdffe")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(*options.worker)
        return
    import torch

    here = Path(__file__).parents[1]
    other = ("2fbdffe", options.against) if options.against else ("plain", here)
    print(
        f"{processor()}, {os.cpu_count()} cores, one thread; Python {platform.python_version()}, torch {torch.__version__}"
    )
    print(
        f"| size | numbers | what | fast, a second | {other[0]} | ratio | peak memory, MB |\n|---|---|---|---|---|---|---|"
    )
    for size in SIZES:
        for numbers in ("fp32", "bf16", "int8"):
            workers = {name: start(name, folder, size, numbers) for name, folder in (("fast", here), other)}
            for kind in KINDS[numbers == "int8" :]:
                times: dict[str, list[list[float]]] = {name: [] for name in workers}
                for _ in range(options.rounds):
                    for name, worker in workers.items():
                        worker.stdin.write(f"{kind}\n")
                        worker.stdin.flush()
                        times[name].append([float(each) for each in worker.stdout.readline().split()])
                ratio = statistics.median(
                    theirs[0] / ours[0] for ours, theirs in zip(times["fast"], times[other[0]], strict=True)
                )
                rates = [statistics.median(turn[1] / turn[0] for turn in each) for each in times.values()]
                memory = " / ".join(f"{each[-1][2]:,.0f}" for each in times.values())
                unit = "tokens" if kind == "step" else "sentences"
                print(f"| {size} | {numbers} | {kind}, {unit} | {rates[0]:,.0f} | {rates[1]:,.0f} | {ratio:.2f} | {memory} |",
                      flush=True)  # fmt: skip
            for worker in workers.values():
                worker.stdin.close()
                worker.wait()


def processor() -> str:
    """Return the name of the processor."""
    for line in (
        Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if Path("/proc/cpuinfo").exists()
        else ()
    ):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def start(name: str, folder: Path, size: str, numbers: str) -> subprocess.Popen:
    """Start a worker with the program of a folder; it waits for kinds of work."""
    environment = os.environ | {"PYTHONPATH": str(folder.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, size, numbers]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
    )


def serve(name: str, size: str, numbers: str) -> None:
    """Do the work that standard input names; print seconds, the number of tokens or sentences, and peak memory."""
    import resource

    import numpy as np
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    s, draw = SIZES[size], np.random.default_rng(1)
    count = s["batch"] * 50
    sources = np.clip(draw.normal(13, 4, count).round(), 4, 40).astype(int)
    targets = np.clip((sources + draw.normal(0, 2, count)).round(), 4, 42).astype(int)
    order = np.lexsort((sources, targets))
    chosen = draw.permutation(50)[:NUM_BATCHES]
    tokens = [
        [[draw.integers(4, s["vocabulary"], length).tolist() for length in side[order[at * s["batch"] :][: s["batch"]]]]
         for side in (sources, targets)]
        for at in chosen
    ]  # fmt: skip
    model, batch_of, forward, loss, search = (old if name == "2fbdffe" else new)(s, fast=name == "fast")
    if numbers == "int8" and name == "fast":
        from seq2seq.decoding.int8 import quantized

        search = partial(search, quantized(model.eval()))
    else:
        search = partial(search, model)
    mixed = partial(
        torch.autocast,
        "cpu",
        torch.bfloat16,
        enabled=numbers == "bf16" or (numbers == "int8" and name == "2fbdffe"),
    )
    batches = [batch_of(*pair) for pair in tokens]
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    num_tokens = sum(len(sentence) + 1 for _, side in tokens for sentence in side)

    def work(kind: str) -> int:
        model.train(kind == "step")
        if kind != "step":
            with torch.inference_mode(), mixed():
                for batch in batches[: NUM_BATCHES // 2]:
                    search(batch.source, 1 if kind == "greedy" else BEAM)
            return NUM_BATCHES // 2 * s["batch"]
        for batch in batches:
            optimizer.zero_grad()
            with mixed():
                sums = loss(forward(batch), model.decoder.output, batch.target_output, batch.target_is_token,
                            label_smoothing=s["smoothing"])  # fmt: skip
            (sums.objective / sums.num_tokens).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return num_tokens

    warm = set()
    for line in sys.stdin:
        kind = line.strip()
        if kind not in warm:
            work(kind)
            warm.add(kind)
        started = time.process_time()
        done = work(kind)
        seconds = time.process_time() - started
        print(seconds, done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)


def new(s, *, fast):
    """Return the model of this program, and how it makes batches, computes, and searches."""
    from seq2seq.attention import AdditiveScore, Attention
    from seq2seq.data import Batch, EncodedSplit
    from seq2seq.data.batch import Sentences
    from seq2seq.decoding.search import LengthPenalty, beam_search, greedy_search
    from seq2seq.models import BahdanauDecoder, GRUEncoder, build_model
    from seq2seq.models.limits import LengthLimits
    from seq2seq.training.losses import token_cross_entropy

    drops = {"embedding_dropout": s["drops"][0], "dropout": s["drops"][1]}
    model = build_model(
        encoder=partial(GRUEncoder, hidden_size=s["encoder"], **drops),
        decoder=partial(BahdanauDecoder, attention=partial(Attention, score=AdditiveScore), hidden_size=s["decoder"],
                        readout_size=s["readout"], query_with_embedding=s["token"], **drops),
        source_vocab_size=s["vocabulary"], target_vocab_size=s["vocabulary"], embedding_size=s["embedding"],
        tie_embeddings=s["tying"],
    )  # fmt: skip
    limits = LengthLimits(min_ratio=1.0, max_ratio=1.0, max_extra=0)

    def batch_of(source, target):
        split = EncodedSplit([], Sentences.from_lists(source), Sentences.from_lists(target))
        return Batch.from_split(split, list(range(len(source))))

    def forward(batch):
        return model(batch)[0]

    def search(model, source, size):
        if size == 1:
            return greedy_search(model, source, limits=limits)
        return beam_search(model, source, size=size, penalty=LengthPenalty("average"), limits=limits)

    return model, batch_of, forward, token_cross_entropy, search


def old(s, *, fast):
    """Return the same of commit 2fbdffe."""
    del fast
    from seq2seq.decoding.beam import beam_search
    from seq2seq.decoding.greedy import greedy_search
    from seq2seq.decoding.lengths import LengthBounds, LengthPenalty
    from seq2seq.model.build import build_seq2seq
    from seq2seq.model.spec import ModelSpec
    from seq2seq.text.batch import Batch
    from seq2seq.text.corpus import SentencePair
    from seq2seq.text.store import EncodedSplit, TokenStore
    from seq2seq.training.loss import token_cross_entropy

    spec = ModelSpec(
        source_vocabulary_size=s["vocabulary"], target_vocabulary_size=s["vocabulary"], padding_id=1,
        embedding_size=s["embedding"], encoder_hidden_size=s["encoder"], decoder_hidden_size=s["decoder"],
        num_layers=1, bidirectional=True, dropout=s["drops"][1], embedding_dropout=s["drops"][0],
        readout_size=s["readout"], tying=s["tying"], score="additive", attention_size=128, attention_dropout=0.0,
        query="state_and_token" if s["token"] else "state",
    )  # fmt: skip
    model, bounds = build_seq2seq(spec), LengthBounds(min_factor=1.0, max_factor=1.0, max_extra=0)

    def batch_of(source, target):
        pairs = [SentencePair("", "")] * len(source)
        sides = TokenStore.from_sentences(source), TokenStore.from_sentences(target)
        return Batch.from_split(
            EncodedSplit(pairs, *sides, num_blank=0, num_long=0), list(range(len(source)))
        )

    def forward(batch):
        source = batch.source
        targets = batch.target_input, batch.target_lengths
        return model(source.ids, source.lengths, source.is_token, *targets).features

    def search(model, source, size):
        if size == 1:
            return greedy_search(model, source, bounds=bounds)
        return beam_search(model, source, size=size, penalty=LengthPenalty("average"), bounds=bounds)

    return model, batch_of, forward, token_cross_entropy, search


if __name__ == "__main__":
    main()
