"""The programs of the repository, by their command lines."""

import contextlib
import gzip
import json
import os
import pty
import runpy
import shutil
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from seq2seq.claims import searches
from seq2seq.evaluation.alignment import AlignmentCounts, GoldAlignment
from seq2seq.evaluation.pharaoh import format_gold, parse_gold, read_pharaoh
from seq2seq.experiments.comparison import find_runs
from seq2seq.tensorboard.plugin.event_files import read_log_folder
from seq2seq.text.words import split_words
from seq2seq.training.module import TranslationModule
from tests.programs import ROOT, SCRIPTS, program, started
from tests.tiny import SMALL_CORPUS, SMALL_MODEL

TINY = [
    "data.train_pairs=300",
    *SMALL_CORPUS,
    *SMALL_MODEL,
    "trainer.max_epochs=1",
    "tensorboard.heatmaps=1",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    done = program("train.py", *TINY, f"runs_dir={folder}", "name=tiny")
    assert done.returncode == 0, done.stderr.decode()
    return folder / "baseline" / "tiny", done.stdout.decode()


def test_training_says_where_the_results_are_and_what_to_do_next(trained):
    run_dir, printed = trained
    lines = printed.splitlines()
    assert f"results     {run_dir}" in lines
    assert any(line.startswith("test        BLEU ") for line in lines)
    assert any(line.startswith("look        tensorboard --logdir ") for line in lines)
    assert f"translate   python scripts/translate.py {run_dir} < sentences.txt" in lines
    assert "\x1b" not in printed, "escape codes where there is no terminal"


def test_the_same_command_again_prints_the_scores_and_does_nothing(trained):
    run_dir, _ = trained
    again = program("train.py", *TINY, f"runs_dir={run_dir.parents[1]}", "name=tiny")
    assert again.returncode == 0
    assert "is finished" in again.stdout.decode()
    assert "epoch" not in again.stdout.decode()


def test_translate_gives_one_line_for_each_line_in_order(trained):
    run_dir, _ = trained
    lines = ["The cat sleeps.", "", "I see it.", "\u2028 odd", "unknown wörds", "The cat sleeps."]
    done = program("scripts/translate.py", str(run_dir), stdin="\n".join(lines).encode())
    assert done.returncode == 0, done.stderr.decode()
    out = done.stdout.decode().removesuffix("\n").split("\n")
    assert len(out) == len(lines)
    assert out[0] == out[5]
    assert out[1] == ""
    (said,) = done.stderr.decode().splitlines()
    assert "in 4 of 6 lines are unknown to the model" in said
    assert "wörds 1" in said


@pytest.mark.parametrize(
    "stdin", [b"", b"\xff\xfe\n", b"a\r\nb\r\n"], ids=["none", "bytes", "crlf"]
)
def test_translate_takes_any_input(trained, stdin):
    done = program("scripts/translate.py", str(trained[0] / "model"), stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") == stdin.count(b"\n")
    assert b"\r" not in done.stdout


def test_a_closed_pipe_ends_translation_quietly(trained):
    lines, windows = b"I see it.\n" * 3000, ["--window", "10"]
    done = started("scripts/translate.py", str(trained[0]), *windows, stdin=lines, into="head -n 1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1


def test_evaluate_agrees_with_the_score_of_training(trained, tmp_path, grammar):
    run_dir, _ = trained
    pairs = grammar.sample(20, 1, "test")
    source, reference = tmp_path / "test.en", tmp_path / "test.fr"
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
    reference.write_text("".join(f"{pair.target}\n" for pair in pairs), "utf-8")
    files = ["--source", str(source), "--reference", str(reference)]
    scores = json.loads(program("scripts/evaluate.py", str(run_dir), *files, "--json").stdout)
    expected = json.loads((run_dir / "metrics.json").read_text())["test"]
    for found in (scores, scores["beam"]):
        low, high = found.pop("bleu_interval")
        assert 0 <= low <= high <= 100
    assert scores == expected
    assert scores["beam"].keys() == scores.keys() - {"beam"}
    table = program("scripts/evaluate.py", str(run_dir), *files).stdout.decode()
    assert f"{expected['bleu']:.2f}" in table
    assert f"{expected['beam']['bleu_moses']:.2f}" in table
    assert all(word in table for word in ("tok:13a", "beam 5", "source words", "unknown words"))


def test_translate_gives_json_n_best_samples_and_ensembles(trained):
    def said(*options):
        lines = b"The cat sleeps.\n\nI see it.\n"
        done = program("scripts/translate.py", str(trained[0]), *options, stdin=lines)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().splitlines()

    plain = said()
    facts = [json.loads(line) for line in said("--json")]
    assert [fact["translation"] for fact in facts] == plain
    for fact in facts:
        assert len(fact["attention"]) == len(fact["target_tokens"])
        assert all(len(row) == len(fact["source_tokens"]) for row in fact["attention"])
        assert len(fact["unknown"]) == fact["source_tokens"].count("<unk>")
    n_best = [line.split(" ||| ") for line in said("--n-best", "3")]
    assert [number for number, *_ in n_best] == ["1", "1", "1", "2", "3", "3", "3"]
    assert [n_best[0][1], n_best[3][1], n_best[4][1]] == plain
    drawn = ["--sample", "--top-k", "9", "--temperature", "2"]
    assert said(*drawn) != said(*drawn, "--seed", "2")
    assert said("--ensemble", str(trained[0] / "model"), "--replace-unknown") == plain


def test_an_interrupted_translation_is_not_continued_in_another_precision(trained, tmp_path):
    source, output = tmp_path / "source.gz", tmp_path / "output"
    source.write_bytes(gzip.compress(b"The cat sleeps.\n" * 2000)[:-4])  # the end is missing
    options = [str(trained[0]), "--input", str(source), "--output", str(output), "--resume"]
    broken = program("scripts/translate.py", *options)
    assert (broken.returncode, output.read_text()) == (2, "")
    other = program("scripts/translate.py", *options, "--precision", "bf16")
    assert other.returncode == 2
    assert f"{output} was begun with another --precision" in other.stderr.decode()


def test_translate_asks_on_a_terminal_and_draws_the_attention(trained):
    reader, writer = pty.openpty()
    command = [sys.executable, str(ROOT / "scripts" / "translate.py"), str(trained[0])]
    with subprocess.Popen(command, stdin=writer, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        os.write(reader, b"The cat sleeps.\nHello cat\n\x04")
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that the program has ended
            while part := os.read(reader, 4096):
                shown += part
        assert process.wait(timeout=60) == 0
    os.close(reader)
    lines = shown.decode().replace("\r", "").splitlines()
    heads = [line.split() for line in lines if line.startswith(" ")]
    assert [(len(head), head[-2:]) for head in heads] == [
        (5, [".", "<eos>"]),
        (3, ["cat", "<eos>"]),
    ]
    assert heads[1][0] == "[Hello]"
    assert "[unknown to the model: Hello]" in lines
    assert any("·" in line or "░" in line for line in lines)


def test_the_programs_search_like_the_configuration():
    from hydra import compose, initialize_config_dir  # noqa: PLC0415 - for this test alone

    from seq2seq.config import register_schema  # noqa: PLC0415

    register_schema()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        decoding = compose("config").decoding
    for name in ("translate", "evaluate"):
        parser = import_module(f"seq2seq.commands.{name}")._parser()
        for option in ("beam", "length_penalty", "alpha"):
            wanted = decoding[option]
            assert parser.get_default(option) == getattr(wanted, "value", wanted)


def test_translate_refuses_options_that_mean_nothing_in_one_line(trained):
    done = program("scripts/translate.py", str(trained[0]), "--n-best", "9")
    assert done.returncode == 2
    assert done.stderr == b"error: 9 best of a beam of 5: widen the beam\n"


@pytest.fixture(scope="module")
def parallel(tmp_path_factory, grammar):
    """Pairs as tokenised files, with their gold alignment; one of them is blank."""
    folder = tmp_path_factory.mktemp("parallel")
    pairs = grammar.sample(20, 1, "test")
    sides = {
        "source": [" ".join(split_words(pair.source)) for pair in pairs],
        "target": [" ".join(split_words(pair.target)) for pair in pairs],
        "gold": [
            format_gold(GoldAlignment.from_links(pair.alignment, pair.possible)) for pair in pairs
        ],
    }
    options = []
    for name, lines in sides.items():
        (folder / name).write_text("".join(f"{line}\n" for line in [*lines, ""]), "utf-8")
        options += [f"--{name}", str(folder / name)]
    return options


def test_align_prints_a_line_of_links_a_pair_and_the_error_rate(trained, parallel):
    done = program("scripts/align.py", str(trained[0]), *parallel)
    assert done.returncode == 0, done.stderr.decode()
    found = [parse_gold(line).sure for line in done.stdout.decode().split("\n")[:-1]]
    gold = read_pharaoh(Path(parallel[5]))
    counts = AlignmentCounts()
    for links, sentence_gold in zip(found, gold, strict=True):
        counts += AlignmentCounts.of(links, sentence_gold)
    assert found[-1] == frozenset()
    assert all(found[:-1])
    assert done.stderr.decode().startswith(f"AER {counts.error_rate:.3f} (at least 0.")


def test_align_takes_the_links_of_both_directions(trained, parallel, monkeypatch, capsys):
    # the model as its own reverse: any model will do
    both = ["--reverse", str(trained[0])]
    files = parallel[:4]

    def links(*options):
        monkeypatch.setattr(sys, "argv", ["align.py", str(trained[0]), *files, *options])
        with pytest.raises(SystemExit, match="0"):
            runpy.run_path(str(ROOT / "scripts" / "align.py"), run_name="__main__")
        return [parse_gold(line).sure for line in capsys.readouterr().out.split("\n")[:-1]]

    forward = links("--method", "argmax")
    assert links(*both) != links() != forward
    columns = zip(
        forward,
        links("--method", "intersection", *both),
        links("--method", "union", *both),
        strict=True,
    )
    for one, intersection, union in columns:
        assert intersection <= one <= union
        assert {i for i, _ in one | intersection} <= {i for i, _ in union}
    assert links("--method", "threshold", "--threshold", "1.1") == [frozenset()] * 21


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "union"], "--method intersection and union need --reverse MODEL"),
        (["--method", "argmax", "--reverse", "x"], "--method intersection and union need"),
        (["--method", "threshold", "--threshold", "nan"], "--threshold nan: a weight is at least"),
        (["--gold", "short"], "short has 1 lines for 21 sentence pairs"),
        (["--gold", "far"], "far, line 21: link 0-0 is outside the sentence pair of 0 and 0"),
        (["--gold", "odd"], "odd, line 1: 'x' is no link"),
    ],
)
def test_align_refuses_wrong_input_in_one_line(tmp_path, parallel, options, message):
    for name, text in (("short", "0-0\n"), ("far", "0-0\n" * 21), ("odd", "x\n")):
        (tmp_path / name).write_text(text)
    done = program("scripts/align.py", "absent", *parallel[:4], *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"error: {message}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("target", [[], ["--target", "Le chat dort."]], ids=["greedy", "forced"])
def test_plot_attention_draws_a_translation_or_a_given_one(trained, tmp_path, target):
    picture = tmp_path / "picture.png"
    arguments = ["--sentence", "The cat sleeps.", *target, "-o", str(picture)]
    done = program("scripts/plot_attention.py", str(trained[0]), *arguments)
    assert done.returncode == 0, done.stderr.decode()
    assert picture.read_bytes().startswith(b"\x89PNG")
    said = done.stdout.decode()
    assert "score -" in said
    assert not target or said.startswith("Le chat dort.   score -")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sentence", " "], "--sentence is blank: give a sentence"),
        (["--sentence", "a", "--target", ""], "--target is blank: give a sentence"),
        (["--sentence", "a", "-o", "no/p.png"], "no/p.png cannot be written (No such file"),
        (["--steps", "attention/0/forced", "-o", "p.png"], "-o p.png: --steps makes a GIF"),
        (["--steps", "a", "--target", "b", "-o", "p.gif"], "--target goes with --sentence"),
        (["--steps", "attention/0", "-o", "p.gif"], "{run} holds no attention of the name"),
    ],
)
def test_plot_attention_refuses_wrong_input_in_one_line(trained, tmp_path, arguments, message):
    done = program("scripts/plot_attention.py", str(trained[0]), *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"error: {message.format(run=trained[0])}")
    assert done.stderr.count(b"\n") == 1


