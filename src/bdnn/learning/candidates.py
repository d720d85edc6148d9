"""The ladder of candidates, the plainest first."""

from __future__ import annotations

from bdnn.learning.gradients import Gradients
from bdnn.learning.linear import Logistic, NearestMean, Prior
from bdnn.learning.robust_linear import RobustLinear, RobustVotes
from bdnn.learning.robust_trees import RobustTree
from bdnn.learning.scorecard import Scorecard
from bdnn.learning.stack import Candidate, Reads, Table
from bdnn.learning.trees import Boosting, Tree

#: Times the radius that is asked for which robust candidates are trained with.
WIDER = (1.0, 1.15)
_UPDATES = 3000  # of the network that learns from others
# Rows from which more updates pay, as many times more as there are rows, and the most.
_MANY_ROWS, _MOST_LONGER = 25_000, 4.0


def candidates(
    table: Table,
    hidden: tuple[int, ...] | None = None,
    *,
    ternary: bool = False,
    most_inputs: int | None = None,
    only_linear: bool = False,
) -> dict[str, Candidate]:
    """Ways to learn a table by name; those of a shape, or of few inputs, if that is given."""
    linear: dict[str, Candidate] = {
        "prior": Prior(_any(table)),
        "nearest mean": NearestMean(),
        "linear": Logistic("numbers"),
        "linear, shrunk": Logistic("numbers", 0.1),
        "linear on cuts": Logistic("bits", 0.03),
        "stumps": Boosting(1, 60),
    }
    trees: dict[str, Candidate] = {
        "tree": Tree(6),
        "boosted trees of depth 2": Boosting(2, 100),
        "boosted trees of depth 3": Boosting(3, 200),
    }
    units: dict[str, Candidate] = {
        "100 units": Gradients("numbers", (100,)),
        "100 units, noise": Gradients("numbers", (100,), 0.25),
        "50 units on cuts, noise": Gradients("bits", (50,), 0.25),
        "30-30 units, cuts beside, noise": Gradients("mix", (30, 30), 0.25),
        "100-50 units, cuts beside": Gradients("mix", (100, 50)),
        "200 units on cuts": Gradients("bits", (200,)),
    }
    kinds: tuple[tuple[str, Reads], ...] = (("numbers", "numbers"), ("cuts", "bits"))
    given: dict[str, Candidate] = {
        f"{what}{noise}": Gradients(reads, hidden or (), dropout)
        for what, reads in kinds
        for noise, dropout in (("", 0.0), (", noise", 0.25))
    }
    found = units if hidden is None else given
    if most_inputs is not None:
        points = 1 if ternary else 5
        found = {
            "prior": Prior(_any(table)),
            "scorecard": Scorecard("numbers", most_inputs, points),
            "scorecard on cuts": Scorecard("bits", most_inputs, points),
        }
    elif only_linear and hidden is None and not ternary:
        found = {name: linear[name] for name in linear if name not in ("prior", "stumps")}
    elif not ternary:
        found = {**(linear if not hidden else {}), **(trees if hidden is None else {}), **found}
    missing = _missing(table)
    return {name: candidate for name, candidate in found.items() if candidate.reads not in missing}


def robust_candidates(table: Table) -> dict[str, Candidate]:
    """Ways to learn a table of which rows may change."""
    found: dict[str, Candidate] = {
        "prior": Prior(_any(table)),
        "robust linear": RobustLinear(),
        "robust votes of 8 cuts": RobustVotes(8),
        "robust votes of 16 cuts": RobustVotes(16),
    }
    for wider in WIDER:
        how = "" if wider == 1.0 else f", {wider:g} times the radius"
        for cuts in (8, 16):
            way = RobustVotes(cuts, wider, is_improved=True)
            found[f"robust votes of {cuts} cuts, improved{how}"] = way
        for depth in (1, 2, 3, 4):
            found[f"robust tree of depth {depth}{how}"] = RobustTree(depth, wider)
    missing = _missing(table)
    return {name: candidate for name, candidate in found.items() if candidate.reads not in missing}


def student(table: Table, width: int) -> Gradients:
    """The network that learns from others: two layers on numbers and cuts, or what there is."""
    longer = min(_MOST_LONGER, max(1.0, len(table) / _MANY_ROWS))
    updates = int(longer * _UPDATES)
    if "mix" not in _missing(table):
        return Gradients("mix", (width, width), updates=updates)
    return Gradients(_any(table), (2 * width,), updates=updates)


def _any(table: Table) -> Reads:
    return "bits" if table.bits.shape[1] else "numbers"


def _missing(table: Table) -> set[Reads]:
    missing: set[Reads] = set()
    if not table.numbers.shape[1]:
        missing |= {"numbers", "mix", "both"}
    if not table.bits.shape[1]:
        missing |= {"bits", "mix", "both"}
    return missing
