"""Weight maps show the weights."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn import BDNNClassifier
from bdnn.errors import DataError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.plotting import plot_weights
from tests.problems import XOR


def network(units=5):
    rng = np.random.default_rng(0)
    shape = Architecture.create(6, 2, hidden=(units,))
    weights = tuple(rng.integers(-1, 2, size).astype(float) for size in ((units, 6), (2, units)))
    return Network(shape, weights, (rng.normal(size=units), np.zeros(2)))


@pytest.mark.parametrize("layer", [1, 2])
def test_a_matrix_per_layer(layer):
    drawn = network()
    figure = plot_weights(drawn, layer=layer)[0].figure
    (image,) = figure.axes[0].get_images()
    np.testing.assert_array_equal(image.get_array(), drawn.weights[layer - 1])


def test_an_image_per_unit(tmp_path):
    drawn = network()
    figure = plot_weights(drawn, shape=(2, 3))[0].figure
    images = [ax.get_images()[0].get_array() for ax in figure.axes if ax.get_images()]
    assert len(images) == 5
    np.testing.assert_array_equal(np.array(images).reshape(5, 6), drawn.weights[0])
    figure.savefig(tmp_path / "weights.png")


def test_names_of_inputs():
    figure = plot_weights(network(), names=list("abcdef"))[0].figure
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == list("abcdef")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"layer": 0}, "layer must be"),
        ({"layer": 3}, "layer must be"),
        ({"shape": (2, 2)}, "shape must be"),
        ({"names": ["a"]}, "names must be 6"),
    ],
)
def test_bad_options_are_said(options, match):
    with pytest.raises(DataError, match=match):
        plot_weights(network(), **options)


def test_more_units_than_anybody_looks_at():
    with pytest.raises(DataError, match="at most 200"):
        plot_weights(network(201), shape=(2, 3))


def test_something_else_is_refused():
    with pytest.raises(DataError, match="a network or a fitted estimator"):
        plot_weights("network")


def test_few_weights_have_a_legend_and_many_a_bar():
    figure = plot_weights(network())[0].figure
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["1", "0", "-1"]
    assert len(figure.axes) == 1
    shape = Architecture.create(20, 2, hidden=(), weights="continuous")
    many = Network(shape, (np.linspace(-1, 1, 40).reshape(2, 20),), (np.zeros((2, 1)),))
    assert len(plot_weights(many)[0].figure.axes) == 2


def test_outputs_have_the_names_of_their_classes():
    model = BDNNClassifier(hidden=(2,), method="exact", random_state=0).fit(XOR, list("nyyn"))
    ax = plot_weights(model, layer=2)[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["n", "y"]
    ax = plot_weights(model)[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x1", "x2"]
