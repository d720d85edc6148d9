"""The classifier as its users call it."""

from __future__ import annotations

import doctest
import importlib
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bdnn
from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.errors import BDNNError, DataError, ModelError, ModelFileError, SolverNotAvailableError
from bdnn.model_file import read_model, write_model
from bdnn.solvers.cpsat import CpSat
from bdnn.solvers.highs import Highs
from bdnn.solvers.registry import SOLVERS
from bdnn.training import Exact
from tests.problems import XOR
from tests.sentences import assert_one_sentence

XOR_LABELS = np.array([0, 1, 1, 0])


def blobs(n_classes=2, n_samples=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = 4 * rng.normal(size=(n_classes, 3))
    return centres[y] + rng.normal(size=(n_samples, 3)) * 0.3, y


def small(**options):
    return BDNNClassifier(
        **{"hidden": (2,), "objective": "loss", "random_state": 0, "method": "exact", **options}
    )


def fitted(n_classes=2, **options):
    X, y = blobs(n_classes)
    return small(**options).fit(X, y), X, y


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("weights", ["ternary", "binary", "continuous", "int:2"])
def test_xor_is_learnt_and_proven(method, weights):
    model = small(method=method, weights=weights).fit(XOR, XOR_LABELS)
    assert (model.result_.status, model.result_.loss, model.result_.error) == ("optimal", 0.0, 0.0)
    assert model.predict(XOR).tolist() == XOR_LABELS.tolist()
    assert model.score(XOR, XOR_LABELS) == 1.0


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        np.array(["né", "日本"], dtype=object),
        [False, True],
        [1.0, 2.0],
        [-7, 3],
        pd.array(["a", "b"], dtype="string"),
        [np.uint8(3), np.uint8(9)],
    ],
    ids=["str", "object", "bool", "float", "int", "pandas", "uint8"],
)
def test_labels_of_any_type(labels, tmp_path):
    y = np.asarray(labels)[XOR_LABELS]
    model = small().fit(XOR, y)
    assert model.classes_.tolist() == list(np.asarray(labels))
    assert model.predict(XOR).tolist() == y.tolist()
    model.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.predict(XOR).tolist() == y.tolist()


def test_labels_in_a_column_are_taken_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector"):
        small().fit(XOR, XOR_LABELS[:, None])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ties", ["score", "first"])
def test_decision_function_agrees_with_predict(n_classes, ties):
    model, X, _ = fitted(n_classes, ties=ties)
    X = np.vstack([X, np.random.default_rng(1).normal(size=(200, 3)) * 5])
    scores, predicted = model.decision_function(X), model.predict(X)
    if n_classes == 2:
        assert scores.shape == (len(X),)
        assert np.array_equal(predicted, (scores > 0).astype(int))
    else:
        assert scores.shape == (len(X), 3)
        assert np.array_equal(predicted, scores.argmax(axis=1))


def test_a_row_is_predicted_the_same_alone_and_in_company():
    model, X, _ = fitted(weights="continuous")
    together = model.decision_function(X)
    alone = [model.decision_function(row[None])[0] for row in X]
    assert together.tolist() == alone


def test_clone_and_parameters():
    solver = Highs(threads=1)
    model = small(solver=solver, class_weight={0: 2.0}, weights=("ternary", "int:2"))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert clone(copy).solver == solver
    assert "hidden=(2,)" in repr(copy)
    assert copy.set_params(hidden=(3,)).hidden == (3,)


def test_pickle():
    model, X, _ = fitted()
    again = pickle.loads(pickle.dumps(model))
    assert again.network_ == model.network_
    assert again.result_ == model.result_
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="read-only"):
        again.network_.weights[0][0, 0] = 0.0


def test_grid_search_and_pipeline():
    X, y = blobs()
    pipeline = make_pipeline(StandardScaler(), small(inputs=bdnn.Inputs(scale=None)))
    grid = {"bdnnclassifier__hidden": [(1,), (2,)], "bdnnclassifier__weights": ["ternary", "int:2"]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ == 1.0
    assert len(search.cv_results_["params"]) == 4


def test_equal_seeds_give_equal_networks():
    assert fitted()[0].network_ == fitted()[0].network_


def test_feature_names_of_a_table(tmp_path):
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["länge", "b", "c"])
    model = small().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["länge", "b", "c"]
    assert model.input_names_ == ("länge", "b", "c")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "c", "länge"]])
    model.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == ["länge", "b", "c"]
    assert np.array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame[["b", "c", "länge"]])


