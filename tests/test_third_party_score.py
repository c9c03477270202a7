"""What docs/attention.md tells readers to write is taken literally, and works."""

import re
import shlex
import shutil
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest
import torch
import yaml
from hydra import compose, initialize_config_dir

from seq2seq.attention.registry import SCORES, build_score
from seq2seq.attention.scores import Score
from seq2seq.command_line.config_errors import as_config
from seq2seq.config import register_schema
from seq2seq.decoding.greedy import greedy_search
from seq2seq.model.build import build_seq2seq
from seq2seq.text.batch import SourceBatch
from tests.models import spec_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "attention.md").read_text("utf-8")
EXAMPLES, _, OWN_SCORE = PAGE.partition("\n## Add your own score\n")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


(CODE,) = blocks(OWN_SCORE, "python")
(PYPROJECT,) = blocks(OWN_SCORE, "toml")
(CHOICE,) = blocks(OWN_SCORE, "yaml")
(COMMAND,) = blocks(OWN_SCORE, "sh")


@pytest.fixture
def package(install):
    """The package of the page."""
    return install(PYPROJECT, CODE)


@pytest.fixture
def config(tmp_path):
    """What the command of the page composes, with its YAML file in a copy of conf/."""
    path = re.search(r"`(conf/attention/\w+\.yaml)`", OWN_SCORE)[1]
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    assert not (tmp_path / path).exists()
    (tmp_path / path).write_text(CHOICE, "utf-8")
    python, program, *overrides = shlex.split(COMMAND)
    assert (python, program) == ("python", "train.py")
    register_schema()
    with initialize_config_dir(str(tmp_path / "conf"), version_base="1.3"):
        return as_config(compose("config", overrides=overrides))


def test_the_score_takes_at_most_fifteen_lines():
    assert len(CODE.splitlines()) <= 15


def test_the_name_is_known_once_the_package_is_installed(package):
    assert "cosine" in SCORES.names()
    assert metadata.version("cosine-score") == "1.0"
    assert package not in sys.modules


def test_without_the_package_the_name_is_unknown():
    assert "cosine" not in SCORES.names()
    with pytest.raises(ValueError, match="unknown score 'cosine'"):
        build_seq2seq(spec_of(score="cosine"))


def test_the_score_is_the_formula_and_keeps_the_contract(package):
    score = build_score("cosine", query_size=6, key_size=6, hidden_size=4)
    assert type(score) is import_module(package).Cosine
    assert isinstance(score, Score)
    queries, keys = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    cosines = torch.cosine_similarity(queries.unsqueeze(2), keys.unsqueeze(1), dim=-1)
    torch.testing.assert_close(score(queries, keys), 10 * cosines)
    projected = score.project_keys(keys)
    unread = torch.full_like(keys, torch.nan)
    torch.testing.assert_close(score(queries, unread, projected), 10 * cosines)


@pytest.mark.parametrize("encoder_hidden_size", [3, 5], ids=["equal_sizes", "projected_keys"])
def test_a_translation_model_runs_with_it(package, encoder_hidden_size):
    torch.manual_seed(0)
    spec = spec_of(score="cosine", encoder_hidden_size=encoder_hidden_size)
    model = build_seq2seq(spec)
    assert type(model.decoder.attention.score).__module__ == package
    source = SourceBatch.from_sentences([[4, 5, 6, 7], [8, 9]])
    target_input = torch.tensor([[2, 4, 5], [2, 6, 7]])

    unrolled = model(source.ids, source.lengths, source.is_token, target_input)
    model.decoder.output(unrolled.features).square().mean().backward()

    assert unrolled.weights.shape == (2, 3, 5)
    torch.testing.assert_close(unrolled.weights.sum(-1), torch.ones(2, 3))
    assert (unrolled.weights[1, :, 3:] == 0).all()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_a_translation_model_decodes_with_it(package):
    torch.manual_seed(0)
    model = build_seq2seq(spec_of(score="cosine")).eval()
    source = SourceBatch.from_sentences([[4, 5, 6, 7], [8, 9]])
    for hypothesis, length in zip(greedy_search(model, source), [5, 3], strict=True):
        assert hypothesis.weights.shape == (len(hypothesis.ids), length)
        # the model follows the score: its weights are a softmax of cosines times ten
        assert (hypothesis.weights.amax(-1) / hypothesis.weights.amin(-1)).max() > 2


def test_the_command_of_the_page_composes_with_the_file_of_the_page(config):
    assert config.attention.score == "cosine"
    assert config.attention.hidden_size is None
    assert config.attention.dropout == 0


def test_the_file_has_the_keys_of_the_others():
    additive = (ROOT / "conf" / "attention" / "additive.yaml").read_text("utf-8")
    assert yaml.safe_load(CHOICE).keys() == yaml.safe_load(additive).keys()
    assert all("#" in line for line in CHOICE.splitlines())


def test_the_table_of_the_page_has_every_built_in_score():
    listed = re.findall(r"^\| `(\w+)` \| `\w+Score` \|", EXAMPLES, re.MULTILINE)
    assert sorted(listed) == SCORES.names()


def test_the_other_examples_of_the_page_run():
    namespace = {}
    examples = blocks(EXAMPLES, "python")
    assert len(examples) == 3
    for number, example in enumerate(examples, start=1):
        assert "assert" in example
        exec(compile(example, f"example {number}", "exec"), namespace)
