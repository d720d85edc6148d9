"""The integers of a plan say what the real numbers of the network say."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.encoding import Encoder
from bdnn.export.c import export_c
from bdnn.export.c.code import lay_out
from bdnn.export.inputs import InputFormat
from bdnn.export.plan import make_plan
from bdnn.export.plan.fixed_point import fix_unit
from bdnn.export.plan.levels import find_cut, fit_level
from bdnn.export.plan.plan import Table
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.encoding.encoders import make_encoder
from tests.export.models import make_model
from tests.grids import examples


@given(
    shift=st.floats(-50, 300),
    factor=st.floats(1e-3, 40),
    low=st.integers(-200, 100),
    count=st.integers(1, 400),
    per_unit=st.sampled_from([1, 10, 64]),
)
@examples(200)
def test_levels_are_those_of_the_scaler(shift, factor, low, count, per_unit):
    scaler = make_encoder(np.array([shift]), np.array([factor]), 2.0**-6)
    inputs = InputFormat("int32", (per_unit,), ((low, low + count),))
    counts = inputs.counts(0)
    levels = np.rint(inputs.values(0, counts, scaler) * 64).astype(np.int64)
    level = fit_level(counts, levels, factor * 64 / per_unit)
    assert level is not None
    moved = level.table or [(level.slope * int(k) + level.intercept) >> level.shift for k in counts]
    assert [m + level.lowest for m in moved] == levels.tolist()
    if not level.is_count:
        assert min(moved) >= 0


def test_levels_that_no_line_gives():
    """Halves are rounded to even, as the scaler does it."""
    counts = np.arange(40)
    level = fit_level(counts, np.rint(counts / 2).astype(np.int64), 0.5)
    assert level.table == tuple(np.rint(counts / 2).astype(int).tolist())
    many = np.arange(5000)
    assert fit_level(many, np.rint(many / 2).astype(np.int64), 0.5) is None


@pytest.mark.parametrize("kind", ["double", "float", "uint8", "int16"])
@pytest.mark.parametrize("weight", [-1, 1, 3])
def test_cut_is_where_the_unit_switches(kind, weight):
    scaler = make_encoder(np.array([0.3, 41.7]), np.array([2.0, 0.37]), 2.0**-6)
    ranges = {"uint8": (0, 255), "int16": (-(2**15), 2**15 - 1)}.get(kind)
    inputs = InputFormat(kind, (1, 1), () if ranges is None else (ranges,) * 2)
    threshold = 101
    cut = find_cut(np.array([0, weight]), threshold, scaler, inputs, scaler.step)
    dtype = {"double": np.float64, "float": np.float32}.get(kind)
    before = (
        cut.value - 1 if dtype is None else float(np.nextafter(dtype(cut.value), dtype(-np.inf)))
    )
    for raw in (before, cut.value):
        value = inputs.values(1, np.array([raw]), scaler)[0]
        is_on = weight * value / scaler.step >= threshold
        assert is_on == ((raw >= cut.value) == cut.is_at_least)


@given(
    weights=st.lists(st.floats(-1, 1), min_size=1, max_size=4),
    place=st.integers(0, 10**6),
    seed=st.integers(0, 99),
)
@examples(80)
def test_fixed_point_decides_like_doubles_on_every_input(weights, place, seed):
    """Thresholds that sums meet exactly are the hardest; all inputs are tried."""
    rng = np.random.default_rng(seed)
    weights = np.array(weights)
    counts = [np.arange(6)] * len(weights)
    values = [np.sort(rng.normal(size=6)) for _ in weights]
    rows = list(itertools.product(range(6), repeat=len(weights)))

    def total(row):
        s = 0.0
        for w, v, k in zip(weights, values, row, strict=True):
            s += w * v[k]
        return s

    threshold = total(rows[place % len(rows)])
    fixed = fix_unit(weights, threshold, counts, values)
    if fixed is None:
        return
    for row in rows:
        summed = sum(w * k for w, k in zip(fixed.weights, row, strict=True))
        assert (summed >= fixed.threshold) == (total(row) >= threshold)


def test_fixed_point_is_found_for_affine_inputs():
    """As a scaler makes them; then an integer weight can follow each of them."""
    rng = np.random.default_rng(4)
    counts = [np.arange(11)] * 3
    values = [(np.arange(11) - 4.7) * 0.37] * 3
    found = [
        fix_unit(rng.uniform(-1, 1, 3), float(rng.normal()), counts, values) for _ in range(20)
    ]
    assert all(found)


def test_no_proof_no_fixed_point():
    """Too many inputs to try, and a threshold that some of them meet."""
    counts = [np.arange(2**16)] * 6
    values = [np.arange(2**16) / 10] * 6
    assert fix_unit(np.ones(6), 1000.0, counts, values, unit=0.1) is None


def test_narrow_hidden_layer_becomes_a_table():
    model = make_model(np.random.default_rng(5), hidden=(5, 8), weights="continuous")
    inputs = InputFormat("uint8", (1,) * 4, ((0, 9),) * 4)
    plan = make_plan(model.network, model.encoder, inputs)
    assert isinstance(plan.decision, Table)
    assert len(plan.layers) == 1
    assert plan.is_integer


def network_of(first, limits, second, second_limits):
    shape = Architecture.create(len(first[0]), len(second), hidden=(len(first),), weights="int:9")
    return Network(
        shape,
        (np.array(first, dtype=float), np.array(second, dtype=float)),
        (np.array(limits, dtype=float), np.array(second_limits, dtype=float)),
    )


def test_constant_and_unused_units_are_left_out():
    network = network_of(
        [[1, 0], [0, 1], [1, 1], [0, 0]],
        [3, 2, 10**6, -1],  # the third is never on, the fourth always
        [[1, 0, 1, 1], [-1, 0, 0, 1]],  # nobody looks at the second
        [2, 1],
    )
    scaler = Encoder.of_features(2)
    inputs = InputFormat("uint8", (1, 1), ((0, 255),) * 2)
    plan = lay_out(make_plan(network, scaler, inputs), scaler, inputs)
    assert [len(layer.thresholds) for layer in plan.layers] == [1]
    (cut,) = plan.layers[0].cuts.values()
    assert (cut.feature, cut.value) == (0, 3)


def test_constant_outputs_are_known():
    """An output that is always on ends the search for the first one."""
    shape = Architecture.create(1, 3, hidden=(), weights="ternary", ties="first")
    network = Network(shape, (np.array([[1.0], [1.0], [-1.0]]),), (np.array([300.0, 0.0, -5.0]),))
    scaler = Encoder.of_features(1)
    inputs = InputFormat("uint8", (1,), ((0, 255),))
    plan = lay_out(make_plan(network, scaler, inputs), scaler, inputs)
    cuts = plan.decision.units.cuts
    assert (cuts[0].is_on, cuts[1].is_on, cuts[2].value) == (False, True, 6)


def test_network_that_always_says_the_same():
    network = network_of([[1, 1]], [10**6], [[1], [1]], [5, 2])
    scaler = Encoder.of_features(2)
    model = make_model(np.random.default_rng(0), n_features=2, n_outputs=2)
    from dataclasses import replace

    export = export_c(replace(model, network=network, encoder=scaler), input="int8")
    assert "return 1;" in export.text
    assert export.plan.layers == ()
