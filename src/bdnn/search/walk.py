"""One search path: sweeps, weights that grow where the network is wrong, kicks, the best so far.

A descent stalls in a local minimum because each improvement for one input costs another. The walk
then raises the price of the inputs that are wrong now, so that the present network is no minimum
any more, and lets all prices drift back to the true ones. This is what weighting of clauses does in
satisfiability, and of samples in boosting; the best network is always judged by the true cost. Now
and then a unit is shaken or drawn anew, and when nothing has been gained for long the walk returns
to its best network with true prices.

Under terms, moves keep limits of weights and outputs are charged for what they break; the best
network is then the cheapest one that keeps all terms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import UNLIMITED
from bdnn.search.kernels.arrays import PER_LAYER, PER_UNIT, IntArray
from bdnn.search.limits import OutputCharges
from bdnn.search.state import SearchState

# Sweeps without gain before prices are raised: plateau moves need a few to find the way down.
_PATIENCE = 2
# Added to the price of a wrong input, speed of the way back to true prices, frequency of kicks.
_RAISE, _DRIFT, _KICKS = 0.7, 0.05, 0.05
# Raises without a better network after which the walk returns to its best one.
_LONG = 400
# Passes over a unit's weights per move, and random directions or pairs of weights per pass.
_PASSES = 3
_EXTRA = 8
# Beyond this many inputs one pass per move has to do: gains are better formed anew.
_MANY_INPUTS = 5_000
# Work of one call into compiled code, in weights times inputs; between calls the clock is read.
_CALL_WORK = 4_000_000
_SHAKE = 0.1
_LAYER_TRIALS = 2
# Cost of a network that breaks a term; not infinite, because differences of it are formed.
_BROKEN = 1e300


def search_within(
    problem: Problem[OutputLoss],
    start: Network,  # its weights are moved to where the terms let them be
    *,
    rng: np.random.Generator,
    sweeps: int,
    slot: Slot,
    # Called with every network that keeps the terms and has a lower objective than those before.
    on_network: Callable[[Network], None],
) -> None:
    """Walk from one start for so many sweeps and report every better network."""
    state = SearchState(problem, start)
    if not state.keep_terms(rng):
        return
    walk = Walk(state, rng, slot)
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
    """Move a network's weights to where terms about weights let them be, if they can be moved.

    Terms about outputs may still be broken. Thresholds are half-way between the sums around them.
    """
    state = SearchState(problem, guide)
    if not state.keep_terms(rng):
        return guide
    state.centre_thresholds()
    return state.to_network()


class Walk:
    """A descent with weights that is advanced sweep by sweep."""

    def __init__(
        self,
        state: SearchState,
        rng: np.random.Generator,
        # Looked at between calls into compiled code; a sweep is left unfinished once it is over.
        slot: Slot,
    ) -> None:
        self.state = state
        self.rng = rng
        self.sweeps = 0
        self.slot = slot
        self._stalled = 0
        self._futile = 0
        s = state.arrays
        # The same network at true prices; only what depends on prices has memory of its own.
        self._true = s._replace(
            cost=s.cost.copy(),
            cost_on=s.cost_on.copy(),
            cost_off=s.cost_off.copy(),
        )
        self._price = np.ones(len(s.cost))
        unavoidable = np.minimum(s.cost_on, s.cost_off).sum(axis=0)
        self._least = s.goal[0] * unavoidable
        self._charges = OutputCharges(state.problem, paired=state.paired)
        self._lowest, self.best_cost = state.cost, _BROKEN
        self.best_cost = self._true_cost()
        self._best = state.snapshot()

    @property
    def n_kickable(self) -> int:
        """Number of units that kicks may hit: the hidden ones, or the outputs if there are none."""
        s = self.state.arrays
        return int(s.unit_at[-2]) or self.state.n_units

    @property
    def best_network(self) -> Network:
        """The best network so far, its thresholds centred where that keeps the terms."""
        current = self.state.snapshot()
        self.state.restore(self._best)
        self.state.centre_thresholds()
        network = self.state.to_network()
        if not self.state.problem.is_feasible(network):
            self.state.restore(self._best)
            network = self.state.to_network()
        self.state.restore(current)
        return network

    def thinned(self) -> Network:
        """Take weights out of the best network whose price is more than they are worth."""
        network, problem = self.best_network, self.state.problem
        priced = [term for term in problem.terms if term.prices_weights]
        if not priced:
            return network
        limits = self.state.limits
        state = SearchState(problem, network, limits=limits)
        s = state.arrays
        for at in self.rng.permutation(state.removable()):
            if self.slot.is_over():
                break
            saved = sum(float(term.weight_price(np.abs(s.weights[at]))) for term in priced)
            saved *= limits.copies if at >= s.weight_at[-2] else 1
            state.try_zero(np.array([at]), 0.999 * saved)
        state.refresh()
        return state.to_network()

    def step(self) -> bool:
        """Do one sweep, raise prices where sweeps have stalled; tell whether a best was found."""
        self._sweep()
        self.sweeps += 1
        self.state.refresh()
        cost = self._true_cost()
        found = cost < self.best_cost - 1e-9 * max(1.0, self.best_cost)
        if found:
            self.best_cost, self._best, self._futile = cost, self.state.snapshot(), 0
        paid = self.state.cost
        if paid < self._lowest - 1e-9 * max(1.0, self._lowest):
            self._lowest, self._stalled = paid, 0
        else:
            self._stalled += 1
        if self._stalled >= _PATIENCE:
            self._move_on()
        outputs = self.state.arrays.level[self.state.arrays.unit_at[-2] :]
        if not self._charges.is_empty and self._charges.follow(outputs):
            self._set_prices(self._price)
        return found

    def _true_cost(self) -> float:
        from bdnn.search.kernels.forward import output_costs

        output_costs(self._true, np.zeros_like(self._true.cost_on), 0, self._true.cost)
        cost, problem = float(self._true.cost.sum()), self.state.problem
        if not problem.terms or cost >= self.best_cost:  # prices only add to it
            return cost
        network = self.state.to_network()
        if not problem.is_feasible(network):
            return _BROKEN
        return cost + sum(term.price(network, problem) for term in problem.terms)

    def _move_on(self) -> None:
        """Make the local minimum none: raise the price of what is wrong, or go back and kick."""
        self._futile += 1
        if self._futile % _LONG == 0:
            self.state.restore(self._best)
            self._set_prices(np.ones_like(self._price))
            self.kick(strength=2)
            return
        wrong = self._true.cost > self._least + 1e-9
        price = self._price + _RAISE * wrong
        self._set_prices(price + _DRIFT * (1.0 - price))
        if self.rng.random() < _KICKS:
            self.kick(strength=1)

    def _set_prices(self, price: FloatArray) -> None:
        s = self.state.arrays
        self._price = price
        s.cost_on[:] = self._true.cost_on * price
        s.cost_off[:] = self._true.cost_off * price
        if not self._charges.is_empty:
            charge = self._charges.on(len(s.cost_on))
            s.cost_on[:] += np.maximum(charge, 0.0)
            s.cost_off[:] += np.maximum(-charge, 0.0)
        self.state.refresh()
        self._lowest, self._stalled = self.state.cost, 0

    def _sweep(self) -> None:
        s = self.state.arrays
        m = s.sums.shape[1]
        passes = _PASSES if m <= _MANY_INPUTS else 1
        for k in range(len(s.widths) - 2, -1, -1):
            units: IntArray = s.unit_at[k] + self.rng.permutation(s.widths[k + 1])
            work = m * passes * (int(s.widths[k]) + _EXTRA)
            size = max(1, _CALL_WORK // max(1, work))
            for first in range(0, len(units), size):
                if self.slot.is_over():
                    return
                self.state.improve(units[first : first + size], self.rng, passes, _EXTRA)
            if s.threshold_kind == PER_LAYER:
                self.state.move_layer_threshold(k, self.rng, _LAYER_TRIALS)

    def kick(self, *, strength: int) -> None:
        """Shake or redraw a few units, and at times the outputs, at whatever cost."""
        s = self.state.arrays
        n = self.n_kickable
        for unit in self.rng.choice(n, size=min(strength, n), replace=False):
            k = int(np.searchsorted(s.unit_at, unit, side="right")) - 1
            if self.rng.random() < 0.5:
                self.state.redraw(k, unit, self.rng)
            else:
                self._shake(k, unit, _SHAKE)
        if self.rng.random() < 0.3:
            for unit in range(s.unit_at[-2], s.unit_at[-1]):
                self._shake(len(s.widths) - 2, unit, 2 * _SHAKE)
        self.state.refresh()
        self._lowest, self._stalled = self.state.cost, 0

    def _shake(self, k: int, unit: int, size: float) -> None:
        """Change a unit's weights a little: all of them, or some to other integers."""
        s, limits = self.state.arrays, self.state.limits
        n = int(s.widths[k])
        at = int(s.weight_at[k] + (unit - s.unit_at[k]) * n)
        part = slice(at, at + n)
        w = s.weights[part].copy()
        values = s.values[s.value_at[k] : s.value_at[k + 1]]
        if len(values):
            chosen = self.rng.random(n) < max(size, 1.0 / n)
            w[chosen] = self.rng.choice(values, size=int(chosen.sum()))
        else:
            w += size * self.rng.standard_normal(n)
        if min(limits.most.min(), limits.total) < UNLIMITED:
            w[s.weights[part] == 0.0] = 0.0
        s.weights[part] = np.clip(w, limits.low[part], limits.high[part])
        if len(values):
            return
        thresholds = s.thresholds[unit]
        if s.threshold_kind == PER_UNIT:
            thresholds += size * self.rng.standard_normal()
        largest = np.abs(w).max()
        if largest > 1.0 and np.isinf([limits.low[part], limits.high[part]]).any():
            s.weights[part] /= largest
            thresholds /= largest
