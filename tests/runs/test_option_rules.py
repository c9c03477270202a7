import json
from functools import cache
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from seq2seq.attention.registry import SCORES
from seq2seq.command_line.config_errors import as_config
from seq2seq.command_line.reference import setting_of
from seq2seq.config import register_schema
from seq2seq.errors import InputError
from seq2seq.experiments.job import Job, ledger_of
from seq2seq.experiments.ledger import FILE_NAME, fingerprint, flat
from seq2seq.model.build import build_seq2seq
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.option_rules import ATTENDS, COUNTS, NEEDS, warnings
from seq2seq.runs.making.decoding import build_search
from seq2seq.runs.making.model import build_model, build_spec, check_model
from seq2seq.runs.making.training import _averaging, _optimisation
from seq2seq.runs.preparation import _require_same_sizes
from seq2seq.runs.run import run
from seq2seq.runs.run_record import config_values
from seq2seq.text.vocabulary import SPECIALS, Vocabulary
from tests.swept import run_sweep

CONF = Path(__file__).parents[2] / "conf"
VOCABULARY = Vocabulary([*SPECIALS, "a", "b"])


def weights_of(config):
    torch.manual_seed(1)
    state = build_seq2seq(build_spec(config, VOCABULARY, VOCABULARY)).state_dict()
    return {name: tensor.tolist() for name, tensor in state.items()}


def attention_of(config):
    """Of a sentence of five words, at four steps."""
    torch.manual_seed(1)
    model = build_seq2seq(build_spec(config, VOCABULARY, VOCABULARY)).eval()
    ids, is_token = torch.tensor([[4, 5, 4, 4, 5, 3]]), torch.ones(1, 6, dtype=torch.bool)
    with torch.no_grad():
        return model(ids, torch.tensor([6]), is_token, ids[:, :4]).weights.tolist()


def rates_of(config):
    optimisation = _optimisation(config, 20)
    return [optimisation.rate_fraction(step) for step in range(20)]


def averages_of(config):
    return [(each._decay, each._first_epoch) for each in _averaging(config)]


def penalty_of(config):
    search = build_search(config.decoding)
    return search.beam > 1 and search.penalty.apply(torch.ones(8), torch.arange(1, 9)).tolist()


IDLE = {
    "attention.score=dot attention.hidden_size=7": weights_of,
    "attention.score=bilinear attention.hidden_size=7": weights_of,
    "attention.score=gaussian attention.hidden_size=7": weights_of,
    "attention.score=scaled_dot attention.hidden_size=7": weights_of,
    "attention.score=average attention.hidden_size=7": weights_of,
    "attention.kind=global attention.window=1": attention_of,
    "attention.kind=monotonic attention.normaliser=sparsemax": attention_of,
    "model.decoder=context attention.score=dot": weights_of,
    "model.decoder=context attention.hidden_size=7": weights_of,
    "model.decoder=luong model.query=state_and_token": weights_of,
    "model.decoder=conditional model.query=state_and_token": weights_of,
    "model.decoder=conditional model.input_feeding=false": weights_of,
    "optim.schedule=constant optim.final_fraction=0.5": rates_of,
    "optim.schedule=constant optim.plateau_factor=0.25": rates_of,
    "optim.schedule=cosine optim.plateau_patience=9": rates_of,
    "optim.averaging=none optim.ema_decay=0.5": averages_of,
    "optim.averaging=none optim.average_from_epoch=2": averages_of,
    "decoding.beam=1 decoding.length_penalty=none": penalty_of,
    "decoding.length_penalty=average decoding.alpha=3": penalty_of,
}
COUNTING = {
    "model.decoder=luong model.input_feeding=false": weights_of,
    "model.decoder=bahdanau model.query=state_and_token": weights_of,
    "model.decoder=conditional attention.score=dot": weights_of,
    "attention.score=additive attention.hidden_size=7": weights_of,
    "attention.kind=global attention.normaliser=sparsemax": attention_of,
    "attention.score=additive attention.coverage=true": attention_of,
    "optim.schedule=cosine optim.final_fraction=0.5": rates_of,
    "optim.averaging=ema optim.ema_decay=0.5": averages_of,
    "optim.averaging=epochs optim.average_from_epoch=2": averages_of,
    "decoding.length_penalty=gnmt decoding.alpha=3": penalty_of,
    "decoding.beam=2 decoding.length_penalty=none": penalty_of,
}
SMALL = [
    "optim.warmup_steps=2",
    "model.embedding_size=4",
    "model.encoder_hidden_size=4",
    "model.decoder_hidden_size=8",
]


