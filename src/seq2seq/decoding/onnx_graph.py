"""An ONNX graph, node by node."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

OPSET, IR_VERSION = 17, 8
"""Of 2022: runtimes since then read the files."""

Shape = tuple[str | int, ...]
"""The type of a tensor, then its dimensions, each a number or a name."""

TYPES: dict[Any, int] = {
    "float": TensorProto.FLOAT,
    "int": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


class Graph:
    """Nodes and weights; a name stands for a tensor."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The output of a new node."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(self, count: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        """The outputs of a new node that has so many."""
        names = [f"{operator}_{len(self._nodes)}_{place}" for place in range(count)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def weight(self, values: Tensor | NDArray[Any]) -> str:
        """A constant: weights are float32."""
        array = values.detach().float().numpy() if isinstance(values, Tensor) else values
        name = f"weight_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def integers(self, *numbers: int) -> str:
        """A constant vector: axes, shapes, places."""
        return self.weight(np.array(numbers, dtype=np.int64))

    def linear(self, inputs: str, weight: Tensor, bias: Tensor | None = None) -> str:
        """W x + b, W (O, I)."""
        product = self("MatMul", inputs, self.weight(weight.T))
        return product if bias is None else self("Add", product, self.weight(bias))

    def content(
        self, inputs: Mapping[str, Shape], outputs: Mapping[str, tuple[str, Shape]]
    ) -> bytes:
        """The file.

        Args:
            inputs: type and shape by name; a dimension is a number, or the name of one.
            outputs: tensor, and its type and shape, by name.
        """
        for name, (tensor, _) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [tensor], [name]))
        shapes = {name: shape for name, (_, shape) in outputs.items()}
        graph = helper.make_graph(
            self._nodes, "seq2seq", _described(inputs), _described(shapes), self._weights
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def _described(values: Mapping[str, Shape]) -> list[Any]:
    return [
        helper.make_tensor_value_info(name, TYPES[kind], shape)
        for name, (kind, *shape) in values.items()
    ]
