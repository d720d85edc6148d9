"""Models as ONNX: plain operators in double precision, every rounding where Python has it.

Inputs ``X`` are raw features; outputs are ``label``, ``scores`` (one per class, as
``decision_function`` has them before it joins two into one) and ``probabilities``, where the model
has a table of them; or ``value``, the numbers of a regressor. Sums with integer weights on the
scaler's grid are exact in any order and become matrix products; other sums are added feature by
feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.boundary import compared_inputs
from bdnn.export.inputs import InputFormat
from bdnn.model import Calibration, Model
from bdnn.network.activation import Activation, FloatArray

_OPSET = 18
_IR_VERSION = 9
_EXACT = 2.0**53


def to_onnx(model: Model) -> bytes:
    """Write a model as the bytes of an ONNX file.

    Raises
    ------
    UnsupportedFeatureError
        If the package ``onnx`` is missing.
    """
    graph = _Graph(_import("onnx"))
    network, shape = model.network, model.network.architecture
    values = _inputs(graph, model.encoder)
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        is_last = k + 1 == shape.n_layers
        is_number = is_last and model.targets is not None
        # onnxruntime joins a product of matrices and a number, and rounds the number to a float.
        exact = not is_number and (k > 0 or _on_grid(model.encoder, W))
        sums = _sums(graph, values, W, exact=exact)
        if is_number or (is_last and shape.ties == "score"):
            values = graph.arithmetic("Sub", sums, t[:, 0])
        else:
            values = _taken(graph, sums, t, shape.activation_of(k))
    if model.targets is not None:
        product = graph.arithmetic("Mul", values, model.targets.factor)
        graph.arithmetic("Add", product, model.targets.shift, output="value")
        return graph.serialise(model.n_features, {"value": shape.n_outputs})
    graph.node("Identity", values, output="scores")
    winner = graph.node("ArgMax", values, axis=1, keepdims=0)
    labels = _labels(model)
    graph.node("Gather", graph.constant(labels), winner, output="label", axis=0)
    numbers = {"scores": shape.n_outputs}
    if model.calibration is not None:
        _probabilities(graph, values, winner, model.calibration)
        numbers["probabilities"] = shape.n_outputs
    return graph.serialise(model.n_features, numbers, labels)


def differences(
    model: Model, content: bytes, count: int, *, at_boundaries: int | None = None
) -> int:
    """Compare labels and scores, or numbers, under onnxruntime with Python's.

    Parameters
    ----------
    model : Model
    content : bytes
        What :func:`to_onnx` made of it.
    count : int
        Number of random inputs, and of inputs at the ends of their type.
    at_boundaries : int, optional
        Number of boundaries to find inputs on both sides of; ``count`` if not given.
    """
    runtime = _import("onnxruntime")
    inputs = InputFormat("double", (1,) * model.n_features)
    X = compared_inputs(model, inputs, count, at_boundaries)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    if model.targets is not None:
        (numbers,) = session.run(["value"], {"X": X})
        return int(np.count_nonzero((numbers != model.predict(X)).any(axis=1)))
    labels, scores = session.run(["label", "scores"], {"X": X})
    scaled = model.inputs(X)
    wanted, sums = _labels(model)[model.network.predict(scaled)], model.network.scores(scaled)
    wrong = (labels.astype(wanted.dtype) != wanted) | (scores != sums).any(axis=1)
    if model.calibration is not None:
        (shares,) = session.run(["probabilities"], {"X": X})
        wrong |= (shares != model.calibration.probabilities(sums)).any(axis=1)
    return int(np.count_nonzero(wrong))


def _probabilities(graph: _Graph, scores: str, winner: str, calibration: Calibration) -> None:
    """Entries of the winner's table by how far scores are behind, over their sum."""
    tables = np.array(calibration.tables, dtype=np.int64)
    n_classes, n_entries = tables.shape
    kinds, axis = graph.onnx.TensorProto, graph.constant(np.array([1]))
    best = graph.node("ReduceMax", scores, axis, keepdims=1)
    lead = graph.node("Sub", best, scores)
    units = graph.node("Mul", lead, graph.constant(np.array(1.0 / calibration.unit)))
    most = graph.constant(np.array(n_entries - 2.0))
    behind = graph.node("Cast", graph.node("Min", graph.node("Floor", units), most), to=kinds.INT64)
    place = graph.node("Add", behind, graph.constant(np.array([1])))
    said = graph.node("Unsqueeze", winner, axis)
    is_said = graph.node("Equal", said, graph.constant(np.arange(n_classes)[None]))
    place = graph.node("Where", is_said, graph.constant(np.array([0])), place)
    row = graph.node("Mul", said, graph.constant(np.array([n_entries])))
    flat = graph.constant(tables.ravel().astype(float))
    entries = graph.node("Gather", flat, graph.node("Add", row, place), axis=0)
    total = graph.node("ReduceSum", entries, axis, keepdims=1)
    graph.node("Div", entries, total, output="probabilities")