@cache
def composed():
    register_schema()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", overrides=SMALL)


def with_and_without(line):
    """Of a line of two overrides: configurations with the first and with both, and the second."""
    decider, override = line.split()
    given = [OmegaConf.from_dotlist(each) for each in ([decider], [decider, override])]
    return *(as_config(OmegaConf.merge(composed(), each)) for each in given), override


def told(config, override):
    return warnings(flat(config_values(config)), [override])


@pytest.mark.parametrize(("line", "built"), IDLE.items())
def test_an_option_that_is_said_to_have_no_effect_has_none_and_is_told_in_one_line(line, built):
    without, with_it, override = with_and_without(line)
    (warning,) = told(with_it, override)
    assert warning.startswith(f"WARNING: {override} has no effect with ")
    assert built(without) == built(with_it)
    assert fingerprint(config_values(without)) == fingerprint(config_values(with_it))


@pytest.mark.parametrize(("line", "built"), COUNTING.items())
def test_an_option_that_has_an_effect_is_not_told(line, built):
    without, with_it, override = with_and_without(line)
    assert not told(with_it, override)
    assert built(without) != built(with_it)
    assert fingerprint(config_values(without)) != fingerprint(config_values(with_it))


def test_what_the_files_set_is_not_told(configured):
    overrides = ["attention=dot", "debug=fast", "optim.averaging=ema"]
    assert not warnings(flat(config_values(configured(*overrides))), overrides)


def test_null_is_not_told(configured):
    overrides = ["attention=dot", "attention.hidden_size=null"]
    assert not warnings(flat(config_values(configured(*overrides))), overrides)


def test_the_table_names_keys_and_values_that_exist():
    for key, conditions in COUNTS.items():
        assert setting_of(key)
        for where in conditions:
            choices = setting_of(where.key).choices
            assert set(where.values) <= {*names_of(where.key, choices), True, 0}, where


def names_of(key, choices):
    registered = {"attention.score": SCORES, "model.decoder": DECODERS}
    return registered[key].names() if key in registered else choices


