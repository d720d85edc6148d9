"""Conflicts: proposed by a linear program, accepted only where integers prove them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.bounds.benders import Benders
from bdnn.bounds.half_spaces import HalfSpaces
from bdnn.bounds.separation import Conflict, Separator, exact_grid, null_vector
from tests.bounds.cases import CROSS, best, make
from tests.grids import examples

# Births: age, number, time, blood pressure, heart. Last: by caesarian section.
CAESARIAN = """
26 2 1 1 0 0  23 1 1 1 0 0  20 1 0 1 1 0  25 1 0 1 0 0  18 1 1 2 1 1  30 1 0 1 0 0
25 1 0 0 0 0  26 2 2 1 0 1  28 3 0 2 0 1  27 1 0 2 1 1  19 1 0 1 0 1  32 2 0 0 0 1
"""
# Donors of blood: months since the last gift, gifts, millilitres (250 each, so that two features
# differ by rounding alone), months since the first. Last: gave again.
BLOOD = """
5 46 11500 98 1  3 16 4000 74 0  4 5 1250 23 1    4 12 3000 88 0   13 8 2000 26 0
11 3 750 14 0    8 8 2000 52 1   11 22 5500 98 0  12 12 3000 58 0  4 4 1000 41 0
4 2 500 23 0     11 5 1250 37 1  11 5 1250 41 0   11 7 1750 62 1   11 1 250 11 1
11 2 500 24 0    4 2 500 51 1    14 1 250 14 0    16 1 250 16 0    21 1 250 21 0
22 1 250 22 1    38 1 250 38 0   2 34 8500 77 1   2 6 1500 45 0    13 3 750 14 1
7 5 1250 35 0    7 11 2750 89 0  21 7 1750 38 0   16 5 1250 71 0   39 1 250 39 0
"""


def standard(text, n_columns):
    table = np.array(text.split(), dtype=float).reshape(-1, n_columns)
    X, labels = table[:, :-1], table[:, -1].astype(int)
    return np.rint((X - X.mean(axis=0)) / X.std(axis=0) * 2**20) / 2**20, labels


def sides(labels):
    return np.flatnonzero(labels), np.flatnonzero(np.logical_not(labels))


def rng():
    return np.random.default_rng(0)


def meet(X, conflict):
    """Whether the hulls of a minimal conflict meet, by elimination in fractions."""
    members = [(1, i) for i in conflict.on] + [(-1, i) for i in conflict.off]
    ends = [[Fraction(int(s > 0)) for s, _ in members], [Fraction(int(s < 0)) for s, _ in members]]
    rows = [[*row, Fraction(1)] for row in ends]
    for feature in X.T.tolist():
        rows.append([s * Fraction(feature[i]) for s, i in members] + [Fraction(0)])
    for column in range(len(members)):
        head = next(r for r in rows[column:] if r[column])  # a minimal conflict is unique
        rows.remove(head)
        rows.insert(column, [value / head[column] for value in head])
        for number, row in enumerate(rows):
            if number != column:
                factor = row[column]
                rows[number] = [a - factor * b for a, b in zip(row, rows[column], strict=True)]
    weights = [row[-1] for row in rows[: len(members)]]
    return min(weights) > 0 and not any(row[-1] for row in rows[len(members) :])


@pytest.mark.parametrize(("text", "n_columns"), [(CAESARIAN, 6), (BLOOD, 5)])
def test_tables_with_dependent_features(text, n_columns):
    X, labels = standard(text, n_columns)
    separator = Separator(X)
    hulls = separator.hulls(*sides(labels))
    draw = rng()
    for spare in (labels == 0, labels == 1, np.ones(len(X), dtype=bool)):
        for _ in range(20):
            conflict = hulls.conflict(draw.random(len(X)), spare, draw)
            assert labels[list(conflict.on)].all()
            assert not labels[list(conflict.off)].any()
            assert separator.certify(conflict)
            assert meet(X, conflict)


@pytest.mark.parametrize(("argument", "hidden", "least"), [(HalfSpaces, (), 2), (Benders, (2,), 0)])
def test_bounds_of_tables_with_dependent_features(argument, hidden, least):
    problem, networks = make(*standard(CAESARIAN, 6), hidden), []
    assert best(argument(offer=networks.append), problem).value == least
    assert [problem.value(network) for network in networks] == [least]


@examples(40)
@given(st.data())
def test_what_is_accepted_is_a_conflict_and_the_rest_can_be_told_apart(data):
    n_features = data.draw(st.integers(1, 3))
    point = st.tuples(*[st.integers(-2, 2)] * n_features)
    points = data.draw(st.lists(point, min_size=2, max_size=9))  # repeated ones among them
    labels = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(points), max_size=len(points)))
    )
    X = np.array(points, dtype=float) * data.draw(st.sampled_from([1.0, 0.1, 1e-300, 3e300]))
    # A feature that says nothing, and one that says what another one says.
    X = np.column_stack([X, np.full(len(X), 7.0), -2 * X[:, 0] if X.max() < 1e10 else X[:, 0]])
    separator = Separator(X)
    hulls = separator.hulls(*sides(labels))
    if hulls is None:
        if X.max() < 1e10:  # beyond, sums in floating point are no judge
            assert separator.half_space(*sides(labels)) is not None
        return
    draw = rng()
    for _ in range(3):
        conflict = hulls.conflict(draw.random(len(X)), draw.random(len(X)) < 0.5, draw)
        if separator.certify(conflict):
            assert meet(X, conflict)


def test_the_same_input_on_both_sides_is_a_conflict_of_two():
    X = np.vstack([CROSS, CROSS[:1]])
    separator = Separator(X)
    hulls = separator.hulls(np.array([0, 1]), np.array([2, 4]))
    conflict = hulls.conflict(np.array([0.1, 1.0, 1.0, 1.0, 0.1]), np.ones(5, bool), rng())
    assert conflict == Conflict((0,), (4,))
    assert separator.certify(conflict)


def test_inputs_to_be_spared_are_left_out_where_others_can_take_their_place():
    # Of the two pairs of points around the middle the cheaper one is to be spared.
    X = np.array([[-1.0], [1.0], [-2.0], [2.0], [0.0]])
    hulls = Separator(X).hulls(np.arange(4), np.array([4]))
    costs = np.array([1.0, 1.0, 5.0, 5.0, 0.0])
    none, cheap = np.zeros(5, bool), np.array([1, 1, 0, 0, 0], bool)
    assert hulls.conflict(costs, none, rng()) == Conflict((0, 1), (4,))
    assert hulls.conflict(costs, cheap, rng()) == Conflict((2, 3), (4,))


def test_a_wrong_certificate_is_rejected():
    separator = Separator(np.vstack([CROSS, [[0.5, 0.5 + 2.0**-40], [3.0, 0.5]]]))
    assert separator.certify(Conflict((0, 1), (2, 3)))
    assert not separator.certify(Conflict((0, 1), (4,)))  # off the segment by 1e-12
    assert not separator.certify(Conflict((0, 1), (2,)))
    assert not separator.certify(Conflict((0, 2), (1, 3)))  # parallel: null vector of mixed signs
    assert not separator.certify(Conflict((0, 1, 2), (3, 5)))
    assert not separator.certify(Conflict((0,), ()))


def test_proposed_conflicts_agree_with_half_spaces():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(14, 3)) / 8
    for _ in range(60):
        side = rng.random(14) < 0.5
        on, off = np.flatnonzero(side), np.flatnonzero(~side)
        separator = Separator(X)
        hulls = separator.hulls(on, off)
        assert (hulls is None) == (separator.half_space(on, off) is not None)
        if hulls is not None:
            everything = np.ones(14, dtype=bool)
            conflict = hulls.conflict(rng.random(14), everything, rng)
            assert set(conflict.on) <= set(on)
            assert set(conflict.off) <= set(off)
            assert separator.certify(conflict)


def test_elimination_is_exact():
    assert null_vector([[1, 2], [2, 4]]) in ([-2, 1], [2, -1])
    assert null_vector([[1, 0], [0, 1]]) is None
    assert null_vector([[1, 1], [1, 1], [1, 1]]) is None  # not unique
    huge = 10**40
    assert null_vector([[huge, 1], [huge + 1, 1], [1, 0]]) is not None
    assert exact_grid(np.array([[0.5, 3.0], [0.125, -1.0]])) == [[4, 3], [1, -1]]
