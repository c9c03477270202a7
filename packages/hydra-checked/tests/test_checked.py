"""An application that is not ours: what it may say, and its natural mistakes."""

import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Interval, Lt
from omegaconf import OmegaConf

from hydra_checked import Wrong, bounded, check, in_words, kind_of, leaves, problems, unlike


class Net:
    def __init__(
        self, width: Annotated[int, Ge(1)], rate: Annotated[float, Interval(gt=0, le=1)] = 0.1,
        kind: Literal["a", "b"] = "a", names: list[str] | None = None, deep: bool = True, pair: tuple = (), **others: Any,
    ) -> None: ...  # fmt: skip


class Wide(Net):
    def __init__(self, optimizer: Any, *, width: Annotated[int, Lt(9)] = 8) -> None: ...


@dataclass
class Root:
    net: dict[str, Any]
    seed: Annotated[int, Ge(0)] = 1


@pytest.fixture(autouse=True)
def app(monkeypatch):
    module = ModuleType("app")
    module.Net, module.Wide = Net, Wide
    monkeypatch.setitem(sys.modules, "app", module)


NET = {"_target_": "app.Net", "width": 3}


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (NET | {"rate": 1, "kind": None, "names": ["x"], "pair": [1, 2], "anything": 1}, None),
        (NET | {"rate": "${net.width}"}, "net.rate=3: expected a number above 0 to 1"),
        (NET | {"width": 0}, "net.width=0: expected a whole number from 1"),
        (NET | {"width": 0.5}, "net.width=0.5: expected a whole number from 1, got a number"),
        (NET | {"width": float("nan")}, "got NaN"),
        (NET | {"width": True}, "net.width=True: .*got true or false"),
        (NET | {"width": None}, "net.width=null: "),
        (NET | {"kind": "c"}, "net.kind=c: expected one of a, b"),
        (NET | {"names": [1]}, r"net.names=\[1\]: expected a list of text"),
        (NET | {"deep": None}, "net.deep=null: expected true or false"),
        ({"_target_": "app.Net"}, r"app.Net needs width: give \+net.width=…"),
        ({"_target_": "app.Net", "_partial_": True}, None),
        ({"_target_": "app.Wide", "optimizer": None}, None),
        ({"_target_": "app.Wide", "_partial_": True, "widht": 3}, "app.Wide has no argument widht; did you mean net.width"),
        ({"_target_": "app.Wide", "_partial_": True, "width": 9}, "net.width=9: expected a whole number to below 9"),
        ({"_target_": "app.Nte"}, r"net._target_=app.Nte: .*did you mean app.Net\?"),
        ({"_target_": "nowhere.Net"}, "net._target_=nowhere.Net: No module named 'nowhere'"),
        ({"_target_": "Net"}, "write the module and the name"),
        ({"parts": [{"inner": NET | {"width": 0}}]}, r"net.parts\[0\].inner.width=0"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_the_key(node, said):
    config = OmegaConf.create({"net": node})
    if said is None:
        check(config)
    else:
        with pytest.raises(Wrong, match=said) as caught:
            check(config)
        assert "\n" not in str(caught.value)


def test_a_schema_knows_every_key_of_the_root():
    check({"net": NET, "seed": 0}, Root)
    for config, said in (
        ({"net": NET, "sede": 2}, "seed"),
        ({"net": NET, "seed": -1}, "seed=-1"),
        ({"seed": 1}, "needs net"),
    ):
        with pytest.raises(Wrong, match=said):
            check(config, Root)


def test_bounds_of_a_class_hold_for_derived_ones_and_without_an_import(monkeypatch):
    bounds = {"app.Net": {"width": kind_of(Annotated[int, Ge(5)])}}
    node = {"net": {"_target_": "app.Wide", "width": 4}}
    assert len(problems(node, bounds=bounds, passed={"net": ["optimizer"]})) == 1
    assert problems(node, passed={"net": ["optimizer"]}) == []
    monkeypatch.delitem(sys.modules, "app")
    assert len(problems({"net": NET}, bounds=bounds, imports=False)) == 1
    assert problems({"net": {"_target_": "app.Wide", "width": -1}}, bounds=bounds, imports=False) == []


@dataclass
class Part:
    size: Annotated[int, Ge(1)]
    kind: str = "a"


@dataclass
class Whole:
    part: Part | None = None


def test_a_dataclass_is_a_node_that_has_its_fields_as_keys():
    for part, said in (
        ({"size": 2, "kind": "b"}, None),
        (None, None),
        ({"size": 0}, "part.size=0: expected a whole number from 1"),
        ({"size": 2, "sise": 3}, r"part.sise: part has no key sise; did you mean part.size\?"),
        ({"kind": "b"}, r"part: part needs size: give \+part.size=…"),
        (3, "part=3: expected a mapping"),
    ):
        lines = problems({"part": part}, Whole)
        assert len(lines) == (said is not None)
        assert all(re.search(said, line) for line in lines)
    assert {key: in_words(kind) for key, kind in leaves(bounded(Whole, {}))} == {
        "part.size": "a whole number from 1", "part.kind": "text", "part": ""
    }  # fmt: skip


def test_the_methods_of_a_class_are_compared_with_those_of_a_base_class():
    class Base(ABC):
        @abstractmethod
        def go(self, where, how): ...
        def stop(self, when=None): ...

    class Right:
        def go(self, there, *others): ...
        def stop(self): ...

    class Wrong(Base):
        def go(self, where): ...

    class Missing: ...

    assert unlike(Right, Base) is unlike(Base, Base) is None
    assert unlike(Wrong, Base).endswith("Wrong.go takes (where); {} takes (where, how)")
    assert unlike(Missing, Base).endswith("Missing.go is missing; it takes (where, how)")


def test_bounds_are_plain_data_and_words():
    found = bounded(Net, {})
    assert {name: in_words(kind) for name, kind in found.items()} == {
        "width": "a whole number from 1", "rate": "a number above 0 to 1", "kind": "one of a, b"
    }  # fmt: skip