def test_feature_names_beside_an_array(tmp_path):
    X, y = blobs()
    model = small().fit(X, y, feature_names=["a", "b", "c"])
    assert model.input_names_ == ("a", "b", "c")
    assert not hasattr(model, "feature_names_in_")
    model.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert again.input_names_ == ("a", "b", "c")
    assert not hasattr(again, "feature_names_in_")
    with pytest.raises(DataError, match="feature_names must name 3") as caught:
        small().fit(X, y, feature_names=["a"])
    assert_one_sentence(caught.value)


CONFLICT = np.zeros((5, 1)), np.array([0, 0, 0, 1, 1])


def majority(**options):
    """The label that wins where all inputs are equal: 3 of class 0 against 2 of class 1."""
    weight = options.pop("sample_weight", None)
    X, y = np.vstack([CONFLICT[0], [[9.0]]]), np.append(CONFLICT[1], 0)
    weight = None if weight is None else np.append(weight, 1.0)
    return small(hidden=(1,), **options).fit(X, y, weight).predict(CONFLICT[0])[0]


def test_weights_of_samples_and_classes_decide_conflicts():
    assert majority() == 0
    assert majority(sample_weight=np.array([1, 1, 1, 2, 2])) == 1
    assert majority(sample_weight=np.array([0, 0, 0.5, 1, 1])) == 1
    assert majority(class_weight={0: 1, 1: 2}) == 1
    assert majority(class_weight={0: 1, 1: 1.1}) == 0
    assert majority(class_weight={0: 1, 1: 2}, sample_weight=np.array([2, 2, 2, 1, 1])) == 0


def test_balanced_weights_are_those_of_scikit_learn():
    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    model = small(class_weight="balanced").fit(np.vstack([X, [[1.0]]]), np.append(y, 1))
    # On the shared input class 0 weighs 3 * 5/6 and class 1 weighs 5/4.
    assert model.result_.bound >= 2 * 5 / 4 - 1e-9
    assert model.predict(X[:1])[0] == 0


@pytest.mark.parametrize("scale", ["auto", "standard", "common", "minmax", None])
def test_a_weight_counts_like_repetition(scale):
    X, y = blobs(n_samples=10)
    X = np.rint(4 * X) / 4
    weight = np.array([1, 2, 3, 0, 1, 1, 2, 0, 1, 1])
    weighted = small(inputs=bdnn.Inputs(scale=scale)).fit(X, y, weight)
    repeated = small(inputs=bdnn.Inputs(scale=scale)).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.result_.loss == repeated.result_.loss
    assert weighted.network_ == repeated.network_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_scale_is_chosen_by_neighbours_and_fixed_where_it_is_the_unit_of_a_radius():
    data = bdnn.datasets.load("iris")
    options = {"hidden": (2,), "method": "descent", "limits": Limits(seconds=1), "random_state": 0}
    assert bdnn.BDNNClassifier(**options).fit(data.X, data.y).encoder_.scale == "common"
    millimetres = data.X * [1, 1000, 1, 1]
    assert bdnn.BDNNClassifier(**options).fit(millimetres, data.y).encoder_.scale == "standard"
    options = {**options, "method": "auto", "robust": Robust(0.1)}
    assert bdnn.BDNNClassifier(**options).fit(data.X, data.y).encoder_.scale == "standard"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_saved_model_is_the_same_model(n_classes, tmp_path):
    model, X, _ = fitted(n_classes, class_weight="balanced", solver=CpSat(), method=Exact())
    model.save(tmp_path / "model.json", extra={"target": "y"})
    again = bdnn.load(tmp_path / "model.json")
    assert again.network_ == model.network_
    assert again.result_ == model.result_
    assert again.extra_ == {"target": "y"}
    assert again.solver == "cpsat"
    assert again.method == "exact"
    far = np.vstack([X, X * 1e6, -X])
    assert np.array_equal(again.decision_function(far), model.decision_function(far))
    assert np.array_equal(again.predict(far), model.predict(far))
    again.fit(X, _)


