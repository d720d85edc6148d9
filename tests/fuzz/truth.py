"""Whether what the checker calls proven is so, by other means: numpy, trying, and the text itself.

Nothing of the checker is used. A claim that cannot be judged here counts as true.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.model_file.data import fingerprint
from tests.fuzz.models import CLASSES, NAMES, X, Y

_VALUES = {"step": (0, 1), "sign": (-1, 1), "ternary": (-1, 0, 1)}
_NORMS = {"linf": np.inf, "l1": 1, "l2": 2}


class File:
    """A model file as its format defines it, in numpy."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.shape, self.encoder = content["network"], content["encoder"]
        self.layers = self.shape["layers"]
        self.names = content["outputs"]["classes"]
        self.data = content.get("certificate", {}).get("data", {})
        self.rows = np.arange(len(Y))
        for text in (content.get("extra", {}).get("rows"), self.data.get("used")):
            self.rows = self.rows if text is None else self.rows[_numbers(text)]
        self.X = X[self.rows]
        self.labels = np.array([self.names.index(label) for label in Y[self.rows]])

    @property
    def is_certified(self) -> bool:
        robust = self.content.get("certificate", {}).get("robust", {})
        return "certified" in (robust.get("loss"), self.content["result"].get("method"))

    def scale(self, points: np.ndarray) -> np.ndarray:
        step = self.encoder["step"]
        if not step:
            return points
        shift = np.array([number["shift"] for number in self.encoder["numbers"]], dtype=float)
        with np.errstate(over="ignore"):
            scaled = (points - shift) * self.factor
        return np.rint(np.clip(scaled, -(2.0**30), 2.0**30) / step) * step

    @property
    def factor(self) -> np.ndarray:
        return np.array([number["factor"] for number in self.encoder["numbers"]], dtype=float)

    def outputs(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """0/1 outputs and predicted classes of raw inputs."""
        values = self.scale(points)
        for layer, name in zip(self.layers, [*self.shape["activations"], "step"], strict=True):
            W, t = (np.array(layer[key], dtype=float) for key in ("weights", "thresholds"))
            sums = np.zeros((len(values), len(W)))
            for j in range(W.shape[1]):
                sums = sums + values[:, [j]] * W[:, j]
            reached = (sums[:, :, None] >= t).sum(axis=2)
            values = np.array(_VALUES[name], float)[reached]
        scores = values if self.shape["ties"] == "first" else sums - t[:, 0]
        return values.astype(int), np.argmax(scores, axis=1)

    def classes(self, points: np.ndarray) -> np.ndarray:
        return self.outputs(points)[1]

    def weights(self) -> list[Fraction] | None:
        """What every row weighs, None if nobody knows."""
        own, by_class = self.data.get("sample_weight"), self.data.get("class_weight")
        if isinstance(own, list):
            return [Fraction(w) for w in own]
        if own:
            return None
        setting = self.content.get("settings", {}).get("class_weight")
        if by_class is None:
            return [Fraction(1)] * len(self.labels)
        if "balanced" in (by_class, setting):
            fitted = Y if "rows" not in self.content.get("extra", {}) else Y[self.rows]
            shares = {c: float(np.mean(fitted == label)) for c, label in enumerate(CLASSES)}
            return [Fraction(1 / (2 * shares[c])) for c in self.labels]
        return [Fraction(by_class[c]) for c in self.labels]


def is_true(claim: dict[str, str], promise: dict[str, Any] | None, content: dict[str, Any]) -> bool:
    """Tell whether a claim that was called proven holds."""
    file = File(content)
    rng = np.random.default_rng(0)
    if promise is not None:
        judge = _PROMISES.get(promise["kind"])
        return judge is None or bool(judge(file, promise, rng))
    judge = _CLAIMS.get(claim["name"])
    return judge is None or bool(judge(file, claim["detail"]))


def _loss(file: File, detail: str) -> bool:
    if file.is_certified:
        return _near(file.content["result"]["loss"], _certified_loss(file), at_least=True)
    return _near(file.content["result"]["loss"], _true_loss(file))


def _true_loss(file: File) -> Fraction:
    weights = file.weights()
    assert weights is not None
    outputs = file.outputs(file.X)[0]
    wrong = (outputs != np.eye(outputs.shape[1], dtype=int)[file.labels]).sum(axis=1)
    return sum((w * int(n) for w, n in zip(weights, wrong, strict=True)), Fraction(0))


def _certified_loss(file: File) -> Fraction:
    """At least the weight of samples that some input in their ball, or they themselves, break."""
    weights, robust = file.weights(), file.content["certificate"]["robust"]
    assert weights is not None
    promise = {"radius": robust["radius"], "norm": robust["norm"]}
    total = Fraction(0)
    for i, (x, label) in enumerate(zip(file.X, file.labels, strict=True)):
        points = _ball(file, x, {**promise, "space": "scaled"}, np.random.default_rng(i))
        total += 0 if (file.classes(points) == label).all() else weights[i]
    return total


def _first_layer(file: File, detail: str) -> bool:
    """Whether the first layer says the same of all inputs around the scaled rows."""
    robust, layer = file.content["certificate"]["robust"], file.layers[0]
    W, t = (np.array(layer[key], dtype=float) for key in ("weights", "thresholds"))
    ball = {"radius": robust["radius"], "norm": robust["norm"]}
    for i, x in enumerate(file.scale(file.X)):
        sums = _ball(file, x, ball, np.random.default_rng(i)) @ W.T
        reached = (sums[:, :, None] >= t).sum(axis=2)
        if (reached != reached[0]).any():
            return False
    return True


def _error(file: File, detail: str) -> bool:
    weights = file.weights()
    assert weights is not None
    wrong = file.classes(file.X) != file.labels
    share = sum((w for w, bad in zip(weights, wrong, strict=True) if bad), Fraction(0))
    return _near(file.content["result"]["error"], share / sum(weights))


def _plain_error(file: File, detail: str) -> bool:
    wrong = int((file.classes(file.X) != file.labels).sum())
    return detail == f"{wrong} of {len(file.labels)} rows wrong"


def _bound(file: File, detail: str) -> bool:
    """No network of the shape that is tried may have a smaller loss."""
    result = file.content["result"]
    if result["bound"]["value"] == {"float": "-inf"}:
        return True
    bound = Fraction(result["bound"]["value"])
    if file.is_certified:
        return bound <= Fraction(result["loss"])
    goal = _goal(file)
    room = Fraction(1, 10**8) * abs(bound)
    if bound > goal + room:
        return False
    return all(_loss_of(file, seed) >= bound - room for seed in range(40))


def _goal(file: File) -> Fraction:
    """What was minimised: the loss that the network really has, or the objective."""
    objective = file.content["result"].get("objective")
    return _true_loss(file) if objective is None else Fraction(objective)


def _loss_of(file: File, seed: int) -> Fraction:
    """Loss of some other network of the same shape; prices only make it dearer."""
    rng = np.random.default_rng(seed)
    other = dict(file.content)
    limits = {"ternary": 1, "binary": 1, "continuous": 1}
    layers = []
    inputs = file.scale(file.X)
    for layer, kind in zip(file.layers, file.shape["weights"], strict=True):
        W, t = layer["weights"], layer["thresholds"]
        limit = limits.get(kind) or int(kind[4:])
        drawn = rng.integers(-limit, limit + 1, np.shape(W))
        drawn = np.where(drawn == 0, 1, drawn) if kind == "binary" else drawn
        place = drawn @ inputs[rng.integers(len(inputs))] if not layers else rng.random(len(W)) * 2
        line = np.asarray(place, float)
        if file.shape["thresholds"] != "neuron":
            line = np.zeros(len(W))
        lines = (line[:, None] + np.arange(len(t[0])) * 0.5).tolist()
        layers.append({"weights": drawn.tolist(), "thresholds": lines})
    other["network"] = file.shape | {"layers": layers}
    return _true_loss(File(other))


def _optimality(file: File, detail: str) -> bool:
    result = file.content["result"]
    if result.get("status") != "optimal":
        return True
    goal = Fraction(result["loss"]) if file.is_certified else _goal(file)
    return _near(result["bound"]["value"], goal) and _bound(file, detail)


def _hash(file: File, detail: str) -> bool:
    found = fingerprint(file.X + 0.0, file.labels)
    return file.data["sha256"] == found and file.data.get("rows", len(file.X)) == len(file.X)


def _names(file: File, detail: str) -> bool:
    # Columns are found by these names; another order is other data, which the hash tells.
    return sorted(column["name"] for column in file.encoder["columns"]) == sorted(NAMES)


def _ranges(file: File, detail: str) -> bool:
    low, high = file.X.min(axis=0), file.X.max(axis=0)
    return bool((low == file.data["low"]).all() and (high == file.data["high"]).all())


def _ball(
    file: File, x: np.ndarray, promise: dict[str, Any], rng: np.random.Generator
) -> np.ndarray:
    """Inputs within a radius: corners, axes, edges of cells and anything in between."""
    radius, n = float(Fraction(promise["radius"])), len(x)
    order = _NORMS[promise.get("norm", "linf")]
    moves = rng.normal(size=(400, n))
    moves[:100] = np.sign(moves[:100])
    moves[100:200] *= np.eye(n)[rng.integers(n, size=100)]
    moves /= np.linalg.norm(moves, ord=order, axis=1)[:, None]
    moves[200:] *= rng.random((200, 1))
    moves *= radius * (1 - 1e-12)
    if promise.get("space", "raw") == "scaled":
        moves = moves / file.factor
    return np.clip(np.vstack([x, x + moves]), -1e100, 1e100)


def _radius(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    rows = np.arange(len(file.X)) if "rows" not in promise else _numbers(promise["rows"])
    return len(rows) > 0 and all(
        len(set(file.classes(_ball(file, file.X[i], promise, rng)))) == 1 for i in rows
    )


def _promised_error(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    counted = np.ones(len(file.X), dtype=bool)
    if promise.get("class") is not None:
        counted = file.labels == file.names.index(promise["class"])
    wrong = (file.classes(file.X) != file.labels)[counted]
    return len(wrong) > 0 and Fraction(int(wrong.sum()), len(wrong)) <= Fraction(promise["at_most"])


def _sparsity(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    W = np.array(file.layers[promise.get("layer", 1) - 1]["weights"])
    return promise.get("layer", 1) > 0 and (W != 0).sum(axis=1).max() <= Fraction(
        promise["at_most"]
    )


def _place(feature: Any) -> int:
    return NAMES.index(feature) if isinstance(feature, str) else feature


def _moved(file: File, feature: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and the same with a feature of DATA raised."""
    points = rng.normal(size=(500, 3)) * 4 + 1
    raised = points.copy()
    raised[:, _place(feature)] += rng.random(500) * 5
    return points, raised


def _unused(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    pairs = (_moved(file, feature, rng) for feature in promise["features"])
    return all((file.outputs(a)[0] == file.outputs(b)[0]).all() for a, b in pairs)


def _monotone(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    before, after = (file.outputs(p)[0] for p in _moved(file, promise["feature"], rng))
    own = file.names.index(promise["class"])
    change = (after - before) * promise["sign"]
    return bool((change[:, own] >= 0).all() and (np.delete(change, own, axis=1) <= 0).all())


def _right(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    rows = _numbers(promise["rows"])
    outputs = file.outputs(file.X)[0]
    wanted = np.eye(outputs.shape[1], dtype=int)[file.labels]
    return len(rows) > 0 and bool((outputs[rows] == wanted[rows]).all())


def _parity(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    own = file.names.index(promise["class"])
    counted = (file.labels == own) | (not promise["only_own"])
    said, groups = file.classes(file.X) == own, file.X[:, _place(promise["feature"])]
    rates = [said[counted & (groups == g)].mean() for g in np.unique(groups[counted])]
    return bool(rates) and max(rates) - min(rates) <= float(Fraction(promise["at_most"])) + 1e-8


def _count(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    used = [np.array(layer["weights"]) != 0 for layer in file.layers]
    counts = {
        "per_unit": [int(W.sum(axis=1).max()) for W in used],
        "per_layer": [int(W.sum()) for W in used],
        "total": [sum(int(W.sum()) for W in used)],
        "features": [int(used[0].any(axis=0).sum())],
        "units": [sum(int(W.any(axis=0).sum()) for W in used[1:])],
    }[promise["what"]]
    limits = promise["at_most"]
    return len(limits) == len(counts) and all(
        limit is None or n <= Fraction(limit) for n, limit in zip(counts, limits, strict=True)
    )


def _weight(file: File, promise: dict[str, Any], rng: np.random.Generator) -> bool:
    k, unit, j = (promise[key] for key in ("layer", "unit", "input"))
    return min(k, unit, j) >= 0 and file.layers[k]["weights"][unit][j] == Fraction(promise["value"])


def _near(stated: Any, true: Fraction, *, at_least: bool = False) -> bool:
    stated = Fraction(stated)
    room = Fraction(1, 10**8) * abs(true)
    return stated >= true - room if at_least else abs(stated - true) <= room


def _numbers(text: str) -> np.ndarray:
    parts = [part.partition("-") for part in text.split(",")] if text else []
    rows = [range(int(a) - 1, int(b or a)) for a, _, b in parts]
    return np.array([i for part in rows for i in part], dtype=int)


_CLAIMS = {
    "training data": _hash,
    "names of the inputs": _names,
    "ranges of the inputs": _ranges,
    "loss": _loss,
    "training error": _error,
    "error without weights": _plain_error,
    "bound": _bound,
    "optimality": _optimality,
    "first layer": _first_layer,
}
_PROMISES = {
    "radius": _radius,
    "error": _promised_error,
    "sparsity": _sparsity,
    "unused": _unused,
    "monotone": _monotone,
    "right": _right,
    "parity": _parity,
    "count": _count,
    "weight": _weight,
}