def test_plot_attention_draws_the_steps_of_a_training(trained, tmp_path):
    gif = tmp_path / "forming.gif"
    arguments = ["--steps", "attention/0/forced", "-o", str(gif)]
    done = program("scripts/plot_attention.py", str(trained[0]), *arguments)
    assert done.returncode == 0, done.stderr.decode()
    assert gif.read_bytes().startswith(b"GIF89a")


def test_attention_of_a_run_and_of_a_translated_file_becomes_a_page(trained, tmp_path):
    run_dir, _ = trained
    text = tmp_path / "text.en"
    text.write_text("The cat sleeps.\n\n</script><script>alert(1)</script>\n", "utf-8")
    page = tmp_path / "page.html"
    for source in ([], ["--input", str(text)]):
        done = program("scripts/export_attention.py", str(run_dir), *source, "-o", str(page))
        assert done.returncode == 0, done.stderr.decode()
        content = page.read_text("utf-8")
        assert ('"kind":"forced"' in content) is (not source)
        assert '"kind":"greedy"' in content
        assert '"kind":"beam","rank":4' in content
        assert content.count("</script>") == 2


def test_attention_of_a_translated_file_goes_into_tensorboard(trained, tmp_path):
    text = tmp_path / "text.en"
    text.write_text("The cat sleeps.\n\nI see it.\n", "utf-8")
    arguments = ["--input", str(text), "--logdir", str(tmp_path / "logs")]
    done = program("scripts/log_attention.py", str(trained[0] / "model"), *arguments)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith("2 sentences recorded\n")
    assert len(list((tmp_path / "logs").glob("events.out.tfevents.*"))) == 1


