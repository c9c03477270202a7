"""The commands on a trained run, as users type them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import seq2seq
from seq2seq.cli.main import COMMANDS, command, main
from seq2seq.cli.parser import parser_of
from seq2seq.cli.terminal import matrix_lines
from seq2seq.cli.translate import as_typed
from seq2seq.common.errors import InputError
from seq2seq.models.folder import SavedModel, load_model_folder, save_model_folder
from tensorboard_attention import add_attention
from tensorboard_attention.event_files import read_steps
from tests.conftest import ROOT, TINY
from tests.small import built_in_pairs, forget_checksums, model_of, tokenizers_of

pytestmark = pytest.mark.usefixtures("short_corpora")

SENTENCES = "I see it.\n\nThe cat doesn't like the red cars.\n"


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(SENTENCES)
    return path


def test_a_model_translates_a_line_for_a_line(tiny_run, sentences, tmp_path, program):
    done = program(tiny_run, "--source", sentences, "--output", "out.txt",
                   command="translate", cwd=tmp_path, check=0)  # fmt: skip
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert len(lines) == 4, done.text
    assert lines[1] == lines[3] == ""


def test_sentences_of_the_command_line_are_translated_as_those_of_a_file(
    wordy_run, sentences, tmp_path, program
):
    of_file = program(
        wordy_run, "--source", sentences, "--beam-size", "2", command="translate", cwd=tmp_path, check=0
    )
    given = SENTENCES.rstrip().split("\n")
    of_line = program(
        wordy_run, given[0], "--beam-size", "2", *given[1:], command="translate", cwd=tmp_path, check=0
    )
    assert of_line.text == of_file.text


@pytest.mark.parametrize(
    ("typed", "is_warned"),
    [(["I", "see", "it."], True), (["I see it.", "Go."], False), (["Stop!", "Go."], False)],
)
def test_words_that_look_like_one_sentence_are_warned_of(typed, is_warned, capsys):
    assert list(as_typed(typed)) == typed
    assert ("quotation marks" in capsys.readouterr().err) == is_warned


def test_a_file_that_is_read_as_standard_input_is_not_overwritten(wordy_run, tmp_path, program):
    (tmp_path / "in.txt").write_text("I see it.\n")
    done = program(
        wordy_run, "-o", "in.txt", stdin=tmp_path / "in.txt", command="translate", cwd=tmp_path, check=2
    )
    assert "in.txt is the source, too" in done.text
    assert (tmp_path / "in.txt").read_text() == "I see it.\n"


def test_a_blank_sentence_has_no_attention(wordy_run):
    run = seq2seq.load(wordy_run)
    for blank in ((" ",), ("I see it.", " ")):
        with pytest.raises(InputError, match="is blank"):
            run.attention(*blank)


def test_a_terminal_shows_log_probability_unknown_words_and_attention(wordy_run, tmp_path, program):
    (tmp_path / "typed").write_text("I see the xylophone.\n\n")

    def on_terminal():
        sys.stdin.isatty = lambda: True

    done = program(wordy_run, stdin=tmp_path / "typed", prepare=on_terminal,
                   command="translate", cwd=tmp_path, check=0)  # fmt: skip
    assert done.text.count("log-probability -") == 1
    assert "[unknown to the model: " in done.text
    assert "xylophone" in done.text
    assert re.search("[░▒▓█]{2}", done.text.partition("log-probability")[2])


@pytest.mark.parametrize("width", [30, 80, 300])
def test_a_matrix_in_a_terminal_shades_large_weights_and_keeps_to_its_width(width):
    source, target = ["▁Die", "Bundesrepublik", "本", "<eos>"] * 3, ["a", "longer", "one"]
    weights = np.zeros((3, 12))
    weights[0, 11], weights[1, 0], weights[2] = 1, 0.4, 0.05
    lines = matrix_lines(weights.tolist(), source, target, width)
    rows = lines[-3:]
    assert max(map(len, lines)) <= width
    assert [row.strip().partition(" ")[0] for row in rows[:1]] == ["a"]
    assert rows[0].endswith("█") and rows[0].count("█") == rows[1].count("▒") > 0  # noqa: PT018
    assert rows[2].strip() == "one"
    assert rows[0].index("█") > rows[1].index("▒")


def test_a_moved_model_folder_translates_alone(tiny_run, tmp_path):
    shutil.copytree(tiny_run / "model", tmp_path / "elsewhere")
    both = (
        seq2seq.load(each).translate(SENTENCES.split("\n")) for each in (tiny_run, tmp_path / "elsewhere")
    )
    assert len({tuple((each.text, each.score) for each in found) for found in both}) == 1


def test_a_translation_as_json_has_tokens_and_attention(tiny_run, sentences, tmp_path, program):
    done = program(tiny_run, "--source", sentences, "--json", "--n-best", "2",
                   command="translate", cwd=tmp_path, check=0)  # fmt: skip
    first = json.loads(next(line for line in done.text.splitlines() if line.startswith("{")))
    assert {"source_tokens", "alignment", "attention", "rank"} <= first.keys(), first.keys()


def test_python_and_every_command_give_the_same_translation(wordy_run, tmp_path, program):
    found = [each.text for each in seq2seq.load(wordy_run).translate(["I see it.", "", "The cat sees us."])]
    done = program(wordy_run, "I see it.", "", "The cat sees us.", command="translate", cwd=tmp_path, check=0)
    assert done.text.split("\n")[:3] == found
    shown = program(wordy_run, "I see it.", "-o", "a.html", command="show", cwd=tmp_path, check=0)
    assert shown.text.split("\n")[0] == found[0]


def test_a_wrong_option_leaves_the_output_as_it_is(tiny_run, sentences, tmp_path, program):
    (tmp_path / "out").write_text("kept\n")
    done = program(tiny_run, "--source", sentences, "-o", "out", "--n-best", "9",
                   command="translate", cwd=tmp_path, check=2)  # fmt: skip
    assert done.text.splitlines()[-1].startswith("error: ")
    assert (tmp_path / "out").read_text() == "kept\n"


def test_every_help_fits_a_screen_and_explains_every_option(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name in COMMANDS.keys() - {"train"}:
        lines = parser_of(name, command(name)).format_help().splitlines()
        assert len(lines) <= 50, name
        options = [place for place, line in enumerate(lines) if re.match("  (-|[A-Z])", line)]
        assert options, name
        for place in options:
            assert re.search(r"\S {2,}\S", lines[place].strip()) or lines[place + 1][:24].isspace(), lines[
                place
            ]


@pytest.mark.parametrize("options", [{"sample": True, "seed": 3}, {"replace_unk": True}, {"beam_size": 1}])
def test_translations_are_the_same_again(options, tiny_run):
    first, second = (
        [
            (each.text, each.score)
            for each in seq2seq.load(tiny_run).translate(SENTENCES.split("\n"), **options)
        ]
        for _ in range(2)
    )
    assert first == second


def test_evaluate_gives_the_scores_of_the_run(tiny_run, tmp_path, program):
    source, reference = (tiny_run / "predictions" / f"test.{name}.txt" for name in ("source", "reference"))
    done = program(tiny_run, "--source", source, "--reference", reference, "--beam-size", "2", "--json",
                   command="evaluate", cwd=tmp_path, check=0)  # fmt: skip
    told = json.loads(done.text[done.text.index("{") :])
    kept = json.loads((tiny_run / "metrics.json").read_text())["test"]
    found = next(value for key, value in told.items() if key.startswith("greedy"))
    assert found["bleu"] == pytest.approx(kept["greedy"]["bleu"], abs=0.05)


def test_evaluate_takes_further_references(tiny_run, tmp_path):
    for name, lines in {"s": ["I see the cat."] * 2, "a": ["x y z w"] * 2, "b": ["", "x"]}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    run = seq2seq.load(tiny_run)
    (text,) = (each.text for each in run.translate(["I see the cat."], beam_size=1))
    (tmp_path / "c").write_text(f"{text}\n{text}\n")
    files = {"source": tmp_path / "s", "reference": tmp_path / "a", "beam_size": 1}
    for further, perfect in (([tmp_path / "b"], False), ([tmp_path / "b", tmp_path / "c"], True)):
        scores = run.evaluate(**files, further_references=further).as_dict()["greedy"]
        assert (scores["bleu_all"] > scores["bleu"]) == perfect


def test_evaluate_without_files_scores_the_test_split_of_the_run(tiny_run, tmp_path, program):
    done = program(tiny_run, "--beam-size", "3", "--json", command="evaluate", cwd=tmp_path, check=0)
    found = json.loads(done.text[done.text.index("{") :])
    kept = json.loads((tiny_run / "metrics.json").read_text())["test"]
    assert json.loads(json.dumps(seq2seq.load(tiny_run).evaluate(beam_size=3).as_dict())) == found
    assert found["greedy"]["bleu"] == pytest.approx(kept["greedy"]["bleu"], abs=1e-9)
    assert found["beam"]["num_sentences"] == kept["beam"]["num_sentences"]
    for folder, wrong in (
        (tiny_run / "model", {}),
        (tiny_run, {"source": tiny_run / "metrics.json"}),
        (tiny_run, {"to": "fr"}),
    ):
        with pytest.raises(InputError, match="--reference"):
            seq2seq.load(folder).evaluate(**wrong)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("source.json", None, "source.json.*copy"), ("config.json", b'{"model_type": "marian"}', "another program"),
     ("config.json", b"{", "damaged"), ("model.safetensors", b"\x10", "model.safetensors.*copy")],
)  # fmt: skip
def test_a_folder_that_is_incomplete_or_of_another_program_says_so(name, content, said, tiny_run, tmp_path):
    shutil.copytree(tiny_run / "model", tmp_path / "model")
    forget_checksums(tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    if content is not None:
        (tmp_path / "model" / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        seq2seq.load(tmp_path / "model").translate(["I see it."])


def test_what_is_no_text_and_another_language_are_refused(tiny_run):
    run = seq2seq.load(tiny_run)
    with pytest.raises(InputError, match="NoneType"):
        run.translate([None])
    with pytest.raises(InputError, match="into fr only"):
        run.translate(["I see it."], to="de")
    (plain,), (same,) = (run.translate(["I see it."], to=language) for language in (None, "fr"))
    assert (plain.text, plain.score) == (same.text, same.score)


def test_align_prints_links_and_their_error_rate(tiny_run, sentences, tmp_path, program):
    (tmp_path / "gold").write_text("0-0 1-1\n\n0-0\n")
    done = program(tiny_run, "--source", sentences, "--target", sentences, "--gold", "gold",
                   command="align", cwd=tmp_path, check=0)  # fmt: skip
    assert "AER" in done.text
    links = [line for line in done.text.splitlines() if re.fullmatch(r"(\d+-\d+ ?)+", line)]
    assert links
    found = seq2seq.load(tiny_run).align(source=sentences, target=sentences, gold=tmp_path / "gold")
    assert str(found).split() == " ".join(links).split()
    assert found.report() in done.text


def test_the_ending_decides_the_format_of_a_picture(tiny_run, tmp_path, program):
    for ending, begin in (("png", b"\x89PNG"), ("pdf", b"%PDF")):  # svg: below
        program(tiny_run, "I see it.", "-o", f"a picture.{ending}", command="plot", cwd=tmp_path, check=0)
        assert (tmp_path / f"a picture.{ending}").read_bytes().startswith(begin)


def test_what_training_recorded_becomes_an_animation(tiny_run, tmp_path, program):
    program(tiny_run, "--steps", "attention/0/forced", "-o", "forming.gif",
            command="plot", cwd=tmp_path, check=0)  # fmt: skip
    assert (tmp_path / "forming.gif").read_bytes().startswith(b"GIF8")
    records = read_steps(tiny_run, "attention/0/forced", most=200, most_bytes=1 << 19)
    assert list(records) == [0, 4, 8]  # before training, and at the validations of two epochs


def test_attention_and_the_model_are_exported_as_pages(tiny_run, tmp_path, program):
    program(tiny_run, "-o", "page.html", command="export attention", cwd=tmp_path, check=0)
    program(tiny_run, "-o", "translating.html", command="export page", cwd=tmp_path, check=0)
    for name in ("page", "translating"):
        assert "<script" in (tmp_path / f"{name}.html").read_text(encoding="utf-8")


def test_exchanged_files_and_unknown_words_of_a_given_translation_are_told(tmp_path, program):
    (tmp_path / "a.en").write_text("I see the cat .\nHe sleeps .\n")
    (tmp_path / "a.fr").write_text("Je vois le chat .\nIl dort .\n")

    def said(command, *words):
        return program("grammar-en-fr", *words, cwd=tmp_path, command=command, check=0).text

    there = "--source", "a.en", "--target", "a.fr"
    swapped = "--source", "a.fr", "--target", "a.en"
    assert "not exchanged with a.en" in said("align", *swapped)
    assert "WARNING" not in said("align", *there)
    assert "[unknown to the model: zzz, qqq]" in said(
        "plot", "I see zzz.", "--target", "Je vois qqq.", "-o", "p.png"
    )


def test_a_closed_standard_error_is_no_reason_to_fail(tmp_path, program):
    def closed():  # as Python begins under 2>&-
        os.close(2)
        sys.stderr = None

    done = program("grammar-en-fr", "I see it.", command="translate", cwd=tmp_path, prepare=closed, check=0)
    assert len(done.text.splitlines()) == 1


def test_the_data_report_counts_pairs_and_overlap(tmp_path, program):
    done = program("data.max_examples=84", command="data-report", cwd=tmp_path, check=0)
    assert re.search(r"train +84 +0 ", done.text)
    assert "padding" in done.text
    done = program("data.max_examples=84", "recipe=standard", command="data-report", cwd=tmp_path, check=0)
    assert re.search("(?m)^automatic +data.batch_size=16 ", done.text)
    assert "of 4 to 16 pairs" in done.text


def test_kernel_regression_is_drawn(tmp_path, program):
    program("--output", "regression", script="examples/kernel_regression.py", cwd=tmp_path, check=0)
    assert (tmp_path / "regression/estimates.png").read_bytes().startswith(b"\x89PNG")


def test_the_output_layer_of_an_example_has_rows_of_one_norm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    run = seq2seq.train(*TINY, "model.decoder._target_=fixed_norm.FixedNormDecoder", "model.tie_embeddings=output",
                        "model.decoder.readout_size=16", "model.embedding_size=16")  # fmt: skip
    decoder = load_model_folder(run.folder / "model", trust_custom_code=True).model.decoder
    norms = np.linalg.norm(decoder.output.weight.detach().numpy(), axis=1)
    embedded = decoder.embedding.weight.detach().numpy()
    assert norms.min() == pytest.approx(norms.max(), rel=1e-6)
    rows = embedded / np.linalg.norm(embedded, axis=1, keepdims=True)
    assert decoder.output.weight.detach().numpy() == pytest.approx(norms[0] * rows, rel=1e-5)
    with pytest.raises(InputError, match="trust"):
        seq2seq.load(run.folder).translate(["I see the dog."])


def test_a_training_from_python_in_a_folder_of_any_name_and_its_scores(tmp_path):
    place = tmp_path / r"in, two (x)=1 it's \ here"
    quoted = "'" + str(place).replace("'", r"\'") + "'"
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    source = [f"a{n} b{n % 7} ." for n in range(60)]
    target = [f"B{n % 7} A{n} ." for n in range(60)]
    run = seq2seq.train(
        *TINY, "tokenizer=whitespace", "data.source_language=en", "data.target_language=fr", f"paths.runs_dir={quoted}",
        "device=cpu", source=source, target=target, validation=(source[:8], target[:8]),
    )  # fmt: skip
    assert run.folder.is_relative_to(place)
    assert handlers == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert run.metrics["finished"]
    assert "&lt;script" in run.attention("a1 b1 .", "B1 A1 .")._repr_html_()
    (found,) = seq2seq.load(run.folder).translate(["a1 b1 ."])
    assert found.source_tokens[:3] == ("a1", "b1", ".")


def test_a_command_says_on_a_terminal_that_it_loads(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name in COMMANDS.keys() - {"train"}:
        with pytest.raises(SystemExit):
            main([name, "--no-such-option"])
        assert capsys.readouterr().err.splitlines()[0].endswith("…"), name


def test_a_picture_or_page_that_the_user_did_not_name_is_not_replaced_without_a_word(
    wordy_run, tmp_path, program
):
    text = "the red cat sees it ."
    for name, named, arguments in (
        ("plot", "attention.png", [text]),
        ("show", "attention.html", [text]),
        ("demo", "demo.html", []),  # of a run: the sentences of its samples
    ):
        (tmp_path / named).write_text("the user's")
        if name != "plot":  # a page replaces pages only
            program(wordy_run, *arguments, command=name, cwd=tmp_path, check=2)
            assert (tmp_path / named).read_text() == "the user's"
            (tmp_path / named).unlink()
            program(wordy_run, *arguments, command=name, cwd=tmp_path, check=0)
        done = program(wordy_run, *arguments, command=name, cwd=tmp_path, check=0)
        assert f"{named}: replaced" in done.text
    assert "Where is the station?" in done.text
    given = program(wordy_run, text, "-o", "given.png", command="plot", cwd=tmp_path, check=0)
    assert "replaced" not in given.text


@pytest.mark.parametrize("decoder", ["context", "luong", "transformer"])
def test_what_no_page_shows_replaces_nothing_and_is_sent_where_it_is_shown(decoder, tmp_path, program):
    tokenizers = tokenizers_of(built_in_pairs(20))
    sizes = {f"{side}_vocab_size": codec.vocab_size
             for side, codec in zip(("source", "target"), tokenizers, strict=True)}  # fmt: skip
    save_model_folder(tmp_path / "m", SavedModel(model_of(**sizes, decoder=decoder).float(), *tokenizers))
    (tmp_path / "demo.html").write_text("the user's")
    for name, arguments in (
        ("show", ["I see it.", "--no-open"]), ("demo", ["--no-open"]), ("export page", ["-o", "demo.html"]),
    ):  # fmt: skip
        has_page = name == "show" and decoder != "context"
        done = program("m", *arguments, command=name, cwd=tmp_path, check=0 if has_page else 2)
        assert "html: replaced" not in done.text
    assert (tmp_path / "demo.html").read_text() == "the user's"
    assert (tmp_path / "attention.html").exists() == (decoder != "context")
    done = program("m", "-o", "other.html", command="export page", cwd=tmp_path, check=2)
    assert ("seq2seq show" in done.text) == (decoder != "context")


def test_each_head_of_each_layer_is_drawn_by_name_and_written_as_json(tmp_path, program):
    tokenizers = tokenizers_of(built_in_pairs(20))
    sizes = {f"{side}_vocab_size": codec.vocab_size
             for side, codec in zip(("source", "target"), tokenizers, strict=True)}  # fmt: skip
    model = model_of(**sizes, decoder="transformer", num_layers=2).float()
    save_model_folder(tmp_path / "m", SavedModel(model, *tokenizers))
    done = program("m", "I see it.", "--json", command="translate", cwd=tmp_path, check=0)
    found = json.loads(next(line for line in done.text.splitlines() if line.startswith("{")))
    heads, mean = np.array(found["heads"]), np.array(found["attention"])
    assert heads.shape[:2] == (2, 2)
    np.testing.assert_allclose(heads.mean(axis=(0, 1)), mean, atol=2e-4)
    program("m", "I see it.", "--heads", "-o", "a.svg", command="plot", cwd=tmp_path, check=0)
    drawn = (tmp_path / "a.svg").read_text()
    assert all(f"layer {layer}, head {head}" in drawn for layer in (1, 2) for head in (1, 2))
    program("m", "I see it.", "-o", "b.svg", command="plot", cwd=tmp_path, check=0)
    assert "head" not in (tmp_path / "b.svg").read_text().partition("<g id")[2]


@pytest.mark.long
def test_an_animation_says_how_many_steps_it_has_not(tmp_path, program, tiny_run):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    for step in range(100, 350):
        add_attention(run, "a", [[1.0]], ["b"], ["c"], step)
    for name, said in (("a/forced", "50 of 250 steps are left out"), ("attention/0/forced", "")):
        done = program(run, "--steps", name, "-o", "a.gif", command="plot", cwd=tmp_path, check=0)
        assert (said or "left out") in done.text if said else "left out" not in done.text


@pytest.mark.long
def test_export_onnx_says_nothing_but_its_files(tiny_run, tmp_path):
    pytest.importorskip("onnx")
    line = [sys.executable, "-m", "seq2seq", "export", "onnx", tiny_run, "-o", tmp_path / "graphs"]
    done = subprocess.run(line, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 2)


@pytest.mark.parametrize(
    ("given", "turns"), [({}, "20000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)]
)
def test_waiting_threads_give_up_their_core_unless_the_environment_says_otherwise(given, turns):
    code = (
        "import sys, os, seq2seq; assert 'torch' not in sys.modules; print(os.environ.get('GOMP_SPINCOUNT'))"
    )
    kept = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(turns)