def _taken(graph: _Graph, sums: str, t: FloatArray, rule: Activation) -> str:
    """Values of units: the first one, and what every threshold that is reached adds to it."""
    first, total = float(rule.values[0]), ""
    for jump, limits in zip(rule.jumps, t.T, strict=True):
        on = graph.node("GreaterOrEqual", sums, graph.constant(limits))
        part = graph.node("Cast", on, to=graph.onnx.TensorProto.DOUBLE)
        if jump != 1:
            part = graph.arithmetic("Mul", part, np.full(len(limits), jump))
        if total:
            total = graph.node("Add", total, part)
        else:
            total = graph.arithmetic("Add", part, np.full(len(limits), first)) if first else part
    return total


def _on_grid(scaler: Encoder, W: FloatArray) -> bool:
    """Whether no sum of scaled inputs rounds, in any order."""
    if not (np.rint(W) == W).all():
        return False
    if not scaler.numbers:
        return True
    if not scaler.step:
        return False
    largest = np.abs(W).sum(axis=1).max(initial=0.0) * LARGEST_SCALED / scaler.step
    return bool(np.frexp(scaler.step)[0] == 0.5 and largest < _EXACT)


def _inputs(graph: _Graph, encoder: Encoder) -> str:
    """Inputs of the network from codes of columns; a missing value is NaN."""
    if encoder.is_plain:
        return _scale(graph, encoder, "X")
    double = graph.onnx.TensorProto.DOUBLE
    gaps, fills = graph.node("IsNaN", "X"), graph.constant(np.nan_to_num(encoder.fills))
    filled, parts = graph.node("Where", gaps, fills, "X"), []
    if encoder.numbers:
        columns, texts = encoder.texts
        features = graph.node("Gather", filled, graph.constant(columns), axis=1)
        is_text = ~np.isnan(texts)
        if is_text.any():
            same = graph.node("Equal", features, graph.constant(np.nan_to_num(texts)))
            on = graph.node("Cast", same, to=double)
            features = graph.node("Where", graph.constant(is_text), on, features)
        parts.append(_scale(graph, encoder, features))
    is_filled = graph.node("And", gaps, graph.constant(~encoder.apart))
    seen = graph.node("Where", is_filled, fills, "X")
    for kind, (places, columns, values) in encoder.literals.items():
        if not len(places):
            continue
        taken = graph.node(
            "Gather", gaps if kind == "missing" else seen, graph.constant(columns), axis=1
        )
        if kind != "missing":
            compare = "GreaterOrEqual" if kind == "ge" else "Equal"
            taken = graph.node(compare, taken, graph.constant(values))
        parts.append(graph.node("Cast", taken, to=double))
    joined = graph.node("Concat", *parts, axis=1)
    order = np.concatenate([places for places, _, _ in encoder.literals.values()])
    inverse = encoder.n_numbers + np.argsort(order)
    inverse = np.concatenate([np.arange(encoder.n_numbers), inverse])
    return graph.node("Gather", joined, graph.constant(inverse), axis=1)


