"""Makes small corpora in files and stores of them."""

import random
from dataclasses import replace

from seq2seq.text.chunk_encoding import EncodingRules
from seq2seq.text.codec import CodecSettings
from seq2seq.text.corpus import SentencePair, Shard
from seq2seq.text.corpus_store import Recipe, open_corpus

WORDS = CodecSettings("word", "word", False, False, 1, None)
SUBWORDS = CodecSettings("unigram", "unigram", False, True, 1, 400)
RULES = EncodingRules(max_length=9, truncate=False, held_out=0.0, split_seed=1, keep_text=True)


class Notes:
    """Counts what a build reports; `at_each_step` is called as it goes on."""

    def __init__(self, at_each_step=lambda: None):
        self.events = []
        self._at_each_step = at_each_step

    def begin(self, part, line, num_pairs=None):
        self.events.append(part)

    def advance(self, num_pairs):
        self._at_each_step()


def pairs_of(count, seed=1):
    """Random pairs of 0 to 12 words, some of them blank."""
    generator = random.Random(seed)
    words = [f"w{number}é" for number in range(60)]
    sources = [" ".join(generator.choices(words, k=generator.randint(0, 12))) for _ in range(count)]
    return [SentencePair(text, text[::-1] if i % 17 else " ") for i, text in enumerate(sources)]


def write_shards(folder, pairs, num_shards=2):
    folder.mkdir(exist_ok=True)
    size = -(-len(pairs) // num_shards)
    shards = []
    for number in range(num_shards):
        part = pairs[number * size : (number + 1) * size]
        shard = Shard(folder / f"{number}.source", folder / f"{number}.target")
        shard.source.write_text("".join(f"{pair.source}\n" for pair in part), "utf-8")
        shard.target.write_text("".join(f"{pair.target}\n" for pair in part), "utf-8")
        shards.append(shard)
    return tuple(shards)


def recipe_of(shards, settings=WORDS, **rules):
    return Recipe(shards, ("en", "fr"), settings, None, replace(RULES, **rules))


def opened(root, recipe, notes=None, num_processes=1):
    report = notes or Notes()
    return open_corpus(root, recipe, report=report, num_processes=num_processes)


def contents(root):
    """Every file below a folder, but for the locks."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def build(root, recipe, num_processes, results=None):
    """What a process does that is going to be killed, or to find that another one builds."""
    notes = Notes()
    opened(root, recipe, notes, num_processes)
    if results is not None:
        results.put(notes.events)
