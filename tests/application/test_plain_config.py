from pathlib import Path

import pytest

from seq2seq.application.plain_config import require_plain_config
from seq2seq.errors import InputError

CONF = Path(__file__).parents[2] / "conf"


def test_the_programs_own_configuration_is_plain():
    require_plain_config(CONF, ["attention=dot", "seed=2"])


@pytest.mark.parametrize(
    "text",
    [
        "_target_: os.system",
        "a: {b: [{_target_: os.system}]}",
        '"\\x5ftarget_": os.system',
        "hydra: {job_logging: {handlers: {x: {(): os.system}}}}",
        "hydra: {job_logging: {handlers: {x: {class: subprocess.Popen}}}}",
        "hydra: {searchpath: ['file:///tmp']}",
        "!!python/object/apply:os.system [ls]",
        "a: [",
    ],
)
@pytest.mark.parametrize("option", ["--config-dir {}", "-cd {}", "--config-path={}", "-cp{}"])
def test_a_file_that_names_code_is_refused_wherever_it_is(tmp_path, text, option):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "evil.yml").write_text(text)
    with pytest.raises(InputError, match=r"evil\.yml") as caught:
        require_plain_config(CONF, option.format(tmp_path).split())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "argument", ["+x._target_=os.system", "hydra.searchpath=[file://x]", "++a.()=os.system"]
)
def test_an_override_cannot_name_code_either(argument):
    with pytest.raises(InputError, match="cannot name code"):
        require_plain_config(CONF, [argument])
