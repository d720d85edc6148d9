"""Lower bounds for narrow networks by combinatorial Benders cuts, proofs in exact arithmetic.

For two classes the second output can be the opposite of the first (threshold functions are closed
under complement), so the smallest loss of a network with d hidden units is

    what is irreducible + 2 min sum_i |weight_i1 - weight_i0| [output 1 is wrong at input i].

Output 1 is one of few threshold functions of the units (:mod:`bdnn.bounds.rules`). For each the
master problem (:mod:`bdnn.bounds.covering`) decides where units have to be on and off, and a unit
that cannot do it yields conflicts: small sets of inputs with meeting convex hulls
(:mod:`bdnn.bounds.separation`), which become cuts for every unit and every function (Codato and
Fischetti, 2006, for a single half-space). The least master value over the functions bounds the loss
from below whatever the weights: integer weights, shared and zero thresholds only leave out
networks. Where all units can do what the master asks, the bound is the smallest loss of continuous
weights, and the network is at hand. Integer output weights leave out functions: ternary ones count
units.

For several units the master is asked whether a given cost suffices, and the cost is raised when it
does not: its linear relaxation says nothing (half of a unit each satisfies all), while an integer
solver refutes a small cost well. For a single unit the relaxation is strong, and the cost is
minimised by a linear-programming based solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.bounds.argument import Upper
from bdnn.bounds.certificate import Proof, certificate
from bdnn.bounds.covering import Master, Tree, find_tree
from bdnn.bounds.lattice import Mistakes, gains_of, lift, mistakes_of
from bdnn.bounds.rules import Rule, output_rules
from bdnn.bounds.separation import Conflict, HalfSpace, MeetingHulls, Separator
from bdnn.clock import Slot
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.registry import get_solver
from bdnn.solvers.result import Limits, Termination

#: A threshold function, and units as half-spaces.
Attained = tuple[Rule, list[HalfSpace]]

_FEW_UNITS = (2, 3)
_CONFLICTS_PER_UNIT = 20
#: Costs of inputs that are given up are integers whose sum has so many bits.
BITS = 44
# Largest sum of costs that is raised one by one.
_RAISED = 100_000
# Part of the time that is left for a proof that does without the solver.
_PROOF_SHARE = 0.25
# Part of a float bound that is given away where nobody can tell which integer it stands for.
_UNSAFE, _ONE = 1e-6, Fraction(1)


@dataclass(frozen=True)
class ConflictArgument:
    """What arguments by certified conflicts share."""

    seed: int = 0
    threads: int = 1  # threads of the solver
    # Called with a network that attains the bound, if there is one with the weights asked for.
    offer: Callable[[Network], object] | None = None

    def _attain(self, shape: Architecture, attained: Attained | None) -> None:
        """Offer the network of units that attain the bound, where weights may be anything."""
        if self.offer is None or attained is None or shape.n_outputs != 2 or len(shape.hidden) > 1:
            return
        if shape.thresholds == "neuron" and not any(w.integer for w in shape.weights):
            rule, spaces = attained
            self.offer(rule.network(shape, spaces))


@dataclass(frozen=True)
class Benders(ConflictArgument):
    """Combinatorial cuts for two classes and two or three hidden units of any weights."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether a few hidden steps in one layer decide between two classes."""
        shape = problem.architecture
        return (
            isinstance(problem.loss, OutputLoss)
            and shape.n_outputs == 2
            and not shape.has_levels
            and len(shape.hidden) == 1
            and shape.hidden[0] in _FEW_UNITS
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield a bound for every cost that is refuted."""
        gains = gains_of(problem.loss, bits=BITS)
        mistakes = mistakes_of(gains.values[:, 1])
        if not len(mistakes.inputs):
            return
        base, unit = problem.irreducible.value, 2 * gains.step
        engine = get_solver("cpsat", threads=self.threads, seed=self.seed)
        rules = output_rules(problem.architecture)
        search = CutSearch(problem.inputs, mistakes, rules, engine, self.seed)
        most = math.inf if math.isinf(upper) else math.floor((Fraction(upper) - base) / unit)
        for level in search.levels(slot, most):
            yield Bound(
                base + unit * level,
                f"combinatorial Benders cuts, {len(search.conflicts)} certified conflicts",
                certificate=certificate(problem, gains.step, search.proofs(1)),
            )
        self._attain(problem.architecture, search.attained)


class CutSearch:
    """The conflicts of one output's inputs, its master problems and what they prove.

    The output is one of several rules, and costs at least ``level``. ``conflicts`` are certified
    ones, whose members are numbers of ``mistakes.inputs``, and ``attained`` are units with which
    the output costs no more than the level, if there are.
    """

    def __init__(
        self,
        inputs: FloatArray,
        mistakes: Mistakes,
        rules: Sequence[Rule],
        engine: AbstractSolver,
        seed: int,
    ) -> None:
        self.inputs, self.wanted, self.costs = mistakes
        self.n_units = len(rules[0].weights)
        self.engine = engine
        self.separator = Separator(inputs[mistakes.inputs])
        self.masters = [Master(rule, self.wanted, self.costs) for rule in rules]
        self.conflicts: list[Conflict] = []
        self.level = 0
        self.attained: Attained | None = None
        # Proofs of a level that anyone can repeat, one per master; the solver's word is none.
        self._proven, self._trees = 0, list[Tree]()
        self._is_raised = self.n_units > 1 and int(self.costs.sum()) <= _RAISED
        self._rng = np.random.default_rng(seed)
        self._gives_up = False

    def levels(self, slot: Slot, most: float = math.inf) -> Iterator[int]:
        """Add conflicts and yield better levels until one is attained, or time or ideas run out.

        Levels above ``most`` are of no interest. The last level is looked at once more, for a proof
        that does without the solver, and yielded again where that is found afterwards.
        """
        while not (self._gives_up or self.level >= most or slot.is_over()):
            master = min(self.masters, key=lambda one: one.bound)
            solution = self._solve(master, slot, most)
            level = min(one.bound for one in self.masters)
            if level > self.level:
                self.level = level
                if level >= most:
                    self.find_trees(slot)
                yield level
            if solution is None or master.bound > level:
                continue
            needs = master.needs(solution, self._rng.permutation(self.n_units))
            known = len(self.conflicts)
            found = [self._unit(master, needs[:, j], j, slot) for j in range(self.n_units)]
            if len(self.conflicts) > known:
                continue
            spaces = [space for space in found if space is not None]
            cost = int(self.costs[solution[: len(self.costs)] > 0.5].sum())
            if len(spaces) == self.n_units and cost <= level:
                self.attained = master.rule, spaces
            if self._proven < level and self.find_trees(slot):
                yield level
            return

    def find_trees(self, slot: Slot) -> bool:
        """Look for proofs of the level that do without the solver, for a part of the time."""
        if self._proven >= self.level:
            return True
        part = slot.part(_PROOF_SHARE)
        trees: list[Tree] = []
        for master in self.masters:
            tree = find_tree(master, self.conflicts, self.level, part)
            if tree is None:
                return False
            trees.append(tree)
        self._take(self.level, trees)
        return True

    def _take(self, level: int, trees: list[Tree]) -> None:
        self._proven, self._trees = level, trees

    def proofs(self, output: int) -> list[Proof]:
        """What proves the level of an output, or a smaller one, without a solver."""
        return [
            Proof(output, master.rule, self.inputs.tolist(), self.conflicts, tree)
            for master, tree in zip(self.masters, self._trees, strict=False)
        ]

    def _solve(self, master: Master, slot: Slot, most: float) -> FloatArray | None:
        """Solve a master problem; raise its bound where that is all it gives."""
        master.add(self.conflicts)
        ceiling = master.bound if self._is_raised else most
        engine = replace(self.engine, seed=int(self._rng.integers(2**30)))
        outcome = engine.solve(
            master.program(most=ceiling),
            limits=Limits(seconds=max(0.05, slot.remaining), absolute_gap=0.5),
        )
        if outcome.termination is Termination.INFEASIBLE and math.isfinite(ceiling):
            master.bound = int(ceiling) + 1
            return None
        if outcome.termination is Termination.INTERRUPTED:
            # Nobody asks this solver to stop but the user, by Ctrl-C.
            raise KeyboardInterrupt
        if outcome.termination not in (Termination.OPTIMAL, Termination.GAP_LIMIT):
            self._gives_up = True
        if not self._is_raised and math.isfinite(outcome.bound):
            self._raise(master, outcome.bound)
        return outcome.solution

    def _raise(self, master: Master, bound: float) -> None:
        """Take a solver's bound; costs are integers, and so are bounds of integer solvers."""
        is_whole = Feature.FRACTIONAL_ROWS not in self.engine.features
        lifted = Fraction(round(bound)) if is_whole else lift(bound, _ONE)
        level = math.floor(bound * (1 - _UNSAFE)) if lifted is None else int(lifted)
        master.bound = max(master.bound, level)

    def _unit(self, master: Master, needs: BoolArray, unit: int, slot: Slot) -> HalfSpace | None:
        """Find what keeps a unit from serving its inputs, or weights with which it does."""
        on, off = np.flatnonzero(needs & self.wanted), np.flatnonzero(needs & ~self.wanted)
        hulls = self.separator.hulls(on, off)
        if hulls is not None and self._cut(hulls, master, unit, slot):
            return None
        return self.separator.half_space(on, off)

    def _cut(self, hulls: MeetingHulls, master: Master, unit: int, slot: Slot) -> bool:
        """Look for conflicts of different inputs; tell whether there is a new one."""
        choice, known = master.is_choice[:, unit], len(self.conflicts)
        dear = ~choice & (self.costs > master.bound)
        used = np.zeros(len(choice))
        tried = set(self.conflicts)
        for _ in range(_CONFLICTS_PER_UNIT):
            if slot.is_over():
                break
            costs = self._rng.random(len(choice)) * (1 + 4 * used) + 3 * used
            # Inputs too dear to be given up at this cost make a cut no weaker.
            costs[dear] = 0.0
            conflict = hulls.conflict(costs, choice, self._rng)
            used[list(conflict.on + conflict.off)] += 1
            if conflict not in tried:
                tried.add(conflict)
                if self.separator.certify(conflict):
                    self.conflicts.append(conflict)
        return len(self.conflicts) > known