def test_attention_has_no_effect_with_the_decoders_that_have_none():
    without = {name for name, decoder in DECODERS.built_in.items() if not decoder.attends}
    assert without == set(ATTENDS.values)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            ["attention=coverage", "attention.score=dot"],
            "attention.coverage=true does not go with attention.score=dot: "
            "set attention.score=additive",
        ),
        (
            [
                "optim.guidance=1",
                "data.tokenizer.name=unigram",
                "data.tokenizer.max_size=500",
                "data.tokenizer.sampling=0.2",
            ],
            "data.tokenizer.sampling=0.2 does not go with optim.guidance=1.0: set optim.guidance=0",
        ),
        (
            ["attention.kind=local_p"],
            "attention.kind=local_p does not go with attention.window=null: set attention.window=5",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(configured, overrides, line):
    with pytest.raises(InputError) as caught:
        configured(*overrides)
    assert str(caught.value) == line


def test_the_refusals_name_keys_and_values_that_exist():
    for which, needed, example in NEEDS:
        for where in (which, needed):
            names = names_of(where.key, setting_of(where.key).choices)
            assert set(where.values) <= {*names, True, None, 0}, where
        assert needed.holds({needed.key: example})


def test_a_window_counts_where_there_is_one(configured):
    narrow, wide = (
        configured("attention=local_m", f"attention.window={size}", *SMALL) for size in (1, 2)
    )
    assert attention_of(narrow) != attention_of(wide)
    assert not told(narrow, "attention.window=1")


def test_more_heads_than_numbers_are_refused_before_the_model_is_built(configured):
    config = configured("attention.heads=9", *SMALL)
    with pytest.raises(InputError, match="heads=9 share 8 numbers of the query"):
        build_model(build_spec(config, VOCABULARY, VOCABULARY))


def test_a_score_that_needs_a_hidden_size_says_so(configured):
    with pytest.raises(InputError, match=r"set attention\.hidden_size=128"):
        configured("attention.hidden_size=null")


def test_the_record_of_a_run_from_before_an_option_counted_nowhere_is_found(tmp_path, tiny):
    """Its file holds a value where today's has null, and a fingerprint of all values."""
    config = config_values(tiny("attention=dot"))
    before = json.loads(json.dumps(config)) | {
        "attention": config["attention"] | {"hidden_size": 9}
    }
    record = {
        "version": 1, "state": "finished", "config": before, "overrides": [], "fingerprint": "old",
        "seed": 1, "versions": {}, "git": None, "host": "", "process": 1, "started": "",
        "history": [], "monitor": ["validation/loss", "min"], "scores": {},
    }  # fmt: skip
    (tmp_path / FILE_NAME).write_text(json.dumps(record))
    assert ledger_of(Job((), tmp_path, fingerprint(config), 1, ""))
    other = config_values(tiny("attention=dot", "model.dropout=0.5"))
    assert ledger_of(Job((), tmp_path, fingerprint(other), 1, "")) is None


def test_a_run_tells_before_it_reads_the_corpus(configured, tmp_path, capsys):
    overrides = ["attention=dot", "attention.hidden_size=7", f"data.folder={tmp_path}"]
    with pytest.raises(InputError, match=r"rules\.yaml"):
        run(configured(*overrides), tmp_path / "run", overrides)
    line = "WARNING: attention.hidden_size=7 has no effect with attention.score=dot\n"
    assert capsys.readouterr().out == line


def test_a_model_starts_from_one_whose_record_holds_a_size_that_its_score_has_not(configured):
    before, now = (
        build_spec(configured("attention=dot", f"attention.hidden_size={size}"), *[VOCABULARY] * 2)
        for size in (128, "null")
    )
    _require_same_sizes(now, before, Path("old"))
    other = build_spec(configured("attention.hidden_size=7"), *[VOCABULARY] * 2)
    with pytest.raises(InputError, match=r"its attention\.hidden_size is 7"):
        _require_same_sizes(build_spec(configured(), *[VOCABULARY] * 2), other, Path("old"))


@pytest.mark.parametrize(
    "idle",
    [
        ["attention.kind=local_p"],
        ["attention.hidden_size=null"],
        ["attention.score=not_registered"],
        ["attention.heads=64"],
    ],
)
def test_what_has_no_effect_is_not_refused(configured, idle):
    plain = ["model.decoder=plain", "model.initial_state=encoder", *SMALL]
    config = configured(*plain, *idle)
    check_model(config)
    start = build_spec(configured(*plain), *[VOCABULARY] * 2)
    _require_same_sizes(build_spec(config, *[VOCABULARY] * 2), start, Path("old"))


def test_a_sweep_runs_what_differs_only_without_effect_once(tmp_path):
    swept = ["attention=additive,dot", "attention.hidden_size=5,6", "sweep.dry_run=true"]
    status, printed = run_sweep(tmp_path, *swept, "sweep.trials=3")
    assert status == 0
    assert "3 jobs at most" in printed
    assert "1 jobs would differ only in options without effect" in printed
    assert "WARNING: sweep.trials=3 has no effect with sweep.sampler=grid" in printed
