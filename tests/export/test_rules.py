from dataclasses import replace

import numpy as np

from bdnn.export.rules import is_small, to_rules
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.encoding.encoders import make_encoder
from tests.export.models import make_model


def test_rules_of_a_tiny_network():
    model = make_model(
        np.random.default_rng(0),
        n_features=2,
        n_outputs=2,
        hidden=(2,),
        classes=("no", "yes"),
        names=("size", "age"),
    )
    shape = Architecture.create(2, 2, hidden=(2,), weights="int:3")
    network = Network(
        shape,
        (np.array([[1.0, -1.0], [0.0, -3.0]]), np.array([[-1.0, 0.0], [1.0, 1.0]])),
        (np.array([0.5, 2.0]), np.array([0.0, 1.0])),
    )
    scaler = make_encoder([3.0, 1.5], [0.5, 2.0], 2.0**-6, names=("size", "age"))
    assert to_rules(replace(model, network=network, encoder=scaler)).splitlines() == [
        "z(feature) is the scaled feature, (value - shift) * factor:",
        "  z(size) = (size - 3) * 0.5",
        "  z(age) = (age - 1.5) * 2",
        "h1 if z(size) - z(age) >= 0.5",
        "h2 if - 3 z(age) >= 2",
        "class no if - h1 >= 0",
        "class yes if h1 + h2 >= 1",
        "several or no class: the one whose sum is farthest above its threshold",
    ]


def test_deep_network_without_scaling():
    model = make_model(np.random.default_rng(0), hidden=(2, 2), scale=None, ties="first")
    text = to_rules(model)
    assert "h1.1 if" in text
    assert "z(" not in text
    assert "h2.2 if" in text
    assert text.endswith("several classes: the first one; none: the first of all")


def test_only_small_networks_are_readable():
    rng = np.random.default_rng(0)
    assert is_small(make_model(rng).network)
    assert not is_small(make_model(rng, hidden=(40, 40)).network)
