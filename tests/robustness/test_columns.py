"""Certificates of models on bits, texts and gaps, against all cells that a perturbation reaches."""

from itertools import pairwise, product

import numpy as np
import pytest

import bdnn
from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.robustness import Certificate, Domain, PerturbationSet, attack, certify
from tests.grids import in_turn

COLUMNS = (
    Column("age", fill=3.0, missing="bit", factor=0.5),
    Column("dose", fill=1.0),
    Column("job", "category", ("cook", "nurse"), "cook", "fill"),
)
BITS = (
    *(Bit(0, "ge", cut) for cut in (1.0, 2.0, 3.5, 4.0)),
    *(Bit(0, "missing"), Bit(1, "ge", 0.3), Bit(1, "ge", 0.7), Bit(2, "is", "nurse")),
)
NUMBERS = (Number(1, None, 0.5, 2.0), Number(2, "cook", 0.5, 2.0))


def make(rng, *, mixed):
    encoder = Encoder(COLUMNS, NUMBERS if mixed else (), BITS)
    if mixed:
        encoder = encoder.scaled_by([0.5, 0.5], [2.0, 2.0], 2.0**-6)
    shape = Architecture.create(encoder.n_inputs, 2, hidden=(3,), weights="ternary")
    weights = [rng.integers(-1, 2, size=(b, a)) for a, b in pairwise(shape.widths)]
    thresholds = [rng.integers(-2, 3, size=(b, 1)) + 0.5 for b in shape.widths[1:]]
    network = Network(shape, tuple(map(np.float64, weights)), tuple(thresholds))
    return Model(encoder, network, ("no", "yes"))


def rows(rng, n=12):
    X = np.column_stack(
        [rng.uniform(0, 5, n).round(1), rng.uniform(0, 1, n).round(2), rng.integers(-1, 2, n)]
    )
    X[rng.random(n) < 0.2, 0] = np.nan
    return X


def reachable(x, radius, weight):
    """Raw rows in the ball, at least one of every cell: ends, cuts and what is just below them."""
    ends = []
    for j in range(2):
        reach = radius / weight[j]
        low, high = x[j] - reach, x[j] + reach
        # Ends as doubles that are surely inside.
        inside = [x[j], low + 1e-12, high - 1e-12]
        for cut in [bit.value for bit in BITS if bit.column == j and bit.kind == "ge"]:
            inside += [value for value in (cut, np.nextafter(cut, -9)) if low < value < high]
        inside += np.linspace(low + 1e-12, high - 1e-12, 40).tolist()
        ends.append([x[j]] if np.isnan(x[j]) else inside)
    return np.array([[a, b, x[2]] for a, b in product(*ends)])


@pytest.mark.parametrize(("units", "mixed"), in_turn(["raw", "scaled"], [False, True]))
def test_no_row_within_a_certified_radius_changes_its_class(units, mixed):
    rng = np.random.default_rng(0)
    certified = 0
    for _ in range(25):
        model, X = make(rng, mixed=mixed), rows(rng)
        around = PerturbationSet.create(model, X, units=units)
        found = certify(around)
        for i, (x, radius) in enumerate(zip(X, found.radii, strict=True)):
            size = min(float(radius), 20.0)
            certified += size > 0
            near = reachable(x, size, around.weight)
            assert (model.outcomes(near) == around.classes[i]).all()
            told = Certificate.from_dict(found.certificate(i).to_dict())
            assert told.check(model)
    assert certified > 100


def test_certified_radii_end_at_cuts():
    """Of a single cut the radius is known: closed upwards, open downwards."""
    encoder = Encoder((Column("a", fill=0.0),), (), (Bit(0, "ge", 2.0),))
    shape = Architecture.create(1, 2, hidden=(), weights="ternary")
    network = Network(shape, (np.array([[-1.0], [1.0]]),), (np.array([[-0.5], [0.5]]),))
    model = Model(encoder, network, (0, 1))
    X = np.array([[1.5], [2.0], [2.25]])
    assert model.outcomes(X).tolist() == [0, 1, 1]
    radii = certify(PerturbationSet.create(model, X, units="raw")).radii
    np.testing.assert_allclose(radii, [0.5, 0.0, 0.25], atol=1e-6)
    whole = Domain.create(1, integer=[0])
    radii = certify(PerturbationSet.create(model, X[1:2], units="raw", domain=whole)).radii
    np.testing.assert_allclose(radii, [1.0], atol=1e-6)


def test_most_rows_at_a_cut():
    """The middle radius is none then, and says nothing."""
    encoder = Encoder((Column("a", fill=0.0),), (), (Bit(0, "ge", 2.0),))
    shape = Architecture.create(1, 2, hidden=(), weights="ternary")
    network = Network(shape, (np.array([[-1.0], [1.0]]),), (np.array([[-0.5], [0.5]]),))
    around = PerturbationSet.create(
        Model(encoder, network, (0, 1)), np.array([[2.0], [2.0], [2.25]]), units="raw"
    )
    assert certify(around).sentence.startswith("1 of 3 rows keep their class whatever moves by up")
    some = around.rows(np.array([0, 1]))
    assert certify(some).sentence == "No row is certified to keep its class when values move."


@pytest.mark.parametrize("method", ["random_sign", "greedy", "boundary"])
def test_attacks_change_numbers_only(method):
    rng = np.random.default_rng(1)
    n_found = 0
    for _ in range(10):
        model, X = make(rng, mixed=True), rows(rng)
        around = PerturbationSet.create(model, X, units="raw")
        found = attack(around, 1.5, method=method)
        np.testing.assert_array_equal(found.X[:, 2], X[:, 2])
        np.testing.assert_array_equal(np.isnan(found.X), np.isnan(X))
        changed = model.outcomes(found.X) != around.classes
        assert changed.tolist() == found.success.tolist()
        assert (found.lengths[changed] <= 1.5).all()
        n_found += changed.sum()
    assert n_found > 5


@pytest.mark.parametrize("loss", ["certified", "average"])
def test_training_for_a_radius_on_cuts(loss, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0.2).astype(int)
    model = bdnn.BDNNClassifier(
        hidden=(2,),
        inputs=bdnn.Inputs("cuts", "standard", cuts=8),
        robust=bdnn.Robust(0.1, loss=loss),
        limits=bdnn.Limits(seconds=60, loss=60),
        method="descent",
        random_state=0,
    ).fit(X, y)
    if loss == "certified":
        certified = model.certify(X, y, radius=0.1)
        assert model.result_.loss == 60 - (certified.accuracy * 60)
        assert model.result_.bound <= model.result_.loss
