"""Every claim from its file to its verdict, in its smallest form."""

from dataclasses import replace
from unittest import mock

import pytest
import yaml

from seq2seq.claims.result import FOLDER, claim_names, configured, judged
from seq2seq.evaluation.pharaoh import format_links
from seq2seq.sweeps import hypothesis
from seq2seq.text.words import split_words
from tests.swept import PROGRAM, run_sweep
from tests.tiny import SMALL_MODEL

SMALLER = {
    "trainer.max_epochs": 1,
    **dict(each.split("=") for each in SMALL_MODEL),
    "seed": "1,2",
}
SPLITS = {"train": 60, "validation": 10, "test": 40}
STEMS = ("train", "val", "test_2016_flickr")
OF_GRAMMAR = {f"data.{split}_pairs": size for split, size in SPLITS.items()}
OF_FILES = {
    "data.tokenizer.max_size": 340,
    "model.readout_size": 8,
    "device.precision": "fp32",
    "decoding.max_length": 1,
}
RATES = {"optim.learning_rate": "0.002,0.004"}


def smaller(name):
    """The design of a claim, of two seeds, two rates and models that know nothing."""
    design = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    given = design["parameters"]
    swept = {key: value for key, value in given.items() if "," in str(value)}
    rates = RATES if "optim.learning_rate" in swept else {}
    corpus = OF_FILES if is_real(design) else OF_GRAMMAR
    parameters = {**given, **SMALLER, **corpus, **swept, "seed": "1,2", **rates}
    return design | {"parameters": {key: str(value) for key, value in parameters.items()}}


def is_real(design):
    return "experiment" in design["parameters"]


def files_of(grammar, folder):
    """Multi30k's files and links of its words, with pairs of the grammar in them; their keys."""
    folder.mkdir()
    linked = {}
    for stem, (split, size) in zip(STEMS, SPLITS.items(), strict=True):
        pairs = grammar.sample(size, 1, split)
        for side, language in (("source", "en"), ("target", "de")):
            lines = "".join(" ".join(split_words(getattr(p, side))) + "\n" for p in pairs)
            (folder / f"{stem}.{language}").write_text(lines, "utf-8")
        links = (format_links(pair.alignment) for pair in pairs)
        (folder / f"{split}.links").write_text("".join(f"{each}\n" for each in links), "utf-8")
        linked[split] = folder / f"{split}.links"
    return [
        f"data.root={folder}",
        f"data.links={linked['train']}",
        f"data.validation_links={linked['validation']}",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", claim_names())
def test_a_claim_trains_and_is_judged_in_its_smallest_form(name, tmp_path, grammar):
    design = smaller(name)
    places = files_of(grammar, tmp_path / "files") if is_real(design) else []
    conf = tmp_path / "conf" / "sweep"
    conf.mkdir(parents=True)
    text = "# @package sweep\n" + yaml.safe_dump(design, sort_keys=False)
    (conf / "smallest.yaml").write_text(text, "utf-8")
    with mock.patch("tests.swept.STUB", PROGRAM):  # which trains
        status, printed = run_sweep(
            tmp_path, f"--config-dir={conf.parent}", "sweep=smallest", *places
        )
    assert status == 0, printed
    base = configured(name, [f"runs_dir={tmp_path}"])
    values = {key: value for key, value in design.items() if key != "defaults"}
    values["sampler"] = type(base.sweep.sampler)[values.get("sampler", "grid")]
    result, picture = judged(name, replace(base, sweep=replace(base.sweep, **values)))
    assert len(result.found) == len(design["claim"]["comparisons"])
    assert result.num_runs >= 2
    assert result.rests_on == hypothesis.files_of(base.sweep)
    assert picture.startswith(b"\x89PNG")
