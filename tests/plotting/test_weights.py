"""Weight maps show the weights."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.errors import DataError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.plotting import plot_weights


def network(units=5):
    rng = np.random.default_rng(0)
    shape = Architecture.create(6, 2, hidden=(units,))
    weights = tuple(rng.integers(-1, 2, size).astype(float) for size in ((units, 6), (2, units)))
    return Network(shape, weights, (rng.normal(size=units), np.zeros(2)))


@pytest.mark.parametrize("layer", [1, 2])
def test_a_matrix_per_layer(layer):
    drawn = network()
    figure = plot_weights(drawn, layer=layer)
    (image,) = figure.axes[0].get_images()
    np.testing.assert_array_equal(image.get_array(), drawn.weights[layer - 1])


def test_an_image_per_unit(tmp_path):
    drawn = network()
    figure = plot_weights(drawn, shape=(2, 3))
    images = [ax.get_images()[0].get_array() for ax in figure.axes if ax.get_images()]
    assert len(images) == 5
    np.testing.assert_array_equal(np.array(images).reshape(5, 6), drawn.weights[0])
    figure.savefig(tmp_path / "weights.png")


def test_names_of_inputs():
    figure = plot_weights(network(), names=list("abcdef"))
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
