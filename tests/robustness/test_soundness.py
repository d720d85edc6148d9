"""Sound bound <= exact radius <= attack radius on random models, and all equal to enumeration."""

import numpy as np
import pytest

from bdnn.errors import UnsupportedFeatureError
from bdnn.robustness import verify
from bdnn.robustness.attacks import boundary, greedy, random_sign
from bdnn.robustness.certify import guaranteed_radii
from bdnn.robustness.exact_verifier import TOLERANCE
from tests.grids import in_turn, long
from tests.robustness.cases import NORMS, as_length, enumerated, random_case
from tests.sentences import assert_one_sentence

SEEDS = range(12)


def truth(around):
    return np.array([as_length(around, enumerated(around, i)) for i in range(len(around.X))])


@pytest.mark.parametrize(("norm", "units"), in_turn(NORMS, ["scaled", "raw"]))
def test_bound_exact_attack(norm, units):
    beaten = 0
    for seed in SEEDS:
        around = random_case(seed, norm=norm, units=units)
        exact = truth(around)
        bound = guaranteed_radii(around)
        assert (bound <= exact).all(), seed
        rng = np.random.default_rng(seed)
        sizes = np.full(len(around.X), 0.3)
        for attempts in (
            greedy(around),
            boundary(around, around.X),
            random_sign(around, sizes, rng, draws=5)[0],
        ):
            found = attempts.found
            assert around.is_changed(attempts.X)[found].all()
            # Reached at the edge of a cell, which a floating point number can miss by a hair.
            assert (attempts.lengths >= exact * (1 - 1e-9)).all(), seed
        beaten += int((bound < exact - 1e-6).sum())
    assert beaten > 0  # else the exact methods below would have nothing to do


@pytest.mark.parametrize(("norm", "method"), in_turn(NORMS, ["auto", "boxes", "program"]))
def test_exact_equals_enumeration(norm, method):
    for seed in SEEDS if method != "program" else SEEDS[::3]:
        around = random_case(seed, norm=norm)
        exact = truth(around)
        answers = verify(around, method=method).answers
        for i, answer in enumerate(answers):
            if np.isinf(exact[i]):
                assert answer.counter_example is None
                continue
            assert answer.lower <= exact[i] + 1e-12, (seed, i)
            assert answer.upper >= exact[i] - 1e-12, (seed, i)
            assert answer.upper - answer.lower <= TOLERANCE, (seed, i)
            assert around.is_changed(np.tile(answer.counter_example, (len(exact), 1)))[i]


@pytest.mark.parametrize(
    ("activation", "weights"),
    in_turn(["sign", "ternary", "levels:4"], ["ternary", "continuous"]),
)
def test_units_of_other_values(activation, weights):
    for seed in SEEDS[::2]:
        norm = NORMS[seed % 3]
        around = random_case(seed, norm=norm, weights=weights, samples=2, activation=activation)
        exact = truth(around)
        assert (guaranteed_radii(around) <= exact).all(), seed
        for method in ("boxes", "program"):
            found = verify(around, method=method)
            assert (found.lower <= exact + 1e-12).all(), (seed, method)
            assert (found.upper >= exact - 1e-12).all(), (seed, method)
            ends = np.isfinite(exact)
            if method == "boxes" or weights == "ternary":  # else a tie of sums can stay open
                assert (found.upper[ends] - found.lower[ends] <= TOLERANCE).all(), (seed, method)
            certificates = [c for i in range(2) for c in found.certificates(i)]
            assert all(certificate.check(around.model) for certificate in certificates)


@pytest.mark.parametrize("norm", ["l2", *long("linf", "l1")])
def test_solvers_agree(norm):
    for seed in SEEDS:
        around = random_case(seed, norm=norm, weights="ternary", samples=2)
        by_default = verify(around, method="program").answers
        by_highs = verify(around, method="program", solver="highs").answers
        for first, second in zip(by_default, by_highs, strict=True):
            assert first.lower <= second.upper
            assert second.lower <= first.upper


def test_integer_solver_refuses_real_weights():
    open_case = next(
        around
        for around in (random_case(seed, weights="continuous", samples=1) for seed in range(20))
        if np.isfinite(truth(around)[0]) and guaranteed_radii(around)[0] < truth(around)[0] - 1e-3
    )
    with pytest.raises(UnsupportedFeatureError) as caught:
        verify(open_case, method="program", solver="cpsat")
    assert_one_sentence(caught.value)
