import json
import sys
from pathlib import Path

import pytest

from benchmarks import epoch
from seq2seq.text.multi30k import Selection
from tests.stores import pairs_of

JOEYNMT = """#!{python}
import json, sys
from sentencepiece import SentencePieceProcessor
assert sys.argv[1:4] == ["-m", "joeynmt", "train"]
config = json.load(open(sys.argv[4]))
for side in (config["data"]["src"], config["data"]["trg"]):
    side["words"] = open(side["voc_file"]).read().splitlines()
    pieces = SentencePieceProcessor(**side["tokenizer_cfg"])
    side["pieces"] = [pieces.id_to_piece(number) for number in range(len(pieces))]
config["lines"] = {{
    name: open(config["data"][name] + ".de").read().count("\\n") for name in ("train", "dev")
}}
json.dump(config, open({given!r}, "w"))
print("Epoch 1, Step: 3, Batch Loss: 2.0, Tokens per Sec:    250, Lr: 0.001")
sys.exit({status})
"""
"""What stands for the environment that has it; keeps what it was given."""


def compared(folder, monkeypatch, status=0):
    """The status of the program, and what the other one was given."""
    names = list(Selection("en", "de", "flickr_2016").names())
    for stem, count in (("train", 150), ("val", 40), ("test_2016_flickr", 20)):
        for language, side in (("en", "source"), ("de", "target")):
            lines = [getattr(pair, side) for pair in pairs_of(count) if pair.source and pair.target]
            assert f"{stem}.{language}" in names
            (folder / f"{stem}.{language}").write_text("".join(f"{line}\n" for line in lines))
    given, python = folder / "given.json", folder / "python"
    python.write_text(JOEYNMT.format(python=sys.executable, given=str(given), status=status))
    python.chmod(0o755)
    for name, value in {"WIDTH": 8, "PIECES": 300, "BATCH": 16}.items():
        monkeypatch.setattr(epoch, name, value)
    arguments = [str(folder), "--joeynmt", str(python), "--pairs", "100", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["epoch.py", *arguments])
    return epoch.main(), json.loads(given.read_text())


@pytest.mark.long
def test_both_train_on_the_same_pairs_in_the_same_pieces(tmp_path, monkeypatch, capsys):
    status, given = compared(tmp_path, monkeypatch)
    assert status == 0
    own, theirs, ratio = (line.split() for line in capsys.readouterr().out.splitlines())
    assert theirs[:2] == ["JoeyNMT", "250"]
    assert float(ratio[1]) == pytest.approx(float(own[1].replace(",", "")) / 250, abs=0.01)
    assert given["lines"] == {"train": 100, "dev": 16}
    for side in (given["data"]["src"], given["data"]["trg"]):
        assert not {*side["words"]} & {*epoch.SPECIAL}
        assert {*side["words"], *epoch.SPECIAL} == {*side["pieces"], *epoch.SPECIAL}
    assert given["data"]["src"]["words"] != given["data"]["trg"]["words"]
    assert given["training"]["logging_freq"] == -(-100 // 16) - 1


@pytest.mark.long
def test_a_program_that_trains_no_epoch_is_named_with_what_it_said(tmp_path, monkeypatch, capsys):
    status, _ = compared(tmp_path, monkeypatch, status=3)
    assert status == 2
    assert f"error: {Path(tmp_path / 'python')} has trained no epoch: Epoch 1" in (
        capsys.readouterr().err
    )
