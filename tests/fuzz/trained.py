"""Tiny training problems over all options: what results claim, against enumeration in rationals.

One case is one table and several runs on it: other methods, weight sets, constraints. Losses are
recomputed as fractions, bounds are compared with the least loss of all networks and with the losses
of all other runs whose networks they speak of, and files go through the checker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from bdnn import BDNNClassifier, BDNNRegressor, Inputs, Limits, Robust
from bdnn.checker import check_model, make_samples, read_model, training_samples
from bdnn.constraints import Forbid, Sparsity
from bdnn.errors import BDNNError
from tests import oracle

_SECONDS = 1.0
_SCALES = (None, "standard", "minmax", "common")
_INPUTS = (*map(Inputs.of, ("auto", "cuts", "both")), *(Inputs(scale=s) for s in _SCALES))
_KINDS = ("binary", "ternary", "int:2", "continuous")
# Units of continuous weights are enumerated by a linear program for each set of inputs.
_MOST_INPUTS = {"continuous": 5, "int:2": 6}
# Bits of cuts are more inputs than the table has columns.
_MOST_FEATURES = {"binary": 8, "ternary": 6, "int:2": 4, "continuous": 99}


@dataclass(frozen=True)
class Table:
    """Features, labels, what samples weigh, and how that is told to ``fit``."""

    X: np.ndarray
    y: np.ndarray
    weights: list[Fraction]
    sample_weight: np.ndarray | None
    class_weight: Any

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Table:
        n_rows, n_classes = int(rng.integers(3, 8)), int(rng.choice([2, 2, 3]))
        X = rng.integers(0, 4, (n_rows, int(rng.integers(1, 3))))
        X = X * float(rng.choice([1.0, 0.25, 1024.0]))
        y = np.append(np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes))
        values = [[1.0, 2.0, 5.0], [0.1, 0.3, 1.7], [1e-6, 1.0, 1e6], [1e6, 1e6, 0.1]]
        drawn = rng.choice(values[rng.integers(4)], n_rows)
        kind = rng.integers(4)
        if kind == 0:
            return cls(X, y, [Fraction(w) for w in drawn.tolist()], drawn, None)
        if kind == 1:
            by_class = {c: float(w) for c, w in enumerate(drawn[:n_classes])}
            return cls(X, y, [Fraction(by_class[c]) for c in y.tolist()], None, by_class)
        if kind == 2:
            share = [n_rows / (n_classes * int((y == c).sum())) for c in range(n_classes)]
            return cls(X, y, [Fraction(share[c]) for c in y.tolist()], None, "balanced")
        return cls(X, y, [Fraction(1)] * n_rows, None, None)

    def costs(self, lines: list[int], n_lines: int) -> tuple[np.ndarray, np.ndarray]:
        """What outputs cost on every distinct input when they are on, and when they are off."""
        mass = np.full((n_lines, int(self.y.max()) + 1), Fraction(0), dtype=object)
        for line, label, weight in zip(lines, self.y.tolist(), self.weights, strict=True):
            mass[line, label] += weight
        return mass.sum(axis=1, keepdims=True) - mass, mass


@dataclass(frozen=True)
class Run:
    """A run, and whether networks had to keep something besides."""

    model: BDNNClassifier
    is_free: bool

    @property
    def bound(self) -> Fraction | None:
        """What holds for all networks, None if the bound takes a margin for granted."""
        proof = self.model.result_.proof
        return None if proof.condition.margin else proof.value - proof.condition.tolerance

    @property
    def rank(self) -> int:
        """Sets of weights of a higher rank allow all networks of a lower one."""
        return _KINDS.index(self.model.network_.architecture.weights[0].name)


class Trained:
    """Several runs per case; claims are losses, bounds, statuses and those of the checker."""

    name: ClassVar[str] = "trained"
    share: ClassVar[float] = 1.0

    def prepare(self, folder: Path) -> None:
        self.path = folder / "model.json"

    def attempt(self, number: int) -> tuple[int, list[str]]:
        rng = np.random.default_rng(number)
        table = Table.draw(rng)
        if rng.random() < 0.15:
            return _numbers(table, rng)
        shape = _shape(rng)
        runs, claims, wrong = [], 0, []
        for _ in range(int(rng.integers(2, 4))):
            options, is_free = _options(rng, shape)
            try:
                model = BDNNClassifier(
                    **shape, **options, class_weight=table.class_weight, random_state=number
                ).fit(table.X, table.y, table.sample_weight)
            except BDNNError:
                continue
            run = Run(model, is_free)
            runs.append(run)
            for found, complaints in (self._result(run, table), self._file(run, table)):
                claims += found
                wrong += [f"{complaint} ({shape} {options})" for complaint in complaints]
        for one in runs:
            for other in runs:
                if one.is_free and one.bound is not None and one.rank >= other.rank:
                    claims += 1
                    if one.bound > _loss(other, table):
                        wrong.append(f"{one.model.result_} is undercut by {other.model.result_}")
        return claims, wrong

    def _result(self, run: Run, table: Table) -> tuple[int, list[str]]:
        """Compare a result with its own network and with all networks there are."""
        result, wrong = run.model.result_, []
        loss = _loss(run, table)
        if result.loss != float(loss):
            wrong.append(f"the loss is {float(loss)!r}, told {result.loss!r}")
        least = _least(run, table)
        if least is None:
            return 1, wrong
        if loss < least:
            wrong.append(f"enumeration is wrong: {float(least)!r}")
        if run.is_free and run.bound is not None and run.bound > least:
            wrong.append(f"bound {result.bound!r} by {result.bound_origin}, least {float(least)!r}")
        if run.is_free and result.status == "optimal" and loss != least:
            wrong.append(f"optimal with {result.loss!r}, least {float(least)!r}")
        return 4, wrong

    def _file(self, run: Run, table: Table) -> tuple[int, list[str]]:
        """Let the checker look at all that the file says."""
        run.model.save(self.path)
        checked = read_model(self.path)
        rows = zip(table.X.tolist(), table.y.tolist(), strict=True)
        claims = check_model(checked, training_samples(checked, make_samples(checked, rows)))
        proof = run.model.result_.proof
        wrong = [
            f"{claim.name} is {claim.verdict}: {claim.detail}"
            for claim in claims
            if claim.verdict == "false"
            or (claim.name == "bound" and proof.certificate and claim.verdict == "claimed")
        ]
        return len(claims), wrong


def _shape(rng: np.random.Generator) -> dict[str, Any]:
    hidden = [(), (1,), (2,), (1, 1)][rng.integers(4)]
    shape: dict[str, Any] = {
        "hidden": hidden,
        "thresholds": str(rng.choice(["neuron", "neuron", "layer", "zero"])),
        "ties": str(rng.choice(["score", "first"])),
        "inputs": _INPUTS[rng.integers(len(_INPUTS))],
    }
    if hidden and rng.random() < 0.3:
        shape["activation"] = str(rng.choice(["sign", "ternary", "levels:3"]))
    return shape


def _options(rng: np.random.Generator, shape: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    options: dict[str, Any] = {
        "weights": str(rng.choice(_KINDS)),
        "method": str(rng.choice(["auto", "auto", "exact", "descent", "local_search"])),
        "limits": Limits(seconds=_SECONDS),
    }
    kind = rng.random()
    if kind < 0.1:
        options["constraints"] = [Sparsity(per_unit=1)]
    elif kind < 0.2:
        options["constraints"] = [Forbid(0)]
    elif kind < 0.3:
        options["robust"] = Robust(0.05, loss="pattern")
    return options, kind >= 0.3


def _loss(run: Run, table: Table) -> Fraction:
    network, values = run.model.network_, run.model.encoder_.transform(table.X)
    wanted = np.arange(int(table.y.max()) + 1) == table.y[:, None]
    wrong = (network.outputs(values) != wanted).sum(axis=1)
    return sum((w * int(n) for w, n in zip(table.weights, wrong, strict=True)), Fraction(0))


def _least(run: Run, table: Table) -> Fraction | None:
    """The least loss of all networks of the shape, None where they are too many."""
    shape = run.model.network_.architecture
    inputs, lines = np.unique(
        run.model.encoder_.transform(table.X) + 0.0, axis=0, return_inverse=True
    )
    kind = shape.weights[0].name
    has_levels = any(not rule.is_step for rule in shape.activations)
    if len(inputs) > _MOST_INPUTS.get(kind, 7) or inputs.shape[1] > _MOST_FEATURES[kind]:
        return None
    if has_levels and (shape.hidden != (1,) or kind in _MOST_INPUTS):
        return None
    on, off = table.costs(lines.reshape(-1).tolist(), len(inputs))
    loss = SimpleNamespace(cost_on=on, cost_off=off, label_weight=off)
    floor = np.minimum(on, off).sum()
    return oracle.smallest_loss(
        SimpleNamespace(architecture=shape, inputs=inputs, loss=loss, floor=floor)
    )


def _numbers(table: Table, rng: np.random.Generator) -> tuple[int, list[str]]:
    """Regression: a bound of one run holds for the networks of all runs of the same shape."""
    target = rng.integers(0, 5, len(table.y)) + table.y
    shape = {
        "hidden": [(1,), (2,)][rng.integers(2)],
        "weights": str(rng.choice(["ternary", "continuous"])),
        "loss": str(rng.choice(["squared", "absolute"])),
        "ridge": 0.0,
        "smoothing": 0.0,
    }
    runs = []
    for method in ("auto", "exact", "descent"):
        try:
            model = BDNNRegressor(
                **shape, method=method, limits=Limits(seconds=_SECONDS), random_state=0
            ).fit(table.X, target, table.sample_weight)
        except BDNNError:
            continue
        runs.append(model.result_)
    wrong = [
        f"bound {one.bound!r} of {one.method}, loss {other.loss!r} of {other.method}"
        for one in runs
        if not one.condition.margin
        for other in runs
        if one.proof.value - one.condition.tolerance > Fraction(other.loss)
    ]
    claims = len(runs) * sum(not one.condition.margin and math.isfinite(one.bound) for one in runs)
    return claims, [f"{complaint} ({shape})" for complaint in wrong]
