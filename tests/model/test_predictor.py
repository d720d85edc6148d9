"""Compiled prediction against the forward pass."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import bdnn
from bdnn.clock import Slot
from bdnn.encoding import Bit, Column, Encoder, Inputs
from bdnn.encoding.bins import make_bins
from bdnn.errors import DataError
from bdnn.export.boundary import boundary_inputs
from bdnn.export.inputs import InputFormat
from bdnn.model import Model
from bdnn.model.lines import ROWS
from bdnn.model.model import LOADING
from bdnn.model.predictor import Predictor, take
from bdnn.model.shorts import predict_small_row
from bdnn.model.sliced import predict_rows
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.export.models import any_model, level_model, make_model, number_model
from tests.sentences import assert_one_sentence

COLUMNS = (Column("a"), Column("b"), Column("c", "category", ("x", "y", "z")))


def rows(model, rng):
    """More than a block: ordinary rows, rows at boundaries, and a few far away."""
    doubles = InputFormat("double", (1,) * model.n_features)
    at_boundaries = boundary_inputs(model.network, model.encoder, doubles, 100, rng)
    far = rng.normal(0, 10.0 ** rng.integers(0, 50, (5, 1)), (5, model.n_features))
    ordinary = rng.integers(0, 10, (400, model.n_features))
    return np.concatenate([ordinary + 0.0, at_boundaries, far])


def assert_outcomes(predictor, codes, wanted):
    outcomes, has_gaps = predictor.checked_outcomes(codes)
    assert (outcomes == wanted).all()
    assert has_gaps == np.isnan(codes).any()


def assert_like_the_forward_pass(model, codes):
    wanted = model.network.predict(model.encoder.transform(codes))
    predictor = Predictor(model)
    for part in (slice(None), slice(300), slice(-7, None)):
        assert_outcomes(predictor, codes[part], wanted[part])
    assert (predictor(codes) == model.labels[wanted]).all()
    assert [predictor(row) for row in codes[-40:]] == model.labels[wanted[-40:]].tolist()


@pytest.mark.parametrize("make", [any_model, level_model])
def test_random_models(make):
    rng = np.random.default_rng(7)
    for _ in range(40):
        model = make(rng)
        assert_like_the_forward_pass(model, rows(model, rng))


def test_numbers():
    rng = np.random.default_rng(3)
    for _ in range(15):
        model = number_model(rng)
        X = rows(model, rng)[-30:]
        assert np.array_equal(Predictor(model)(X), model.predict(X))
        assert np.array_equal(Predictor(model)(X[0]), model.predict(X[:1])[0])
        assert Predictor(model)(X[:0]).shape == model.predict(X[:0]).shape


def mixed_model(rng, encode, weights, scale="auto"):
    """Numbers and texts with gaps, as numbers, bits or both."""
    codes = mixed_rows(rng, 60)
    kind = Architecture.create(1, 2, weights=weights).weights[0]
    inputs = Inputs(encode, scale, cuts=6)
    encoder = Encoder.learn(codes, COLUMNS, inputs, weights=kind, header=True)
    model = make_model(rng, n_features=encoder.n_inputs, hidden=(9, 4), weights=weights, scale=None)
    return Model(encoder, model.network, ("p", "q", "r"))


def mixed_rows(rng, count):
    codes = rng.integers(-3, 9, (count, 3)) / np.array([1.0, 3.0, 1.0])
    codes[:, 2] = rng.integers(-1, 3, count)
    codes[rng.random(codes.shape) < 0.1] = np.nan
    return codes


@pytest.mark.parametrize("encode", ["scaled", "cuts", "both"])
@pytest.mark.parametrize("weights", ["ternary", "int:5", "continuous"])
def test_texts_and_gaps(encode, weights):
    rng = np.random.default_rng(11)
    for scale in ("auto", "auto", None):
        model = mixed_model(rng, encode, weights, scale)
        codes = mixed_rows(rng, 600)
        wanted = model.network.predict(model.encoder.transform(codes))
        assert_outcomes(Predictor(model), codes, wanted)
        assert_outcomes(Predictor(model), codes[:9], wanted[:9])
        unlisted = codes + np.array([0.0, 0.0, 5.0])
        inputs = model.encoder.transform(unlisted)
        assert_outcomes(Predictor(model), unlisted, model.network.predict(inputs))
        (bins,) = [each for each in make_bins(model.encoder) if each.is_listed]
        assert np.array_equal(bins.patterns[bins.of(unlisted[:, 2])], inputs[:, bins.inputs])
        cells = [[None if c == "" else c for c in row] for row in model.encoder.cells(codes)]
        known = ~(codes[:, 2] < 0)
        answers = np.array([Predictor(model)(row) for row in np.array(cells, object)[known][:20]])
        assert (answers == model.labels[wanted[known][:20]]).all()


@pytest.mark.parametrize("encode", ["scaled", "cuts", "both"])
@pytest.mark.parametrize("hidden", [(), (70,), (9, 40, 5)])
def test_more_than_a_block(encode, hidden):
    """Rows of two blocks, some of them in parts of a block that have to go row by row."""
    rng = np.random.default_rng(17)
    codes = mixed_rows(rng, ROWS + 900)
    codes[rng.choice(len(codes), 3, replace=False), 0] = 1e9
    kind = Architecture.create(1, 2, weights="int:5").weights[0]
    encoder = Encoder.learn(codes[:60], COLUMNS, Inputs(encode), weights=kind, header=True)
    made = make_model(rng, n_features=encoder.n_inputs, hidden=hidden, weights="int:5", scale=None)
    wanted = made.network.predict(encoder.transform(codes))
    predictor = Predictor(Model(encoder, made.network, ("p", "q", "r")))
    for part in (slice(None), slice(ROWS - 1), slice(-300, None), slice(-7, None)):
        assert_outcomes(predictor, codes[part], wanted[part])
    odd = np.flatnonzero(codes[:, 0] == 1e9).tolist()
    for r in (*odd, *range(200)):
        assert predict_small_row(codes[r], predictor._small) == wanted[r]


@pytest.mark.parametrize("n_features", [7, 8, 9, 16, 21])
@pytest.mark.parametrize("weights", ["ternary", "int:5"])
def test_columns_of_several_tiles(n_features, weights):
    rng = np.random.default_rng(n_features)
    model = make_model(rng, n_features=n_features, hidden=(9,), weights=weights)
    assert Predictor(model)._sliced is not None
    assert_like_the_forward_pass(model, rng.normal(size=(700, n_features)))


@pytest.mark.parametrize("column", [Column("a", missing=m, fill=2.0) for m in ("fill", "bit")])
def test_whole_cells_and_others_are_compared_alike(column):
    """Parts of a block are compared as 16 bits or as doubles, with cuts that no 16 bits hold."""
    rng = np.random.default_rng(0)
    cuts = [-1e60, -40_000.0, -32_768.0, -3.0, 0.5, 7.0, 7.25, 32_767.0, 32_768.5, 1e60]
    bits = [Bit(0, "ge", cut) for cut in cuts]
    if column.missing == "bit":
        bits.append(Bit(0, "missing"))
    encoder = Encoder((column,), bits=tuple(bits))
    shape = Architecture.create(len(bits), 2, hidden=(len(bits),), weights="ternary")
    W = np.eye(len(bits))
    V = rng.integers(-1, 2, (2, len(bits))) + 0.0
    limits = np.full((len(bits), 1), 1.0), np.array([[0.0], [0.5]])
    model = Model(encoder, Network(shape, (W, V), limits), (0, 1))
    whole = rng.integers(-10, 10, 1100) + 0.0
    large = np.where(rng.random(600) < 0.1, 1e70, whole[:600])
    ends = rng.choice([-32_767.0, 32_766.0, 32_767.0, -32_768.0], 600)
    parts = [whole, whole + 0.25, large, ends, np.where(rng.random(600) < 0.1, np.nan, ends)]
    assert_like_the_forward_pass(model, np.concatenate(parts)[:, None])


@pytest.mark.parametrize("encode", ["cuts", "both"])
@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("n_open", [0, 5])
def test_units_that_one_column_tells(encode, hidden, n_open):
    """Copies of bits, their opposites, counts of one column's bits, constants; and other units."""
    rng = np.random.default_rng(n_open)
    X = rng.integers(0, 9, (700, 3)) + 0.0
    columns = (Column("a"), Column("b"), Column("c"))
    kind = Architecture.create(1, 2).weights[0]
    encoder = Encoder.learn(X, columns, Inputs(encode, cuts=5), weights=kind)
    n, n_bits = encoder.n_numbers, encoder.n_bits
    own = (np.array([bit.column for bit in encoder.bits]) == np.arange(3)[:, None]) + 0.0
    bits = np.concatenate([np.eye(n_bits), -np.eye(n_bits), own, -own, np.zeros((2, n_bits))])
    W = np.concatenate(
        [np.hstack([np.zeros((len(bits), n)), bits]), np.zeros((n_open, n + n_bits))]
    )
    W[len(bits) :] = rng.integers(-1, 2, (n_open, n + n_bits))
    limits = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0], len(W))
    limits[: 2 * n_bits] = np.repeat([1.0, 0.0], n_bits)
    order = rng.permutation(len(W))
    layers, thresholds, values = [W[order]], [limits[order][:, None]], encoder.transform(X)
    for width in (*hidden, 3):
        values = (values @ layers[-1].T >= thresholds[-1][:, 0]) + 0.0
        layers.append(rng.integers(-1, 2, (width, len(values.T))) + 0.0)
        sums = values @ layers[-1].T
        thresholds.append(sums[rng.integers(0, len(X), width), np.arange(width)][:, None])
    shape = Architecture.create(n + n_bits, 3, hidden=(len(W), *hidden), weights="ternary")
    model = Model(encoder, Network(shape, tuple(layers), tuple(thresholds)), ("p", "q", "r"))
    assert len(set(model.predict(X))) > 1
    assert_like_the_forward_pass(model, X)


