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

from bdnn.activation import FloatArray
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.constraints.rules import OutputRows
from bdnn.network import Network
from bdnn.search.background import BackgroundLoad
from bdnn.search.kernels.arrays import PER_LAYER
from bdnn.search.limits import WeightLimits
from bdnn.search.loading import load_annealing, load_moves
from bdnn.search.starts import Start, make_start
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk

# Cost of a network that breaks a rule; not infinite, because differences of it are formed.
_BROKEN = 1e300
_PASSES, _EXTRA, _LAYER_TRIALS = 2, 6, 2
# What a broken row's multiplier grows by with every sweep, or the share of all samples that a row
# over a single one is charged for, since so many others may speak against it; and how much of its
# multiplier a kept row keeps.
_CHARGE, _AGAINST_ALL, _KEPT = 0.5, 0.005, 0.95


def search_within(
    problem: ConstrainedProblem,
    *,
    seed: int | np.random.SeedSequence | None,
    start: Start,
    sweeps: int,
    out_of_time: Callable[[], bool],
    on_progress: Callable[[Network], None],
    seconds: float,
) -> None:
    """Walk from one start for so many sweeps and report every better network.

    Parameters
    ----------
    problem : ConstrainedProblem
    seed : int, SeedSequence or None
    start : Network or name of a start
        Its weights are moved to where the rules let them be.
    sweeps : int
    out_of_time : callable
        Asked between moves; the walk ends when it returns True.
    on_progress : callable
        Called with every network that keeps the rules and has a lower objective than those before.
    seconds : float
        Limit of the start alone.
    """
    rng = np.random.default_rng(seed)
    begun = _begin(problem, make_start(problem, start, rng, seconds=seconds), rng)
    if begun is None:
        return
    walk = ConstrainedWalk(problem, *begun, rng, out_of_time)
    best = np.inf
    while walk.sweeps < sweeps and not out_of_time():
        if not walk.step():
            continue
        for network in (walk.best_network, walk.thinned()):
            value = problem.objective(network) if problem.allows(network) else np.inf
            if value < best:
                best = value
                on_progress(network)


def with_allowed_weights(
    problem: ConstrainedProblem, guide: Network, rng: np.random.Generator
) -> Network:
    """Move a network's weights to where rules about weights let them be, if they can be moved.

    Rules about outputs may still be broken. Thresholds are half-way between the sums around them.
    """
    begun = _begin(problem, guide, rng)
    if begun is None:
        return guide
    state, _ = begun
    state.centre_thresholds()
    return state.to_network()


def _begin(
    problem: ConstrainedProblem, guide: Network, rng: np.random.Generator
) -> tuple[SearchState, WeightLimits] | None:
    """The state of a walk from a guide, and the limits of its weights; None if there are none."""
    state = SearchState(problem, guide)
    limits = WeightLimits.draw(problem, rng, guide, paired=state.paired)
    if limits is None:
        return None
    weights = limits.project(state.arrays.weights, rng, state.arrays.widths)
    state.restore((weights, state.arrays.thresholds.copy()))
    return state, limits


