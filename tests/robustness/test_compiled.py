"""The compiled search over boxes against the one that is not."""

import numpy as np
import pytest

import bdnn
from bdnn.encoding import Encoder
from bdnn.model import Model
from bdnn.robustness import Certificate, PerturbationSet
from bdnn.robustness.attacks import greedy
from bdnn.robustness.branching import Branching
from bdnn.robustness.compiled_branching import CompiledBranching
from bdnn.robustness.polishing import polished
from tests.grids import long
from tests.robustness.cases import NORMS, as_length, enumerated, random_case


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seeds", [range(8), *long(range(8, 28))], ids=["quick", "long"])
def test_both_searches_agree_and_prove_it(seeds, norm):
    compared = 0
    for seed in seeds:
        around = random_case(seed, norm=norm, units=("raw", "scaled")[seed % 2])
        for i in range(len(around.X)):
            one = around.rows(np.array([i]))
            if not CompiledBranching.suits(one):
                continue
            plain, fast = Branching(one, 0.9), CompiledBranching(one, 0.9)
            plain.run()
            fast.run()
            assert fast.is_complete
            np.testing.assert_allclose(fast.lower, plain.lower, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(fast.upper, plain.upper, rtol=1e-9, atol=1e-12)
            exact = as_length(around, enumerated(around, i))
            assert fast.lower <= exact + 1e-12
            proof = fast.proof()
            assert Certificate.guarantee(one, fast.lower, proof).check(around.model)
            compared += 1
    assert compared > len(seeds)


def test_a_search_that_is_cut_off_goes_on():
    compared = 0
    for seed in range(30):
        one = random_case(seed, n_features=3, samples=1)
        if not CompiledBranching.suits(one):
            continue
        whole, parts = CompiledBranching(one, 0.9), CompiledBranching(one, 0.9)
        whole.run()
        before, boxes = 0.0, 0
        while not parts.is_complete:
            boxes += 1
            parts.run(boxes=boxes)
            assert before - 1e-12 <= parts.lower <= whole.lower + 1e-12
            before = parts.lower
        assert parts.lower == whole.lower
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("norm", ["l1", *long("linf", "l2")])
def test_linear_functions_below_the_leads_rule_out_nothing_that_is_there(norm):
    compared = relaxed = 0
    for seed in range(60):
        around = random_case(seed, norm=norm, units=("raw", "scaled")[seed % 2])
        for i in range(len(around.X)):
            one = around.rows(np.array([i]))
            if not CompiledBranching.suits(one) or len(one.network.weights) != 2:
                continue
            search = CompiledBranching(one, 0.9, relaxed=True, margin=1e-5)
            search.run()
            assert search.is_complete
            exact = as_length(around, enumerated(around, i))
            assert search.lower <= exact + 1e-12
            assert search.upper >= exact - 1e-12
            if exact < 0.9:
                assert search.upper - search.lower <= 1.001e-5
                assert one.is_changed(search.counter_example[None])[0]
            compared += 1
            relaxed += search.proof() is None
    assert compared > 20
    assert relaxed > 3


def wide_case(norm="linf"):
    """Samples of a network of 30 units with real weights."""
    rng = np.random.default_rng(0)
    shape = bdnn.Architecture.create(4, 3, hidden=(30,), weights="continuous")
    W, V = rng.uniform(-1, 1, (30, 4)), rng.uniform(-1, 1, (3, 30))
    thresholds = W @ rng.random(4), np.zeros(3)
    model = Model(Encoder.of_features(4), bdnn.Network(shape, (W, V), thresholds))
    return PerturbationSet.create(model, rng.random((8, 4)), norm=norm)


def test_many_units_of_real_weights_take_few_boxes():
    around = wide_case()
    for i in range(4):
        one = around.rows(np.array([i]))
        plain = CompiledBranching(one, 0.3)
        fast = CompiledBranching(one, 0.3, relaxed=True, margin=1e-5)
        plain.run(boxes=20_000)
        fast.run()
        assert fast.is_complete
        assert plain.lower <= fast.upper
        assert fast.lower <= plain.upper
        assert fast.n_boxes < plain.n_boxes


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_counter_examples_are_brought_nearer_by_linear_programs(norm):
    around = wide_case(norm)
    nearer = 0
    for i in range(8):
        one = around.rows(np.array([i]))
        found = greedy(one)
        better = polished(one, found)
        assert better.lengths[0] <= found.lengths[0]
        nearer += better.lengths[0] < found.lengths[0]
        if better.found[0]:
            assert one.is_changed(better.X)[0]
    assert nearer > 2