@pytest.mark.parametrize("length", [1, 9, 16, 17, 200])
@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_texts_of_all_lengths_are_copied(length, count):
    labels = np.array(["é" * length, "b", "c" * (length // 2)])
    outcomes = np.random.default_rng(0).integers(0, 3, count)
    found = take(labels, outcomes)
    assert found.dtype == labels.dtype
    assert (found == labels[outcomes]).all()


def test_predictors_run_as_python_too():
    code = (
        "import numpy as np; from tests.export.models import make_model;"
        "model = make_model(np.random.default_rng(0)); X = np.arange(400.0).reshape(100, 4) % 7;"
        "assert (model.predictor(X) == model.predict(X)).all()"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_numbers_that_no_unit_looks_at():
    shape = Architecture.create(9, 2, hidden=(3,), weights="ternary")
    weights, thresholds = (np.zeros((3, 9)), np.eye(2, 3)), (np.zeros((3, 1)), np.zeros((2, 1)))
    model = Model(Encoder.of_features(9), Network(shape, weights, thresholds), (0, 1))
    layout = Predictor(model)._sliced
    # Compiled code checks no index: there is a line for every number, and one of zeros.
    assert layout.n_digits == 1
    assert len(layout.sum_groups) == 0
    assert_like_the_forward_pass(model, np.random.default_rng(0).integers(0, 9, (700, 9)) + 0.0)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 300])
def test_counts_of_many_bits(n_bits):
    """Units that are on from a count on, beyond what planes can say on either side."""
    rng = np.random.default_rng(n_bits)
    inputs = Inputs("cuts", cuts=n_bits)
    X = np.arange(n_bits + 1.0)[:, None]
    kind = Architecture.create(1, 2).weights[0]
    encoder = Encoder.learn(X, (Column("a"),), inputs, weights=kind)
    n = encoder.n_bits
    W = np.concatenate([np.ones((n + 3, n)), -np.ones((n + 3, n)), rng.integers(-1, 2, (9, n))])
    limits = np.concatenate([np.arange(n + 3) - 1.0, 1.0 - np.arange(n + 3), rng.normal(size=9)])
    V = rng.integers(-1, 2, (3, len(W))) + 0.0
    shape = Architecture.create(n, 3, hidden=(len(W),), weights="ternary")
    network = Network(shape, (W, V), (limits[:, None], np.array([[0.5], [0.0], [-0.5]])))
    rows = np.repeat(X, 20, axis=0)
    assert_like_the_forward_pass(Model(encoder, network, (0, 1, 2)), rows)


def test_sums_without_room_for_16_bits():
    shape = Architecture.create(2, 2, hidden=(2,), weights="ternary")
    W = np.array([[1.0, 1.0], [1.0, -1.0]])
    network = Network(shape, (W, W), (np.array([40_000.0, 0.0]), np.array([0.5, 0.5])))
    model = Model(Encoder.of_features(2), network, (0, 1))
    X = np.array([[30_000.0, 9_999.0], [30_000.0, 10_000.0], [0.25, 0.5], [1e15, -1e15]])
    assert_like_the_forward_pass(model, np.tile(X, (100, 1)))


def test_what_is_refused():
    predictor = Predictor(make_model(np.random.default_rng(0), n_features=2))
    without_fill = Model(Encoder.of_features(2), predictor.model.network, (0, 1, 2))
    assert predictor(np.array([np.nan, 0.0])) in (0, 1, 2)
    for bad, what in (
        (np.array([1.0, np.inf]), "inf"),
        (np.array([[1.0, 2.0], [1e200, 0.0]]), "beyond 1e"),
        (np.array([np.nan, 0.0]), "no value"),
        (np.zeros(3), "shape"),
        (np.zeros((2, 3)), "shape"),
    ):
        with pytest.raises(DataError, match=what) as error:
            Predictor(without_fill)(bad)
        assert_one_sentence(error.value)


def test_lists_and_other_types_are_numbers_too():
    model = make_model(np.random.default_rng(0), n_features=2)
    row = [3, 4]
    wanted = model.predict(np.array([[3.0, 4.0]]))[0]
    for given in (row, np.array(row), np.array(row, dtype=np.float32), np.array([3.0, 9, 4])[::2]):
        assert model.predictor(given) == wanted
    assert len(predict_small_row.signatures) == 1


def test_rows_of_any_layout_are_compiled_for_once():
    model = make_model(np.random.default_rng(0), n_features=2)
    X = np.random.default_rng(1).integers(0, 9, (300, 2)) + 0.0
    kept = X.copy()
    kept.flags.writeable = False
    wanted = model.predict(X)
    for given in (kept, np.asfortranarray(X), X.astype(np.float32)):
        assert (model.predictor(given) == wanted).all()
    assert len(predict_rows.signatures) == 1


def test_a_pickled_model_leaves_the_compiled_form_behind():
    model = make_model(np.random.default_rng(0))
    plain = len(pickle.dumps(replace(model)))
    assert model.predictor is model.predictor
    assert len(pickle.dumps(model)) == plain


def test_estimators_have_one():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), np.array(["low", "low", "high", "high"] * 5)
    fitted = bdnn.BDNNClassifier(hidden=(1,), limits=bdnn.Limits(seconds=5)).fit(X, y)
    predictor = fitted.predictor()
    assert [predictor(row) for row in X] == fitted.predict(X).tolist()


def test_prediction_goes_over_to_compiled_code():
    model = make_model(np.random.default_rng(1))
    X = np.random.default_rng(2).normal(3, 2, (2000, 4))
    assert LOADING.wait(Slot())
    assert (model.outcomes(X) == model.network.predict(model.inputs(X))).all()
    assert "predictor" in vars(model)


@pytest.mark.parametrize("count", [1, 2000])
def test_gaps_are_told_where_the_user_called(count):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    fitted = bdnn.BDNNClassifier(hidden=(1,), limits=bdnn.Limits(seconds=2)).fit(X, X[:, 0] > 0)
    rows = np.tile(X, (34, 1))[:count]
    rows[-1, 1] = np.nan
    assert LOADING.wait(Slot())
    LOADING.is_worth_it(1 << 30)
    with pytest.warns(UserWarning, match="filled 1 missing") as told:
        outcomes = fitted.predict(rows)
    assert [each.filename for each in told] == [__file__]
    assert (outcomes == fitted.network_.predict(fitted.model_.inputs(rows))).all()
