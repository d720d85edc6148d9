"""One program for all: limits, starts, interruptions, and solvers that err."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bdnn.errors import ModelError, SolverNotAvailableError
from bdnn.mip import NetworkModel, Reductions
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.registry import SOLVERS, available_solvers
from bdnn.solvers.result import SolveResult, Termination
from bdnn.training import Budget, Exact
from bdnn.training.base import METHODS, get_method
from tests.problems import random_problem, xor
from tests.sentences import assert_one_sentence


def hard_problem(weights="ternary", *, n_samples=60, hidden=(4,)):
    """Labels that nothing explains: a network is found at once, a proof takes long."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (n_samples, 4)).astype(float)
    shape = Architecture.create(4, 2, hidden=hidden, weights=weights)
    return classification(shape, X, rng.integers(0, 2, n_samples))


def check_history(result):
    losses = [moment.loss for moment in result.history]
    bounds = [moment.bound for moment in result.history]
    seconds = [moment.seconds for moment in result.history]
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)
    assert seconds == sorted(seconds)
    assert all(bound <= loss for bound, loss in zip(bounds, losses, strict=True))
    assert result.bound <= result.loss


@pytest.mark.parametrize(("solver", "weights"), [("cpsat", "ternary"), ("highs", "continuous")])
def test_a_time_limit_holds_and_leaves_a_network(solver, weights):
    problem = hard_problem(weights, n_samples=150, hidden=(8,))
    limit, begin = 1.0, time.perf_counter()
    network, result = Exact().train(problem, solver=solver, budget=Budget(seconds=limit))
    assert time.perf_counter() - begin <= 1.1 * limit + 1.0
    assert result.status == "time limit"
    assert result.loss == problem.value(network) <= problem.value(problem.constant_network())
    check_history(result)


@pytest.mark.parametrize("solver", available_solvers())
def test_a_node_limit_holds(solver):
    problem = hard_problem(n_samples=20)
    network, result = Exact().train(problem, solver=solver, budget=Budget(seconds=60, nodes=1))
    assert result.status == "node limit"
    assert problem.value(network) == result.loss
    check_history(result)


@pytest.mark.parametrize("solver", available_solvers())
def test_a_gap_that_is_good_enough_ends_the_run(solver):
    problem = random_problem(4, n_samples=10, values=2, hidden=())
    _, exact = Exact().train(problem, solver=solver, budget=Budget(seconds=60))
    assert exact.status == "optimal"
    assert exact.loss > 0
    _, result = Exact().train(problem, solver=solver, budget=Budget(seconds=60, gap=0.9))
    assert result.status in ("gap limit", "optimal")
    assert result.gap <= 0.9
    check_history(result)


def test_a_gap_met_by_the_data_alone_needs_no_solver():
    X = np.array([[0.0, 0.0]] * 10 + [[1.0, 1.0]])
    y = np.array([0, 1] * 5 + [0])
    problem = classification(xor().architecture, X, y)
    loss = problem.value(problem.constant_network())
    assert loss == problem.floor == 10.0
    _, result = Exact().train(problem)
    assert (result.status, result.solver) == ("optimal", "")


@pytest.mark.parametrize("solver", available_solvers())
def test_a_callback_stops_the_run_and_the_network_stays(solver):
    problem = hard_problem(n_samples=20)
    moments = []

    def stop(moment):
        moments.append(moment)
        return moment.phase == "solve" and moment.loss < math.inf

    network, result = Exact().train(
        problem, solver=solver, budget=Budget(seconds=60), on_progress=stop
    )
    assert result.status == "interrupted"
    assert result.loss == problem.value(network)
    check_history(result)


@pytest.mark.parametrize("solver", available_solvers())
def test_a_start_is_used(solver):
    problem = hard_problem(n_samples=20)
    first = Exact().train(problem, solver="cpsat", budget=Budget(seconds=2.0))
    again = Exact().train(
        problem, solver=solver, start=first.network, budget=Budget(seconds=60, nodes=1)
    )
    assert again.result.loss <= first.result.loss
    assert [moment.phase for moment in again.result.history][:2] == ["start", "start"]


def test_an_optimal_start_is_only_proven():
    problem = xor()
    network, _ = Exact().train(problem)
    again = Exact().train(problem, start=network)
    assert again.network == network
    assert again.result.status == "optimal"
    assert again.result.solver == ""


def test_a_start_of_another_architecture_is_refused():
    other = xor(hidden=(3,)).constant_network()
    for start in (other, "best.json", np.zeros(3)):
        with pytest.raises(ModelError, match="start must be a network") as caught:
            Exact().train(xor(), start=start)
        assert_one_sentence(caught.value)


def test_equal_runs_give_equal_networks():
    problem = random_problem(2, n_samples=8, hidden=(2,))
    runs = [Exact().train(problem, budget=Budget(seed=5)) for _ in range(2)]
    assert runs[0].network == runs[1].network
    assert runs[0].result.loss == runs[1].result.loss


