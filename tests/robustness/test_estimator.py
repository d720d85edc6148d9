"""The methods of the classifier: semantics on raw inputs, domains, limits, bad input."""

import time
from dataclasses import replace

import numpy as np
import pytest

import bdnn
from bdnn import Limits
from bdnn.errors import DataError, ModelError
from bdnn.robustness import Domain
from tests.grids import long
from tests.robustness.cases import NORMS
from tests.sentences import assert_one_sentence

DATA = bdnn.datasets.load("iris")


@pytest.fixture(scope="module", params=["ternary", "continuous", None])
def model(request):
    """A fitted model, the same on a busy machine; None is one that takes its inputs as they are."""
    return bdnn.BDNNClassifier(
        hidden=(4,),
        weights=request.param or "ternary",
        inputs=bdnn.Inputs(scale="minmax" if request.param else None),
        method="descent",
        limits=Limits(seconds=200, loss=30),
        random_state=0,
    ).fit(DATA.X, DATA.y)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("units", ["scaled", "raw"])
def test_no_perturbation_within_the_radius_changes_a_prediction(model, norm, units):
    X = DATA.X[::5]
    radii = model.certify(X, norm=norm, units=units).radii
    weight = model.encoder_.factor if units == "scaled" else np.ones(4)
    rng = np.random.default_rng(0)
    said = model.predict(X)
    order = {"linf": np.inf, "l1": 1, "l2": 2}[norm]
    for draw in range(60):
        # Corners, axes and directions in between.
        moves = [np.sign, lambda v: v, lambda v: v * (np.abs(v) == np.abs(v).max(1)[:, None])][
            draw % 3
        ](rng.normal(size=X.shape))
        moves *= (radii / np.linalg.norm(moves, ord=order, axis=1))[:, None]
        assert (model.predict(X + moves * (1 - 1e-12) / weight) == said).all()


@pytest.mark.parametrize("norm", [NORMS[0], *long(*NORMS[1:])])
def test_certify_verify_attack_fit_together(model, norm):
    X = DATA.X[::15]
    y = model.predict(X)  # an attack may turn a mistake into a right answer
    certified = model.certify(X, y, radius=0.04, norm=norm)
    verified = model.verify(X, y, norm=norm, time_limit=60)
    assert (certified.radii <= verified.upper).all()
    assert (verified.lower >= certified.radii - 1e-12).all()
    assert (verified.status == "exact").all()
    found = verified.counter_examples
    assert (model.predict(found) != model.predict(X)).all()
    lower, upper = verified.worst_case_accuracy(0.04)
    assert certified.accuracy <= lower == upper
    for method in ("random_sign", "greedy", "boundary", "optimal"):
        attacked = model.attack(X, y, radius=0.04, norm=norm, method=method, random_state=0)
        assert attacked.accuracy >= lower
        assert (attacked.lengths[attacked.success] <= 0.04).all()
        assert (attacked.lengths >= verified.lower - 1e-9).all()
        if method == "optimal":
            assert attacked.accuracy == lower


def test_the_papers_attack_moves_every_feature(model):
    X = DATA.X[:20]
    attacked = model.attack(X, radius=0.2, method="random_sign", random_state=1)
    moves = np.abs(attacked.X - X) * model.encoder_.factor
    np.testing.assert_allclose(moves, 0.2, rtol=1e-9)
    again = model.attack(X, radius=0.2, method="random_sign", random_state=1)
    assert (again.X == attacked.X).all()


def test_curve(model):
    certified = model.certify(DATA.X, DATA.y)
    _, accuracy = certified.curve()
    assert accuracy[0] == model.score(DATA.X, DATA.y)
    assert (np.diff(accuracy) <= 0).all()
    _, chosen = certified.curve([0.0, 0.1])
    right = model.predict(DATA.X) == DATA.y
    assert chosen[1] == (right & (certified.radii >= 0.1)).mean()


def test_domain_is_respected(model):
    X = np.round(DATA.X[::10])
    domain = Domain.create(4, lower=1.0, upper=7.0, integer=[0, 1], fixed=[2])
    free = model.verify(X, radius=0.5)
    tied = model.verify(X, radius=0.5, domain=domain)
    assert (tied.lower >= free.lower - 1e-6).all()
    found = tied.counter_examples[np.isfinite(tied.upper)]
    assert len(found)
    own = X[np.isfinite(tied.upper)]
    assert (found[:, :2] == np.rint(found[:, :2])).all()
    assert (found[:, 2] == own[:, 2]).all()
    assert (found >= np.minimum(own, 1.0)).all()
    assert (found <= np.maximum(own, 7.0)).all()


