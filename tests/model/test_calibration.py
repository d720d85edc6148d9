"""Probabilities: in the order of scores, near the observed shares, and the same from a file."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bdnn
from bdnn.checker.model import check_calibration
from bdnn.errors import UnsupportedFeatureError
from bdnn.limits import CALIBRATION
from bdnn.model import Calibration
from bdnn.training import Descent
from tests.export.models import make_model


def scores_of_known_truth(n_classes, n_rows=20_000, seed=0):
    """Scores on a grid, and classes drawn by the softmax of half of them."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-6, 7, (n_rows, n_classes)).astype(float)
    likely = np.exp(scores / 2)
    likely /= likely.sum(axis=1, keepdims=True)
    labels = (rng.random((n_rows, 1)) < likely.cumsum(axis=1)).argmax(axis=1)
    return scores, labels, likely


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_known_probabilities_are_found(n_classes):
    scores, labels, likely = scores_of_known_truth(n_classes)
    found = Calibration.fit(scores, labels, np.ones(len(labels)), step=1.0, origin="here")
    new, _, wanted = scores_of_known_truth(n_classes, 500, seed=1)
    # Equal scores are a tie for the truth, and the first class for the prediction.
    is_led = np.sort(new, axis=1)[:, -1] > np.sort(new, axis=1)[:, -2]
    assert np.abs(found.probabilities(new) - wanted)[is_led].max() < 0.07
    assert np.abs(found.probabilities(new) - wanted)[is_led].mean() < 0.015
    assert likely.max() > 0.9


def by_hand(calibration, row):
    """Probabilities of one row, in fractions."""
    said = max(range(len(row)), key=lambda k: (row[k], -k))
    table = calibration.tables[said]
    entries = []
    for k, score in enumerate(row):
        lead = Fraction(row[said] - score) / Fraction(calibration.unit)
        place = 0 if k == said else min(1 + lead.numerator // lead.denominator, len(table) - 1)
        entries.append(table[place])
    return [Fraction(entry, sum(entries)) for entry in entries]


@given(
    st.integers(2, 4),
    st.integers(1, 60),
    st.sampled_from([2.0**-20, 0.25, 1.0]),
    st.integers(0, 10**6),
)
def test_predicted_class_is_likeliest_and_order_is_kept(n_classes, n_rows, step, seed):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(0, rng.choice([0.3, 5, 500]), (n_rows, n_classes)), 2)
    labels = rng.integers(0, n_classes, n_rows)
    found = Calibration.fit(scores, labels, rng.random(n_rows) + 0.1, step=step, origin="here")
    shown = found.probabilities(scores)
    assert (shown.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert np.allclose(shown.sum(axis=1), 1.0)
    for row, probabilities in zip(scores, shown, strict=True):
        order = np.lexsort((-np.arange(n_classes), row))  # the first of equal ones leads
        assert (np.diff(probabilities[order]) >= 0).all()
    wanted = [[float(p) for p in by_hand(found, row)] for row in scores.tolist()]
    assert np.allclose(shown, wanted)
    assert all(len(table) <= CALIBRATION for table in found.tables)
    assert all((np.diff(table) < 0).all() and table[-1] > 0 for table in found.tables)


def test_weights_count_as_repeated_rows():
    scores, labels, _ = scores_of_known_truth(3, 400)
    times = np.random.default_rng(2).integers(1, 4, 400)
    weighed = Calibration.fit(scores, labels, times.astype(float), step=1.0, origin="here")
    repeated = Calibration.fit(
        scores.repeat(times, axis=0),
        labels.repeat(times),
        np.ones(times.sum()),
        step=1.0,
        origin="",
    )
    assert (weighed.unit, weighed.tables) == (repeated.unit, repeated.tables)
    shares = Calibration.fit(scores, labels, np.full(400, 1 / 400), step=1.0, origin="here")
    assert shares == Calibration.fit(scores, labels, np.ones(400), step=1.0, origin="here")


@pytest.mark.parametrize("refit", [True, False])
def test_a_file_keeps_probabilities(refit, tmp_path):
    data = bdnn.datasets.load("iris")
    model = bdnn.BDNNClassifier(
        hidden=(3,),
        method=Descent(refit=refit, patience=0.5),
        validation_fraction=0.3,
        limits=bdnn.Limits(seconds=5),
        random_state=0,
    ).fit(data.X, data.y)
    shown = model.predict_proba(data.X)
    assert (model.classes_[shown.argmax(axis=1)] == model.predict(data.X)).all()
    assert model.model_.calibration.origin == ("training rows" if refit else "held-out rows")
    model.save(tmp_path / "model.json")
    read = bdnn.load(tmp_path / "model.json")
    assert read.model_.calibration == model.model_.calibration
    assert (read.predict_proba(data.X) == shown).all()


@pytest.mark.parametrize(
    "change",
    [
        {"unit": 0.3},
        {"unit": -1.0},
        {"unit": "1"},
        {"tables": [[3, 2, 1]]},
        {"tables": [[3, 2, 1], [3, 3, 1]]},
        {"tables": [[3, 2, 1], [3, 2]]},
        {"tables": [[3, 2, 0], [3, 2, 1]]},
        {"tables": [[True, 2, 1], [3, 2, 1]]},
        {"tables": [list(range(99, 0, -1))] * 2},
        {"tables": [[1 << 20, 2], [3, 2]]},
        {"rows": "many"},
        {"origin": 3},
        {"more": 1},
    ],
)
def test_tables_that_make_no_sense_are_refused(change):
    content = {"unit": 0.5, "tables": [[3, 2, 1], [9, 5, 2]], "rows": 7, "origin": "here"}
    check_calibration(content, 2)
    with pytest.raises(ValueError, match="probabilities"):
        check_calibration(content | change, 2)


def test_models_without_a_table_say_so():
    model = make_model(np.random.default_rng(0))
    with pytest.raises(UnsupportedFeatureError, match="no table of probabilities"):
        model.probabilities(np.zeros((1, 4)))
