"""All half-spaces: equal to an enumeration of dichotomies in fractions, ties among them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from bdnn import BDNNClassifier
from bdnn.bounds.arrangement import Vectors, _best_sector, _sweep_planes
from bdnn.bounds.one_plane import OnePlane, best_plane, lattice_points, same_order
from bdnn.clock import Slot, Ticks
from tests.bounds.cases import best, make


def dependence(points):
    """Numbers that combine points (1, x) to zero, None unless they are unique and none is 0."""
    columns = [[Fraction(1), *map(Fraction, x)] for x in points]
    rows, pivots = [list(row) for row in zip(*columns, strict=True)], []
    for j in range(len(columns)):
        place = next((r for r in range(len(pivots), len(rows)) if rows[r][j]), None)
        if place is None:
            continue
        rows[len(pivots)], rows[place] = rows[place], rows[len(pivots)]
        head = rows[len(pivots)]
        head[:] = [value / head[j] for value in head]
        for r, row in enumerate(rows):
            if r != len(pivots):
                rows[r] = [a - row[j] * b for a, b in zip(row, head, strict=True)]
        pivots.append(j)
    free = [j for j in range(len(columns)) if j not in pivots]
    if len(free) != 1:
        return None
    found = [Fraction(0)] * len(columns)
    found[free[0]] = Fraction(1)
    for row, j in zip(rows, pivots, strict=False):
        found[j] = -row[free[0]]
    return found if all(found) else None


def least_cost(points, costs):
    """Least cost of a dichotomy in which no two hulls meet; ``costs`` are of being off and on."""
    circuits = set()
    for size in range(2, len(points[0]) + 3):
        for members in combinations(range(len(points)), size):
            found = dependence([points[i] for i in members])
            if found is not None:
                circuits.add(tuple(zip(members, (f > 0 for f in found), strict=True)))
    return min(
        sum((cost[on] for on, cost in zip(side, costs, strict=True)), Fraction(0))
        for side in product((0, 1), repeat=len(points))
        if not any(len({side[i] == up for i, up in circuit}) == 1 for circuit in circuits)
    )


def oracle(X, labels, weight):
    """Smallest loss without a hidden layer: every output for itself."""
    points = sorted({tuple(row) for row in X.tolist()})
    total = Fraction(0)
    for label in range(max(2, max(labels) + 1)):
        costs = [[Fraction(0), Fraction(0)] for _ in points]
        for row, own, w in zip(X.tolist(), labels, weight, strict=True):
            costs[points.index(tuple(row))][int(own != label)] += Fraction(w)
        total += least_cost(points, costs)
    return total


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_bound_is_the_smallest_loss_and_a_network_attains_it(seed, n_features):
    rng = np.random.default_rng(100 * n_features + seed)
    # Few values per feature: equal points, points on lines and on planes.
    X = rng.integers(0, 2 + seed % 3, (9, n_features)).astype(float)
    labels = rng.integers(0, 2 + seed % 2, 9).tolist()
    weight = rng.choice([1.0, 0.1, 3.0], 9)
    problem = make(X, labels, (), sample_weight=weight)
    networks = []
    bound = best(OnePlane(offer=networks.append), problem)
    unit = Fraction(problem.samples.unit)
    assert bound.value * unit == oracle(X, labels, weight)
    assert problem.value(networks[-1]) == bound.value


@pytest.mark.parametrize("n_features", [2, 3, 4, 5])
def test_few_points_that_count_in_many_dimensions(n_features):
    rng = np.random.default_rng(n_features)
    for _ in range(40):
        n = int(rng.integers(2, 8))
        X = np.unique(rng.integers(0, rng.integers(2, 6), (n, n_features)), axis=0)
        gains = rng.integers(-2, 3, len(X)) * rng.integers(0, 2, len(X))
        costs = [(max(g, 0), max(-g, 0)) for g in gains.tolist()]
        plane = best_plane(lattice_points(X.astype(float)), gains, Slot())
        assert plane.cost == least_cost(X.tolist(), costs)
        assert plane.cost == sum(c[int(on)] for c, on in zip(costs, plane.is_on, strict=True))


def test_weights_of_two_classes_may_have_any_digits():
    rng = np.random.default_rng(3)
    X, labels = rng.integers(0, 3, (9, 2)).astype(float), rng.integers(0, 2, 9)
    for pair in ((1 / 3, 1e9 / 7), (0.1, 0.3), (2.0**-70, 1 / 3), (np.pi, 1e30)):
        weight = np.array(pair)[labels]
        problem = make(X, labels, (), sample_weight=weight)
        networks = []
        bound = best(OnePlane(offer=networks.append), problem)
        unit = Fraction(problem.samples.unit)
        assert bound.value * unit == oracle(X, labels.tolist(), weight)
        assert problem.value(networks[-1]) == bound.value


def test_small_gains_keep_the_order_of_all_sums():
    rng = np.random.default_rng(0)
    for _ in range(20):
        u, v = (int(value) << 40 for value in rng.integers(1, 2**62, 2))
        a, b = rng.integers(0, 3, (2, 4))
        small = same_order(np.array([u * int(x) for x in a], dtype=object), v * b.astype(object))
        if small is None:
            continue
        sums = [
            (
                sum(s * (int(x) * u - int(y) * v) for s, x, y in zip(signs, a, b, strict=True)),
                int(np.dot(signs, small)),
            )
            for signs in product((-1, 1), repeat=4)
        ]
        for one, other in combinations(sums, 2):
            assert (one[0] > other[0], one[0] < other[0]) == (one[1] > other[1], one[1] < other[1])


def test_features_that_depend_on_others_are_no_dimensions():
    X = np.array([[0.0, 1.0, 7.0], [1.0, 3.0, 7.0], [2.0, 5.0, 7.0], [4.0, 9.0, 7.0]])
    assert lattice_points(X).tolist() == [[0], [1], [2], [4]]
    # The same numbers at a scale that makes their differences multiples of a power of two.
    assert lattice_points(X * 2.0**-30).tolist() == [[0], [1], [2], [4]]
    rng = np.random.default_rng(0)
    assert lattice_points(rng.normal(size=(20, 9))) is None
    assert lattice_points(np.array([[0.0], [1.0], [2.0**-60]])) is None


@pytest.mark.parametrize("seed", range(5))
def test_one_hidden_unit_is_the_same_plane(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.integers(0, 3, (12, 2)), rng.integers(0, 2, 12)
    flat, hidden = (best(OnePlane(), make(X, labels, shape)) for shape in ((), (1,)))
    assert flat.value == hidden.value


def test_angles_that_floats_do_not_tell_apart_are_compared_in_integers():
    rng = np.random.default_rng(0)
    ties = 0
    for _ in range(20):
        j, k, other = (rng.integers(2**24, 2**26, 3).tolist() for _ in range(3))
        near = near_plane(j, k)
        if near is None:
            continue
        rows = np.array([j, k, near, other])
        for gains in product((-2, 3), repeat=3):
            vectors = Vectors.merge(rows, np.array([1, *gains]))
            assert len(vectors.gains) == 4
            place = int(vectors.place[0])
            exact = _best_sector(vectors.within(place), -1)
            with np.errstate(over="ignore"):
                value, found = _sweep_planes(vectors.rows, vectors.gains, np.array([place]), -1)
            assert (value, found) == (exact.value + 1, place)
        ties += 1
    assert ties > 5


def near_plane(j, k):
    """A vector whose determinant with two others is 1, as small as can easily be had."""
    normal = np.cross(np.array(j, dtype=object), np.array(k, dtype=object)).tolist()
    shared, a, b = _bezout(normal[0], normal[1])
    whole, c, d = _bezout(shared, normal[2])
    if whole != 1:
        return None
    found = [a * c, b * c, d]
    # Multiples of the two others change nothing.
    x, y = np.linalg.lstsq(np.array([j, k], dtype=float).T, np.array(found, dtype=float))[0]
    found = [f - round(x) * p - round(y) * q for f, p, q in zip(found, j, k, strict=True)]
    x, y = np.linalg.lstsq(np.array([j, k], dtype=float).T, np.array(found, dtype=float))[0]
    found = [f - round(x) * p - round(y) * q for f, p, q in zip(found, j, k, strict=True)]
    assert sum(f * n for f, n in zip(found, normal, strict=True)) == 1
    return found if max(map(abs, found)) <= 2**26 else None


def _bezout(a, b):
    if b == 0:
        return (a, 1, 0) if a >= 0 else (-a, -1, 0)
    shared, x, y = _bezout(b, a % b)
    return shared, y, x - (a // b) * y


def test_sweeps_equal_those_in_fractions():
    rng = np.random.default_rng(1)
    for n, largest in ((3, 2), (12, 3), (60, 5), (60, 2**26), (200, 9)):
        rows = rng.integers(-largest, largest + 1, (n, 3))
        vectors = Vectors.merge(rows, rng.integers(-3, 4, n))
        for j in range(min(10, len(vectors.gains))):
            exact = _best_sector(vectors.within(j), -1).value + abs(int(vectors.gains[j]))
            value, _ = _sweep_planes(vectors.rows, vectors.gains, np.array([j]), -1)
            assert value == exact
            assert _sweep_planes(vectors.rows, vectors.gains, np.array([j]), exact) == (exact, -1)


def test_nothing_is_claimed_when_time_is_over_or_numbers_are_wide():
    rng = np.random.default_rng(0)
    problem = make(rng.integers(0, 9, (40, 3)), rng.integers(0, 2, 40), ())
    for ticks in (0, 3, 6):
        assert list(OnePlane().bounds(problem, Slot.of(ticks, clock=Ticks()))) == []
    points = rng.integers(0, 2**25, (12, 4))
    assert best_plane(points, rng.choice([-1, 1], 12), Slot()) is None


def test_fit_without_a_hidden_layer_is_proven():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.normal(size=80) > 0).astype(int)
    model = BDNNClassifier(hidden=(), weights="continuous", random_state=0).fit(X, y)
    assert model.result_.status == "optimal"
    assert model.result_.proof.origin == "all half-spaces"
    assert model.result_.loss == 2 * np.count_nonzero(model.predict(X) != y)