def test_attention_of_a_finished_model_has_the_kinds_that_training_records(trained, tmp_path):
    files = {"input": "The cat sleeps.\n\nI see it.\n", "target": "Le chat dort.\nx\n\n"}
    arguments = ["--logdir", str(tmp_path / "logs"), "--step", "7", "--beam", "3"]
    for option, text in files.items():
        (tmp_path / option).write_text(text, "utf-8")
        arguments += [f"--{option}", str(tmp_path / option)]
    done = program("scripts/log_attention.py", str(trained[0]), *arguments)
    assert done.returncode == 0, done.stderr.decode()
    views = {view["tag"]: view for view in read_log_folder(tmp_path / "logs")["views"]}
    searched = ("greedy", "beam", "beam/1", "beam/2")
    assert set(views) == {
        "attention/1/forced",
        *(f"attention/{number}/{kind}" for number in (1, 3) for kind in searched),
    }
    for tag, view in views.items():
        (frame,) = view["frames"]
        assert frame["step"] == 7
        assert frame["score"] < 0
        assert (frame["bleu"] is not None) is (tag in {f"attention/1/{kind}" for kind in searched})
    assert [token.strip("▁") for token in views["attention/1/forced"]["targets"][0]] == [
        *("Le", "chat", "dort", ".", "<eos>")
    ]


