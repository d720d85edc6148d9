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
    assert "1 other column" in ax.get_title()


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
        plot_decision_regions(model.model_, X * np.nan)


def test_texts_are_held_at_the_most_frequent_one():
    frame = pd.DataFrame(
        {"p": [0.0, 1, 2, 3, 4, 5], "job": list("aabbcc"), "town": ["東京", *["x"] * 4, "東京"]}
    )
    y = frame["town"] == "x"
    model = BDNNClassifier(hidden=(3,), objective="loss", random_state=0).fit(frame, y)
    ax = plot_decision_regions(model, frame, y, features=("p", "job"), resolution=12)
    (image,) = ax.get_images()
    left, right = image.get_extent()[:2]
    rows = pd.DataFrame(
        [(p, job, "x") for job in "abc" for p in np.linspace(left, right, 12)],
        columns=frame.columns,
    )
    wanted = _tints(2)[model.predict(rows).astype(int)].reshape(3, 12, 3)
    np.testing.assert_allclose(image.get_array(), np.repeat(wanted, 4, axis=0))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]


def test_letters_come_from_installed_fonts(tmp_path):
    from matplotlib.font_manager import fontManager

    fonts = {"Noto Sans CJK JP", "WenQuanYi Zen Hei"} & set(fontManager.get_font_names())
    if not fonts:
        pytest.skip("no font with such letters is installed")
    frame = pd.DataFrame(XOR, columns=["年齢", "性别"])
    model = BDNNClassifier(hidden=(3,), method="exact", random_state=0).fit(frame, [0, 1, 1, 0])
    # A glyph that no font has is a warning, which is an error here.
    plot_decision_regions(model, frame, resolution=10).figure.savefig(tmp_path / "regions.png")
