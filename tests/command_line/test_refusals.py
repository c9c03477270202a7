"""Wrong inputs, as a user types them, and the one line that answers each."""

import gzip
import sys

import pytest
import torch

from seq2seq.commands import train
from seq2seq.model.build import build_seq2seq

LANGUAGES = "data.source_language=en data.target_language=fr"
PARALLEL = f"data=parallel {LANGUAGES} data.validation.fraction=0.3"
FILES = f"{PARALLEL} data.train.source=a.en data.train.target=a.fr"
TATOEBA = "data=tatoeba data.file=pairs.txt"
MULTI30K = "data=multi30k data.download=false data.root"
KEYS = "see python train.py --help"

REFUSED = {
    # keys and groups
    "=3": "'=3' has no key: write key=value",
    "x=": f"x: there is no such key; {KEYS}",
    "lr=3": f"lr: there is no such key, did you mean optim.learning_rate?; {KEYS}",
    "optim.lr=3": f"optim.lr: there is no such key, did you mean optim.learning_rate?; {KEYS}",
    "+model.dropuot=3": (
        "dropuot: there is no such key, did you mean attention.dropout or model.dropout?; " + KEYS
    ),
    "~foo": f"foo: there is no such key; {KEYS}",
    "~optim.learning_rate": (
        "~optim.learning_rate: a key cannot be removed; set it to null where it may be null"
    ),
    "data.file=x": "data.file: the chosen data has no such key; data=tatoeba has it",
    "seed": "'seed' cannot be read: write key=value, and quote special signs",
    "name=[1": "'name=[1' cannot be read: write key=value, and quote special signs",
    "data=multi31k": (
        "data=multi31k: no such choice, did you mean multi30k?; "
        "there are grammar, hf, multi30k, parallel, tasks, tatoeba"
    ),
    "data=": "data=: no such choice; there are grammar, hf, multi30k, parallel, tasks, tatoeba",
    "device=3": "device=3: no such choice; there are auto, cpu, ddp, gpu, mps",
    "experiment=basline": (
        "experiment=basline: no such choice, did you mean baseline?; there are baseline, dates, "
        "multi30k_de_en, multi30k_en_de, multi30k_en_fr, numbers, quick, reverse, speedrun, "
        "speedrun_1, textbook"
    ),
    "debug=dat": (
        "debug=dat: no such choice, did you mean data?; there are data, fast, overfit, profile"
    ),
    "~data": "data is needed: add data=…",
    "+data=grammar": "data is chosen more than once: write data=… once, without +",
    "data.tokenizer=word": (
        "data.tokenizer=word: data.tokenizer is a section; set its keys, data.tokenizer.joint, "
        "data.tokenizer.lowercase, data.tokenizer.max_size, data.tokenizer.min_frequency…"
    ),
    "--multirn": (
        "--multirn: there is no such option, did you mean --multirun?; "
        f"values are set by key=value, {KEYS}"
    ),
    "seed=1,2 -m name=x": (
        "unrecognized arguments: name=x: every key=value stands before the options, or behind "
        f"them, {KEYS}"
    ),
    "seed=1 --config-dir": (
        "argument --config-dir/-cd: expected one argument: every key=value stands before the "
        f"options, or behind them, {KEYS}"
    ),
    "--cfg=jobs": "--cfg jobs: no such choice, did you mean job?; there are job, hydra, all",
    # values
    "optim.learning_rate=abc": (
        "optim.learning_rate=abc is wrong: optim.learning_rate takes a number, 1e-09 to 100"
    ),
    "trainer.max_epochs=1.5": (
        "trainer.max_epochs=1.5 is wrong: trainer.max_epochs takes a whole number, 1 or more"
    ),
    "seed=": "seed= is wrong: seed takes a whole number, 0 to 4294967295",
    "seed=1,2": "seed=1,2 is several values: write one, or add --multirun (from Python: "
    "seq2seq.sweep)",
    "seed=${foo}": "seed: Interpolation key 'foo' not found; write the value itself",
    "model.bidirectional=maybe": (
        "model.bidirectional=maybe is wrong: model.bidirectional takes true or false"
    ),
    "name=[1]": "name=[1] is wrong: name takes text; or null",
    "optim.schedule=consine": (
        "optim.schedule=consine is wrong: "
        "optim.schedule takes one of constant, cosine, plateau, did you mean cosine?"
    ),
    "data.tokenizer.name=mosses": (
        "data.tokenizer.name=mosses is wrong: data.tokenizer.name takes one of word, "
        "basic_english, moses, character, whitespace, unigram, bpe, did you mean moses?"
    ),
    "data=multi30k data.test_set=coco": (
        "data.test_set=coco is wrong: "
        "data.test_set takes one of flickr_2016, flickr_2017, coco_2017"
    ),
    "optim.learning_rate=-1": (
        "optim.learning_rate=-1.0 is out of range: greatest learning rate, from 1e-09 to 100"
    ),
    "model.dropout=nan": (
        "model.dropout=nan is out of range: "
        "of embeddings, between layers, of outputs; null: by the passes over the corpus, "
        "from 0 to 0.95"
    ),
    "model.num_layers=0": (
        "model.num_layers=0 is out of range: layers of encoder and decoder, from 1 to 16"
    ),
    # values that do not go together
    "model.decoder=plain": (
        "model.decoder=plain does not go with model.initial_state=zeros: "
        "set model.initial_state=encoder"
    ),
    "model.tying=all": (
        "model.tying=all needs one vocabulary for both languages: set data.tokenizer.joint=true"
    ),
    "model.tying=output model.readout_size=null": (
        "model.tying=output needs outputs of the embedding's size, not 256: "
        "set model.readout_size=128"
    ),
    f"{FILES} data.tokenizer.max_size=100": (
        "data.tokenizer.max_size=100 does not go with SentencePiece: "
        "give at least 261, for example 6000"
    ),
    f"{FILES} data.tokenizer.target_name=word": (
        "data.tokenizer.joint=true needs one tokenizer, not bpe and word: "
        "set data.tokenizer.joint=false"
    ),
    "optim.schedule=plateau": (
        "optim.schedule=plateau does not go with optim.warmup_steps=100: set optim.warmup_steps=0"
    ),
    "recipe=textbook trainer.early_stopping=1": (
        "trainer.early_stopping needs a metric: set trainer.monitor=loss or another"
    ),
    "trainer.monitor=blue": (
        "trainer.monitor=blue is wrong: trainer.monitor takes one of loss, perplexity, accuracy, "
        "aer, bleu, chrf, token_errors, exact, last, did you mean bleu?"
    ),
    "trainer.monitor=ter": (
        "trainer.monitor=ter is wrong: trainer.monitor takes one of loss, perplexity, accuracy, "
        "aer, bleu, chrf, token_errors, exact, last, did you mean aer?"
    ),
    # languages
    "data.source_language=de": (
        "data=grammar translates en to fr only: "
        "remove data.source_language and data.target_language"
    ),
    "data=multi30k data.target_language=german": (
        "data.target_language=german: Multi30k has no such language, did you mean de?; "
        "there are en, de, fr, cs"
    ),
    "data=multi30k data.target_language=en": (
        "data.source_language and data.target_language are both en: "
        "set data.target_language to another, de, fr, cs"
    ),
    "data=multi30k data.target_language=cs data.test_set=flickr_2017": (
        "data.test_set=flickr_2017: Multi30k does not have it in cs: set data.test_set=flickr_2016"
    ),
    f"{FILES} data.source_language=English": (
        "data.source_language=English is no language code, did you mean en?; "
        "write it as in en, de or pt-BR"
    ),
    f"{FILES} data.tokenizer.name=basic_english": (
        "data.tokenizer: basic_english splits English only, not fr: "
        "choose word or moses for this language"
    ),
    # files
    f"{MULTI30K}=absent": (
        "data.root=absent has no train.en.gz: give the folder of the published files, or set "
        "data.download=true"
    ),
    "data=parallel": "data.source_language is needed: add data.source_language=…",
    f"{PARALLEL} data.train.source=a.en": ("data.train.target is needed: add data.train.target=…"),
    f"{PARALLEL} data.train.source=a.en data.train.target=a.en": (
        "data.train.source and data.train.target are both a.en: give two files"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=b.fr": (
        "b.fr does not exist: did you mean a.fr?"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=folder": (
        "folder is a folder: give a text file, plain or .gz"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=empty": (
        "empty is empty: give a file with one sentence a line"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=short": (
        "a.en has 4 lines but short has 2: line n of one must translate line n of the other; "
        "the first line without a partner is 3"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=latin1": (
        "latin1, line 1: byte 0xe9 is not UTF-8: convert the file, for example with iconv -t UTF-8"
    ),
    f"{PARALLEL} data.train.source=a.en data.train.target=damaged.gz": (
        "damaged.gz is a damaged gzip file (Compressed file ended before the end-of-stream marker "
        "was reached): fetch it again"
    ),
    f"{FILES} data.validation.source=a.en": (
        "data.validation.target is needed: give both files or neither"
    ),
    f"{FILES} data.validation.fraction=null": (
        "data.validation needs either source and target files or a fraction of the training "
        "pairs, for example data.validation.fraction=0.02"
    ),
    f"{FILES} data.test.target=a.fr": "data.test.source is needed: give both files or neither",
    f"{TATOEBA}.gz": "pairs.txt.gz does not exist: did you mean pairs.txt?",
    "data=tatoeba data.file=a.en": (
        "a.en, line 1: no tab: give source and target separated by a tab"
    ),
    TATOEBA: "4 training pairs are too few to hold out 1,000 of them",
    f"{TATOEBA} data.validation_pairs=1 data.test_pairs=1 data.train_pairs=9": (
        "data.train_pairs=9: pairs.txt leaves 2 pairs for training: "
        "ask for fewer, or set data.train_pairs=null"
    ),
    f"{TATOEBA} data.in_order=true": "data.train_pairs is needed with data.in_order=true",
    f"{TATOEBA} data.in_order=true data.train_pairs=3": (
        "4 pairs are too few for 3 training, 1,000 validation and 1,000 test pairs: ask for fewer"
    ),
    f"data=hf data.dataset=./absent {LANGUAGES}": (
        "data.dataset=./absent: there is no such folder"
    ),
    f"data=hf data.dataset=x {LANGUAGES} data.validation_split=null": (
        "data.validation_split and data.validation_fraction: give one of them, for example "
        "data.validation_split=validation, and set the other to null"
    ),
    "runs_dir=/proc/here name=x data.train_pairs=2 data.validation_pairs=5 data.test_pairs=5": (
        "/proc/here/baseline/x cannot be made or locked (No such file or directory): "
        "set runs_dir to a folder of yours"
    ),
    # what is wrong whatever the text is, before that is found not to be there
    "attention.score=adition data.folder=absent": (
        "attention.score: unknown score 'adition', did you mean 'additive'? "
        "known scores: additive, average, bilinear, dot, gaussian, scaled_dot"
    ),
    "model.decoder=bahdanaw data.folder=absent": (
        "model.decoder: unknown decoder 'bahdanaw', did you mean 'bahdanau'? "
        "known decoders: bahdanau, conditional, luong, context, plain"
    ),
    "attention.heads=9 model.decoder_hidden_size=8 data.folder=absent": (
        "the model cannot be built: attention.heads=9 share 8 numbers of the query and 256 of the "
        "memory: lower it"
    ),
    "init_from=absent data.train_pairs=20 data.validation_pairs=5 data.test_pairs=5": (
        "absent holds no model.json: give a run folder or its model/ folder"
    ),
}


