"""``partial_fit`` and ``extend`` as their users call them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bdnn
from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from tests.oracle import smallest_loss
from tests.sentences import assert_one_sentence


def tables(n_samples=12, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n_samples, 2)).astype(float)
    return X, np.array(["a", "b", "c"])[rng.integers(0, n_classes, n_samples)]


def small(**options):
    defaults = {"hidden": (1,), "objective": "loss", "method": "exact"}
    defaults |= {"inputs": Inputs(scale=None), "random_state": 0}
    return BDNNClassifier(**{**defaults, "limits": Limits(seconds=120.0), **options})


def optimum(model, X, y, weight=None):
    shape = Architecture.create(
        X.shape[1],
        len(model.classes_),
        hidden=model.hidden,
        weights=model.network_.architecture.weights,
        activation=model.activation,
    )
    labels = np.searchsorted(model.classes_, y)
    problem = classification(shape, X, labels, weight)
    return smallest_loss(problem) * problem.samples.unit


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("seed", [0, 1])
def test_extending_gives_the_optimum_of_all_samples(method, seed):
    X, y = tables(seed=seed)
    model = small(method=method).fit(X[:6], y[:6])
    for part in (slice(6, 9), slice(9, 12)):
        assert model.extend(X[part], y[part]) is model
    assert model.result_.status == "optimal"
    assert model.result_.loss == model.result_.bound == optimum(model, X, y)


@pytest.mark.parametrize("activation", ["sign", "ternary"])
def test_extending_with_other_activations(activation):
    X, y = tables(8)
    model = small(activation=activation).fit(X[:5], y[:5]).extend(X[5:], y[5:])
    assert model.result_.loss == model.result_.bound == optimum(model, X, y)


def test_extending_by_search_alone_encloses_the_optimum():
    X, y = tables()
    model = small(method="descent").fit(X[:6], y[:6]).extend(X[6:], y[6:])
    assert model.result_.bound <= optimum(model, X, y) <= model.result_.loss


def test_partial_fit_takes_samples_of_one_class_first():
    X, y = tables(n_classes=3)
    order = np.argsort(y, kind="stable")
    model = small()
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part], classes=["c", "a", "b"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.result_.loss == model.result_.bound == optimum(model, X, y)
    assert model._memory.models.model is not None  # the program is there to be continued


def test_weights_of_samples_and_classes():
    X, y = tables(seed=3)
    weight = np.arange(12.0) + 1
    model = small().fit(X[:6], y[:6]).extend(X[6:], y[6:], weight[6:])
    joined = np.append(np.ones(6), weight[6:])
    assert model.result_.loss == optimum(model, X, y, joined)
    model = small(class_weight={"a": 3}).fit(X[:6], y[:6]).extend(X[6:], y[6:])
    assert model.result_.loss == optimum(model, X, y, np.where(y == "a", 3.0, 1.0))
    # Balanced weights of the first samples change with the others.
    model = small(class_weight="balanced").fit(X[:6], y[:6], weight[:6])
    model.extend(X[6:], y[6:])
    joined = (
        np.append(weight[:6], np.ones(6)) * 6 / np.where(y == "a", *map(sum, (y == "a", y == "b")))
    )
    assert model.result_.loss == pytest.approx(optimum(model, X, y, joined))
    assert model.result_.is_proven


def test_a_validation_share_is_kept_of_the_new_samples_too():
    X, y = tables(40)
    model = small(method="auto", validation_fraction=0.25).fit(X[:20], y[:20])
    first = model._memory.samples.held_out
    model.extend(X[20:], y[20:])
    held_out = model._memory.samples.held_out
    assert held_out[:20].tolist() == first.tolist()
    assert held_out[20:].sum() > 2


def test_the_scaler_stays_that_of_the_first_samples():
    X, y = tables()
    model = small(inputs=Inputs(scale="standard")).fit(X[:6], y[:6])
    scaler = model.encoder_
    model.extend(100 * X[6:], y[6:])
    assert model.encoder_ is scaler


def test_column_names_are_checked():
    X, y = tables()
    frame = pd.DataFrame(X, columns=["p", "q"])
    model = small().fit(frame[:6], y[:6]).extend(frame[6:], y[6:])
    assert model.input_names_ == ("p", "q")
    with pytest.raises(ValueError, match="feature names"):
        model.extend(frame[["q", "p"]], y)


def test_pickles_can_be_extended_and_clones_start_anew():
    X, y = tables()
    model = small().fit(X[:6], y[:6])
    again = pickle.loads(pickle.dumps(model.extend(X[6:9], y[6:9])))
    assert again.extend(X[9:], y[9:]).result_.loss == optimum(again, X, y)
    with pytest.raises(NotFittedError):
        clone(model).extend(X, y)


def test_a_model_from_a_file_needs_its_samples(tmp_path):
    X, y = tables()
    model = small(class_weight="balanced").fit(X[:8], y[:8])
    model.save(tmp_path / "model.json")
    loaded = bdnn.load(tmp_path / "model.json")
    with pytest.raises(bdnn.BDNNError, match=r"old=\(X, y\)") as caught:
        loaded.extend(X[8:], y[8:])
    assert_one_sentence(caught.value)
    with pytest.raises(bdnn.BDNNError, match="as they were"):
        loaded.extend(X[8:], y[8:], old=(X[:7], y[:7]))
    loaded.extend(X[8:], y[8:], old=(X[:8][::-1], y[:8][::-1]))
    model.extend(X[8:], y[8:])
    assert loaded.result_.loss == loaded.result_.bound == model.result_.loss
    loaded.save(tmp_path / "model.json")  # with a certificate of all samples
    assert bdnn.load(tmp_path / "model.json")._certificate["data"]["rows"] == 12


def test_samples_that_have_changed_are_noticed():
    X, y = tables()
    X = np.ascontiguousarray(X)
    model = small().fit(X, y)
    X[0] = 5.0
    with pytest.raises(bdnn.BDNNError, match="as they were"):
        model.extend(X[:2], y[:2])


REFUSED = {
    "class": ({}, lambda X, y: (X, np.array(["a", "z"])), "'z'"),
    "number for a label": ({}, lambda X, y: (X, np.array([1, 2])), "classes of"),
    "missing label": ({}, lambda X, y: (X, [np.nan, 1.0]), "NaN"),
    "no labels": ({}, lambda X, y: (X, None), "y is None"),
    "features": ({}, lambda X, y: (X[:, :1], y), "features"),
    "no rows": ({}, lambda X, y: (X[:0], y[:0]), "0 sample"),
    "inf": ({}, lambda X, y: (X + np.inf, y), "inf in row 1"),
    "length": ({}, lambda X, y: (X, y[:1]), "inconsistent"),
    "weights": ({}, lambda X, y: (X, y, [1.0, -1.0]), "sample_weight"),
    "width": ({"hidden": (2,)}, lambda X, y: (X, y), "keeps the network"),
    "scale": ({"inputs": Inputs(scale="minmax")}, lambda X, y: (X, y), "scale"),
}


@pytest.mark.parametrize(("options", "arguments", "match"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_added_is_refused_and_nothing_is_lost(options, arguments, match):
    X, y = tables()
    model = small().fit(X[:6], y[:6])
    network, result = model.network_, model.result_
    with pytest.raises((bdnn.BDNNError, ValueError), match=match) as caught:
        model.set_params(**options).extend(*arguments(X[6:8], y[6:8]))
    if isinstance(caught.value, bdnn.BDNNError):
        assert_one_sentence(caught.value)
    assert (model.network_, model.result_) == (network, result)


@pytest.mark.parametrize(("scale", "is_kept"), [("standard", True), ("minmax", False)])
def test_a_chosen_scale_is_extended_where_it_could_have_been_chosen(scale, is_kept):
    X, y = tables()
    model = small(inputs=Inputs(scale=scale)).fit(X[:6], y[:6]).set_params(inputs="auto")
    if is_kept:
        assert model.extend(X[6:8], y[6:8]).encoder_.scale == scale
        return
    with pytest.raises(bdnn.BDNNError, match="with scale 'minmax'"):
        model.extend(X[6:8], y[6:8])


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        (None, None, "classes must be given"),
        (["a"], None, "at least two"),
        (["a", "z"], None, "'b'"),
        (["a", "b"], ["a", "c"], "classes must stay"),
    ],
)
def test_classes_of_partial_fit_are_checked(first, second, match):
    X, y = tables()
    model = small()
    if second is not None:
        model.partial_fit(X[:6], y[:6], first)
    with pytest.raises(bdnn.BDNNError, match=match) as caught:
        model.partial_fit(X[6:], y[6:], second or first)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"constraints": (bdnn.constraints.Forbid(0),)},
        {"constraints": [bdnn.constraints.Sparsity(features=1)]},
        {"constraints": [bdnn.constraints.Sparsity(price=1.0)]},
        {"robust": Robust(0.5)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_bound_for_other_networks_is_not_continued(options, tmp_path):
    X, y = tables()
    trained = small(**options).fit(X[:8], y[:8])
    trained.save(tmp_path / "model.json")
    loaded = bdnn.load(tmp_path / "model.json")
    trained.set_params(constraints=(), robust=None)
    loaded.set_params(robust=None)
    best = small().fit(X, y).result_
    assert best.status == "optimal"
    for model in (trained, loaded):
        result = model.extend(X[8:], y[8:], old=(X[:8], y[:8])).result_
        assert result.bound <= best.loss <= result.loss
        assert "earlier samples" not in result.bound_origin or result.bound == 0


@pytest.mark.parametrize(
    "options",
    [
        {"constraints": [bdnn.constraints.Sparsity(price=0.25)]},
        {"constraints": [bdnn.constraints.Regularizer(l1=0.25)], "class_weight": "balanced"},
        {"constraints": [bdnn.constraints.Sparsity(units=1)], "hidden": (2,)},
        {"robust": Robust(0.1, loss="pattern")},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_goes_on_encloses_the_optimum(options):
    X, y = tables()
    best = small(**options).fit(X, y).result_
    result = small(**options).fit(X[:8], y[:8]).extend(X[8:], y[8:]).result_
    assert result.bound <= best.minimised + 1e-6
    assert best.bound <= result.minimised + 1e-6


def test_rows_of_further_samples_are_asked_for_too():
    X, y = tables()
    must = np.arange(len(X)) % 4 == 0
    groups = np.arange(len(X)) % 2
    model = small(hidden=(4,)).fit(X[:8], y[:8], must=must[:8], groups=groups[:8])
    with pytest.raises(bdnn.BDNNError, match="groups must be given") as caught:
        model.extend(X[8:], y[8:])
    assert_one_sentence(caught.value)
    model.extend(X[8:], y[8:], must=must[8:], groups=groups[8:])
    assert (model.predict(X[must]) == y[must]).all()