def _scale(graph: _Graph, scaler: Encoder, features: str) -> str:
    if not scaler.step:
        return features
    moved = graph.arithmetic("Sub", features, scaler.shift)
    product = graph.arithmetic("Mul", moved, scaler.factor)
    low, high = (graph.constant(np.array(sign * LARGEST_SCALED)) for sign in (-1.0, 1.0))
    clipped = graph.node("Clip", product, low, high)
    step = graph.constant(np.array(scaler.step))
    return graph.node("Mul", graph.node("Round", graph.node("Div", clipped, step)), step)


def _sums(graph: _Graph, values: str, W: FloatArray, *, exact: bool) -> str:
    """Weighted sums, in feature order where the order matters."""
    if exact and (np.rint(W) == W).all():
        return graph.node("MatMul", values, graph.constant(np.ascontiguousarray(W.T)))
    total = ""
    for j in range(W.shape[1]):
        column = graph.node("Gather", values, graph.constant(np.array([j])), axis=1)
        product = graph.arithmetic("Mul", column, W[:, j])
        total = graph.node("Add", total, product) if total else product
    return total


def _labels(model: Model) -> np.ndarray[Any, Any]:
    """Labels as ONNX can hold them: texts or integers."""
    labels = model.labels
    if labels.dtype.kind in "Ui":
        return labels
    if labels.dtype.kind == "b":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f" and (labels == np.rint(labels)).all():
        return labels.astype(np.int64)
    raise ModelError(
        "the labels of an ONNX model must be texts or whole numbers, got others: rename them."
    )


def _import(name: str) -> Any:
    """Import a package of the extra when it is needed."""
    try:
        if name == "onnx":
            import onnx

            return onnx
        import onnxruntime

        return onnxruntime
    except ImportError as error:
        raise UnsupportedFeatureError(
            f"the package {name!r} is not installed: pip install 'bdnn[onnx]'."
        ) from error


class _Graph:
    """Nodes and constants of an ONNX graph in the making."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"t{len(self.nodes)}"
        made = self.onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(made)
        return name

    def arithmetic(self, operator: str, left: str, right: FloatArray, *, output: str = "") -> str:
        """Columns of ``left`` with one number each.

        onnxruntime leaves out a sum or product with a single number that is 0 or 1 as a *float*,
        as 1 + 1e-10 is. So a single number stands twice, and one of both columns is taken.
        """
        if right.size > 1:
            return self.node(operator, left, self.constant(right), output=output)
        twice = self.node(operator, left, self.constant(np.repeat(right, 2)))
        return self.node("Gather", twice, self.constant(np.array([0])), axis=1, output=output)

    def constant(self, values: np.ndarray[Any, Any]) -> str:
        name = f"c{len(self.constants)}"
        array = values.astype(object) if values.dtype.kind == "U" else values
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def serialise(
        self, n_features: int, numbers: dict[str, int], labels: np.ndarray[Any, Any] | None = None
    ) -> bytes:
        """Bytes of a model with these outputs, names of numbers with how many they are."""
        types, make = self.onnx.TensorProto, self.onnx.helper.make_tensor_value_info
        outputs = [make(name, types.DOUBLE, [None, count]) for name, count in numbers.items()]
        if labels is not None:
            kind = types.STRING if labels.dtype.kind == "U" else types.INT64
            outputs.insert(0, make("label", kind, [None]))
        inputs = [make("X", types.DOUBLE, [None, n_features])]
        graph = self.onnx.helper.make_graph(self.nodes, "bdnn", inputs, outputs, self.constants)
        opset = self.onnx.helper.make_opsetid("", _OPSET)
        model = self.onnx.helper.make_model(graph, opset_imports=[opset], producer_name="bdnn")
        model.ir_version = _IR_VERSION
        self.onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content
