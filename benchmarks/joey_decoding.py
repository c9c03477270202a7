"""Decode with JoeyNMT's GRU for `benchmarks/speed.py`, which starts this file with ``--joey JOEY/bin/python``.

JOEY is an environment with ``pip install joeynmt==2.3.0 importlib_metadata``. Its attention is Bahdanau's, fed into the next
step, as in this program. Sizes, sentences and lengths of translations are those of `benchmarks.speed`, and the weights are random.
"""

import resource
import sys
import time
from types import SimpleNamespace

import torch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from speed import BEAM, SIZES, random_batches


def main() -> None:
    """Do the work that standard input names, and print seconds, sentences and peak memory in MB."""
    size, num_batches = SIZES[sys.argv[1]], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    special = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
    options = {f"{name}_id": place for name, place in special.items()}
    options |= {f"{name}_token": f"<{name}>" for name in special}
    vocabulary = Vocabulary(
        [str(number) for number in range(size["vocabulary"] - len(special))],
        SimpleNamespace(lang_tags=[], sep_token=None, **options),
    )
    embeddings = {"embedding_dim": size["embedding"]}
    part = {"type": "recurrent", "rnn_type": "gru", "embeddings": embeddings, "num_layers": size["layers"]}
    model = build_model(
        {
            "encoder": part | {"hidden_size": size["encoder"], "bidirectional": True},
            "decoder": part | {"hidden_size": size["decoder"], "attention": "bahdanau"},
            "tied_embeddings": size["tying"] == "all",
            "tied_softmax": size["tying"] != "none" and size["embedding"] == size["decoder"],
        },
        vocabulary,
        vocabulary,
    )
    model.eval()
    batches = []
    for sources, _ in random_batches(size, num_batches, decoding=True):
        sources.sort(key=len, reverse=True)  # as JoeyNMT asks for
        ids = torch.full((len(sources), max(map(len, sources))), 1)
        for row, source in zip(ids, sources, strict=True):
            row[: len(source)] = torch.tensor(source)
        lengths = torch.tensor([*map(len, sources)])
        batches.append(
            SimpleNamespace(
                src=ids, src_length=lengths, src_mask=(ids != 1).unsqueeze(1), has_trg=False, trg_prompt_mask=None
            )
        )  # fmt: skip
    for line in sys.stdin:
        beam = BEAM if line.startswith("beam") else 1
        started = time.process_time()
        for batch in batches:
            most = batch.src.shape[1]
            search(model, batch, most, beam, 1.0, min_output_length=most)
        seconds = time.process_time() - started
        count = sum(len(batch.src) for batch in batches)
        print(seconds, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)


if __name__ == "__main__":
    main()