def test_a_better_bound_names_its_origin():
    _, ternary = Exact().train(random_problem(1, n_samples=8, hidden=()))
    assert ternary.loss > 0
    assert ternary.bound_origin == "solver cpsat"
    _, continuous = Exact().train(random_problem(1, n_samples=8, hidden=(), weights="continuous"))
    assert continuous.loss > 0
    assert "margin of 0.0001" in continuous.bound_origin


@dataclass(frozen=True)
class Liar(AbstractSolver):
    """A solver that returns what it is told to."""

    solution: np.ndarray | None = None
    objective: float = 0.0
    bound: float = 0.0
    termination: Termination = Termination.OPTIMAL

    name: ClassVar[str] = "liar"
    package: ClassVar[str] = "json"
    distribution: ClassVar[str] = "no-such-distribution"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    def _solve(self, monitor, start):
        return SolveResult(
            self.termination, self.solution, self.objective, self.bound, 0.0, message="so I say"
        )


def a_solution(problem):
    return NetworkModel.build(problem).lift(problem.constant_network())


def test_a_claim_that_the_network_does_not_keep_is_refused():
    problem = xor()
    liar = Liar(solution=a_solution(problem), objective=0.0, bound=0.0)
    network, result = Exact().train(problem, solver=liar)
    assert result.loss == problem.value(network) == 4.0
    assert result.status != "optimal"
    assert result.bound == 0.0
    assert "claimed a loss of 0" in result.message
    assert "4 is what the forward pass gives" in result.message


def test_a_solution_that_fits_no_row_is_judged_by_its_network():
    problem = xor()
    solution = np.full(NetworkModel.build(problem).program.n_variables, 0.4)
    network, result = Exact().train(problem, solver=Liar(solution=solution, objective=0.0))
    assert result.loss == problem.value(network)
    assert result.status != "optimal"


def test_a_network_without_the_margin_may_be_better_than_the_bound():
    """Units with the program's margin cannot tell 0 from 1e-7, the start can."""
    shape = Architecture.create(1, 2, hidden=(), weights="continuous")
    X = np.array([[0.0], [1e-7], [0.5], [0.7], [1.0]])
    problem = classification(shape, X, np.array([0, 1, 1, 0, 1]))
    start = Network(shape, (np.array([[-1.0], [1.0]]),), (np.array([-5e-8, 5e-8]),))
    assert problem.value(start) == 2.0
    network, result = Exact().train(problem, start=start)
    assert network == start
    assert result.bound <= result.loss == 2.0
    assert "among networks that keep a margin" in result.bound_origin
    check_history(result)


@pytest.mark.parametrize("termination", ["INFEASIBLE", "UNBOUNDED", "FAILED"])
def test_a_solver_without_an_answer_leaves_the_best_network(termination):
    problem = xor()
    liar = Liar(bound=-math.inf, objective=math.inf, termination=Termination[termination])
    network, result = Exact().train(problem, solver=liar)
    assert (result.status, result.loss) == ("feasible", 4.0)
    assert "so I say" in result.message
    assert network == problem.constant_network()
    assert result.solver == "liar None"


def test_an_error_in_a_callback_is_the_callers():
    def fail(moment):
        if moment.phase == "solve":
            raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        Exact().train(hard_problem(n_samples=20), on_progress=fail)


def test_weights_that_keep_no_margin_leave_a_network():
    """Binary weights without thresholds cannot stay away from 0 here."""
    shape = Architecture.create(1, 2, hidden=(), weights="binary", thresholds="zero")
    X = np.array([[1.0], [-1.0], [1e-5], [-1e-5]])
    problem = classification(shape, X, np.array([0, 1, 1, 0]))
    network, result = Exact(reductions=Reductions.none()).train(problem)
    assert result.status == "feasible"
    assert result.loss == problem.value(network)
    assert "without an answer" in result.message


def test_unknown_solvers_and_methods_are_refused():
    with pytest.raises(ModelError, match="solver must be 'auto' or one of") as caught:
        Exact().train(xor(), solver="cplex")
    assert_one_sentence(caught.value)
    for method in ("magic", None, 3, ["exact"]):
        with pytest.raises(ModelError, match="method must be one of") as caught:
            get_method(method)
        assert_one_sentence(caught.value)


def test_methods_by_name_and_as_objects():
    exact = Exact(eps=1e-3)
    assert get_method(exact) is exact
    for name, method in METHODS.items():
        assert type(get_method(name)) is method


def test_a_solver_that_is_not_installed_is_named_before_any_work(monkeypatch):
    monkeypatch.setattr(SOLVERS["scip"], "package", "no_such_package")
    moments = []
    with pytest.raises(SolverNotAvailableError, match="pip install") as caught:
        Exact().train(xor(), solver="scip", on_progress=moments.append)
    assert_one_sentence(caught.value)
    assert "build" not in [moment.phase for moment in moments]