def test_a_file_of_another_estimator_is_refused(tmp_path):
    model, _, _ = fitted()
    path = tmp_path / "model.json"
    model.save(path)
    record = read_model(path)
    for change in (
        {"settings": {"depth": 3}},
        {"result": {}},
        {"result": {**record.result, "history": [[1]]}},
    ):
        write_model(replace(record, **change), path)
        with pytest.raises(ModelFileError) as caught:
            bdnn.load(path)
        assert_one_sentence(caught.value)


def test_an_unfitted_model_says_so(tmp_path):
    model = small()
    for call in (
        lambda: model.predict(XOR),
        lambda: model.decision_function(XOR),
        lambda: model.save(tmp_path / "model.json"),
    ):
        with pytest.raises(NotFittedError):
            call()
    assert not list(tmp_path.iterdir())


def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 4)), rng.integers(0, 2, 80)


def test_a_limit_warns_and_leaves_a_fitted_model():
    X, y = noise()
    with pytest.warns(ConvergenceWarning, match="time limit") as caught:
        model = small(hidden=(4,), limits=Limits(seconds=1.0)).fit(X, y)
    assert_one_sentence(caught[0].message)
    assert caught[0].filename == __file__
    assert model.result_.status == "time limit"
    assert model.result_.bound < model.result_.loss
    assert model.predict(X).shape == (80,)


def test_a_callback_ends_training_with_the_best_network():
    X, y = noise()
    moments = []
    model = small(hidden=(4,), callback=lambda m: moments.append(m) or len(moments) >= 4)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert model.result_.status == "interrupted"
    assert len(moments) >= 4
    assert model.result_.history[0] == moments[0]


def test_a_start_is_taken_from_another_fit():
    X, y = noise()
    with pytest.warns(ConvergenceWarning):
        first = small(hidden=(4,), limits=Limits(seconds=1.0)).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        again = small(hidden=(4,), limits=Limits(nodes=1), start=first.network_).fit(X, y)
    assert again.result_.loss <= first.result_.loss


@pytest.mark.parametrize("solver", ["cpsat", "highs", CpSat(seed=3), Highs(threads=1)], ids=str)
def test_solvers_by_name_and_as_objects(solver):
    model = small(solver=solver).fit(XOR, XOR_LABELS)
    assert model.result_.status == "optimal"
    name = solver if isinstance(solver, str) else solver.name
    assert model.result_.solver.startswith(name)


def test_constant_features_and_duplicates_are_fine():
    X = np.column_stack([XOR, np.full(4, 7.7)])
    assert small().fit(X, XOR_LABELS).result_.loss == 0.0
    X, y = np.vstack([XOR, XOR[:1]]), np.append(XOR_LABELS, 1)
    result = small().fit(X, y).result_
    # One of two equal rows with different labels is wrong in both outputs.
    assert (result.status, result.loss, result.bound) == ("optimal", 2.0, 2.0)
    assert "conflict" in result.bound_origin


def with_entry(value):
    X = XOR.copy()
    X[2, 1] = value
    return X


