"""Descent among networks that keep rules, judged by loss plus penalty.

Rules about weights are bounds and counts that no move breaks. Rules about outputs have prices as
wrong samples have (:mod:`bdnn.search.walk`): what breaks a row is charged more with every sweep
(Lagrange multipliers), and only networks that keep all rules are ever returned. Weights with a
price are taken out where their price is more than they are worth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, vstack

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.background import BackgroundLoad
from bdnn.search.limits import WeightLimits
from bdnn.search.loading import load_annealing, load_moves
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk

# Cost of a network that breaks a rule; not infinite, because differences of it are formed.
_BROKEN = 1e300
# What a broken row's multiplier grows by with every sweep, or the share of all samples that a row
# over a single one is charged for, since so many others may speak against it; and how much of its
# multiplier a kept row keeps.
_CHARGE, _AGAINST_ALL, _KEPT = 0.5, 0.005, 0.95


def search_within(
    problem: Problem[OutputLoss],
    start: Network,
    *,
    rng: np.random.Generator,
    sweeps: int,
    slot: Slot,
    on_network: Callable[[Network], None],
) -> None:
    """Walk from one start for so many sweeps and report every better network.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    start : Network
        Its weights are moved to where the rules let them be.
    rng : numpy.random.Generator
    sweeps : int
    slot : Slot
    on_network : callable
        Called with every network that keeps the rules and has a lower objective than those before.
    """
    begun = begin(problem, start, rng)
    if begun is None:
        return
    walk = ConstrainedWalk(problem, *begun, rng, slot)
    best = np.inf
    while walk.sweeps < sweeps and not slot.is_over():
        if not walk.step():
            continue
        for network in (walk.best_network, walk.thinned()):
            value = float(problem.objective(network)) if problem.is_feasible(network) else np.inf
            if value < best:
                best = value
                on_network(network)


def with_allowed_weights(
    problem: Problem[OutputLoss], guide: Network, rng: np.random.Generator
) -> Network:
    """Move a network's weights to where rules about weights let them be, if they can be moved.

    Rules about outputs may still be broken. Thresholds are half-way between the sums around them.
    """
    begun = begin(problem, guide, rng)
    if begun is None:
        return guide
    state, _ = begun
    state.centre_thresholds()
    return state.to_network()


def begin(
    problem: Problem[OutputLoss], guide: Network, rng: np.random.Generator
) -> tuple[SearchState, WeightLimits] | None:
    """The state of a walk from a guide, and the limits of its weights; None if there are none."""
    state = SearchState(problem, guide)
    limits = WeightLimits.draw(problem, rng, guide, paired=state.paired)
    if limits is None:
        return None
    weights = limits.project(state.arrays.weights, rng, state.arrays.widths)
    state.limits = limits.of_moves(
        state.limits, state.arrays.weight_at, rigid=problem.scale_dependent
    )
    state.restore((weights, state.arrays.thresholds.copy()))
    return state, limits


class ConstrainedWalk(Walk):
    """A walk whose moves keep weight limits, and whose best network keeps all rules."""

    def __init__(
        self,
        problem: Problem[OutputLoss],
        state: SearchState,
        limits: WeightLimits,
        rng: np.random.Generator,
        slot: Slot,
    ) -> None:
        super().__init__(state, rng, slot)
        self.problem = problem
        self.limits = limits
        self._rows, self._lower, self._upper = _output_rows(problem, paired=state.paired)
        self._charges = np.zeros((2, len(self._lower)))
        terms = np.maximum(np.diff(self._rows.indptr), 1)
        self._charge = np.maximum(_CHARGE, _AGAINST_ALL * len(problem.inputs) / terms)
        self.best_cost = _BROKEN
        self.best_cost = self._true_cost()

    @property
    def best_network(self) -> Network:
        """The best network so far, its thresholds centred where that keeps the rules."""
        centred = super().best_network
        if self.problem.is_feasible(centred):
            return centred
        current = self.state.snapshot()
        self.state.restore(self._best)
        network = self.state.to_network()
        self.state.restore(current)
        return network

    def thinned(self) -> Network:
        """Take weights out of the best network whose price is more than they are worth."""
        network = self.best_network
        priced = [term for term in self.problem.terms if term.prices_weights]
        if not priced:
            return network
        state = SearchState(self.problem, network)
        s, limits = state.arrays, self.limits
        copies = np.repeat(limits.copies, np.diff(s.weight_at))
        places = np.flatnonzero((s.weights != 0.0) & ~limits.must)
        for at in self.rng.permutation(places):
            if self.slot.is_over():
                break
            saved = sum(float(term.weight_price(np.abs(s.weights[at]))) for term in priced)
            state.try_zero(np.array([at]), 0.999 * copies[at] * saved)
        state.refresh()
        return state.to_network()

    def _true_cost(self) -> float:
        cost = super()._true_cost()
        if cost >= self.best_cost:  # penalties only add to it
            return cost
        network = self.state.to_network()
        if not self.problem.is_feasible(network):
            return _BROKEN
        return float(self.problem.objective(network))

    def step(self) -> bool:
        """Do one sweep and charge for what is broken after it; tell whether a best was found."""
        found = super().step()
        if len(self._lower):
            on = self.state.arrays.level[self.state.arrays.unit_at[-2] :]
            values = self._rows @ on.T.ravel().astype(float)
            broken = np.stack([values > self._upper + 1e-9, values < self._lower - 1e-9])
            self._charges = np.where(broken, self._charges + self._charge, _KEPT * self._charges)
            if broken.any():
                self._set_prices(self._price)
        return found

    def _set_prices(self, price: FloatArray) -> None:
        super()._set_prices(price)
        if not self._charges.any():
            return
        s = self.state.arrays
        charge = (self._rows.T @ (self._charges[0] - self._charges[1])).reshape(s.cost_on.T.shape).T
        s.cost_on[:] += np.maximum(charge, 0.0)
        s.cost_off[:] += np.maximum(-charge, 0.0)
        self.state.refresh()
        self._lowest, self._stalled = self.state.cost, 0


def _output_rows(
    problem: Problem[OutputLoss], *, paired: bool
) -> tuple[csr_array, FloatArray, FloatArray]:
    """All rows over outputs, of coefficients of size 1, on the outputs that the search has."""
    n_columns = problem.loss.label_weight.size
    parts, lower, upper = [csr_array((0, n_columns))], [np.zeros(0)], [np.zeros(0)]
    for term in problem.terms:
        rows = term.output_rows(problem)
        if rows is not None:
            size = np.maximum(abs(rows.A).max(axis=1).toarray().ravel(), 1.0)
            parts.append(csr_array(rows.A.multiply(1.0 / size[:, None]).tocsr()))
            lower.append(rows.lower / size)
            upper.append(rows.upper / size)
    A = csr_array(vstack(parts, format="csr"))
    low, high = np.concatenate(lower), np.concatenate(upper)
    if paired:
        # The first output is what the second is not; lines are always decided.
        first, second = A[:, 0::2], A[:, 1::2]
        constant = np.asarray(first.sum(axis=1)).ravel()
        return csr_array(second - first), low - constant, high - constant
    return A, low, high


def _load() -> None:
    """Compile or load the moves on a problem of one input."""
    load_moves()
    load_annealing()


MOVES = BackgroundLoad(_load, name="bdnn-compile-limited")