class ConstrainedWalk(Walk):
    """A walk whose moves keep weight limits, and whose best network keeps all rules."""

    def __init__(
        self,
        problem: ConstrainedProblem,
        state: SearchState,
        limits: WeightLimits,
        rng: np.random.Generator,
        out_of_time: Callable[[], bool],
    ) -> None:
        super().__init__(state, rng, out_of_time)
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
        if self.problem.allows(centred):
            return centred
        current = self.state.snapshot()
        self.state.restore(self._best)
        network = self.state.to_network()
        self.state.restore(current)
        return network

    def thinned(self) -> Network:
        """Take weights out of the best network whose price is more than they are worth."""
        from bdnn.search.moves.annealing import try_zero

        penalty = self.problem.penalty
        network = self.best_network
        if not (penalty.weight or penalty.l1 or penalty.l2):
            return network
        state = SearchState(self.problem, network)
        s, limits = state.arrays, self.limits
        copies = np.repeat(limits.copies, np.diff(s.weight_at))
        places = np.flatnonzero((s.weights != 0.0) & ~limits.must)
        for at in self.rng.permutation(places):
            if self._out_of_time():
                break
            size = abs(s.weights[at])
            saved = penalty.weight + penalty.l1 * size + penalty.l2 * size**2
            try_zero(s, np.array([at]), 0.999 * copies[at] * saved)
        state.refresh()
        return state.to_network()

    def _true_cost(self) -> float:
        cost = super()._true_cost()
        if cost >= self.best_cost:  # penalties only add to it
            return cost
        network = self.state.to_network()
        return self.problem.objective(network) if self.problem.allows(network) else _BROKEN

    def step(self) -> bool:
        """Do one sweep and charge for what is broken after it; tell whether a best was found."""
        found = super().step()
        if len(self._lower):
            on = self.state.arrays.on[self.state.arrays.unit_at[-2] :]
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

    def _sweep(self) -> None:
        from bdnn.search.moves.limited import improve_limited
        from bdnn.search.moves.sweep import move_layer_threshold

        s, limits = self.state.arrays, self.limits
        for k in range(len(s.widths) - 2, -1, -1):
            for unit in s.unit_at[k] + self.rng.permutation(s.widths[k + 1]):
                if self._out_of_time():
                    return
                improve_limited(
                    s,
                    np.array([unit]),
                    limits.low,
                    limits.high,
                    limits.most,
                    limits.copies,
                    self.rng,
                    _PASSES,
                    _EXTRA,
                )
            if s.threshold_kind[0] == PER_LAYER:
                move_layer_threshold(s, k, self.rng, _LAYER_TRIALS)

    def kick(self, *, strength: int) -> None:
        """Draw a few units anew, at whatever cost."""
        from bdnn.search.moves.limited import redraw_limited, room_of

        s, limits = self.state.arrays, self.limits
        n = self.n_kickable
        for unit in self.rng.choice(n, size=min(strength, n), replace=False):
            k = int(np.searchsorted(s.unit_at, unit, side="right")) - 1
            room = room_of(s, k, unit, limits.most, limits.copies)
            redraw_limited(s, k, unit, limits.low, limits.high, room, self.rng)
        self.state.refresh()
        self._lowest, self._stalled = self.state.cost, 0


def _output_rows(
    problem: ConstrainedProblem, *, paired: bool
) -> tuple[csr_array, FloatArray, FloatArray]:
    """All rows over outputs, of coefficients of size 1, on the outputs that the search has."""
    n_lines, n_outputs = problem.mass.shape
    parts, lower, upper = [csr_array((0, n_lines * n_outputs))], [np.zeros(0)], [np.zeros(0)]
    for rule in problem.rules:
        if not isinstance(rule, OutputRows):
            continue
        size = np.maximum(abs(rule.A).max(axis=1).toarray().ravel(), 1.0)
        parts.append(csr_array(rule.A.multiply(1.0 / size[:, None]).tocsr()))
        lower.append(rule.lower / size)
        upper.append(rule.upper / size)
        if not paired and rule.decided.size:
            columns = (rule.decided[:, None] * n_outputs + np.arange(n_outputs)).ravel()
            pointer = np.arange(0, len(columns) + 1, n_outputs)
            shape = (len(rule.decided), n_lines * n_outputs)
            parts.append(csr_array((np.ones(len(columns)), columns, pointer), shape=shape))
            lower.append(np.ones(len(rule.decided)))
            upper.append(np.ones(len(rule.decided)))
    A = csr_array(vstack(parts, format="csr"))
    low, high = np.concatenate(lower), np.concatenate(upper)
    if paired:
        # The first output is what the second is not.
        first, second = A[:, 0::2], A[:, 1::2]
        constant = np.asarray(first.sum(axis=1)).ravel()
        return csr_array(second - first), low - constant, high - constant
    return A, low, high


def _load() -> None:
    """Compile or load the moves on a problem of one input."""
    from bdnn.search.loading import smallest_state
    from bdnn.search.moves.limited import improve_limited, redraw_limited

    load_moves()
    load_annealing()
    s, rng = smallest_state("step").arrays, np.random.default_rng(0)
    one, whole = np.ones(len(s.weights)), np.full(5, 9, dtype=np.int64)
    copies = np.ones(2, dtype=np.int64)
    improve_limited(s, np.zeros(1, dtype=np.int64), -one, one, whole, copies, rng, 1, 1)
    redraw_limited(s, 0, 0, -one, one, 1, rng)


MOVES = BackgroundLoad(_load, name="bdnn-compile-limited")
