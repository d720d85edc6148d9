"""Training for balls around samples, through the estimator."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bdnn
from bdnn import Limits, Robust
from bdnn.errors import ModelError
from bdnn.training import Auto, Descent, Exact, Gradients
from tests.sentences import assert_one_sentence

# Some of these problems have no proof in the time they get, which is not what is tested.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.where(y[:, None] == 1, 3.0, 1.0) + rng.normal(scale=0.4, size=(60, 3))
    return X, y


def model(**options):
    options = {"limits": Limits(seconds=20), **options}
    return bdnn.BDNNClassifier(
        **{"hidden": (4,), "inputs": bdnn.Inputs(scale="minmax"), "random_state": 0, **options}
    )


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_the_loss_is_what_certify_does_not_certify(data, norm, weights):
    X, y = data
    options = {"method": Auto(patience=1), "limits": None}  # code may have to be compiled first
    fitted = model(robust=Robust(0.1, norm=norm), weights=weights, **options).fit(X, y)
    certified = fitted.certify(X, y, radius=0.1, norm=norm)
    assert fitted.result_.method == "auto"
    assert fitted.result_.loss == 60 - 60 * certified.accuracy
    assert certified.accuracy > 0.9


def test_a_radius_per_sample_and_weights(data):
    X, y = data
    radius = np.where(np.arange(60) < 30, 0.05, 0.25)
    weight = np.where(np.arange(60) < 30, 2.0, 1.0)
    fitted = model(robust=Robust(), limits=Limits(seconds=1)).fit(X, y, weight, radius=radius)
    certified = fitted.certify(X, y, radius=radius)
    kept = certified.certified & (fitted.predict(X) == y)
    assert fitted.result_.loss == weight[~kept].sum()


def test_exact_proves_what_the_search_finds(data):
    X, y = data
    options = {"hidden": (2,), "robust": Robust(0.15)}
    searched = model(**options).fit(X[:16], y[:16]).result_
    solved = model(**options, method="exact").fit(X[:16], y[:16]).result_
    assert searched.status == solved.status == "optimal"
    assert searched.loss == solved.loss


def test_pattern_keeps_every_first_layer_activation(data):
    X, y = data
    fitted = model(
        hidden=(2,), robust=Robust(0.1, loss="pattern"), method="exact", limits=Limits(seconds=10)
    ).fit(X[:20], y[:20])
    rng = np.random.default_rng(1)
    inputs = fitted.encoder_.transform(X[:20])
    before = fitted.network_.activations(inputs)[0]
    for _ in range(50):
        moved = inputs + 0.1 * rng.choice([-1.0, 1.0], inputs.shape)
        assert (fitted.network_.activations(moved)[0] == before).all()


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_pattern_by_default_searches_before_it_solves(data, norm):
    X, y = data
    result = model(robust=Robust(0.05, norm, "pattern"), limits=None).fit(X, y).result_
    assert result.method == "auto"
    assert result.steps  # of the local search
    assert result.loss < 60  # a constant network misses an output of half of the samples twice


def test_settings_survive_the_model_file(data, tmp_path):
    X, y = data
    fitted = model(robust=Robust(0.1, norm="l1"), limits=Limits(seconds=2)).fit(X, y)
    fitted.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert (again.robust, again.limits) == (fitted.robust, fitted.limits)
    assert (again.predict(X) == fitted.predict(X)).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"robust": Robust()}, "robust needs a radius"),
        ({"robust": Robust(0.1), "hidden": (), "method": "exact"}, "no program: use method 'auto'"),
        ({"robust": Robust(0.1), "ties": "first", "method": "exact"}, "ties='first'"),
        (
            {"robust": Robust(0.1, norm="l2"), "method": Exact(), "solver": "cpsat"},
            "'cpsat' cannot handle",
        ),
    ],
)
def test_bad_input_gets_one_sentence(data, options, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        model(**options).fit(*data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        *(
            ({"radius": value}, "robust: radius must be")
            for value in (-0.1, np.nan, np.inf, "wide")
        ),
        ({"radius": [0.1, 0.2]}, "got several: give them to fit"),
        ({"norm": "l3"}, "robust: norm must be 'linf'"),
        ({"loss": "safe"}, "robust: loss must be 'certified'"),
    ],
    ids=repr,
)
def test_bad_balls_get_one_sentence(options, sentence):
    with pytest.raises(ModelError, match=sentence) as caught:
        Robust(**options)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("radius", [[0.1, 0.2], -0.1, "wide"])
def test_bad_radii_of_samples_get_one_sentence(data, radius):
    with pytest.raises(ValueError, match="radius must be") as caught:
        model(robust=Robust()).fit(*data, radius=radius)
    assert_one_sentence(caught.value)


def test_auto_hands_its_patience_on(data):
    # Balls that overlap leave a gap that only minutes could close.
    options = {"method": Auto(patience=0.5), "limits": Limits(seconds=200)}
    fitted = model(robust=Robust(0.3), **options).fit(*data)
    assert fitted.result_.method == "auto"
    assert not fitted.result_.is_proven
    assert "stopped paying" in fitted.result_.message


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_the_average_counts_moved_copies(data, norm):
    X, y = data
    fitted = model(robust=Robust(0.3, loss="average", norm=norm), method="descent")
    fitted.set_params(method=Descent(patience=1)).fit(X, y)
    result = fitted.result_
    assert result.method == "descent"
    # Sixteen copies share the weight of a sample.
    assert result.loss * 16 == np.rint(result.loss * 16)
    rng = np.random.default_rng(1)
    size = {"linf": 0.3, "l1": 0.1, "l2": 0.3 / np.sqrt(3)}[norm]
    signs = rng.choice([-1.0, 1.0], size=(200, *X.shape))
    moved = (X + size * signs / fitted.encoder_.factor).reshape(-1, 3)
    error = (fitted.predict(moved) != np.tile(y, 200)).mean()
    assert error == pytest.approx(result.error, abs=0.05)


def test_gradients_train_for_the_average(data):
    X, y = data
    options = {"robust": Robust(0.3, loss="average"), "method": "gradients"}
    result = model(**options).fit(X, y).result_
    assert result.method == "gradients"
    assert result.bound <= result.loss
    assert result.error < 0.2


@pytest.mark.parametrize("refit", [True, False])
def test_the_average_counts_what_was_held_out_if_it_is_trained_on(data, refit, tmp_path):
    X, y = data
    options = {"robust": Robust(0.3, loss="average"), "validation_fraction": 0.25}
    fitted = model(method=Gradients(refit=refit), **options).fit(X, y)
    fitted.save(tmp_path / "model.json")
    saved = json.loads((tmp_path / "model.json").read_text())
    # Of 30 samples per class 7 are held out.
    assert saved["certificate"]["data"]["rows"] == (60 if refit else 46)


def test_the_average_of_no_perturbation_is_the_loss(data):
    X, y = data
    options = {"method": "exact", "hidden": (1,)}
    plain = model(**options).fit(X[:12], y[:12]).result_
    average = model(**options, robust=Robust(0.0, loss="average")).fit(X[:12], y[:12])
    assert average.result_.loss == plain.loss
    assert average.result_.status == plain.status == "optimal"
