"""Growing a program by further samples gives the program that all samples together have."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from bdnn.clock import Slot
from bdnn.mip import NetworkModel, Reductions
from bdnn.mip.model import GrowingModel
from bdnn.network.architecture import Architecture
from bdnn.problem.create import led_by
from bdnn.problem.losses.output import classification
from bdnn.search.starts import make_start
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits
from tests.oracle import smallest_loss
from tests.problems import weighted

CASES = list(
    product(
        ("ternary", "binary", "continuous", "int:2"),
        ("neuron", "layer", "zero"),
        ((), (2,), (2, 2)),
    )
)


def parts(seed, *, n_classes=2, first=6, total=10, **options):
    """Two problems, of the first samples and of all; no new input is outside the old box."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (total, 3)).astype(float)
    X[0], X[1] = 2.0, -2.0
    y = rng.integers(0, n_classes, total)
    shape = Architecture.create(3, n_classes, **options)
    return [classification(shape, X[:n], y[:n]) for n in (first, total)]


def grown_model(before, after, **options):
    model = NetworkModel.build(before, **options)
    return model.append(led_by(after, before.samples))


def table(program):
    """Rows as a sorted list of {column name: coefficient} with their bounds, and the objective."""
    names = np.array(list(program.column_names()))
    assert len(set(names)) == len(names)
    assert len(set(program.row_names())) == program.n_rows
    matrix = program.matrix
    rows = [
        (
            tuple(
                sorted(
                    zip(names[matrix.indices[a:b]].tolist(), matrix.data[a:b].tolist(), strict=True)
                )
            ),
            low,
            high,
        )
        for a, b, low, high in zip(
            matrix.indptr, matrix.indptr[1:], program.row_lower, program.row_upper, strict=False
        )
    ]
    columns = zip(
        names.tolist(),
        program.lower.tolist(),
        program.upper.tolist(),
        program.integer.tolist(),
        program.linear.tolist(),
        strict=True,
    )
    return sorted(rows), sorted(columns), program.offset


@pytest.mark.parametrize("activation", ["ternary", "levels:4", "values:-1/0/2@-0.5/0.25"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_units_of_several_values_grow_too(activation, thresholds):
    options = {"weights": "ternary", "thresholds": thresholds, "hidden": (2, 2)}
    before, after = parts(1, activation=activation, **options)
    reductions = Reductions(one_sided=False)
    grown = grown_model(before, after, reductions=reductions)
    anew = NetworkModel.build(led_by(after, before.samples), reductions=reductions)
    assert table(grown.program) == table(anew.program)
    start = make_start(after, "random", np.random.default_rng(0), slot=Slot())
    assert grown.program.violation(grown.lift(start)) <= 1e-6


@pytest.mark.parametrize(("weights", "thresholds", "hidden"), CASES)
def test_a_grown_program_is_the_one_of_all_samples(weights, thresholds, hidden):
    before, after = parts(1, weights=weights, thresholds=thresholds, hidden=hidden)
    reductions = Reductions(one_sided=False)
    grown = grown_model(before, after, reductions=reductions)
    anew = NetworkModel.build(led_by(after, before.samples), reductions=reductions)
    assert table(grown.program) == table(anew.program)
    assert len(grown.problem.inputs) > len(before.inputs)


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_preference_brings_the_row_that_was_left_out(seed):
    before, after = parts(seed, weights="ternary", thresholds="neuron", hidden=(2,), total=14)
    grown = grown_model(before, after)
    rows, columns, offset = table(grown.program)
    anew = NetworkModel.build(led_by(after, before.samples))
    anew_rows, anew_columns, anew_offset = table(anew.program)
    assert (columns, offset) == (anew_columns, anew_offset)
    assert set(anew_rows) <= set(rows)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("weights", "thresholds"), [("ternary", "neuron"), ("binary", "layer")])
def test_the_optimum_is_the_enumerated_one(weights, thresholds, n_classes):
    before, after = parts(
        5, weights=weights, thresholds=thresholds, hidden=(2,), n_classes=n_classes, total=9
    )
    model = grown_model(before, after)
    found = choose_solver(model.program).solve(model.program, limits=Limits(seconds=120))
    assert found.objective == pytest.approx(smallest_loss(after))
    assert after.value(model.read(found.solution)) == smallest_loss(after)


@pytest.mark.parametrize(("weights", "thresholds", "hidden"), CASES)
def test_networks_are_starts_of_grown_programs(weights, thresholds, hidden):
    before, after = parts(2, weights=weights, thresholds=thresholds, hidden=hidden, n_classes=3)
    model = grown_model(before, after)
    network = make_start(after, "random", np.random.default_rng(0), slot=Slot())
    start = model.lift(network)
    if start is not None:  # continuous weights may not keep the margin
        assert model.program.violation(start) <= 1e-6
        assert model.program.objective(start) == pytest.approx(float(after.value(network)))
        assert after.value(model.read(start)) == after.value(network)
    assert start is not None or weights == "continuous"


def test_inputs_beyond_the_old_ones_need_a_new_program():
    before, after = parts(1, weights="ternary", thresholds="neuron", hidden=(2,))
    inputs = after.inputs.copy()
    far = weighted(
        after.architecture, np.vstack([inputs, [9.0, 9.0, 9.0]]), np.ones((len(inputs) + 1, 2))
    )
    model = NetworkModel.build(before)
    size = model.program.n_rows
    assert model.append(led_by(far, before.samples)) is None
    assert model.program.n_rows == size


def test_models_are_continued_where_that_is_possible():
    before, after = parts(1, weights="ternary", thresholds="neuron", hidden=(2,))
    models = GrowingModel()
    first = models.build(before)
    second = models.build(after)
    assert second.program is first.program
    assert models.build(after, eps=0.5).program is not first.program  # other settings
    assert pickle.loads(pickle.dumps(models)).model is None