BUILD_MODEL = "seq2seq.runs.making.model.build_seq2seq"


def without_memory(spec):
    """`build_seq2seq`, where it takes no memory."""
    if torch.get_default_device().type != "meta":
        pytest.fail("built a model")
    return build_seq2seq(spec)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working folder with files of every wrong kind."""
    contents = {
        "a.en": b"one\ntwo\nthree\nfour\n",
        "a.fr": b"un\ndeux\ntrois\nquatre\n",
        "short": b"un\ndeux\n",
        "empty": b"",
        "latin1": "né\nb\nc\nd\n".encode("latin-1"),
        "damaged.gz": gzip.compress(b"un\n" * 999)[:-12],
        "pairs.txt": b"one\tun\ntwo\tdeux\nthree\ttrois\nfour\tquatre\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)


def test_the_table_is_long_enough():
    assert len(set(REFUSED.values())) >= 40


@pytest.mark.parametrize("command", REFUSED)
def test_wrong_input_is_refused_with_this_line(files, command, monkeypatch, capsys):
    if "data=hf" in command:
        pytest.importorskip("datasets", reason="needs the extra hf")
    monkeypatch.setattr(BUILD_MODEL, without_memory)
    monkeypatch.setattr(sys, "argv", ["train.py", *command.split()])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    status = train.main()
    assert capsys.readouterr().err == f"error: {REFUSED[command]}\n"
    assert status == 2
