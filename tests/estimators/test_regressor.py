"""BDNNRegressor: predictions, results, bad input, files."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

import bdnn
from bdnn import BDNNRegressor, Limits, Robust
from bdnn.errors import (
    BDNNError,
    DataError,
    ModelError,
    ModelFileError,
    SolverNotAvailableError,
    UnsupportedFeatureError,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0.2, 5.0, 1.0) + 2.0 * (X[:, 1] + X[:, 2] > 0)


def make(**options):
    return BDNNRegressor(
        **{"hidden": (4,), "limits": Limits(seconds=120), "random_state": 0, **options}
    )


def test_steps_are_learnt_as_they_are():
    model = make(smoothing=0, ridge=0, weights="ternary").fit(X, Y)
    assert model.score(X, Y) > 0.9999
    assert model.result_.is_proven
    assert 1.0 - model.result_.error == pytest.approx(model.score(X, Y))
    assert model.ridge_ == model.smoothing_ == 0.0


def test_the_loss_is_that_of_the_formula():
    model = make(smoothing=0, ridge=2.0, hidden=(2,), method="descent").fit(X, Y)
    errors = (model.predict(X) - Y) / Y.std()
    contributions = model.network_.weights[-1] * model.model_.targets.factor / Y.std()
    expected = (errors**2).sum() + 2.0 * (contributions**2).sum()
    assert model.result_.loss == pytest.approx(expected)
    model = make(loss="absolute", hidden=(2,), method="descent").fit(X, Y)
    expected = np.abs(model.predict(X) - Y).sum() / Y.std()
    assert model.result_.loss == pytest.approx(expected)


def test_absolute_losses_leave_outliers_alone():
    y = Y.copy()
    y[:3] = 1000.0
    model = make(loss="absolute", method="descent").fit(X, y)
    assert np.median(np.abs(model.predict(X[3:]) - Y[3:])) < 0.5


def test_several_outputs_are_fitted_together():
    both = np.column_stack([Y, -3.0 * Y + 7.0])
    model = make(smoothing=0, ridge=0, method="descent").fit(X, both)
    assert model.predict(X).shape == (60, 2)
    assert model.score(X, both) > 0.99
    assert model.n_outputs_ == 2


def test_steps_beat_a_line_on_held_out_folds():
    scores = cross_val_score(make(hidden=(12,), method="descent"), X, Y, cv=3)
    assert scores.mean() > cross_val_score(LinearRegression(), X, Y, cv=3).mean()


def test_exact_trains_the_plain_loss():
    few = slice(0, 12)
    model = make(method="exact", hidden=(1,)).fit(X[few], Y[few])
    assert model.ridge_ == model.smoothing_ == 0.0
    assert model.result_.method == "exact"
    assert model.result_.is_proven


def test_a_constant_target_is_predicted():
    model = make().fit(X, np.full(60, 7.5))
    assert (model.predict(X) == 7.5).all()
    assert model.result_.is_proven


def test_one_sample_is_enough():
    assert make(smoothing=0).fit([[1.0, 2.0]], [3.0]).predict([[0.0, 0.0]]) == [3.0]


def test_huge_and_tiny_targets_are_scaled():
    wanted = make(method="descent").fit(X, Y).predict(X)
    for factor in (1e90, 1e-90):
        found = make(method="descent").fit(X, factor * Y).predict(X)
        np.testing.assert_allclose(found / factor, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(Y > 4, np.nan, Y), "got NaN, inf"),
        (np.where(Y > 4, np.inf, Y), "got NaN, inf"),
        (Y * 1e120, "beyond 1e\\+100"),
        (np.where(Y > 4, "high", "low"), "y must hold numbers"),
        (np.zeros((60, 0)), "y must be one number per sample"),
        (np.zeros((60, 2, 2)), "y must be one number per sample"),
        (None, "requires y"),
    ],
)
def test_bad_targets_are_refused_in_one_sentence(y, message):
    with pytest.raises(DataError, match=message) as caught:
        make().fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "huber"}, "loss must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"ridge": "much"}, "ridge must be"),
        ({"ridge": np.inf}, "ridge must be"),
        ({"smoothing": 1.5}, "smoothing must be"),
        ({"loss": "absolute", "ridge": 1.0}, "ridge is for the squared loss"),
        ({"loss": "absolute", "smoothing": 0.5}, "smoothing is for the squared loss"),
        ({"solver": "cplex"}, "solver must be"),
        ({"hidden": (0,)}, "hidden must be"),
        ({"weights": "quaternary"}, "weights must be"),
        ({"weights": ["ternary"]}, "one per layer"),
        ({"limits": 60}, "limits must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"robust": Robust(0.1)}, "is about classes"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"activation": "tanh"}, "activation must be"),
        ({"method": "exact", "solver": "cpsat"}, "'cpsat' cannot handle"),
        ({"start": "somewhere"}, "start must be a network"),
        (
            {"method": "descent", "limits": Limits(nodes=5)},
            "limits: nodes, which are for one",
        ),
    ],
)
def test_senseless_options_are_refused_by_name(options, message):
    with pytest.raises((ModelError, UnsupportedFeatureError), match=message):
        make(**options).fit(X, Y)


def test_a_missing_solver_is_named_before_the_work(monkeypatch):
    monkeypatch.setattr("bdnn.solvers.scip.Scip.is_available", classmethod(lambda cls: False))
    with pytest.raises(SolverNotAvailableError, match="scip"):
        make(solver="scip").fit(X, Y)


def test_a_callback_ends_the_run_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = make(callback=lambda moment: True).fit(X, Y)
    assert model.result_.status == "interrupted"
    assert len(model.predict(X)) == 60


def test_a_loss_that_is_low_enough_ends_the_run():
    model = make(method="descent", limits=Limits(loss=40.0), smoothing=0, ridge=0).fit(X, Y)
    assert model.result_.status == "loss limit"
    assert model.result_.loss <= 40.0
    assert model.history_[-1].loss == pytest.approx(model.result_.loss)


def test_weights_may_be_chosen_per_layer():
    model = make(weights=["int:3", "int:2"], method="descent").fit(X, Y)
    names = [kind.name for kind in model.network_.architecture.weights]
    assert names == ["int:3", "int:2"]
    assert model.score(X, Y) > 0.8
    hidden = make(weights="binary", method="descent").fit(X, Y).network_.architecture.weights
    assert [kind.name for kind in hidden] == ["binary", "continuous"]


@pytest.mark.parametrize("activation", ["levels:3", bdnn.Activation((-1, 0, 2), (-0.5, 0.5))])
def test_units_of_several_values_are_saved_and_loaded(activation, tmp_path):
    few, y = X[:8], np.round(X[:8, 0])
    model = make(hidden=(1,), activation=activation, method="exact").fit(few, y)
    assert model.network_.architecture.activations == (bdnn.Activation.parse(activation),)
    model.save(tmp_path / "model.json")
    again = bdnn.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert bdnn.Activation.parse(again.activation) == bdnn.Activation.parse(activation)


@pytest.mark.parametrize("y", [Y, np.column_stack([Y, -Y])], ids=["one output", "two outputs"])
def test_a_file_gives_the_same_predictions(tmp_path, y):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make(method="descent").fit(frame, y)
    path = tmp_path / "model.json"
    model.save(path, extra={"where": "here"})
    loaded = bdnn.load(path)
    assert isinstance(loaded, BDNNRegressor)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.network_ == model.network_
    assert loaded.result_ == model.result_
    assert loaded.extra_ == {"where": "here"}
    assert loaded.get_params()["hidden"] == [4]
    loaded.save(tmp_path / "again.json", extra={"where": "here"})
    assert (tmp_path / "again.json").read_text() == path.read_text()


@pytest.mark.parametrize(
    ("part", "value"),
    [("shift", [1.0, 2.0]), ("factor", ["x"]), ("unit", [0.0]), (None, None)],
)
def test_a_file_whose_targets_make_no_sense_is_refused(tmp_path, part, value):
    from bdnn.model_file.data import checksum as _checksum

    path = tmp_path / "model.json"
    make(method="descent", hidden=(1,)).fit(X, Y).save(path)
    data = json.loads(path.read_text())
    del data["checksum"]
    if part is None:
        del data["outputs"]["targets"]
    else:
        data["outputs"]["targets"][part] = value
    data["checksum"] = _checksum(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ModelFileError, match="makes no sense"):
        bdnn.load(path)


def test_what_is_about_classes_refuses_a_regressor():
    model = make(method="descent", hidden=(1,)).fit(X, Y)
    for call in (lambda: model.certify(X), lambda: model.verify(X)):
        with pytest.raises(UnsupportedFeatureError, match="for classifiers, got a regressor"):
            call()


def test_rules_give_the_same_numbers():
    model = make(
        method="descent", hidden=(1,), smoothing=0, ridge=0, inputs=bdnn.Inputs(scale=None)
    ).fit(X, Y)
    text = model.rules()
    last = text.splitlines()[-1]
    assert last.startswith("value = ")
    formula = re.sub(r" \[.*\]", " * on", last.removeprefix("value = "))
    values = {round(eval(formula, {"on": on}), 3) for on in (0, 1)}
    assert values == set(np.round(np.unique(model.predict(X)), 3).tolist())


def test_errors_share_the_common_base():
    with pytest.raises(BDNNError):
        make(loss="none").fit(X, Y)


def test_further_samples_are_trained_from_the_network_at_hand():
    model = make(method="descent", smoothing=0, ridge=0).partial_fit(X[:40], Y[:40])
    scaler, encoder, network = model.model_.targets, model.encoder_, model.network_
    model.partial_fit(X[40:], Y[40:])
    assert (model.model_.targets, model.encoder_) == (scaler, encoder)
    assert model.score(X, Y) > 0.99
    assert network.architecture == model.network_.architecture


def test_what_cannot_be_added_is_refused(tmp_path):
    mine = X[:40].copy()
    model = make(method="descent").fit(mine, Y[:40])
    model.save(tmp_path / "model.json")
    with pytest.raises(ModelError, match="does not hold the samples"):
        bdnn.load(tmp_path / "model.json").extend(X[40:], Y[40:])
    with pytest.raises(ModelError, match="keeps the network"):
        model.set_params(hidden=(5,)).extend(X[40:], Y[40:])
    mine[0] += 1.0
    with pytest.raises(DataError, match="as they were"):
        model.set_params(hidden=(4,)).extend(X[40:], Y[40:])


def test_held_out_samples_choose():
    model = make(method="descent", validation_fraction=0.5).fit(X, Y)
    assert model.result_.history[-1].phase == "validation"
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("loss", ["pattern", "average"])
def test_balls_around_samples(loss):
    model = make(method="descent", robust=Robust(loss=loss)).fit(X, Y, radius=np.full(60, 0.01))
    if loss == "average":
        assert model.score(X, Y) > 0.8
        return
    network, inputs = model.network_, model.encoder_.transform(X)
    gap = network.preactivations(inputs)[0] - network.step_thresholds[0]
    assert (np.abs(gap) >= 0.01 * np.abs(network.weights[0]).sum(axis=1) - 1e-9).all()
