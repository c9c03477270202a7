import math

import pytest
import torch

from seq2seq.training.form import require_form

FRESH = {
    "n": 0, "x": 0.5, "best": -math.inf, "on": False, "mode": "min", "why": None,
    "list": [1, 2], "pair": (0.9, 0.99), "w": torch.zeros(2, 3), "first": torch.tensor(math.inf),
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"n": 7}, {"x": -3}, {"best": 2.5}, {"on": True}, {"why": "a reason"}, {"list": [5, 6]},
        {"w": torch.ones(2, 3)}, {"first": torch.tensor(1.0)},
    ],
)  # fmt: skip
def test_other_values_of_the_same_form_are_accepted(change):
    require_form(FRESH | change, FRESH, "all")


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("n", True), ("n", 1.0), ("n", -2), ("n", 10**400), ("n", None), ("x", "1"),
        ("x", math.nan), ("x", math.inf), ("x", 1e300), ("best", math.nan), ("on", 1),
        ("mode", "max"), ("why", 1), ("list", [1]), ("list", (1, 2)), ("list", [1, None]),
        ("pair", [0.9, 0.99]), ("w", torch.zeros(3, 2)), ("w", torch.zeros(2, 3).double()),
        ("w", torch.full((2, 3), math.nan)), ("w", torch.zeros(2, 3).to_sparse()),
        ("w", torch.zeros(2, 3, device="meta")), ("w", torch.zeros(1).expand(10**12)),
        ("w", [[0.0]]), ("first", torch.tensor(1)),
    ],
)  # fmt: skip
def test_another_form_is_refused_by_name(name, odd):
    with pytest.raises(ValueError, match=f"^all[.]{name}"):
        require_form(FRESH | {name: odd}, FRESH, "all")


def test_missing_and_foreign_names_are_refused():
    with pytest.raises(ValueError, match="all: n is missing"):
        require_form({key: value for key, value in FRESH.items() if key != "n"}, FRESH, "all")
    with pytest.raises(ValueError, match="does not have"):
        require_form(FRESH | {"new": 1}, FRESH, "all")
    with pytest.raises(ValueError, match="all: not a mapping"):
        require_form([], FRESH, "all")
