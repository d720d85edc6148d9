"""What a half-space must cost at least: fractional packing of certificates.

A certificate is a small set of inputs, some wanted on and some wanted off, whose convex hulls share
a point. No half-space serves all of them, so with prices ``c_i`` of a mistake the cost is at least

    min  sum_i c_i x_i   subject to   sum_{i in C} x_i >= 1  for every certificate C,  x >= 0.

Certificates are generated: where both hulls of the inputs share a point, a basic solution of the LP

    sum_i p_i x_i = sum_j q_j x_j,   sum p = sum q = 1,   p, q >= 0

names at most ``n_features + 2`` inputs, and the present ``x`` as its objective looks for a
certificate that is not yet respected. LPs only propose: certificates are checked in rational
arithmetic, and the bound is the value of a packing that is made feasible by scaling. What is left
of the time goes to the same problem with ``x`` in {0, 1}, whose value is the least cost itself once
no certificate is violated.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

from bdnn.activation import BoolArray, FloatArray
from bdnn.search.kernels.arrays import IntArray

# Disjoint certificates that are looked for with one solution of the covering problem.
_PER_ROUND = 10
_NEGLIGIBLE = 1e-9


def half_space_cost(X: FloatArray, gains: FloatArray, *, deadline: float) -> float:
    """Bound from below what a half-space costs that should hold the inputs with positive gain.

    Parameters
    ----------
    X : array of shape (n_inputs, n_features)
    gains : array of shape (n_inputs,)
        A mistake at input ``i`` costs ``abs(gains[i])``.
    deadline : float
        Time on the monotonic clock after which no further certificate is sought.
    """
    rows = np.flatnonzero(gains)
    X, positive, price = X[rows], gains[rows] > 0.0, np.abs(gains[rows])
    certificates: list[IntArray] = []
    bound = 0.0
    for cover in (_fractional_cover, _integral_cover):
        x = np.zeros(len(rows)) if not certificates else cover(certificates, price, deadline)[0]
        while time.monotonic() < deadline:
            found = _violated(X, positive, x, deadline)
            if not found:
                break
            certificates += found
            x, value = cover(certificates, price, deadline)
            bound = max(bound, value)
    return bound


def _violated(X: FloatArray, positive: BoolArray, x: FloatArray, deadline: float) -> list[IntArray]:
    """Certificates that ``x`` does not respect, sharing no input that ``x`` does not pay for."""
    sign = np.where(positive, 1.0, -1.0)
    system = np.vstack(((X * sign[:, None]).T, positive, ~positive)).astype(float)
    wanted = np.concatenate((np.zeros(X.shape[1]), [1.0, 1.0]))
    usable = np.ones(len(X), dtype=bool)
    found: list[IntArray] = []
    while len(found) < _PER_ROUND and time.monotonic() < deadline:
        if not (usable & positive).any() or not (usable & ~positive).any():
            break
        result = linprog(
            x[usable], A_eq=system[:, usable], b_eq=wanted, bounds=(0, None), method="highs-ds"
        )
        if result.status != 0:
            break
        support = np.flatnonzero(usable)[result.x > _NEGLIGIBLE]
        if x[support].sum() > 1.0 - 1e-6:
            break
        if hulls_meet(X[support], positive[support]):
            found.append(support)
        usable[support] = False
    return found


def _incidence(certificates: list[IntArray], n_inputs: int) -> csr_matrix:
    lengths = [len(certificate) for certificate in certificates]
    columns = np.concatenate(certificates)
    lines = np.repeat(np.arange(len(certificates)), lengths)
    entries = np.ones(len(columns))
    return csr_matrix((entries, (lines, columns)), (len(certificates), n_inputs))


def _fractional_cover(
    certificates: list[IntArray], price: FloatArray, deadline: float
) -> tuple[FloatArray, float]:
    """Cheapest fractional cover of all certificates, and the value of a feasible packing."""
    A = _incidence(certificates, len(price))
    result = linprog(price, A_ub=-A, b_ub=-np.ones(len(certificates)), method="highs")
    if result.status != 0:
        return np.zeros(len(price)), 0.0
    packing = np.maximum(0.0, -result.ineqlin.marginals)
    excess = float((A.T @ packing / price).max(initial=1.0))
    return result.x, float(packing.sum()) / max(1.0, excess)


def _integral_cover(
    certificates: list[IntArray], price: FloatArray, deadline: float
) -> tuple[FloatArray, float]:
    """Cheapest set of inputs to give up that hits all certificates, and a bound on its price.

    Once the inputs that are left can be separated, the bound is what a half-space costs exactly.
    """
    A = _incidence(certificates, len(price))
    result = milp(
        price,
        constraints=LinearConstraint(A, lb=1.0),
        integrality=np.ones(len(price)),
        bounds=Bounds(0.0, 1.0),
        options={"time_limit": max(0.01, deadline - time.monotonic()), "mip_rel_gap": 0.0},
    )
    bound = 0.0 if result.mip_dual_bound is None else float(result.mip_dual_bound)
    x = np.ones(len(price)) if result.x is None else np.rint(result.x)
    return x, bound


def hulls_meet(points: FloatArray, positive: BoolArray) -> bool:
    """Prove in rational arithmetic that the hulls of two small sets of points share a point.

    Solves ``sum p_i x_i = sum q_j x_j, sum p_i = sum q_j = 1`` exactly by elimination and accepts a
    solution without negative entries. False means "not proven": the points may be dependent.
    """
    n = points.shape[1]
    signs = [1 if inside else -1 for inside in positive]
    rows = [
        [Fraction(float(x)) * sign for x, sign in zip(points[:, j], signs, strict=True)]
        + [Fraction(0)]
        for j in range(n)
    ]
    for wanted in (1, -1):
        rows.append([Fraction(int(sign == wanted)) for sign in signs] + [Fraction(1)])
    pivots: list[int] = []
    for column in range(len(signs)):
        rank = len(pivots)
        chosen = next((r for r in range(rank, len(rows)) if rows[r][column] != 0), None)
        if chosen is None:
            # A free variable: it is left at zero.
            continue
        rows[rank], rows[chosen] = rows[chosen], rows[rank]
        pivot = rows[rank][column]
        rows[rank] = [entry / pivot for entry in rows[rank]]
        for r, row in enumerate(rows):
            if r != rank and row[column] != 0:
                factor = row[column]
                rows[r] = [a - factor * b for a, b in zip(row, rows[rank], strict=True)]
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    rank = len(pivots)
    solvable = all(row[-1] == 0 for row in rows[rank:])
    return solvable and all(row[-1] >= 0 for row in rows[:rank])
