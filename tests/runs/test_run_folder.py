import pytest

from seq2seq.runs.run_folder import safe_name


@pytest.mark.parametrize(
    "name", ["日" * 110, "🦊" * 300, "é" * 130, "a" * 500, "\udcff" * 300, "日" * 85 + "x"]
)
def test_a_folder_can_have_the_name_of_a_run(tmp_path, name):
    (tmp_path / safe_name(name)).mkdir()
    assert safe_name(name) != safe_name(name + "2")


def test_names_that_fit_stay_as_they_are():
    assert safe_name("日" * 85) == "日" * 85
    assert safe_name("a" * 120) == "a" * 120
