from tests.reading import lines_of_code, reading_of_the_default

SAMPLE = '''"""A module."""


class Sum:
    """Adds."""

    def __init__(self, start):
        # where to begin
        self.start = start

    def __call__(self, number):
        """One line
        and another."""
        return (
            self.start

            + number
        )

    def unused(self):
        return 1
'''


def test_lines_of_code_are_those_of_functions_and_constructors_without_words(tmp_path):
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    assert lines_of_code(path, {"Sum.__call__"}) == 1 + 2 + 5


def test_a_step_of_the_decoder_is_read_in_150_lines_and_four_files():
    found = reading_of_the_default()
    assert {"model/decoder.py", "model/layers.py", "model/attention.py"} <= set(found)
    assert found.total() <= 150
    assert len(found) <= 4
