"""Starts are valid networks, good ones are good, and embedding keeps the function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification
from bdnn.search import embed, linear_start, random_start, straight_through
from bdnn.search.starts import separating_start
from tests.grids import examples
from tests.problems import random_problem, xor
from tests.strategies import architectures, networks

WEIGHTS = ("continuous", "ternary", "binary", "int:3")


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
def test_starts_are_networks_of_the_architecture(weights, thresholds, hidden):
    problem = random_problem(
        0, n_samples=20, n_classes=3, hidden=hidden, weights=weights, thresholds=thresholds
    )
    rng = np.random.default_rng(0)
    for network in (
        random_start(problem, rng),
        linear_start(problem, rng),
        straight_through(problem, rng=rng, slot=Slot.of(60), epochs=3),
    ):
        assert network.architecture == problem.architecture


@pytest.mark.parametrize(
    ("smoothing", "least", "most"), [(0.0, 0.0, 0.1), (0.2, 0.0, 0.1), (1.0, 0.3, 1.0)]
)
@pytest.mark.parametrize(("weights", "hidden"), [("ternary", (30,)), ("continuous", (20, 20))])
def test_straight_through_learns_iris_unless_all_labels_are_smoothed_away(
    weights, hidden, smoothing, least, most
):
    X, y = load_iris(return_X_y=True)
    X = np.rint((X - X.mean(axis=0)) / X.std(axis=0) * 64) / 64
    shape = Architecture.create(4, 3, hidden=hidden, weights=weights)
    problem = classification(shape, X, y)
    network = straight_through(
        problem, rng=np.random.default_rng(0), slot=Slot.of(20.0), smoothing=smoothing
    )
    assert least <= problem.error(network) < most


@pytest.mark.parametrize(
    "options",
    [{"mixup": 0.8}, {"single_features": 0.5}, {"has_tails": True}, {"mixup": 0.8, "jitter": 0.1}],
    ids=str,
)
@pytest.mark.parametrize(("weights", "hidden"), [("ternary", (30,)), ("continuous", (20, 20))])
def test_noise_single_features_and_slopes_with_tails_take_part_in_learning(
    weights, hidden, options
):
    X, y = load_iris(return_X_y=True)
    X = np.rint((X - X.mean(axis=0)) / X.std(axis=0) * 64) / 64
    shape = Architecture.create(4, 3, hidden=hidden, weights=weights)
    problem = classification(shape, X, y)

    def learnt(**options):
        return straight_through(
            problem, rng=np.random.default_rng(0), slot=Slot.of(20.0), **options
        )

    network = learnt(**options)
    assert problem.error(network) < 0.1
    assert (network.weights[0] != learnt().weights[0]).any()


def test_straight_through_can_be_stopped():
    epochs = []
    straight_through(
        random_problem(0, n_samples=20, hidden=(4,)),
        rng=np.random.default_rng(0),
        slot=Slot(is_stopped=lambda: epochs.append(1) or len(epochs) == 4),
    )
    assert len(epochs) == 4


@pytest.mark.parametrize("weights", [*WEIGHTS, "int:7"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_straight_through_goes_on_from_a_network(weights, thresholds, hidden, n_classes):
    problem = random_problem(
        0, n_samples=20, n_classes=n_classes, hidden=hidden, weights=weights, thresholds=thresholds
    )
    begun = random_start(problem, np.random.default_rng(1))
    network = straight_through(
        problem, rng=np.random.default_rng(0), slot=Slot.of(60), learning_rate=1e-9, start=begun
    )
    for W, V in list(zip(network.weights, begun.weights, strict=True))[:-1]:
        np.testing.assert_allclose(W, V, atol=1e-4)
    is_mirrored = n_classes == 2 and thresholds == "neuron"
    if not is_mirrored:
        np.testing.assert_allclose(network.weights[-1], begun.weights[-1], atol=1e-4)
    elif weights == "continuous":
        agreement = network.predict(problem.inputs) == begun.predict(problem.inputs)
        assert agreement.mean() > 0.9


def test_units_of_several_values_take_no_start():
    problem = random_problem(0, hidden=(3,), activation="ternary")
    with pytest.raises(ModelError, match="leave it out"):
        straight_through(
            problem,
            rng=np.random.default_rng(0),
            slot=Slot.of(60),
            start=problem.constant_network(),
        )


@st.composite
def embeddings(draw):
    network = draw(
        networks(
            architectures(
                max_hidden=2, weights=st.sampled_from(["continuous", "ternary", "int:2", "int:5"])
            )
        )
    )
    old = network.architecture
    floor = list(old.hidden) or [old.n_outputs]
    depth = draw(st.integers(len(old.hidden), 3))
    widths = [
        (floor[k] if k < len(floor) else floor[-1]) + draw(st.integers(1, 2)) for k in range(depth)
    ]
    kinds = ("zero", "layer", "neuron")
    thresholds = draw(st.sampled_from(kinds[kinds.index(old.thresholds) :]))
    weights = [kind.name for kind in old.weights]
    weights = weights[:-1] + ["ternary"] * (depth - len(old.hidden)) + weights[-1:]
    if not old.hidden and depth:
        weights = [old.weights[0].name, *["ternary"] * depth]
    if draw(st.booleans()):
        weights = ["continuous"] * (depth + 1)
    return network, Architecture.create(
        old.n_features, old.n_outputs, hidden=widths, weights=weights, thresholds=thresholds
    )


@given(embeddings(), st.integers(0, 1000))
@examples(150)
def test_embedding_keeps_the_outputs(case, seed):
    network, shape = case
    X = np.random.default_rng(seed).integers(-3, 4, (20, shape.n_features)).astype(float)
    larger = embed(network, shape)
    assert larger.architecture == shape
    assert (larger.outputs(X) == network.outputs(X)).all()


def test_embedding_of_equal_shape_is_the_network():
    network = xor().constant_network()
    assert embed(network, network.architecture) == network


@pytest.mark.parametrize(
    "shape",
    [
        Architecture.create(3, 2, hidden=(2,)),
        Architecture.create(2, 3, hidden=(2,)),
        Architecture.create(2, 2, hidden=()),
        Architecture.create(2, 2, hidden=(1,)),
        Architecture.create(2, 2, hidden=(3,), weights="binary"),
        Architecture.create(2, 2, hidden=(2,), thresholds="zero"),
    ],
    ids=["features", "outputs", "depth", "width", "no zero", "thresholds"],
)
def test_impossible_embeddings_are_refused(shape):
    with pytest.raises(ModelError):
        embed(xor().constant_network(), shape)


def test_zero_thresholds_need_a_spare_unit_to_grow_deep():
    small = Architecture.create(1, 2, hidden=(2,), thresholds="zero")
    network = Network(small, (np.ones((2, 1)), np.eye(2)), (np.zeros(2), np.zeros(2)))
    with pytest.raises(ModelError, match="one unit more"):
        embed(network, Architecture.create(1, 2, hidden=(2, 2), thresholds="zero"))
    embed(network, Architecture.create(1, 2, hidden=(3, 2), thresholds="zero"))


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_planes_separate_few_samples_with_many_features(thresholds, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.random((20, 40)), np.arange(20) % n_classes
    shape = Architecture.create(
        40, n_classes, hidden=(5,), weights="continuous", thresholds=thresholds
    )
    problem = classification(shape, X, y)
    network = separating_start(problem)
    assert problem.value(network) == 0
    assert network.architecture == shape


@pytest.mark.parametrize(
    "options",
    [
        {"hidden": ()},
        {"hidden": (3, 3)},
        {"hidden": (1,)},
        {"hidden": (3,), "weights": "binary"},
        {"hidden": (3,), "activation": "ternary"},
    ],
)
def test_other_architectures_have_no_separating_start(options):
    assert separating_start(random_problem(0, **options)) is None


def test_one_class_needs_no_plane():
    shape = Architecture.create(2, 2, hidden=(3,), weights="continuous")
    X = np.arange(8.0).reshape(4, 2)
    problem = classification(shape, X, np.zeros(4, dtype=int))
    assert problem.value(separating_start(problem)) == 0
