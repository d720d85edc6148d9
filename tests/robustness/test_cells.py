"""Cuts, texts, truth values and gaps under perturbation, against all cells that rows can reach."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder
from bdnn.errors import ModelError
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.robustness import Certificate, Domain, PerturbationSet, attack, certify, verify
from bdnn.robustness.branching import Branching
from bdnn.robustness.exact_verifier import nearest_cell
from tests.grids import long
from tests.robustness.cases import NORMS, as_length
from tests.robustness.cells import enumerated_cells, is_below, random_cells
from tests.sentences import assert_one_sentence


def through_json(certificate):
    return Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))


def check_case(seed, norm):
    """No certificate is wrong, and what verify finds is what enumeration does."""
    around = random_cells(seed, norm=norm, numbers=seed % 2 == 1)
    bound = certify(around)
    found = verify(around, time_limit=600)
    tried = attack(around, 1.0, method=("greedy", "boundary", "random_sign")[seed % 3])
    for i in range(len(around.X)):
        case, length = (seed, norm, i), enumerated_cells(around, i)
        assert is_below(bound.radii[i], length, norm), case
        assert is_below(found.lower[i] * (1 - 1e-12), length, norm), case
        exact = as_length(around, length)
        np.testing.assert_allclose(found.upper[i], exact, rtol=1e-9, atol=2e-5, err_msg=str(case))
        np.testing.assert_allclose(found.lower[i], exact, rtol=1e-9, atol=3e-5, err_msg=str(case))
        assert tried.lengths[i] >= exact * (1 - 1e-9), case
        assert through_json(bound.certificate(i)).check(around.model), case
        for certificate in map(through_json, found.certificates(i)):
            assert certificate.check(around.model), case
        if length is not None:
            one, farther = around.rows(np.array([i])), exact * (1 + 1e-6) + 1e-9
            proof = found.answers[i].proof
            for told in (None, proof):
                assert not Certificate.guarantee(one, farther, told).check(around.model), case


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seeds", [range(3), *long(range(3, 25))], ids=["quick", "long"])
def test_certificates_and_verification_against_all_cells(seeds, norm):
    for seed in seeds:
        check_case(seed, norm)


@pytest.mark.long
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("part", range(10))
def test_two_thousand_networks(part, norm):
    for seed in range(100 + 67 * part, 100 + 67 * (part + 1)):
        check_case(seed, norm)


@pytest.mark.parametrize("norm", ["l1", *long("linf", "l2")])
def test_programs_never_claim_too_much(norm):
    settled = 0
    for seed in range(12):
        around = random_cells(seed, norm=norm, numbers=seed % 2 == 1)
        found = verify(around, 2.0, method="program", time_limit=600)
        for i in range(len(around.X)):
            exact = as_length(around, enumerated_cells(around, i))
            assert found.lower[i] <= exact * (1 + 1e-9) + 1e-12
            assert found.upper[i] >= exact * (1 - 1e-9)
            settled += found.status[i] != "open"
    assert settled >= 18


def test_boxes_and_cells_agree():
    compared = 0
    for seed in range(0, 60, 2):
        around = random_cells(seed, norm=NORMS[seed % 3])
        for i in range(len(around.X)):
            one = around.rows(np.array([i]))
            search = Branching(one, 5.0)
            search.run()
            cells = nearest_cell(one, 5.0) if hasattr(one, "bins") else None
            if cells is None:
                continue
            lower, upper, _ = cells
            np.testing.assert_allclose(search.lower, lower, rtol=1e-9)
            assert search.upper == upper or math.isclose(search.upper, upper, rel_tol=1e-9)
            compared += 1
    assert compared > 30


def of_one_cut(cut=2.0, column=None):
    """A model that says whether a column is at least a cut."""
    encoder = Encoder((column or Column("a", fill=0.0),), (), (Bit(0, "ge", cut),))
    shape = Architecture.create(1, 2, hidden=(), weights="ternary")
    network = Network(shape, (np.array([[-1.0], [1.0]]),), (np.array([[-0.5], [0.5]]),))
    return Model(encoder, network, (0, 1))


def test_closed_upwards_and_open_downwards():
    model = of_one_cut()
    X = np.array([[1.5], [2.0], [2.25]])
    found = verify(PerturbationSet.create(model, X, units="raw"))
    below = math.nextafter(2.0, 0.0)
    np.testing.assert_allclose(found.upper, [0.5, 2.0 - below, 2.25 - below], rtol=1e-9)
    assert found.counter_examples[:, 0].tolist() == [2.0, below, below]
    # A guarantee of exactly the distance to the cut holds, since balls of guarantees are open.
    around = PerturbationSet.create(model, X[:1], units="raw")
    assert Certificate.guarantee(around, 0.5).check(model)
    assert not Certificate.guarantee(around, math.nextafter(0.5, 1.0)).check(model)


def test_texts_truth_values_and_gaps_move_only_where_that_is_admitted():
    model = of_one_cut(1.0, Column("smokes", "boolean", (), 0.0, "fill"))
    X = np.array([[1.0], [0.0], [np.nan]])

    def radii(**options):
        around = PerturbationSet.create(model, X, domain=Domain.create(1, **options))
        found = verify(around)
        np.testing.assert_allclose(found.lower, found.upper)
        assert (certify(around).radii <= found.lower).all()
        return found.lower.tolist()

    assert radii() == [np.inf] * 3
    assert radii(change={0: 0.75}) == [pytest.approx(0.75), pytest.approx(0.75), np.inf]
    assert radii(change=[0])[:2] == [0.0, 0.0]
    assert radii(may_be_missing=[0]) == [0.0, np.inf, np.inf]
    assert radii(may_be_known=[0]) == [np.inf, np.inf, 0.0]


def test_a_radius_per_column_by_name():
    encoder = Encoder(
        (Column("age", fill=0.0), Column("dose", fill=0.0)),
        (),
        (Bit(0, "ge", 10.0), Bit(1, "ge", 1.0)),
    )
    shape = Architecture.create(2, 2, hidden=(), weights="ternary")
    # Both bits make the second class.
    weights = (np.array([[-1.0, -1.0], [1.0, 1.0]]),)
    network = Network(shape, weights, (np.array([[-1.5], [1.5]]),))
    model, X = Model(encoder, network, ("no", "yes")), np.array([[9.0, 0.5]])
    found = verify(PerturbationSet.create(model, X, units={"age": 2.0, "dose": 0.25}))
    assert found.upper[0] == pytest.approx(2.0)  # the dose moves by two times its length
    alone = verify(PerturbationSet.create(model, X, units={"age": 2.0}))
    assert alone.lower[0] == np.inf
    certificate = through_json(found.certificates(0)[-1])
    assert certificate.check(model)
    assert not replace(certificate, units=(2.0, 0.125)).check(model)
    with pytest.raises(ModelError) as caught:
        PerturbationSet.create(model, X, units={"wage": 1.0})
    assert_one_sentence(caught.value)


def test_groups_of_columns_with_cuts():
    encoder = Encoder(
        tuple(Column(name, fill=0.0) for name in "ab"), (), (Bit(0, "ge", 0.5), Bit(1, "ge", 0.5))
    )
    shape = Architecture.create(2, 2, hidden=(), weights="ternary")
    # Neither of the two is the second class, which no member of the group can be.
    weights = (np.array([[1.0, 1.0], [-1.0, -1.0]]),)
    network = Network(shape, weights, (np.array([[0.5], [-0.5]]),))
    model, X = Model(encoder, network, (0, 1)), np.array([[1.0, 0.0]])
    free = verify(PerturbationSet.create(model, X, units="raw"), 2.0)
    grouped = PerturbationSet.create(
        model, X, units="raw", domain=Domain.create(2, groups=[(0, 1)])
    )
    assert free.status[0] == "exact"
    assert verify(grouped, 2.0).status[0] == "robust"
    assert verify(grouped, 2.0, method="program").status[0] == "robust"


@pytest.mark.parametrize(
    "options",
    [{"change": [0]}, {"change": {0: -1.0}}, {"may_be_missing": ["age"]}, {"change": [3]}],
)
def test_changes_that_make_no_sense(options):
    def ask():
        domain = Domain.create(1, **options)
        PerturbationSet.create(of_one_cut(), np.array([[1.0]]), domain=domain)

    with pytest.raises(ModelError) as caught:
        ask()
    assert_one_sentence(caught.value)