BAD_DATA = {
    "inf": (with_entry(np.inf), XOR_LABELS, "inf in row 3, column 2"),
    "-inf": (with_entry(-np.inf), XOR_LABELS, "inf in row 3, column 2"),
    "huge": (with_entry(1e300), XOR_LABELS, "a value beyond 1e.100 in row 3, column 2"),
    "nothing": (np.array([[0.0, "?"]] * 4, dtype=object), XOR_LABELS, "has no values at all"),
    "objects": (np.array([[0.0, {}]] * 4, dtype=object), XOR_LABELS, "values of type dict"),
    "no rows": (np.zeros((0, 2)), np.zeros(0), "0 sample"),
    "no columns": (np.zeros((4, 0)), XOR_LABELS, "0 feature"),
    "one row": (np.zeros((1, 2)), np.array([1]), "at least two classes"),
    "one class": (XOR, np.ones(4), "at least two classes"),
    "short y": (XOR, XOR_LABELS[:3], "inconsistent numbers of samples"),
    "no y": (XOR, None, "requires y to be passed"),
    "nan in y": (XOR, np.array([0, 1, np.nan, 0]), "NaN or inf"),
    "inf in y": (XOR, np.array([0, 1, np.inf, 0]), "NaN or inf"),
    "regression": (XOR, np.array([0.1, 0.2, 0.33, 0.4]), "Unknown label type"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_data_that_cannot_be_used_is_refused(case):
    X, y, complaint = BAD_DATA[case]
    with pytest.raises(ValueError, match=complaint) as caught:
        small().fit(X, y)
    assert "\n" not in str(caught.value)
    if isinstance(caught.value, BDNNError):  # otherwise the sentence is scikit-learn's
        assert isinstance(caught.value, DataError)
        assert_one_sentence(caught.value)


@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_bad_numbers_are_refused_in_prediction_too(value):
    model = small().fit(XOR, XOR_LABELS)
    with pytest.raises(DataError, match="row 3, column 2"):
        model.predict(with_entry(value))


def test_values_far_outside_the_training_data_are_predicted():
    model = small(weights="continuous").fit(XOR * 1e-30, XOR_LABELS)
    assert model.predict([[1e99, -1e99]]).shape == (1,)


BAD_OPTIONS = [
    *({"hidden": value} for value in (0, -1, (3, -1), "3", True, 2.5, None, 10**9)),
    *({"weights": value} for value in ("float", "int:0", None, 3, ["ternary"])),
    *({"thresholds": value} for value in ("none", None)),
    {"ties": "last"},
    *({"method": value} for value in ("magic", None, Exact)),
    *({"solver": value} for value in ("cplex", None, 3)),
    *({"inputs": value} for value in ("numbers", None, 3, Inputs)),
    *({"inputs": Inputs(scale=value)} for value in ("robust", True)),
    *({"limits": value} for value in (60, "60", Limits)),
    *({"robust": value} for value in (0.1, "linf")),
    *({"start": value} for value in ("model.json", 3)),
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=repr)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ModelError) as caught:
        small(**options).fit(XOR, XOR_LABELS)
    assert_one_sentence(caught.value)
    assert next(iter(options)) in str(caught.value)


@pytest.mark.parametrize(
    "weight", [[1, 2, 3], [1, 1, 1, -1], [1, 1, np.nan, 1], [1e300] * 4, [0] * 4, [[1] * 4] * 2]
)
def test_bad_sample_weights_are_refused(weight):
    with pytest.raises(DataError, match="sample_weight must be") as caught:
        small().fit(XOR, XOR_LABELS, weight)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("weight", [{0: -1.0}, {0: np.nan}, {0: np.inf}, {0: 0, 1: 0}], ids=str)
def test_bad_class_weights_are_refused(weight):
    with pytest.raises(DataError, match="class_weight must be") as caught:
        small(class_weight=weight).fit(XOR, XOR_LABELS)
    assert_one_sentence(caught.value)


def test_a_class_without_weight_is_no_class():
    for options, weight in (({"class_weight": {0: 0.0}}, None), ({}, XOR_LABELS)):
        with pytest.raises(DataError, match="at least two classes") as caught:
            small(**options).fit(XOR, XOR_LABELS, weight)
        assert_one_sentence(caught.value)


@pytest.mark.parametrize("size", [1e-10, 1e-3, 1e3, 1e9])
def test_small_and_large_sample_weights_prove_nothing_wrong(size):
    result = small(hidden=()).fit(XOR, XOR_LABELS, np.full(4, size)).result_
    # A single layer gets three of the four samples right, and the fourth wrong in both outputs.
    assert result.bound <= 2.000001 * size
    assert result.status != "optimal" or result.loss == pytest.approx(2 * size)


def test_a_solver_that_is_not_installed_is_refused(monkeypatch):
    monkeypatch.setattr(SOLVERS["scip"], "package", "no_such_package")
    with pytest.raises(SolverNotAvailableError, match="pip install") as caught:
        small(solver="scip").fit(XOR, XOR_LABELS)
    assert_one_sentence(caught.value)


def test_a_refused_fit_leaves_no_fitted_model():
    model = small(hidden=0)
    with pytest.raises(ModelError):
        model.fit(XOR, XOR_LABELS)
    with pytest.raises(NotFittedError):
        model.predict(XOR)


def test_examples_in_the_docstrings():
    module = importlib.import_module("bdnn.estimators.classifier")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