@pytest.mark.parametrize("method", ["boxes", "program"])
def test_categories_stay_one_hot(method):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    X = np.column_stack([np.eye(3)[codes], rng.integers(0, 4, 60)]).astype(float)
    y = (codes == 1) ^ (X[:, 3] > 1)
    model = bdnn.BDNNClassifier(
        hidden=(4,), objective="loss", limits=Limits(seconds=3), random_state=0
    ).fit(X, y)
    domain = Domain.create(4, lower=0, upper=3, integer=[3], groups=[(0, 1, 2)])
    found = model.verify(X[:8], norm="l1", units="raw", domain=domain, method=method)
    # Nearest change of class by trying all categories and numbers.
    points = np.array([[*np.eye(3)[c], v] for c in range(3) for v in range(4)])
    for i, x in enumerate(X[:8]):
        other = points[model.predict(points) != model.predict(x[None])[0]]
        exact = np.abs(other - x).sum(axis=1).min()
        assert found.lower[i] <= exact + 1e-9
        assert found.upper[i] == pytest.approx(exact)
        assert found.upper[i] - found.lower[i] <= 2e-5


def test_a_constant_network_is_robust_for_ever():
    data = bdnn.datasets.load("breast-cancer")
    model = bdnn.BDNNClassifier(
        hidden=(2,), method="exact", limits=Limits(seconds=0.001), random_state=0
    )
    with pytest.warns(match="training was ended"):
        model.fit(data.X[:200], data.y[:200])
    assert len(np.unique(model.predict(data.X))) == 1
    assert np.isinf(model.certify(data.X[:5], norm="l2").radii).all()
    found = model.verify(data.X[:5])
    assert (found.status == "robust").all()
    assert np.isnan(found.counter_examples).all()


def test_time_limit_leaves_limits():
    data = bdnn.datasets.load("digits")
    rng = np.random.default_rng(0)
    shape = bdnn.Architecture.create(64, 10, hidden=(40,), weights="ternary")
    network = bdnn.Network(
        shape,
        (rng.choice([-1, 0, 1], (40, 64)), rng.choice([-1, 0, 1], (10, 40))),
        (rng.integers(-8, 8, 40) + 0.5, np.zeros(10)),
    )
    model = bdnn.BDNNClassifier(
        hidden=(40,), method="exact", limits=Limits(seconds=0.001), random_state=0
    )
    with pytest.warns(match="training was ended"):
        model.fit(data.X[:50], data.y[:50])
    model.model_ = replace(model.model_, network=network)
    started = time.perf_counter()
    found = model.verify(data.X[:6], data.y[:6], time_limit=0.5)
    assert time.perf_counter() - started < 30
    assert (found.lower <= found.upper).all()
    assert set(found.status) <= {"exact", "open"}
    low, high = found.worst_case_accuracy(0.04)
    assert low <= high


def test_bad_input(model):
    X, y = DATA.X[:5], DATA.y[:5]
    for call, kind in (
        (lambda: model.certify(X, radius=-0.1), ModelError),
        (lambda: model.certify(X, radius=np.nan), ModelError),
        (lambda: model.certify(X, radius=np.inf), ModelError),
        (lambda: model.certify(X, radius="wide"), ModelError),
        (lambda: model.certify(X, radius=[0.1, 0.2]), DataError),
        (lambda: model.certify(X, norm="l0"), ModelError),
        (lambda: model.certify(X, units="inches"), ModelError),
        (lambda: model.certify(X, y[:3], radius=0.1), DataError),
        (lambda: model.certify(X).certified, DataError),
        (lambda: model.certify(X, radius=0.1).accuracy, DataError),
        (lambda: model.verify(X, radius=-1), ModelError),
        (lambda: model.verify(X, method="magic"), ModelError),
        (lambda: model.verify(X, solver="magic"), ModelError),
        (lambda: model.verify(X, time_limit=0), ModelError),
        (lambda: model.verify(X, time_limit="long"), ModelError),
        (lambda: model.verify(X, n_jobs=0), ModelError),
        (lambda: model.certify(X, domain="any"), ModelError),
        (lambda: model.certify(X, domain=Domain.create(3)), ModelError),
        (lambda: model.verify(X, y, radius=0.01).worst_case_accuracy(0.5), DataError),
        (lambda: model.attack(X, radius=0.1, method="magic"), ModelError),
        (lambda: model.attack(X, radius=0.1, draws=0), ModelError),
        (lambda: Domain.create(4, lower=2, upper=1), ModelError),
        (lambda: Domain.create(4, integer=[4]), ModelError),
        (lambda: Domain.create(4, groups=[(0, 1), (1, 2)]), ModelError),
        (lambda: model.certify(X, domain=Domain.create(4, integer=[0])), DataError),
        (lambda: model.certify(X, domain=Domain.create(4, groups=[(0, 1)])), DataError),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert_one_sentence(caught.value)
