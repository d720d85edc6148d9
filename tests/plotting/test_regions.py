"""Regions have the classes that the model predicts there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdnn import BDNNClassifier
from bdnn.errors import DataError
from bdnn.plotting import plot_decision_regions
from bdnn.plotting.regions import _tints
from tests.problems import XOR


@pytest.fixture(scope="module")
def model():
    X = np.column_stack([XOR, [0.0, 1.0, 2.0, 9.0]])
    model = BDNNClassifier(hidden=(3,), method="exact", random_state=0)
    return model.fit(X, ["no", "yes", "yes", "no"], feature_names=["p", "q", "r"]), X


def test_every_pixel_is_a_prediction(model):
    model, X = model
    ax = plot_decision_regions(model, X, features=("q", "p"), resolution=20)
    (image,) = ax.get_images()
    left, right, bottom, top = image.get_extent()
    across, up = np.linspace(left, right, 20), np.linspace(bottom, top, 20)
    rows = np.array([[b, a, 1.5] for b in up for a in across])  # 1.5 is the median of r
    wanted = _tints(2)[(model.predict(rows) == "yes").astype(int)].reshape(20, 20, 3)
    np.testing.assert_allclose(image.get_array(), wanted)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("q", "p")
    assert "1 other feature" in ax.get_title()


def test_samples_and_mistakes_are_drawn(model):
    model, X = model
    ax = plot_decision_regions(model, X, ["no", "yes", "yes", "yes"])
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    assert {tuple(place) for place in drawn.tolist()} >= {tuple(row) for row in XOR.tolist()}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes", "wrong"]


def test_a_table_keeps_its_column_names():
    frame = pd.DataFrame(XOR, columns=["p", "q"])
    model = BDNNClassifier(hidden=(3,), method="exact", random_state=0).fit(frame, [0, 1, 1, 0])
    ax = plot_decision_regions(model, frame, [0, 1, 1, 0], resolution=10)
    assert ax.get_xlabel() == "p"
    assert ax.get_title() == ""


@pytest.mark.parametrize(
    "features", [(0, 0), (0, 3), (-1, 0), (0,), ("p", "z"), "pq", (0, 1, 2), None]
)
def test_features_are_checked(model, features):
    with pytest.raises(DataError, match="features must be two"):
        plot_decision_regions(*model, features=features)


def test_samples_are_checked(model):
    model, X = model
    with pytest.raises(DataError, match="one label per sample"):
        plot_decision_regions(model, X, [0, 1], resolution=5)
    with pytest.raises(DataError, match="finite numbers"):
        plot_decision_regions(model, X * np.nan)
