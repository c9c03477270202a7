"""Whose code may run: what a model folder names, and what Hydra builds."""

import hydra.utils
import pytest
from hydra.errors import InstantiationException

from seq2seq.common.errors import InputError
from seq2seq.common.named import packages_of, require_trusted
from seq2seq.run.building import build


@pytest.mark.parametrize(
    "target", ["os.system", "seq2seq.settings.config.build", "seq2seq", "seq2seq.modelsx.A", None]
)
def test_a_folder_may_name_only_parts_of_this_program(target):
    with pytest.raises(InputError, match="trust_custom_code"):
        require_trusted(target, "the model", trust_custom_code=False)
    require_trusted(target, "the model", trust_custom_code=True)


@pytest.mark.parametrize("target", ["seq2seq.models.GRUEncoder", "seq2seq.data.tokenizers.WordTokenizer"])
def test_parts_of_this_program_need_no_trust(target):
    require_trusted(target, "the model", trust_custom_code=False)


def test_a_configuration_allows_the_packages_that_it_names():
    node = {"_target_": "mine.Decoder", "parts": [{"_target_": "collections.Counter"}], "name": "other.thing"}
    assert packages_of(node) == ["collections.*", "lightning.*", "mine.*", "seq2seq.*", "torch.*"]


def test_objects_of_other_packages_are_built_and_returned_callables_too():
    assert build({"_target_": "collections.Counter", "a": 2})["a"] == 2
    attention = build(
        {"_target_": "torch.nn.Linear", "in_features": 2, "out_features": 3}
    )  # it can be called
    assert attention.weight.shape == (3, 2)


@pytest.mark.skipif(not hasattr(hydra.utils, "execution_whitelist"), reason="from Hydra 1.4 on")
@pytest.mark.parametrize("target", ["builtins.eval", "os.system", "subprocess.run"])
def test_what_runs_text_as_code_is_refused_even_if_it_is_named(target):
    with pytest.raises(InstantiationException):
        build({"_target_": target, "_args_": ["1"]})