def test_attention_is_probed_alike_every_time(trained, tmp_path):
    (tmp_path / "text").write_text("The cat sleeps.\n\nI see it.\n", "utf-8")
    (tmp_path / "words").write_text("le\n", "utf-8")

    def probed(*options):
        done = program("scripts/probe_attention.py", trained[0], *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    found = json.loads(probed("--json"))
    assert found == json.loads(probed("--json"))
    assert found["num_sentences"] == 20
    counts = {group: found[group]["num_tokens"] for group in ("function", "content", "all")}
    assert counts["function"] + counts["content"] == counts["all"] > 20
    table = probed()
    assert f"{100 * found['all']['most_attended_erased']:.1f}%" in table
    assert table.endswith("20 sentences, greedy translations\n")
    assert json.loads(probed("--json", "--sentences", "3"))["num_sentences"] == 3
    run = tmp_path / "run"
    shutil.copytree(trained[0], run)
    assert searches.probed(find_runs([run]).finished[0]) == found["all"], "of a claim"
    listed = json.loads(probed("--source", "text", "--function-words", "words", "--json"))
    assert listed["num_sentences"] == 2
    assert listed.keys() == found.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scripts/probe_attention.py", "absent"], "absent has no translated test split: give --s"),
        (["scripts/probe_attention.py", "x", "--sentences", "0"], "--seed is 0 or more, --sente"),
        (["scripts/probe_attention.py", ".", "--source", "absent"], "absent does not exist"),
        (["scripts/export_attention.py", "absent"], "absent is no folder"),
        (["scripts/export_attention.py", "."], ". holds no attention records"),
        (["scripts/export_attention.py", ".", "--input", "absent"], "absent does not exist"),
        (["scripts/export_attention.py", ".", "--target", "t"], "--target is the translation of"),
        (["scripts/log_attention.py", ".", "--input", "absent"], "absent does not exist"),
        (["scripts/export_page.py", "absent"], "absent holds no model.json"),
    ],
)
def test_attention_programs_refuse_wrong_input_in_one_line(arguments, message, tmp_path):
    done = program(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr.decode()
    assert done.stderr.decode().startswith(f"error: {message}")
    assert done.stderr.count(b"\n") == 1


WRONG = {
    "no key": (["=3"], "'=3' has no key: write key=value"),
    "unwritable folder": (
        ["runs_dir=/proc/here", "name=default", *TINY],
        "/proc/here/baseline/default cannot be made",
    ),
    "misspelt key": (["optim.learning_rat=1"], "did you mean optim.learning_rate?"),
    "out of range": (["model.dropout=2"], "model.dropout=2.0 is out of range"),
    "missing files": (
        ["data=multi30k", "data.root=absent", "data.download=false"],
        "data.root=absent has no train.en.gz",
    ),
    "missing value": (["data=parallel"], "data.source_language is needed"),
    "unknown score": (
        ["attention.score=adition", *TINY],
        "did you mean 'additive'?",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_status_two(case, tmp_path):
    overrides, message = WRONG[case]
    done = program("train.py", *overrides, cwd=tmp_path)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert message in said


@pytest.mark.parametrize("script", ["translate", "evaluate"])
def test_scripts_refuse_a_folder_without_a_model_in_one_line(script, tmp_path):
    file = tmp_path / "text"
    file.write_text("a\n")
    files = ["--source", str(file), "--reference", str(file)] if script == "evaluate" else []
    done = program(f"scripts/{script}.py", str(tmp_path), *files)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"error: {tmp_path} holds no model.json: give a run folder or its model/ folder\n"
    )


def signal_in_step_5(number):
    """In the process of a run: the signal comes while that step is computed."""
    training_step = TranslationModule.training_step

    def step(self, batch, batch_index):
        if self.global_step == 4:
            os.kill(os.getpid(), number)
        return training_step(self, batch, batch_index)

    TranslationModule.training_step = step


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_ends_training_with_a_checkpoint_and_the_command_continues(tmp_path, number):
    overrides = [*TINY, f"runs_dir={tmp_path}", "name=stopped", "data.train_pairs=100"]
    stopped = program("train.py", *overrides, hook=partial(signal_in_step_5, number))
    assert stopped.returncode == 128 + number
    assert f"stopped by signal {int(number)}" in stopped.stderr.decode()
    last = tmp_path / "baseline" / "stopped" / "checkpoints" / "last.ckpt"
    assert last.is_file()
    continued = program("train.py", *overrides)
    assert continued.returncode == 0, continued.stderr.decode()
    assert f"continuing from {last}" in continued.stdout.decode()
    assert "step      7" in continued.stdout.decode()


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("a\n", ["--beam", "0"], "a beam of 0 follows nothing"),
        ("a\n", ["--step", "-1"], "--step -1 is none"),
        (" \n\n", [], "every line of the input is blank"),
        ("a\n" + "a " * 1019, [], "line 2 has 1,019 source tokens"),
        ("a\n", ["--logdir", "text"], "text cannot be written to"),
    ],
)
def test_log_attention_refuses_wrong_input_in_one_line(trained, tmp_path, lines, options, message):
    (tmp_path / "text").write_text(lines, "utf-8")
    arguments = [str(trained[0]), "--input", "text", *options]
    done = program("scripts/log_attention.py", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"error: {message}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["scripts/plot_attention.py", "--sentence", "a"],
        ["scripts/plot_attention.py", "--sentence", "a", "--target", "b"],
        ["scripts/align.py", "--source", "text", "--target", "text"],
        ["scripts/log_attention.py", "--input", "text"],
        ["scripts/export_attention.py", "--input", "text"],
    ],
    ids=" ".join,
)
def test_a_device_that_is_not_here_is_one_line(trained, tmp_path, arguments):
    (tmp_path / "text").write_text("a\n", "utf-8")
    script, *options = arguments
    done = program(script, str(trained[0]), *options, "--device", "abacus", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == b"error: device 'abacus' is not here: choose cpu, cuda or mps\n"


@pytest.mark.parametrize("name", ["train.py", *SCRIPTS])
def test_help_loads_nothing_heavy(name):
    code = (
        "import runpy, sys; sys.argv = [sys.argv[1], '--help']\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'lightning', 'torchtext', 'tensorboard'}\n"
        "if sys.argv[0].endswith('train.py'): heavy.add('numpy')\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "python" in done.stdout


@pytest.mark.long
def test_multi30k_trains_and_translates(real_data, tmp_path):
    overrides = [
        "data=multi30k",
        f"data.root={real_data}/multi30k",
        "data.limit=100",
        "data.tokenizer.max_size=500",
        "decoding.beam=1",
        *[override for override in TINY if not override.startswith("data.")],
        f"runs_dir={tmp_path}",
        "name=multi30k",
    ]
    done = program("train.py", *overrides)
    assert done.returncode == 0, done.stderr.decode()
    assert "test        BLEU" in done.stdout.decode()
    assert "(100 sentences" in done.stdout.decode()
    lines = b"A man sleeps.\nTwo dogs play.\n"
    out = program("scripts/translate.py", str(tmp_path / "baseline" / "multi30k"), stdin=lines)
    assert out.stdout.count(b"\n") == 2


@pytest.mark.long
def test_the_textbook_experiment_translates_the_textbooks_sentences(real_data, tmp_path):
    file = f"data.file={real_data}/tatoeba/fra.txt"
    done = program("train.py", "experiment=textbook", file, f"runs_dir={tmp_path}", "device=cpu")
    assert done.returncode == 0, done.stderr.decode()
    picture = tmp_path / "attention.png"
    run_dir = tmp_path / "textbook" / "device=cpu"
    said = program("scripts/textbook.py", str(run_dir), "--output", str(picture)).stdout.decode()
    scores = [float(line.split("BLEU ")[1].split()[0]) for line in said.splitlines()[:4]]
    assert sum(score == 1 for score in scores) >= 3, said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_textbook_script_names_unknown_words(trained, tmp_path):
    picture = str(tmp_path / "attention.png")
    said = program("scripts/textbook.py", str(trained[0]), "--output", picture).stdout.decode()
    assert "unknown: i, lost" in said


def test_make_lists_its_targets():
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    for target in ("install", "train", "test", "check", "tensorboard", "help"):
        assert f"\n{target} " in f"\n{done.stdout}"


def test_no_file_holds_an_address_of_a_package_index():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in files:
        text = (ROOT / name).read_text("utf-8", errors="ignore")
        for word in ("index" + "-url", "pypi" + ".org", "find" + "-links"):
            assert word not in text, name
